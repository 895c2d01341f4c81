/* InitProducerId (22), v0-5.
 *
 * Version notes
 *   v3  a producer that asks for a new epoch says its present id (KIP-360); it gets a new id
 *
 * An idempotent producer asks for an id before it sends anything, and has no way to show its user a
 * reason if that fails. So it gets one, and the refusal with the reason follows in Produce. A
 * transactional producer is refused: 53 is the code that ends its attempt at once. */
#include <string.h>

#include "rpc/errors.h"
#include "server/local_parts.h"

static int64_t id_of(const struct call *call)
{
    uint64_t bits;
    memcpy(&bits, call->entropy, sizeof bits);
    return (int64_t)(bits & INT64_MAX);
}

void init_producer_id_handle(const struct local_context *ctx,
                             const struct call *call,
                             struct local_reply *out)
{
    const struct init_producer_id_request *request = call->request;
    struct init_producer_id_response *response =
        local_structs(call->arena, init_producer_id_response_schema(), 1);
    out->response = response;
    if (span_is_null(request->transactional_id)) {
        response->producer_id = id_of(call);
        return;
    }
    response->error_code = KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    response->producer_epoch = -1;
    local_hint(ctx, "transaction_refused", request->transactional_id,
               "a client asks for a transactional producer: there are no transactions here");
}
