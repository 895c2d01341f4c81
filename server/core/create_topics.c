/* CreateTopics (19), v0-7: declares stand-alone topics.
 *
 * Version notes: v1 messages and validate_only; v5 the reply describes the topic; v7 its id.
 *
 * A topic's partitions are shards of something that lives elsewhere, so it has no replicas to place
 * and no configuration: asking for either is refused with words, not ignored. Names that differ in
 * '.' and '_' only are two names here: nothing turns them into metrics. */
#include <inttypes.h>

#include "rpc/codec.h"
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/audit.h"
#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/reply.h"
#include "server/core/topics.h"

enum { PARTITIONS_DEFAULT = 1 /* what a count of -1 asks for */ };

/* In the call's arena. */
struct creation {
    struct create_topics_response *response;
    int32_t *record_topics; /* for each record: its topic's place in the reply */
    int32_t records_count;
    int32_t accepted; /* topics, also where the request only validates */
    int64_t partitions;
};

/* A version 4 UUID from the call's random bytes, another one for each place in the request. Its
 * text never begins with '-', which command lines take for an option. */
static struct uuid make_uuid(const struct call *call, int32_t at)
{
    struct uuid uuid;
    memcpy(uuid.bytes, call->entropy, sizeof uuid.bytes);
    for (int i = 0; i < 4; i++) {
        uuid.bytes[12 + i] ^= (uint8_t)((uint32_t)at >> (8 * (3 - i)));
    }
    uuid.bytes[6] = (uint8_t)((uuid.bytes[6] & 0x0f) | 0x40);
    uuid.bytes[8] = (uint8_t)((uuid.bytes[8] & 0x3f) | 0x80);
    if (uuid.bytes[0] >> 2 == 62) {
        uuid.bytes[0] &= 0x7f;
    }
    return uuid;
}

static int16_t check_shape(const struct coordinator *c,
                           struct call *call,
                           const struct create_topics_request_topic *asked,
                           struct span *text)
{
    if (asked->assignments_count > 0) {
        *text = reply_text(call,
                           "Stand-alone topics have no replicas to place: give a number of "
                           "partitions instead of assignments.");
        return KAFKA_INVALID_REPLICA_ASSIGNMENT;
    }
    if (asked->configs_count > 0) {
        *text = reply_text(call, "Stand-alone topics have no configuration: leave out \"%.*s\".",
                           REPLY_SPAN(asked->configs[0].name));
        return KAFKA_INVALID_CONFIG;
    }
    if (asked->num_partitions != -1 && asked->num_partitions < 1) {
        *text = reply_text(call,
                           "A topic needs at least one partition, or -1 for the default of "
                           "%d.",
                           PARTITIONS_DEFAULT);
        return KAFKA_INVALID_PARTITIONS;
    }
    if (asked->num_partitions > LIMIT_PARTITIONS) {
        *text = reply_text(call, "A topic has at most %d partitions.", LIMIT_PARTITIONS);
        return KAFKA_INVALID_PARTITIONS;
    }
    int16_t nodes = topics_replication(c);
    if (asked->replication_factor != -1 &&
        (asked->replication_factor < 1 || asked->replication_factor > nodes)) {
        *text = reply_text(call,
                           "The replication factor is -1, or from 1 to the number of nodes, "
                           "which is %d.",
                           nodes);
        return KAFKA_INVALID_REPLICATION_FACTOR;
    }
    return KAFKA_NONE;
}

static int16_t check_name(const struct coordinator *c,
                          struct call *call,
                          struct span name,
                          bool is_duplicate,
                          struct span *text)
{
    if (is_duplicate) {
        *text = reply_text(call, "The request names this topic more than once.");
        return KAFKA_INVALID_REQUEST;
    }
    if (!topic_name_is_legal(name)) {
        *text = reply_text(call,
                           "A topic's name has 1 to %d characters of a-z, A-Z, 0-9, '.', '_' "
                           "and '-', and is neither \".\" nor \"..\".",
                           LIMIT_TOPIC_NAME_BYTES);
        return KAFKA_INVALID_TOPIC_EXCEPTION;
    }
    if (state_topic(c->state, name) != NULL) {
        *text = reply_text(call, "Topic '%.*s' already exists.", REPLY_SPAN(name));
        return KAFKA_TOPIC_ALREADY_EXISTS;
    }
    return KAFKA_NONE;
}

static int16_t check_room(struct coordinator *c,
                          struct call *call,
                          const struct creation *creation,
                          int32_t partitions,
                          struct span *text)
{
    uint64_t have = state_totals(c->state)->topics;
    if (have + (uint64_t)creation->accepted >= (uint64_t)c->limits.topics_max) {
        c->counters.limit_topics++;
        *text = reply_text(call,
                           "The cluster has %" PRIu64 " topics and may have %" PRId32
                           ": delete some or raise coordinator.max.topics.",
                           have, c->limits.topics_max);
        return KAFKA_POLICY_VIOLATION;
    }
    return topics_check_partitions(c, call, creation->partitions + partitions, text);
}

static void decide_topic(struct coordinator *c,
                         struct call *call,
                         struct audit *audit,
                         int32_t at,
                         bool is_duplicate,
                         struct buf *records)
{
    const struct create_topics_request *request = call->request;
    const struct create_topics_request_topic *asked = &request->topics[at];
    struct creation *creation = audit->decision;
    struct create_topics_response_topic *answer = &creation->response->topics[at];
    int32_t partitions = asked->num_partitions == -1 ? PARTITIONS_DEFAULT : asked->num_partitions;
    struct span text = SPAN_NULL;
    int16_t error = check_name(c, call, asked->name, is_duplicate, &text);
    error = error != KAFKA_NONE ? error : check_shape(c, call, asked, &text);
    error = error != KAFKA_NONE ? error : check_room(c, call, creation, partitions, &text);
    answer->name = asked->name;
    answer->error_code = error;
    answer->error_message = text;
    if (error != KAFKA_NONE) {
        return;
    }
    creation->accepted++;
    creation->partitions += partitions;
    answer->num_partitions = partitions;
    answer->replication_factor =
        asked->replication_factor == -1 ? topics_replication(c) : asked->replication_factor;
    if (request->validate_only) {
        return;
    }
    struct record_topic_created record = {
        .name = asked->name, .uuid = make_uuid(call, at), .partitions = partitions};
    answer->topic_id = record.uuid;
    record_append(records, RECORD_TOPIC_CREATED, &record);
    creation->record_topics[creation->records_count++] = at;
    audit_add(audit, call, "topic_created topic=%s partitions=%d",
              effect_text(&c->effects, asked->name), partitions);
}

/* The name was taken between decision and apply. */
static void take_verdict(struct call *call,
                         struct create_topics_response_topic *topic,
                         int16_t error)
{
    struct span name = topic->name;
    codec_set_defaults(create_topics_response_topic_schema(), topic);
    topic->name = name;
    topic->error_code = error;
    topic->error_message = reply_text(call, "Topic '%.*s' already exists.", REPLY_SPAN(name));
}

static void create_done(struct coordinator *c,
                        struct proposal *proposal,
                        const struct verdict *verdicts,
                        int count)
{
    struct audit *audit = proposal->data;
    audit_log(audit, verdicts, count);
    if (proposal->call != NULL) {
        struct creation *creation = audit->decision;
        for (int32_t r = 0; r < count; r++) {
            if (verdicts[r].error != KAFKA_NONE) {
                take_verdict(proposal->call,
                             &creation->response->topics[creation->record_topics[r]],
                             verdicts[r].error);
            }
        }
        coordinator_reply(c, proposal->call, creation->response);
    }
    audit_free(audit);
}

void create_topics_handle(struct coordinator *c, struct call *call)
{
    const struct create_topics_request *request = call->request;
    int32_t count = request->topics_count;
    struct creation *creation = arena_alloc(call->arena, sizeof *creation);
    struct audit *audit = audit_new(c, creation);
    struct buf records = BUF_EMPTY;
    struct span *names = arena_alloc(call->arena, sizeof *names * (size_t)count);
    creation->record_topics =
        arena_alloc(call->arena, sizeof *creation->record_topics * (size_t)count);
    creation->response = reply_new(call, create_topics_response_schema());
    creation->response->topics_count = count;
    creation->response->topics = reply_elements(call, create_topics_response_topic_schema(), count);
    for (int32_t i = 0; i < count; i++) {
        names[i] = request->topics[i].name;
    }
    const bool *is_duplicate = topics_find_duplicates(call->arena, names, count);
    for (int32_t i = 0; i < count; i++) {
        decide_topic(c, call, audit, i, is_duplicate[i], &records);
    }
    audit_propose(c, audit, call, &records, create_done);
}
