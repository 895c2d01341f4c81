/* DescribeCluster (60), v0-2.
 *
 * Version notes
 *   v1  endpoint type: brokers are described, controllers (2) are refused, as on any broker
 *   v2  fenced brokers: there are none */
#include "rpc/errors.h"
#include "server/local_parts.h"

enum endpoint_type { ENDPOINT_BROKERS = 1, ENDPOINT_CONTROLLERS = 2 };

static void refuse(int8_t endpoint_type, struct describe_cluster_response *response)
{
    bool controllers = endpoint_type == ENDPOINT_CONTROLLERS;
    response->error_code =
        controllers ? KAFKA_MISMATCHED_ENDPOINT_TYPE : KAFKA_UNSUPPORTED_ENDPOINT_TYPE;
    response->error_message =
        controllers ? SPAN_LITERAL("This listener describes brokers, not controllers.")
                    : SPAN_LITERAL("Unknown endpoint type.");
}

static void describe(const struct local_context *ctx,
                     struct arena *arena,
                     struct describe_cluster_response *response)
{
    struct local_cluster cluster;
    local_find_cluster(ctx, arena, &cluster);
    response->controller_id = cluster.leader == NULL ? -1 : cluster.leader->id;
    response->brokers =
        local_structs(arena, describe_cluster_response_broker_schema(), cluster.brokers_count);
    response->brokers_count = cluster.brokers_count;
    for (int32_t i = 0; i < cluster.brokers_count; i++) {
        response->brokers[i] = (struct describe_cluster_response_broker){
            .broker_id = cluster.brokers[i].id,
            .host = cluster.brokers[i].host,
            .port = cluster.brokers[i].port,
            .rack = cluster.brokers[i].rack,
        };
    }
}

void describe_cluster_handle(const struct local_context *ctx,
                             const struct call *call,
                             struct local_reply *out)
{
    const struct describe_cluster_request *request = call->request;
    struct describe_cluster_response *response =
        local_structs(call->arena, describe_cluster_response_schema(), 1);
    response->cluster_id = span_from_cstr(ctx->cluster_id);
    response->endpoint_type = request->endpoint_type;
    if (request->endpoint_type == ENDPOINT_BROKERS) {
        describe(ctx, call->arena, response);
    } else {
        refuse(request->endpoint_type, response);
    }
    out->response = response;
}
