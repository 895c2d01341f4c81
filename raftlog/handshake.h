/* One handshake (hello.h) on one connection, as dialer or acceptor, within a time limit. */
#ifndef RAFTLOG_HANDSHAKE_H
#define RAFTLOG_HANDSHAKE_H

#include <uv.h>

#include "raftlog/hello.h"

enum { HANDSHAKE_TIMEOUT_MS = 2000 };

/* Who we are, to any number of handshakes. */
struct handshake_self {
    struct span secret;
    /* What we say to [peer_id]. */
    void (*describe)(void *ctx, uint64_t peer_id, struct hello *hello);
    /* What we think of what a peer that proved the secret says. */
    enum hello_verdict (*judge)(void *ctx, const struct hello *hello);
    void *ctx;
};

struct handshake_result {
    enum hello_verdict verdict; /* HELLO_OK: done */
    bool is_theirs;             /* the verdict is the other side's on us */
    int error;                  /* or a libuv error, e.g. UV_ETIMEDOUT */
    enum hello_purpose purpose;
    struct hello peer;    /* spans borrow for the time of the callback */
    struct span leftover; /* what the peer sent behind its message; borrowed likewise */
    uv_tcp_t *tcp;        /* of a success: given to the callback, which must close and free it.
                           * Else NULL: closed already */
};
typedef void (*handshake_cb)(void *ctx, const struct handshake_result *result);

struct handshake;

/* Takes over [tcp], which is connected and was allocated with malloc(). A dialer gives the purpose
 * and the node that it wants. [done] is called once unless the handshake is cancelled, never from
 * within this call. */
struct handshake *handshake_start(uv_tcp_t *tcp,
                                  enum hello_role role,
                                  enum hello_purpose purpose,
                                  uint64_t peer_id,
                                  const struct handshake_self *self,
                                  handshake_cb done,
                                  void *ctx);

/* Closes the connection; [done] is not called. */
void handshake_cancel(struct handshake *handshake);

#endif
