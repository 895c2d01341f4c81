/* Produce (0), v0-13: served only to be refused with a reason.
 *
 * Version notes
 *   v0   advertised from 0 on because old librdkafka looks for it before it consumes in groups
 *   v8   a text per partition: the reason; before, the error code alone
 *   v13  topics by id
 *
 * The code is one that no client retries. acks=0 gets no reply by the protocol; the connection is
 * closed, which is all that can be said to such a producer. */
#include "rpc/errors.h"
#include "server/local_parts.h"

static const char reason[] =
    "Roster coordinates consumer groups and stores no records: produce to the system that holds "
    "the data.";

static void refuse_topic(struct arena *arena,
                         const struct produce_request_topic *asked,
                         int32_t *texts_left,
                         struct produce_response_topic *out)
{
    out->name = asked->name;
    out->topic_id = asked->topic_id;
    out->partition_responses_count = asked->partition_data_count;
    out->partition_responses =
        local_structs(arena, produce_response_partition_schema(), asked->partition_data_count);
    for (int32_t p = 0; p < asked->partition_data_count; p++) {
        struct produce_response_partition *partition = &out->partition_responses[p];
        partition->index = asked->partition_data[p].index;
        partition->error_code = KAFKA_POLICY_VIOLATION;
        partition->base_offset = -1;
        if (*texts_left > 0) {
            partition->error_message = span_from_cstr(reason);
            *texts_left -= 1;
        }
    }
}

void produce_handle(const struct local_context *ctx,
                    const struct call *call,
                    struct local_reply *out)
{
    const struct produce_request *request = call->request;
    local_hint(ctx, "produce_refused", call->client_id, reason);
    if (request->acks == 0) {
        out->close = true;
        return;
    }
    struct produce_response *response = local_structs(call->arena, produce_response_schema(), 1);
    response->responses =
        local_structs(call->arena, produce_response_topic_schema(), request->topic_data_count);
    response->responses_count = request->topic_data_count;
    int32_t texts_left = LOCAL_PRODUCE_TEXTS_MAX;
    for (int32_t i = 0; i < request->topic_data_count; i++) {
        refuse_topic(call->arena, &request->topic_data[i], &texts_left, &response->responses[i]);
    }
    out->response = response;
}
