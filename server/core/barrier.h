/* The join barrier of a round: from the first reason for a rebalance to the generation in the log,
 * and the wait for SyncGroups behind it. Rules: protocol C.3.2. */
#ifndef SERVER_CORE_BARRIER_H
#define SERVER_CORE_BARRIER_H

#include "rpc/schema.h"
#include "server/core/round.h"

/* ---- barrier.c ---- */

/* Begins a rebalance unless one is on: parked SyncGroups are answered 27. From Empty it is the
 * initial delay. [member_id], [client_id]: who is the cause. */
void barrier_prepare(struct coordinator *c,
                     struct round *round,
                     enum rebalance_cause cause,
                     struct span member_id,
                     struct span client_id);
/* The barrier stands (again): the log had no room for what it decided. */
void barrier_restart(struct coordinator *c, struct round *round);
/* Begins one where the facts ask for it, ends one whose barrier is complete. The gate is open and
 * nobody is flagged. */
void barrier_turn(struct coordinator *c, struct round *round);
/* Somebody new has joined: may extend the initial delay. */
void barrier_joined(struct round *round);
/* Deadlines of a round. */
deadline_fn barrier_due;
deadline_fn barrier_sync_due;
void barrier_arm_sync(struct coordinator *c, struct round *round);
void barrier_log_empty(struct coordinator *c, struct round *round);

/* ---- barrier_complete.c ---- */

/* Decides the next generation from who is here. */
void barrier_complete(struct coordinator *c, struct round *round);

/* ---- barrier_views.c ---- */

/* Views of the members of the facts in their order, then of the candidates in order of their joins;
 * in the effects' arena. */
struct seat_view *barrier_views(struct coordinator *c, const struct round *round, int32_t *count);
/* The type of the protocols of members and candidates; of an Empty group: the last one. */
struct span barrier_protocol_type(const struct round *round);
/* Whether a join's type and protocols go with everybody who is in the group (C.3.1, check 8). */
bool barrier_accepts(struct coordinator *c,
                     const struct group_slot *slot,
                     const struct join_group_request *request);
/* The protocol that these would vote for: most votes, then the first one's order. Null if they have
 * none in common. */
struct span barrier_select(const struct seat_view *views, int32_t count);
/* A view is a new one now: a candidate's, or that of [member] with another join. */
void barrier_view_changed(struct round *round,
                          const struct member *member,
                          const struct join_group_request *request,
                          bool had_join);

#endif
