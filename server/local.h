/* The APIs that any node answers by itself, from the committed facts, at once: discovery, the
 * metadata of stand-alone topics, and the data APIs that have no data (protocol.md D.2).
 *
 * A handler is a function of the facts and the request; dispatch.c does the rest. */
#ifndef SERVER_LOCAL_H
#define SERVER_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/span.h"
#include "server/core/call.h"
#include "server/core/state.h"

struct local_context {
    const struct state *state;
    const char *cluster_id;
    uint64_t node_id;
    uint64_t leader_id;      /* 0: nobody known; equal to node_id only while this node serves */
    struct span listener;    /* name of the listener the connection came through */
    const struct node *self; /* this node's own card: told to clients until the registry has it.
                              * NULL: not known */
    /* One helpful log line for what a user may be puzzled by; rate-limited behind it. [key]: what
     * the rate is limited by, such as a topic's name. */
    void (*hint)(void *ctx, const char *event, struct span key, const char *text);
    void *hint_ctx;
};

struct local_reply {
    const void *response; /* struct <api>_response in the call's arena; NULL: no reply at all
                           * (Produce with acks=0) */
    int32_t hold_ms;      /* > 0: send it after that long, or at once when another request waits
                           * behind it on the connection or the node stops */
    bool close;           /* close the connection behind the reply */
};

/* Whether local_handle() has the API. */
bool local_serves(int16_t api_key);
void local_handle(const struct local_context *ctx,
                  const struct call *call,
                  struct local_reply *out);

#endif
