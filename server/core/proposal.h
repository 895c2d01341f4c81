/* Proposals in flight: what waits for its own entry in the log.
 *
 * Proposals of one term are applied in the order in which they were made, so they form a queue;
 * those of an earlier term complete nothing (R10), coordinator_deposed() has answered their calls.
 * A proposal whose call was answered by its deadline (R11) stays in the queue until its fate is
 * known, since its outcome is unknown until then and its group must stay gated. */
#ifndef SERVER_CORE_PROPOSAL_H
#define SERVER_CORE_PROPOSAL_H

#include <stdint.h>

#include "rpc/buf.h"
#include "server/core/call.h"
#include "server/core/state.h"

struct coordinator;
struct proposal;

/* Called once, when the proposal was applied: [verdicts] are one per record. The call, if it is
 * still there (proposal->call), must be answered or parked anew. */
typedef void proposal_fn(struct coordinator *c,
                         struct proposal *proposal,
                         const struct verdict *verdicts,
                         int count);

struct proposal {
    uint64_t number;
    struct call *call; /* waits for it; NULL: none, or answered meanwhile */
    uint64_t group;    /* the group whose gate it closes (structural decisions); 0: none */
    proposal_fn *done;
    void *data; /* of [done]'s; in the call's arena, or freed by done and by [drop] */
    void (*drop)(void *data); /* frees data if done is never called; may be NULL */
    struct proposal *next;
};

/* Emits EFFECT_PROPOSE with [records] (may be empty: a read's marker), parks [call] (may be NULL)
 * with the deadline of R11. Takes over the bytes of [records] and empties it. Only while LEADING
 * (or, for the barrier of R9, SETTLING). */
struct proposal *proposal_make(struct coordinator *c,
                               struct call *call,
                               struct buf *records,
                               proposal_fn *done);

#endif
