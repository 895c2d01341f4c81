/* Fetch (1), v0-18.
 *
 * Version notes
 *   v4   isolation level, aborted transactions; v5 log start; v7 sessions (KIP-227): none are kept,
 *        so every reply has session 0 and any other one in a request is unknown (70)
 *   v9   the leader epoch the client believes in: checked
 *   v12  last fetched epoch: never diverges, since there is one epoch
 *   v13  topics by id; v15-18 only for replicas
 *
 * There are no records. protocol.md D.2 says what keeps real clients calm: the reply is held for
 * the client's max wait, names exactly the partitions that were asked for, and the high watermark
 * of each is the offset it was asked at, whatever that is. Any node answers (R20). */
#include "rpc/build.h"
#include "rpc/errors.h"
#include "server/local_parts.h"

enum { READ_COMMITTED = 1 };

static int16_t check(const struct topic *topic,
                     int16_t version,
                     const struct fetch_request_partition *asked)
{
    if (topic == NULL && version >= 13) {
        return KAFKA_UNKNOWN_TOPIC_ID;
    }
    if (local_topic_of(topic, asked->partition) == NULL) {
        return KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    }
    return local_check_epoch(asked->current_leader_epoch);
}

static void answer_partition(const struct fetch_request_partition *asked,
                             int16_t error,
                             int8_t isolation_level,
                             struct fetch_response_partition *out)
{
    out->partition_index = asked->partition;
    out->error_code = error;
    /* Present and empty: some clients do not read null records. */
    out->records = SPAN_EMPTY;
    out->aborted_transactions_count = isolation_level == READ_COMMITTED ? 0 : -1;
    out->high_watermark = -1;
    if (error == KAFKA_NONE) {
        out->high_watermark = asked->fetch_offset;
        out->last_stable_offset = asked->fetch_offset;
        out->log_start_offset = 0;
    }
}

/* How many partitions were answered with an error. */
static int32_t answer_topic(const struct local_context *ctx,
                            const struct call *call,
                            const struct fetch_request_topic *asked,
                            struct fetch_response_topic *out)
{
    const struct fetch_request *request = call->request;
    const struct topic *topic = call->api_version >= 13
                                    ? state_topic_by_uuid(ctx->state, &asked->topic_id)
                                    : state_topic(ctx->state, asked->topic);
    out->topic = asked->topic;
    out->topic_id = asked->topic_id;
    out->partitions_count = asked->partitions_count;
    out->partitions =
        local_structs(call->arena, fetch_response_partition_schema(), asked->partitions_count);
    int32_t errors = 0;
    for (int32_t p = 0; p < asked->partitions_count; p++) {
        int16_t error = check(topic, call->api_version, &asked->partitions[p]);
#if ROSTER_BUG == 2206 /* followers send consumers on to the leader */
        error = ctx->leader_id == ctx->node_id ? error : KAFKA_NOT_LEADER_OR_FOLLOWER;
#endif
        answer_partition(&asked->partitions[p], error, request->isolation_level,
                         &out->partitions[p]);
        errors += error != KAFKA_NONE;
    }
    return errors;
}

static void answer_topics(const struct local_context *ctx,
                          const struct call *call,
                          struct fetch_response *response,
                          struct local_reply *out)
{
    const struct fetch_request *request = call->request;
    response->responses =
        local_structs(call->arena, fetch_response_topic_schema(), request->topics_count);
    response->responses_count = request->topics_count;
    int32_t errors = 0;
    int32_t partitions = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        errors += answer_topic(ctx, call, &request->topics[i], &response->responses[i]);
        partitions += request->topics[i].partitions_count;
    }
    if (errors == 0 && partitions > 0 && request->min_bytes > 0 && request->max_wait_ms > 0) {
        out->hold_ms = request->max_wait_ms;
    }
}

void fetch_handle(const struct local_context *ctx, const struct call *call, struct local_reply *out)
{
    const struct fetch_request *request = call->request;
    struct fetch_response *response = local_structs(call->arena, fetch_response_schema(), 1);
    if (request->session_id != 0 || request->session_epoch > 0) {
        response->error_code = KAFKA_FETCH_SESSION_ID_NOT_FOUND;
    } else {
        answer_topics(ctx, call, response, out);
    }
    out->response = response;
}
