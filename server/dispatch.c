#include "server/dispatch.h"

#include <string.h>

#include "rpc/codec.h"
#include "rpc/frame.h"
#include "server/api_versions.h"
#include "server/conn.h"
#include "server/core/coordinator.h"
#include "server/entropy.h"
#include "server/local.h"

void dispatch_init(struct dispatch *dispatch,
                   struct driver *driver,
                   const char *cluster_id,
                   uint64_t node_id)
{
    memset(dispatch, 0, sizeof *dispatch);
    dispatch->driver = driver;
    dispatch->cluster_id = cluster_id;
    dispatch->node_id = node_id;
}

static void refuse(struct request *request, const struct request_header *header, const char *why)
{
    struct conns *conns = request->conns;
    struct log_text client_id;
    conns->counters.bad_requests++;
    log_limited(&conns->rates.bad_requests, LOG_LEVEL_WARN,
                "bad_request effect=closed client=%s client_id=\"%s\" api=%d version=%d why=%s",
                request->conn->client_host, log_text(&client_id, header->client_id),
                header->api_key, header->api_version, why);
    conn_refuse(request);
}

/* All of the call but the decoded request. */
static void set_up_call(struct request *request, const struct request_header *header)
{
    const struct conn *conn = request->conn;
    memcpy(request->client_host, conn->client_host, conn->client_host_len);
    request->correlation_id = header->correlation_id;
    request->call = (struct call){
        .api_key = header->api_key,
        .api_version = header->api_version,
        .client_id = header->client_id,
        .client_host = span_of(request->client_host, conn->client_host_len),
        .arena = &request->arena,
    };
    entropy_fill(request->call.entropy, sizeof request->call.entropy);
}

static void give_hint(void *ctx, const char *event, struct span key, const char *text)
{
    struct dispatch *dispatch = ctx;
    hint_give(&dispatch->hints, driver_now_ms(dispatch->driver), event, key, text);
}

static void answer_locally(struct dispatch *dispatch, struct request *request)
{
    struct conn *conn = request->conn;
    struct local_context context = {
        .state = driver_state(dispatch->driver),
        .cluster_id = dispatch->cluster_id,
        .node_id = dispatch->node_id,
        .leader_id = driver_leader_id(dispatch->driver),
        .listener = conn->listener,
        .self = dispatch->self,
        .hint = give_hint,
        .hint_ctx = dispatch,
    };
    struct local_reply reply = {0};
    local_handle(&context, &request->call, &reply);
    if (reply.response == NULL) {
        conn_skip(request);
    } else if (reply.hold_ms > 0 && !reply.close) {
        conn_hold(request, reply.response, reply.hold_ms);
    } else {
        conn_reply(request, reply.response);
    }
    if (reply.close) {
        conn_end(conn);
    }
}

static void hand_over(struct dispatch *dispatch,
                      struct request *request,
                      const struct request_header *header)
{
    if (header->api_key == API_ApiVersions) {
        conn_reply(request,
                   api_versions_handle(&request->call, span_from_cstr(dispatch->cluster_id),
                                       dispatch->node_id));
    } else if (coordinator_serves(header->api_key)) {
        request->conn->is_members = true;
        conn_charge(request);
        driver_request(dispatch->driver, &request->call);
    } else if (local_serves(header->api_key)) {
        answer_locally(dispatch, request);
    } else {
        refuse(request, header, "not-served");
    }
}

void dispatch_request(void *ctx, struct request *request)
{
    struct dispatch *dispatch = ctx;
    struct reader reader = reader_of(
        span_of(request->frame.data + FRAME_PREFIX_BYTES, request->frame.len - FRAME_PREFIX_BYTES));
    struct request_header header;
    enum codec_error error = frame_read_header(&reader, &header, &request->api);
    if (request->api == NULL) {
        refuse(request, &header, codec_error_name(error));
        return;
    }
    set_up_call(request, &header);
    if (error == CODEC_UNSUPPORTED_VERSION && request->api->key == API_ApiVersions) {
        request->call.api_version = 0;
        conn_reply(request, api_versions_unsupported(&request->call));
        return;
    }
    if (error == CODEC_OK) {
        const struct kafka_schema *schema = request->api->request();
        void *decoded = arena_alloc(&request->arena, schema->size);
        error = codec_decode(schema, header.api_version, &reader, &request->arena, decoded);
        request->call.request = decoded;
    }
    if (error != CODEC_OK) {
        refuse(request, &header, codec_error_name(error));
        return;
    }
    hand_over(dispatch, request, &header);
}

void dispatch_gone(void *ctx, struct request *request)
{
    struct dispatch *dispatch = ctx;
    driver_gone(dispatch->driver, &request->call);
}

void dispatch_reply(struct call *call, const void *response)
{
    conn_reply(request_of_call(call), response);
}
