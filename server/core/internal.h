/* What the coordinator's own files share. Nobody else includes it.
 *
 * One file per API or per noun; a handler decides on facts (const struct state) and the round, and
 * ends in exactly one of: reply_*() now, proposal_make() with the call, or parking the call in the
 * round. */
#ifndef SERVER_CORE_INTERNAL_H
#define SERVER_CORE_INTERNAL_H

#include <stddef.h>

#include "server/core/coordinator.h"
#include "server/core/deadline.h"
#include "server/core/effect.h"
#include "server/core/proposal.h"
#include "server/core/state.h"

enum role { ROLE_FOLLOWING, ROLE_SETTLING, ROLE_LEADING };

#define container_of(pointer, type, field) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, field)))

/* Calls in order of arrival; a call is in at most one list (call->link). */
struct call_list {
    struct call *first;
    struct call **last;
    size_t count;
};
void call_list_init(struct call_list *list);
void call_list_push(struct call_list *list, struct call *call);
struct call *call_list_pop(struct call_list *list);
void call_list_remove(struct call_list *list, struct call *call);

/* The soft states of groups that have one (round.h). */
struct rounds {
    struct round *first;
    struct round *dirty; /* to be looked at before this input ends, in order */
    struct round **dirty_last;
};

struct coordinator {
    struct coordinator_limits limits;
    uint64_t node_id;
    uint64_t leader_id; /* 0: nobody known */
    uint64_t term;      /* of SETTLING and LEADING */
    enum role role;
    bool is_stopping;
    int64_t now_ms;  /* of the input that is being handled */
    int64_t wall_ms; /* as of the last tick; -1: not to be trusted */

    struct state
        *state; /* handlers read it through state_*(); only coordinator_apply() changes it */
    struct effects effects;
    struct deadlines deadlines;
    struct coordinator_counters counters;

    uint64_t next_number; /* of the next proposal; starts at 1 in each term */
    struct proposals proposals;
    struct call_list unsettled; /* wait for the barrier; all for the same time */
    struct call_list orphans; /* their group was deleted under them: decided anew after the apply */
    size_t parked;            /* calls between request and reply */
    uint64_t next_sequence;

    struct rounds rounds;
    uint64_t takeover_at; /* R1: where the slices over all groups stand */
    bool takeover_pending;
    bool is_elected;          /* the barrier of the term has committed */
    bool has_begun;           /* this term has been LEADING */
    bool barrier_needed;      /* R9: a fresh proposal of ours must be applied before we serve */
    uint64_t barrier;         /* its number; 0: none in flight */
    int64_t barrier_at_ms;    /* when to try again */
    int64_t frozen_ms;        /* since when no deadline of a group may run (R9); -1: they run */
    struct verdict *verdicts; /* room for those of one proposal */
    size_t verdicts_cap;
    struct sweep *sweep;      /* expiry.c */
    struct roster *announced; /* nodes.c: cards that were heard of */
};

/* A handler per API: coordinator.c has the table. */
void join_group_handle(struct coordinator *c, struct call *call);
void sync_group_handle(struct coordinator *c, struct call *call);
void heartbeat_handle(struct coordinator *c, struct call *call);
void leave_group_handle(struct coordinator *c, struct call *call);
void offset_commit_handle(struct coordinator *c, struct call *call);
void offset_fetch_handle(struct coordinator *c, struct call *call);
void offset_delete_handle(struct coordinator *c, struct call *call);
void describe_groups_handle(struct coordinator *c, struct call *call);
void list_groups_handle(struct coordinator *c, struct call *call);
void delete_groups_handle(struct coordinator *c, struct call *call);
void create_topics_handle(struct coordinator *c, struct call *call);
void delete_topics_handle(struct coordinator *c, struct call *call);
void create_partitions_handle(struct coordinator *c, struct call *call);

/* coordinator.c: the call is over. */
void coordinator_reply(struct coordinator *c, struct call *call, const void *response);
/* Runs the call's handler (again): after what it waited for has happened. */
void coordinator_dispatch(struct coordinator *c, struct call *call);
/* Parks a call until the node serves. */
void coordinator_unsettle(struct coordinator *c, struct call *call);
/* Answers a call that was parked at a leader which leads no more. */
void coordinator_disown(struct coordinator *c, struct call *call);

/* reply.c: an error for the whole call, in the shape of its API and version (protocol.md C.1, B):
 * per group, per member or per partition where the API has no top-level code. */
void reply_error(struct coordinator *c, struct call *call, int16_t error);
/* The error for a call that this node cannot serve now (R20), and for one whose leader is gone. */
int16_t reply_error_of_role(const struct coordinator *c, const struct call *call);
/* R11: for a call whose proposal has not been decided in time. */
int16_t reply_error_of_timeout(const struct call *call);

/* round.c: soft state that other handlers ask about. All accept a slot without a round. */
/* The phase a client sees: the facts' phase, or Preparing while a round is on. */
enum group_phase round_phase(const struct group_slot *slot);
/* R6: the member's removal is in flight: its calls wait. Parks the call if so. */
bool round_waits_for_removal(struct coordinator *c,
                             struct group_slot *slot,
                             const struct member *member,
                             struct call *call);
/* The member is alive: its session starts anew (join, sync, heartbeat, accepted commit). */
void round_touch(struct coordinator *c, struct group_slot *slot, const struct member *member);
/* Answers what is parked in the group's round and frees it. */
void round_drop(struct coordinator *c, struct group_slot *slot, int16_t error);
/* The same where the group goes, but for calls that asked for no member of it: those are orphans.
 */
void round_orphan(struct coordinator *c, struct group_slot *slot);

/* expiry.c */
void sweep_init(struct coordinator *c);
void sweep_close(struct coordinator *c);
void sweep_start(struct coordinator *c); /* took over: the first sweep is one interval away */
void sweep_stop(struct coordinator *c);

/* nodes.c: the registry of nodes, kept up to date by the leader. */
void nodes_init(struct coordinator *c);
void nodes_close(struct coordinator *c);
void nodes_heard(struct coordinator *c, uint64_t node_id, struct span card);
void nodes_propose(struct coordinator *c); /* what differs from the registry; while LEADING */

#endif
