/* One attempt to reach a peer: resolve its name, connect to the addresses in turn, shake hands. */
#ifndef RAFTLOG_DIAL_H
#define RAFTLOG_DIAL_H

#include "raftlog/handshake.h"

enum { DIAL_CONNECT_TIMEOUT_MS = 1000 }; /* per address */

struct dial;

struct dial_target {
    uint64_t node_id;
    const char *host;
    uint16_t port;
    const char *bind_host; /* NULL, or the address to connect from */
};

/* [done] is called once, never from within this call, also after dial_cancel() (then with
 * UV_ECANCELED). [target] is copied, its strings must outlive the attempt. */
struct dial *dial_start(uv_loop_t *loop,
                        const struct dial_target *target,
                        enum hello_purpose purpose,
                        const struct handshake_self *self,
                        handshake_cb done,
                        void *ctx);

void dial_cancel(struct dial *dial);

#endif
