/* The peer port: accepts connections, shakes hands, and passes on those that proved the secret. */
#ifndef RAFTLOG_PEER_LISTENER_H
#define RAFTLOG_PEER_LISTENER_H

#include "raftlog/handshake.h"

enum {
    /* Connections that have not proved anything yet. When one more comes, the oldest is closed: a
     * peer needs a few milliseconds, a stranger that holds connections open gains nothing. */
    PEER_LISTENER_PENDING_MAX = 64,
    PEER_LISTENER_BACKLOG = 128
};

struct peer_listener_pending;

struct peer_listener {
    uv_tcp_t tcp;
    const struct handshake_self *self;
    /* A peer: the result is a success. */
    void (*accepted)(void *ctx, const struct handshake_result *result);
    /* Not a peer; [from] is its address. */
    void (*refused)(void *ctx, const char *from, const struct handshake_result *result);
    void *ctx;
    struct peer_listener_pending *pending; /* newest first */
    size_t pending_count;
    bool is_open;
    void (*closed)(void *ctx);
};

/* [host] NULL: any address, IPv6 and IPv4. 0, or a libuv error. The other members must be set. */
int peer_listener_open(struct peer_listener *listener,
                       uv_loop_t *loop,
                       const char *host,
                       uint16_t port);

/* [closed] is called once, not from within this call if the listener was open. */
void peer_listener_close(struct peer_listener *listener, void (*closed)(void *ctx));

#endif
