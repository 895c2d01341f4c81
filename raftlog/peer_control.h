/* The control connections: each node dials each other one, asks for its status once a second (more
 * often while it has not started) and answers the questions of those that dialed it. */
#ifndef RAFTLOG_PEER_CONTROL_H
#define RAFTLOG_PEER_CONTROL_H

#include "raftlog/dial.h"
#include "raftlog/peer_status.h"

enum {
    PEER_CONTROL_PERIOD_MS = 1000,
    PEER_CONTROL_FAST_PERIOD_MS = 100,
    PEER_CONTROL_SILENCE_MS = 5000, /* without an answer: the connection is dropped */
    /* When a connection ends, new ones are tried at once, to learn whether the process is gone. */
    PEER_CONTROL_QUICK_TRIES = 5,
    PEER_CONTROL_QUICK_MS = 10
};

struct peer_link;

struct peer_control_events {
    /* Where a node is. */
    bool (*find)(void *ctx, uint64_t node_id, struct dial_target *target);
    /* Fills in all but kind and number. */
    void (*describe)(void *ctx, uint64_t node_id, struct peer_status *status);
    /* A question or an answer; of an answer [round_trip_ms] (else -1). */
    void (*heard)(void *ctx,
                  uint64_t node_id,
                  const struct peer_status *status,
                  int64_t round_trip_ms);
    void (*dialed)(void *ctx, uint64_t node_id, const struct handshake_result *result);
    /* We were connected; the connection broke, and the node's port refuses a new one: its process
     * has ended. */
    void (*died)(void *ctx, uint64_t node_id);
};

struct peer_control_out; /* to one node */

struct peer_control {
    uv_loop_t *loop;
    const struct handshake_self *self;
    const struct peer_control_events *events;
    void *ctx;
    struct peer_control_out *outs;
    size_t outs_count;
    struct peer_link *inbound;
    size_t open_count; /* links, dials and timers that have not come back from libuv */
    uint64_t period_ms;
    bool is_closing;
    void (*closed)(void *ctx);
};

/* loop, self, events and ctx must be set. Dials at once. */
void peer_control_start(struct peer_control *control, const uint64_t *node_ids, size_t count);

/* Asks all linked nodes now, and then at this period. */
void peer_control_set_period(struct peer_control *control, uint64_t period_ms);

/* A peer has connected to us (HELLO_CONTROL): takes over result->tcp. */
void peer_control_accept(struct peer_control *control, const struct handshake_result *result);

void peer_control_close(struct peer_control *control, void (*closed)(void *ctx));

#endif
