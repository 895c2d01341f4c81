/* Proposals in flight: what waits for its own entry in the log.
 *
 * Proposals of one term are applied in the order in which they were made, so they form a queue;
 * those of an earlier term complete nothing (R10), coordinator_deposed() has answered their calls.
 * A proposal whose call was answered by its deadline (R11) stays in the queue until its fate is
 * known, since its outcome is unknown until then and its group must stay gated. */
#ifndef SERVER_CORE_PROPOSAL_H
#define SERVER_CORE_PROPOSAL_H

#include <stdbool.h>
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

/* Answers with [error] what waits for the proposal beside its call. [is_void]: the log refused it,
 * nothing of it will ever be applied; otherwise its time is up and its outcome unknown, it stays in
 * the queue. */
typedef void proposal_give_up_fn(struct coordinator *c,
                                 struct proposal *proposal,
                                 int16_t error,
                                 bool is_void);

struct proposal {
    uint64_t number;
    struct call *call; /* waits for it; NULL: none, or answered meanwhile */
    uint64_t group;    /* the group whose gate it closes (structural decisions); 0: none */
    proposal_fn *done;
    proposal_give_up_fn *give_up; /* may be NULL */
    void *data;               /* of [done]'s; in the call's arena, or freed by done and by [drop] */
    void (*drop)(void *data); /* frees data if done is never called; may be NULL */
    int64_t deadline_ms;      /* R11 */
    struct proposal *next;
    struct proposal *prev;
};

/* Emits EFFECT_PROPOSE with [records] (may be empty: a read's marker), parks [call] (may be NULL)
 * with the deadline of R11. Takes over the bytes of [records] and empties it. Only while LEADING
 * (or, for the barrier of R9, SETTLING). */
struct proposal *proposal_make(struct coordinator *c,
                               struct call *call,
                               struct buf *records,
                               proposal_fn *done);

/* For chunks (R8): what they stage is judged with the record that closes them. */
proposal_fn proposal_chunk_done;

/* ---- For coordinator.c ---- */

/* The proposals of a coordinator, first made first. */
struct proposals {
    struct proposal *first;
    struct proposal *last;
    struct proposal *due; /* the first whose time is not up; NULL: none */
};

void proposals_init(struct proposals *proposals);
/* Number [number] of this term was applied. */
void proposals_applied(struct coordinator *c,
                       uint64_t number,
                       const struct verdict *verdicts,
                       int count);
/* The log refused it: its call and what else waits is answered 15 where the log is [full], else 16.
 * Later ones of the same decision (R8) are taken back: their entries would make no sense. */
void proposals_refused(struct coordinator *c, uint64_t number, bool full);
/* R11: answers for those whose time is up. */
void proposals_expire(struct coordinator *c);
/* INT64_MAX: none. */
int64_t proposals_next_deadline(const struct coordinator *c);
/* Leadership is gone: answers the calls, forgets all. Their outcome stays unknown. */
void proposals_drop(struct coordinator *c);

#endif
