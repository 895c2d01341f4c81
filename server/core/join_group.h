/* What the join barrier and the parts of JoinGroup share. */
#ifndef SERVER_CORE_JOIN_GROUP_H
#define SERVER_CORE_JOIN_GROUP_H

#include "server/core/barrier.h"

/* ---- join_group.c ---- */

/* The join of a member or candidate waits for the barrier; begins a rebalance if none is on. */
void join_park(struct coordinator *c,
               struct seat *seat,
               struct call *call,
               enum rebalance_cause cause);
/* R3: whether the client would not know the member's id if this join were never answered. */
bool join_is_without_id(const struct call *call);
/* The record of whom this join makes a member. [id]: 0 for a new one. */
struct record_member join_record(struct call *call, struct span member_id, uint64_t id);
/* Whether the member's row would not change by this join. */
bool join_keeps_member(const struct call *call, const struct member *member);

/* ---- join_group_new.c ---- */

/* JoinGroup of a group that does not exist. */
void join_missing_group(struct coordinator *c, struct call *call);
/* Hands out a member id (79). [slot] NULL: creates the group too. */
void join_hand_out_id(struct coordinator *c, struct group_slot *slot, struct call *call);

/* ---- join_group_static.c ---- */

/* KIP-345: an empty member id and the instance id of [old]. */
void join_replace(struct coordinator *c,
                  struct group_slot *slot,
                  const struct member *old,
                  struct call *call);
/* The same where the instance is a candidate's. */
void join_replace_candidate(struct coordinator *c, struct seat *old, struct call *call);

/* ---- join_group_reply.c ---- */

struct join_answer {
    int32_t generation;
    struct span protocol_type;
    struct span protocol_name;
    struct span leader;
    struct span member_id;
    bool skip_assignment;
    const struct seat_view *members; /* for the leader, else NULL */
    int32_t members_count;
};
void join_answer(struct coordinator *c, struct call *call, const struct join_answer *answer);
/* By the facts: the current generation. */
void join_answer_current(struct coordinator *c,
                         const struct group_slot *slot,
                         const struct member *member,
                         struct call *call);
/* An error that names no member (81 does not echo the id). */
void join_refuse(struct coordinator *c, struct call *call, int16_t error, struct span member_id);

#endif
