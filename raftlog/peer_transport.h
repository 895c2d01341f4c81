/* The library's raft_uv_transport on our own connections: it dials with a handshake (dial.h) and
 * hands the library what passed the checks of peer_pump.h. The library's "address" of a node is
 * the text of its id; hosts are looked up here, at each connect. */
#ifndef RAFTLOG_PEER_TRANSPORT_H
#define RAFTLOG_PEER_TRANSPORT_H

#include <raft.h>
#include <raft/uv.h>

#include "raftlog/dial.h"
#include "raftlog/peer_pump.h"

struct transport_dial;
struct transport_inbound;

struct peer_transport {
    struct raft_uv_transport raft;
    uv_loop_t *loop;
    const struct handshake_self *self;
    struct span configuration; /* as the library encodes it */
    /* Where a node is; false: not a peer. */
    bool (*find)(void *ctx, uint64_t node_id, struct dial_target *target);
    /* A connection was made, could not be made, or ended. [error] is PEER_FRAME_OK unless the peer
     * sent something that it must not. */
    void (*dialed)(void *ctx, uint64_t node_id, const struct handshake_result *result);
    void (*ended)(void *ctx, uint64_t node_id, enum peer_frame_error error, const char *reason);
    void *ctx;
    raft_uv_accept_cb accept;
    struct transport_dial *dials;
    struct transport_inbound *inbound;
    raft_uv_transport_close_cb closed;
    bool is_closing;
};

/* All members but those behind ctx must be set. */
void peer_transport_init(struct peer_transport *transport);

/* A peer has connected to us (HELLO_RAFT): takes over result->tcp. An older connection of the same
 * peer ends. */
void peer_transport_accept(struct peer_transport *transport, const struct handshake_result *result);

#endif
