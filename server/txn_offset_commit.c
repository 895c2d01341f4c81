/* TxnOffsetCommit (28), v0-5: served only to be refused.
 *
 * Version notes
 *   v3  the membership it was made under: not looked at
 *
 * Offsets of a transaction become visible by a marker that the transaction's coordinator writes,
 * and there is none here (protocol.md B.31). 53 ends the client's attempt at once. */
#include "rpc/errors.h"
#include "server/local_parts.h"

static void refuse_topic(struct arena *arena,
                         const struct txn_offset_commit_request_topic *asked,
                         struct txn_offset_commit_response_topic *out)
{
    out->name = asked->name;
    out->partitions_count = asked->partitions_count;
    out->partitions = local_structs(arena, txn_offset_commit_response_partition_schema(),
                                    asked->partitions_count);
    for (int32_t p = 0; p < asked->partitions_count; p++) {
        out->partitions[p].partition_index = asked->partitions[p].partition_index;
        out->partitions[p].error_code = KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    }
}

void txn_offset_commit_handle(const struct local_context *ctx,
                              const struct call *call,
                              struct local_reply *out)
{
    const struct txn_offset_commit_request *request = call->request;
    local_hint(ctx, "transaction_refused", request->transactional_id,
               "a client commits offsets in a transaction: there are no transactions here, commit "
               "them without one");
    struct txn_offset_commit_response *response =
        local_structs(call->arena, txn_offset_commit_response_schema(), 1);
    response->topics = local_structs(call->arena, txn_offset_commit_response_topic_schema(),
                                     request->topics_count);
    response->topics_count = request->topics_count;
    for (int32_t i = 0; i < request->topics_count; i++) {
        refuse_topic(call->arena, &request->topics[i], &response->topics[i]);
    }
    out->response = response;
}
