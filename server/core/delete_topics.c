/* DeleteTopics (20), v0-6. Version notes: v5 messages; v6 by name or by id, one of the two.
 *
 * The topic's offsets are dead with it: no call shows them any more, and the sweep (expiry.c)
 * removes their rows. */
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/audit.h"
#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/reply.h"
#include "server/core/topics.h"

/* In the call's arena. */
struct deletion {
    struct delete_topics_response *response;
    int32_t *record_topics; /* for each record: its topic's place in the reply */
    int32_t records_count;
};

/* Which topic an entry means. A topic that is named twice, by name or by id, is refused twice. */
static int16_t resolve(struct coordinator *c,
                       struct call *call,
                       int32_t at,
                       const struct topic **topic,
                       struct span *text)
{
    const struct delete_topics_request *request = call->request;
    if (call->api_version < 6) {
        *topic = state_topic(c->state, request->topic_names[at]);
    } else if (span_is_null(request->topics[at].name) ==
               uuid_is_zero(request->topics[at].topic_id)) {
        *text = reply_text(call, "Give the topic's name or its id, one of the two.");
        return KAFKA_INVALID_REQUEST;
    } else if (span_is_null(request->topics[at].name)) {
        *topic = state_topic_by_uuid(c->state, &request->topics[at].topic_id);
        *text = reply_text(call, "No topic has this id.");
        return *topic == NULL ? KAFKA_UNKNOWN_TOPIC_ID : KAFKA_NONE;
    } else {
        *topic = state_topic(c->state, request->topics[at].name);
    }
    *text = reply_text(call, "There is no topic of this name.");
    return *topic == NULL ? KAFKA_UNKNOWN_TOPIC_OR_PARTITION : KAFKA_NONE;
}

static void decide_topic(struct coordinator *c,
                         struct call *call,
                         struct audit *audit,
                         int32_t at,
                         const struct topic *topic,
                         struct buf *records)
{
    struct deletion *deletion = audit->decision;
    struct record_topic_deleted record = {.topic = topic->id};
    record_append(records, RECORD_TOPIC_DELETED, &record);
    deletion->record_topics[deletion->records_count++] = at;
    audit_add(audit, call, "topic_deleted topic=%s partitions=%d reason=operator",
              effect_text(&c->effects, topic->name), topic->partitions_count);
}

static void delete_done(struct coordinator *c,
                        struct proposal *proposal,
                        const struct verdict *verdicts,
                        int count)
{
    struct audit *audit = proposal->data;
    audit_log(audit, verdicts, count);
    if (proposal->call != NULL) {
        struct deletion *deletion = audit->decision;
        for (int32_t r = 0; r < count; r++) {
            struct delete_topics_response_topic *topic =
                &deletion->response->responses[deletion->record_topics[r]];
            if (verdicts[r].error != KAFKA_NONE) {
                topic->error_code = verdicts[r].error;
                topic->error_message = reply_text(proposal->call, "Somebody else deleted it.");
            }
        }
        coordinator_reply(c, proposal->call, deletion->response);
    }
    audit_free(audit);
}

/* The entries of the reply, and which topic each of them means; NULL where it is refused. */
static const struct topic **resolve_all(struct coordinator *c,
                                        struct call *call,
                                        struct delete_topics_response *response)
{
    int32_t count = response->responses_count;
    const struct delete_topics_request *request = call->request;
    const struct topic **topics = arena_alloc(call->arena, sizeof *topics * (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        struct delete_topics_response_topic *answer = &response->responses[i];
        struct span text = SPAN_NULL;
        answer->name = call->api_version < 6 ? request->topic_names[i] : request->topics[i].name;
        if (call->api_version >= 6) {
            answer->topic_id = request->topics[i].topic_id;
        }
        answer->error_code = resolve(c, call, i, &topics[i], &text);
        if (answer->error_code != KAFKA_NONE) {
            answer->error_message = text;
            topics[i] = NULL;
            continue;
        }
        answer->name = arena_copy(call->arena, topics[i]->name); /* it is gone when we answer */
        answer->topic_id = topics[i]->uuid;
    }
    return topics;
}

/* Refuses each entry whose topic another entry means, too. */
static void refuse_duplicates(struct call *call,
                              struct delete_topics_response *response,
                              const struct topic **topics)
{
    int32_t count = response->responses_count;
    int32_t found = 0;
    struct span *names = arena_alloc(call->arena, sizeof *names * (size_t)count);
    int32_t *places = arena_alloc(call->arena, sizeof *places * (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        if (topics[i] != NULL) {
            names[found] = topics[i]->name;
            places[found++] = i;
        }
    }
    const bool *is_duplicate = topics_find_duplicates(call->arena, names, found);
    for (int32_t i = 0; i < found; i++) {
        if (is_duplicate[i]) {
            struct delete_topics_response_topic *answer = &response->responses[places[i]];
            answer->error_code = KAFKA_INVALID_REQUEST;
            answer->error_message =
                reply_text(call, "The request names this topic more than once.");
            topics[places[i]] = NULL;
        }
    }
}

void delete_topics_handle(struct coordinator *c, struct call *call)
{
    const struct delete_topics_request *request = call->request;
    int32_t count = call->api_version < 6 ? request->topic_names_count : request->topics_count;
    struct deletion *deletion = arena_alloc(call->arena, sizeof *deletion);
    struct audit *audit = audit_new(c, deletion);
    struct buf records = BUF_EMPTY;
    deletion->record_topics =
        arena_alloc(call->arena, sizeof *deletion->record_topics * (size_t)count);
    deletion->response = reply_new(call, delete_topics_response_schema());
    deletion->response->responses_count = count;
    deletion->response->responses =
        reply_elements(call, delete_topics_response_topic_schema(), count);
    const struct topic **topics = resolve_all(c, call, deletion->response);
    refuse_duplicates(call, deletion->response, topics);
    for (int32_t i = 0; i < count; i++) {
        if (topics[i] != NULL) {
            decide_topic(c, call, audit, i, topics[i], &records);
        }
    }
    audit_propose(c, audit, call, &records, delete_done);
}
