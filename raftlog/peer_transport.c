#include "raftlog/peer_transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "raftlog/dial.h"
#include "raftlog/peer_socket.h"
#include "rpc/ensure.h"

struct transport_dial {
    struct transport_dial *next;
    struct peer_transport *transport;
    struct raft_uv_connect *request;
    uint64_t node_id;
    struct dial *dial;
};

struct transport_inbound {
    struct transport_inbound *next;
    struct peer_transport *transport;
    uint64_t node_id;
    struct peer_pump *pump;
};

static void maybe_closed(struct peer_transport *transport)
{
    if (transport->is_closing && transport->dials == NULL && transport->inbound == NULL &&
        transport->closed != NULL) {
        raft_uv_transport_close_cb closed = transport->closed;
        transport->closed = NULL;
        closed(&transport->raft);
    }
}

static int on_init(struct raft_uv_transport *raft, raft_id id, const char *address)
{
    (void)raft;
    (void)id;
    (void)address;
    return 0;
}

static int on_listen(struct raft_uv_transport *raft, raft_uv_accept_cb accept)
{
    struct peer_transport *transport = raft->impl;
    transport->accept = accept;
    return 0;
}

static void on_dialed(void *ctx, const struct handshake_result *result)
{
    struct transport_dial *dial = ctx;
    struct peer_transport *transport = dial->transport;
    struct transport_dial **at = &transport->dials;
    while (*at != dial) {
        at = &(*at)->next;
    }
    *at = dial->next;
    transport->dialed(transport->ctx, dial->node_id, result);
    int status = result->error == UV_ECANCELED ? RAFT_CANCELED : RAFT_NOCONNECTION;
    uv_stream_t *stream = (uv_stream_t *)result->tcp;
    dial->request->cb(dial->request, stream, stream != NULL ? 0 : status);
    free(dial);
    maybe_closed(transport);
}

static int on_connect(struct raft_uv_transport *raft,
                      struct raft_uv_connect *request,
                      raft_id id,
                      const char *address,
                      raft_uv_connect_cb cb)
{
    (void)address;
    struct peer_transport *transport = raft->impl;
    struct dial_target target;
    if (!transport->find(transport->ctx, id, &target)) {
        return RAFT_NOCONNECTION;
    }
    struct transport_dial *dial = calloc(1, sizeof *dial);
    ensure(dial != NULL);
    *dial = (struct transport_dial){
        .next = transport->dials, .transport = transport, .request = request, .node_id = id};
    transport->dials = dial;
    request->cb = cb;
    dial->dial = dial_start(transport->loop, &target, HELLO_RAFT, transport->self, on_dialed, dial);
    return 0;
}

static void on_pump_ended(void *ctx,
                          uint64_t peer_id,
                          enum peer_frame_error error,
                          const char *reason)
{
    struct transport_inbound *inbound = ctx;
    struct peer_transport *transport = inbound->transport;
    struct transport_inbound **at = &transport->inbound;
    while (*at != inbound) {
        at = &(*at)->next;
    }
    *at = inbound->next;
    if (!transport->is_closing) {
        transport->ended(transport->ctx, peer_id, error, reason);
    }
    free(inbound);
    maybe_closed(transport);
}

void peer_transport_accept(struct peer_transport *transport, const struct handshake_result *result)
{
    if (transport->is_closing || transport->accept == NULL) {
        peer_socket_close(result->tcp); /* we have not started yet: the peer tries again */
        return;
    }
    uint64_t node_id = result->peer.node_id;
    for (struct transport_inbound *old = transport->inbound; old != NULL; old = old->next) {
        if (old->node_id == node_id) {
            peer_pump_stop(old->pump, "replaced by a newer connection");
        }
    }
    struct transport_inbound *inbound = calloc(1, sizeof *inbound);
    ensure(inbound != NULL);
    *inbound = (struct transport_inbound){.transport = transport, .node_id = node_id};
    uv_stream_t *far = NULL;
    inbound->pump = peer_pump_start(result->tcp, node_id, transport->configuration,
                                    result->leftover, &far, on_pump_ended, inbound);
    if (inbound->pump == NULL) {
        free(inbound);
        transport->ended(transport->ctx, node_id, PEER_FRAME_OK, "no descriptor left");
        return;
    }
    inbound->next = transport->inbound;
    transport->inbound = inbound;
    char address[24];
    snprintf(address, sizeof address, "%" PRIu64, node_id);
    transport->accept(&transport->raft, node_id, address, far);
}

static void on_close(struct raft_uv_transport *raft, raft_uv_transport_close_cb closed)
{
    struct peer_transport *transport = raft->impl;
    transport->is_closing = true;
    transport->closed = closed;
    for (struct transport_dial *dial = transport->dials; dial != NULL;) {
        struct transport_dial *next = dial->next;
        dial_cancel(dial->dial); /* unlinks and frees it */
        dial = next;
    }
    for (struct transport_inbound *inbound = transport->inbound; inbound != NULL;
         inbound = inbound->next) {
        peer_pump_stop(inbound->pump, "closing");
    }
    maybe_closed(transport);
}

void peer_transport_init(struct peer_transport *transport)
{
    transport->accept = NULL;
    transport->dials = NULL;
    transport->inbound = NULL;
    transport->closed = NULL;
    transport->is_closing = false;
    transport->raft = (struct raft_uv_transport){.impl = transport,
                                                 .init = on_init,
                                                 .listen = on_listen,
                                                 .connect = on_connect,
                                                 .close = on_close};
}
