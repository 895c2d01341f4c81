/* The soft state of one group, on the leader only: who sits in it, whose calls are parked, which
 * deadlines run, and which decision is in flight. It goes with leadership; what must go on follows
 * from the facts again (R1).
 *
 *              first join              delay over            applied
 *   IDLE ----------------> INITIAL ---------------> GENERATING ------> IDLE (facts: Completing)
 *     |                                                 ^   |
 *     |  a member joined, changed, left, expired        |   | refused by the log
 *     '--------------------------> JOINING -------------'   '---> JOINING
 *                                  everybody rejoined, or the rebalance timeout
 *
 * In IDLE the group's phase is that of its facts; in the others clients see PreparingRebalance.
 *
 * The gate. One structural decision (generation, assignment, removal, replacement) per group is in
 * flight at a time; structural calls that come meanwhile wait in the round and are decided together
 * when it has been applied. Replacements of different static members do not touch each other, so
 * they share the gate.
 *
 * A turn. Handlers and deadlines only change seats and mark the round; round_turn(), at the end of
 * the input, decides what follows from them all at once: so that members who leave or expire
 * together are one record and one rebalance. */
#ifndef SERVER_CORE_ROUND_H
#define SERVER_CORE_ROUND_H

#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/seat.h"
#include "server/core/seat_table.h"

/* "leave" and so on, for log lines. */
const char *rebalance_cause_name(enum rebalance_cause cause);

enum round_stage { ROUND_IDLE, ROUND_INITIAL, ROUND_JOINING, ROUND_GENERATING };

/* A LeaveGroup whose removals are not applied yet; in its call's arena. */
struct leaver {
    struct call *call;
    void *response;
    struct leaver *next;
};

struct round {
    struct group_slot *slot;
    struct round *next; /* of all rounds */
    struct round **link;
    struct round *next_dirty;
    bool is_dirty;

    enum round_stage stage;
    enum rebalance_cause cause; /* of the rebalance that is on, or of the next one */
    struct buf cause_member;    /* who caused it, and that member's client id */
    struct buf cause_client;
    int64_t started_ms;
    int32_t generation_tried; /* R8: chunks of it may be staged, so it cannot be tried again */
    struct deadline barrier;  /* end of the initial delay, or of the join phase */
    bool is_overdue;          /* it has passed */
    int32_t delay_ms;         /* INITIAL: the running part of the delay */
    int32_t remaining_ms;     /* and what it may still be extended by */
    bool has_newcomer;        /* somebody joined during the running part */
    struct deadline sync;     /* SyncGroups that have not come by then cost the membership */

    uint32_t gates; /* proposals in flight that close the gate */
    bool is_shared; /* all of them are replacements */
    struct call_list waiting;
    struct deadline waiting_due;
    struct deadline grace; /* R3: until then those who were not heard from are waited for */
    struct deadline retry; /* the log had no room: nothing is decided before this */

    struct seat *seats; /* all, in order of their joins */
    struct seat **seats_last;
    struct seat_table by_id;
    struct seat_table by_instance; /* candidates only; members are found by the facts */
    struct seat *removals;         /* flagged, in order */
    struct seat **removals_last;
    struct leaver *leavers;    /* wait for the flagged removals */
    struct leaver *leaving;    /* wait for those in flight */
    int32_t members_joined;    /* member seats with a parked join */
    int32_t members_unheard;   /* R3 */
    int32_t candidates;        /* candidate seats */
    int32_t candidates_joined; /* those with a parked join, all of this protocol type: */
    struct buf candidates_type;
    int32_t pending;          /* pending seats */
    int32_t pending_proposed; /* ids handed out whose record is in flight */
    int64_t bytes;            /* what the parked joins add to group->bytes */

    struct span *common; /* protocols that everybody supports; text in common_text */
    int32_t common_count;
    struct buf common_text;
    bool common_is_known;
    struct buf vote; /* whom the members of the facts vote for, while stable */
    bool vote_is_known;
};

/* ---- Life ---- */

/* The group's round; made if there is none. Made for a group with members it is armed as after a
 * takeover: sessions from now, R3, the sync deadline of a generation without assignment. */
struct round *round_of(struct coordinator *c, struct group_slot *slot);
/* NULL: none. */
static inline struct round *round_find(const struct group_slot *slot)
{
    return slot->round;
}
/* Leadership is gone: answers all calls, forgets all rounds. */
void rounds_drop(struct coordinator *c);
/* All rounds are to be looked at: after the node was not leading for a while (R9). */
void rounds_mark(struct coordinator *c);

/* ---- Turns ---- */
void round_mark(struct coordinator *c, struct round *round);
/* At the end of each input: decides what the marked rounds ask for. */
void rounds_turn(struct coordinator *c);

/* Who is to be named as the cause of the next rebalance, unless somebody is already. */
void round_blame(struct round *round,
                 enum rebalance_cause cause,
                 struct span member_id,
                 struct span client_id);
void round_forgive(struct round *round);
/* The number of the next generation. */
int32_t round_next_generation(const struct round *round);

/* ---- The gate ---- */

/* A structural decision is in flight. A call that replaces a static member (NULL: another) passes
 * where only replacements are and nobody who came before it waits. */
bool round_is_gated(const struct group_slot *slot, const struct call *replacement);
/* Parks a call until the gate opens, at most LIMIT_WAITING_CALLS of them, else answers 15. */
void round_wait(struct coordinator *c, struct round *round, struct call *call);
/* proposal_make() that closes the gate. */
struct proposal *round_propose(struct coordinator *c,
                               struct round *round,
                               struct buf *records,
                               proposal_fn *done,
                               proposal_give_up_fn *give_up);
/* The round of the group whose gate [proposal] closed; NULL: the group went, and whoever waited for
 * it has been answered. */
struct round *round_of_proposal(struct coordinator *c, const struct proposal *proposal);
/* A proposal's fate is known: opens the gate that it closed, if it did. For proposal.c. */
void round_decided(struct coordinator *c, const struct proposal *proposal);
/* The log had no room for a decision of this round: try again a little later. */
void round_retry(struct coordinator *c, struct round *round);

/* Calls that wait for others are answered 16 (coordinator_stopping()). */
void round_stop(struct coordinator *c, struct round *round);

/* For tests: aborts where a round's counts are not those of its seats. */
void rounds_check(const struct coordinator *c);

/* ---- leave_group.c ---- */
/* Answers LeaveGroups: with their responses where [error] is 0. */
void leavers_answer(struct coordinator *c, struct leaver **leavers, int16_t error);

#endif
