/* CreatePartitions (37), v0-3: a topic gets more partitions; the count is the new total. */
#include <inttypes.h>

#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/audit.h"
#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/reply.h"
#include "server/core/topics.h"

/* In the call's arena. */
struct growth {
    struct create_partitions_response *response;
    int32_t *record_results; /* for each record: its topic's place in the reply */
    int32_t records_count;
    int64_t partitions; /* more than now, of what was accepted so far */
};

static int16_t check_count(struct call *call,
                           const struct topic *topic,
                           const struct create_partitions_request_topic *asked,
                           struct span *text)
{
    if (asked->assignments_count > 0) {
        *text = reply_text(call,
                           "Stand-alone topics have no replicas to place: leave out the "
                           "assignments.");
        return KAFKA_INVALID_REPLICA_ASSIGNMENT;
    }
    if (asked->count <= topic->partitions_count) {
        *text = reply_text(call,
                           "The topic has %" PRId32 " partitions, and %" PRId32
                           " is not more: the count is the new total.",
                           topic->partitions_count, asked->count);
        return KAFKA_INVALID_PARTITIONS;
    }
    if (asked->count > LIMIT_PARTITIONS) {
        *text = reply_text(call, "A topic has at most %d partitions.", LIMIT_PARTITIONS);
        return KAFKA_INVALID_PARTITIONS;
    }
    return KAFKA_NONE;
}

static int16_t check_topic(struct coordinator *c,
                           struct call *call,
                           const struct create_partitions_request_topic *asked,
                           bool is_duplicate,
                           struct growth *growth,
                           struct span *text)
{
    const struct topic *topic = state_topic(c->state, asked->name);
    if (is_duplicate) {
        *text = reply_text(call, "The request names this topic more than once.");
        return KAFKA_INVALID_REQUEST;
    }
    if (topic == NULL) {
        *text = reply_text(call, "There is no topic of this name.");
        return KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    }
    int16_t error = check_count(call, topic, asked, text);
    if (error != KAFKA_NONE) {
        return error;
    }
    int64_t more = growth->partitions + asked->count - topic->partitions_count;
    error = topics_check_partitions(c, call, more, text);
    if (error == KAFKA_NONE) {
        growth->partitions = more;
    }
    return error;
}

static void decide_topic(struct coordinator *c,
                         struct call *call,
                         struct audit *audit,
                         int32_t at,
                         bool is_duplicate,
                         struct buf *records)
{
    const struct create_partitions_request *request = call->request;
    const struct create_partitions_request_topic *asked = &request->topics[at];
    struct growth *growth = audit->decision;
    struct create_partitions_response_result *answer = &growth->response->results[at];
    struct span text = SPAN_NULL;
    answer->name = asked->name;
    answer->error_code = check_topic(c, call, asked, is_duplicate, growth, &text);
    answer->error_message = text;
    if (answer->error_code != KAFKA_NONE || request->validate_only) {
        return;
    }
    const struct topic *topic = state_topic(c->state, asked->name);
    struct record_topic_grown record = {.topic = topic->id, .partitions = asked->count};
    record_append(records, RECORD_TOPIC_GROWN, &record);
    growth->record_results[growth->records_count++] = at;
    audit_add(audit, call, "topic_grown topic=%s from=%d to=%d",
              effect_text(&c->effects, topic->name), topic->partitions_count, asked->count);
}

static void take_verdict(struct call *call,
                         struct create_partitions_response_result *result,
                         int16_t error)
{
    result->error_code = error;
    if (error == KAFKA_INVALID_PARTITIONS) {
        result->error_message =
            reply_text(call, "Somebody else has enlarged the topic: it has as many already.");
    } else if (error != KAFKA_NONE) {
        result->error_message = reply_text(call, "Somebody else has deleted the topic.");
    }
}

static void create_done(struct coordinator *c,
                        struct proposal *proposal,
                        const struct verdict *verdicts,
                        int count)
{
    struct audit *audit = proposal->data;
    audit_log(audit, verdicts, count);
    if (proposal->call != NULL) {
        struct growth *growth = audit->decision;
        for (int32_t r = 0; r < count; r++) {
            take_verdict(proposal->call, &growth->response->results[growth->record_results[r]],
                         verdicts[r].error);
        }
        coordinator_reply(c, proposal->call, growth->response);
    }
    audit_free(audit);
}

void create_partitions_handle(struct coordinator *c, struct call *call)
{
    const struct create_partitions_request *request = call->request;
    int32_t count = request->topics_count;
    struct growth *growth = arena_alloc(call->arena, sizeof *growth);
    struct audit *audit = audit_new(c, growth);
    struct buf records = BUF_EMPTY;
    struct span *names = arena_alloc(call->arena, sizeof *names * (size_t)count);
    growth->record_results =
        arena_alloc(call->arena, sizeof *growth->record_results * (size_t)count);
    growth->response = reply_new(call, create_partitions_response_schema());
    growth->response->results_count = count;
    growth->response->results =
        reply_elements(call, create_partitions_response_result_schema(), count);
    for (int32_t i = 0; i < count; i++) {
        names[i] = request->topics[i].name;
    }
    const bool *is_duplicate = topics_find_duplicates(call->arena, names, count);
    for (int32_t i = 0; i < count; i++) {
        decide_topic(c, call, audit, i, is_duplicate[i], &records);
    }
    audit_propose(c, audit, call, &records, create_done);
}
