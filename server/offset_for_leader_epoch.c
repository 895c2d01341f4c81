/* OffsetForLeaderEpoch (23), v2-4.
 *
 * Version notes
 *   v3  the replica that asks: all are answered alike
 *   v4  flexible
 *
 * Sent by consumers that resume from a commit which carries a leader epoch. There is one epoch,
 * and nothing was ever truncated: its end is above every position, so no client resets. A higher
 * epoch, which a commit may carry since clients choose it freely, gets the same answer for the same
 * reason. The request says no position, so any node can answer. */
#include "rpc/errors.h"
#include "server/local_parts.h"

static void answer_partition(const struct topic *topic,
                             const struct offset_for_leader_epoch_request_partition *asked,
                             struct offset_for_leader_epoch_response_partition *out)
{
    out->partition = asked->partition;
    if (local_topic_of(topic, asked->partition) == NULL) {
        out->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        return;
    }
    out->error_code = local_check_epoch(asked->current_leader_epoch);
    if (out->error_code == KAFKA_NONE && asked->leader_epoch >= LOCAL_LEADER_EPOCH) {
        out->leader_epoch = LOCAL_LEADER_EPOCH;
        out->end_offset = INT64_MAX;
    }
}

void offset_for_leader_epoch_handle(const struct local_context *ctx,
                                    const struct call *call,
                                    struct local_reply *out)
{
    const struct offset_for_leader_epoch_request *request = call->request;
    struct offset_for_leader_epoch_response *response =
        local_structs(call->arena, offset_for_leader_epoch_response_schema(), 1);
    response->topics = local_structs(call->arena, offset_for_leader_epoch_response_topic_schema(),
                                     request->topics_count);
    response->topics_count = request->topics_count;
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct offset_for_leader_epoch_request_topic *asked = &request->topics[i];
        struct offset_for_leader_epoch_response_topic *answer = &response->topics[i];
        const struct topic *topic = state_topic(ctx->state, asked->topic);
        answer->topic = asked->topic;
        answer->partitions_count = asked->partitions_count;
        answer->partitions =
            local_structs(call->arena, offset_for_leader_epoch_response_partition_schema(),
                          asked->partitions_count);
        for (int32_t p = 0; p < asked->partitions_count; p++) {
            answer_partition(topic, &asked->partitions[p], &answer->partitions[p]);
        }
    }
    out->response = response;
}
