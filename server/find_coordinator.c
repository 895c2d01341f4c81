/* FindCoordinator (10), v0-6.
 *
 * Version notes
 *   v0    groups only; v1 has a key type, an error text and a throttle time
 *   v4    several keys, each with its own answer, and no single fields
 *   v5    allows one more error; v6 allows share groups, which are refused here
 *
 * The raft leader coordinates every group. Where no leader is known the answer is 15, which every
 * client retries, never a node that would deny it. */
#include "rpc/errors.h"
#include "server/local_parts.h"

enum key_type { KEY_GROUP = 0, KEY_TRANSACTION = 1 };

static void refuse(struct find_coordinator_response_coordinator *out,
                   int16_t error,
                   const char *message)
{
    out->error_code = error;
    out->error_message = span_from_cstr(message);
    out->node_id = -1;
    out->port = -1;
}

static void answer_group(const struct local_cluster *cluster,
                         struct find_coordinator_response_coordinator *out)
{
    if (cluster->leader != NULL) {
        out->node_id = cluster->leader->id;
        out->host = cluster->leader->host;
        out->port = cluster->leader->port;
        out->error_message = SPAN_NULL;
        return;
    }
    refuse(out, KAFKA_COORDINATOR_NOT_AVAILABLE,
           cluster->leader_lacks_listener
               ? "The leading node has no listener of this name: every node needs the same ones."
               : "No node leads at the moment.");
}

static void answer(const struct local_context *ctx,
                   const struct local_cluster *cluster,
                   int8_t key_type,
                   struct find_coordinator_response_coordinator *out)
{
    if (key_type == KEY_GROUP) {
        answer_group(cluster, out);
    } else if (key_type == KEY_TRANSACTION) {
        refuse(out, KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
               "Roster coordinates consumer groups and has no transactions.");
        local_hint(ctx, "transaction_refused", out->key,
                   "a client asks for the coordinator of a transaction: there are no transactions "
                   "here");
    } else {
        refuse(out, KAFKA_INVALID_REQUEST,
               "Roster coordinates consumer groups only: there is no coordinator for keys of this "
               "type.");
    }
}

static void answer_one(const struct local_context *ctx,
                       const struct local_cluster *cluster,
                       const struct find_coordinator_request *request,
                       struct find_coordinator_response *response)
{
    struct find_coordinator_response_coordinator one = {
        .key = request->key, .host = SPAN_EMPTY, .error_message = SPAN_NULL};
    answer(ctx, cluster, request->key_type, &one);
    response->error_code = one.error_code;
    response->error_message = one.error_message;
    response->node_id = one.node_id;
    response->host = one.host;
    response->port = one.port;
}

static void answer_batch(const struct local_context *ctx,
                         const struct local_cluster *cluster,
                         const struct call *call,
                         struct find_coordinator_response *response)
{
    const struct find_coordinator_request *request = call->request;
    int32_t count = request->coordinator_keys_count;
    response->coordinators =
        local_structs(call->arena, find_coordinator_response_coordinator_schema(), count);
    response->coordinators_count = count;
    for (int32_t i = 0; i < count; i++) {
        struct find_coordinator_response_coordinator *out = &response->coordinators[i];
        out->key = request->coordinator_keys[i];
        out->error_message = SPAN_NULL;
        if (i < LOCAL_COORDINATOR_KEYS_MAX) {
            answer(ctx, cluster, request->key_type, out);
        } else {
            refuse(out, KAFKA_INVALID_REQUEST, NULL);
        }
    }
}

void find_coordinator_handle(const struct local_context *ctx,
                             const struct call *call,
                             struct local_reply *out)
{
    struct local_cluster cluster;
    local_find_cluster(ctx, call->arena, &cluster);
    struct find_coordinator_response *response =
        local_structs(call->arena, find_coordinator_response_schema(), 1);
    if (call->api_version >= 4) {
        answer_batch(ctx, &cluster, call, response);
    } else {
        answer_one(ctx, &cluster, call->request, response);
    }
    out->response = response;
}
