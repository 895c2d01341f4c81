/* One control connection: status messages in both directions, bounded. */
#ifndef RAFTLOG_PEER_LINK_H
#define RAFTLOG_PEER_LINK_H

#include <uv.h>

#include "raftlog/peer_status.h"

/* What may wait to be written before the connection counts as dead. */
enum { PEER_LINK_BEHIND_BYTES_MAX = 65536 };

struct peer_link {
    struct peer_link *next; /* for the owner */
    void *owner;
    uint64_t node_id;
    void (*received)(struct peer_link *link, const struct peer_status *status);
    /* The last call; the link frees itself afterwards. */
    void (*ended)(struct peer_link *link);
    uv_tcp_t *tcp;
    bool is_over;
    struct buf in;
};

/* Takes over [tcp]. [received] is not called from within it. */
struct peer_link *peer_link_start(uv_tcp_t *tcp,
                                  uint64_t node_id,
                                  struct span leftover,
                                  void (*received)(struct peer_link *, const struct peer_status *),
                                  void (*ended)(struct peer_link *),
                                  void *owner);

void peer_link_send(struct peer_link *link, const struct peer_status *status);

/* Ends it; ended() is called later. */
void peer_link_stop(struct peer_link *link);

#endif
