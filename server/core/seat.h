/* A seat in a round: a member, or somebody on the way to be one.
 *
 *   PENDING    the id was handed out (a fact), no JoinGroup with it yet; its time is the session
 *              timeout
 *   CANDIDATE  joined, in no generation yet: its JoinGroup is parked; at most 5 minutes
 *   MEMBER     of the current generation; its session runs
 *
 * A seat's view is what the group may reckon with: the parked join's protocols and timeouts, else
 * the facts'. Parked calls stay alive, so seats borrow from them. */
#ifndef SERVER_CORE_SEAT_H
#define SERVER_CORE_SEAT_H

#include "rpc/schema.h"
#include "server/core/internal.h"

struct round;

enum seat_kind { SEAT_PENDING, SEAT_CANDIDATE, SEAT_MEMBER };

struct seat {
    struct deadline session;
    struct round *round;
    struct seat *next; /* of the round's seats */
    struct seat **link;
    struct seat *next_removal; /* of those to be removed */
    struct seat **removal_link;
    int removal; /* enum rebalance_cause; 0: stays. R6: its calls wait */
    enum seat_kind kind;
    uint64_t member; /* MEMBER: its interned id */
    struct call *join;
    struct call *sync;
    int64_t bytes;    /* what its parked join adds to the group's */
    bool was_pending; /* CANDIDATE: its id is among the facts' pending ids */
    bool is_unheard;  /* R3: not heard from since the takeover, and may not know its id */
    bool is_replaced; /* a new incarnation is on its way into the log */
    bool has_synced;  /* since this generation began */
    size_t member_id_len;
    uint8_t member_id[];
};

static inline struct span seat_id(const struct seat *seat)
{
    return span_of(seat->member_id, seat->member_id_len);
}

struct seat *seat_find(const struct round *round, struct span member_id);
/* In the order of the round, last. */
struct seat *seat_add(struct coordinator *c,
                      struct round *round,
                      struct span member_id,
                      enum seat_kind kind);
/* Its calls must have been taken. */
void seat_free(struct coordinator *c, struct seat *seat);

/* Becomes a candidate with this join (parked), or a member of the facts. */
void seat_become_candidate(struct coordinator *c, struct seat *seat, struct call *join);
void seat_become_member(struct coordinator *c, struct seat *seat, const struct member *member);

/* Parks; what was parked there before is answered 27. */
void seat_park_join(struct coordinator *c, struct seat *seat, struct call *call);
void seat_park_sync(struct coordinator *c, struct seat *seat, struct call *call);
/* The parked call, to be answered now; NULL: none. */
struct call *seat_take_join(struct seat *seat);
struct call *seat_take_sync(struct seat *seat);
/* Answers what is parked; the session of a member starts anew, since it was alive until now. */
void seat_answer_sync(struct coordinator *c, struct seat *seat, int16_t error);
void seat_answer(struct coordinator *c, struct seat *seat, int16_t error);

/* Its session starts anew. */
void seat_touch(struct coordinator *c, struct seat *seat, int32_t session_timeout_ms);

/* The connection of its parked call closed: it is alive for one more session. */
void seat_disconnected(struct coordinator *c, struct seat *seat);

/* A candidate leaves before it was a member: answers its join, frees the seat, or has its id
 * removed where that is a fact. */
void seat_reject(struct coordinator *c, struct seat *seat, int16_t error, int cause);

/* ---- seat_removal.c ---- */

/* To be removed by the next turn, with all others that are flagged. */
void seat_flag(struct coordinator *c, struct seat *seat, int cause);
void seat_unflag(struct seat *seat);
/* Proposes the removal of all that are flagged; some are. */
void seats_remove(struct coordinator *c, struct round *round);

/* ---- seat_fence.c ---- */

/* Who holds the instance id: 0, 25 nobody, 82 somebody else (logged). */
int16_t seat_check_instance(struct coordinator *c,
                            struct group_slot *slot,
                            struct span instance_id,
                            struct span member_id);
/* The member or candidate of a call, instance checked where it names one; 0, 25 or 82. */
int16_t seat_identify(struct coordinator *c,
                      struct group_slot *slot,
                      struct span instance_id,
                      struct span member_id,
                      struct seat **seat);

/* ---- seat_view.c ---- */

struct seat_view {
    struct span member_id;
    struct span instance_id;
    const struct join_group_request *request; /* of the parked join; NULL: by the facts */
    const struct member *member;              /* its facts; NULL: none yet */
    struct seat *seat;
};

struct seat_view seat_view(const struct group_slot *slot, struct seat *seat);
/* A view of a member of the facts, whose seat may be NULL. */
struct seat_view seat_view_of(struct seat *seat, const struct member *member);
int32_t seat_view_protocols(const struct seat_view *view);
struct span seat_view_name(const struct seat_view *view, int32_t i);
struct span seat_view_metadata(const struct seat_view *view, int32_t i);
/* Of the protocol of this name; empty: not given. */
struct span seat_view_metadata_of(const struct seat_view *view, struct span name);
bool seat_view_supports(const struct seat_view *view, struct span name);
int32_t seat_view_rebalance_timeout_ms(const struct seat_view *view);

/* v0 has no rebalance timeout: the session timeout stands for it. */
int32_t join_rebalance_timeout_ms(const struct call *call);
/* Bytes of all names and metadata. */
int64_t join_protocol_bytes(const struct join_group_request *request);
/* The same protocols in the same order. */
bool join_has_same_names(const struct join_group_request *request, const struct member *member);
/* The same with the same metadata. */
bool join_is_unchanged(const struct join_group_request *request, const struct member *member);

#endif
