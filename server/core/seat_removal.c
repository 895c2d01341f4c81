/* Removals: members and pending ids that left or whose time is up. Whatever is flagged when a turn
 * comes goes in one record and one rebalance. From the flag until the apply the member's calls wait
 * (R6); then they find it gone. */
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/barrier.h"
#include "server/core/round.h"

void seat_flag(struct coordinator *c, struct seat *seat, int cause)
{
    struct round *round = seat->round;
    ensure(cause != CAUSE_NONE && seat->kind != SEAT_CANDIDATE);
    if (seat->removal != CAUSE_NONE) {
        return;
    }
    seat->removal = cause;
    seat->next_removal = NULL;
    seat->removal_link = round->removals_last;
    *round->removals_last = seat;
    round->removals_last = &seat->next_removal;
    if (seat->kind == SEAT_MEMBER) {
        const struct member *member = group_member_by_id(round->slot->facts, seat->member);
        ensure(member != NULL);
        round_blame(round, (enum rebalance_cause)cause, seat_id(seat), member->client_id);
    }
    round_mark(c, round);
}

void seat_unflag(struct seat *seat)
{
    if (seat->removal == CAUSE_NONE) {
        return;
    }
    *seat->removal_link = seat->next_removal;
    if (seat->next_removal != NULL) {
        seat->next_removal->removal_link = seat->removal_link;
    } else {
        seat->round->removals_last = seat->removal_link;
    }
    seat->removal = CAUSE_NONE;
}

static bool is_still_there(const struct seat *seat)
{
    const struct group *group = seat->round->slot->facts;
    return seat->kind == SEAT_MEMBER ? group_member_by_id(group, seat->member) != NULL
                                     : group_pending(group, seat_id(seat)) != NULL;
}

static void removal_done(struct coordinator *c,
                         struct proposal *proposal,
                         const struct verdict *verdicts,
                         int count)
{
    (void)verdicts;
    (void)count;
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    for (struct seat *seat = round->removals, *next; seat != NULL; seat = next) {
        next = seat->next_removal;
        if (!is_still_there(seat)) {
            seat_answer(c, seat, KAFKA_UNKNOWN_MEMBER_ID);
            seat_free(c, seat);
        }
    }
    leavers_answer(c, &round->leaving, KAFKA_NONE);
    if (round->slot->facts->members_count == 0 && round->slot->facts->generation > 0 &&
        round->cause != CAUSE_NONE) {
        barrier_log_empty(c, round);
    }
}

static void removal_given_up(struct coordinator *c,
                             struct proposal *proposal,
                             int16_t error,
                             bool is_void)
{
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    leavers_answer(c, &round->leaving, error);
    if (is_void) {
        round_retry(c, round); /* the flags stay */
    }
}

/* Lists what fits into one entry; true if that is all of them. */
static bool list_removals(const struct round *round,
                          struct record_members_removed *members,
                          struct record_pending_removed *pending)
{
    size_t bytes = 0;
    for (const struct seat *seat = round->removals; seat != NULL; seat = seat->next_removal) {
        bytes += seat->member_id_len + 16;
        if (bytes > LIMIT_CHUNK_BYTES) {
            return false;
        }
        if (seat->kind == SEAT_MEMBER) {
            members->members[members->members_count++] = seat->member;
        } else {
            pending->member_ids[pending->member_ids_count++] = seat_id(seat);
        }
    }
    return true;
}

void seats_remove(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    size_t count = 0;
    for (const struct seat *seat = round->removals; seat != NULL; seat = seat->next_removal) {
        count++;
    }
    ensure(count > 0);
    struct record_members_removed members = {.group = group->id};
    struct record_pending_removed pending = {.group = group->id};
    members.members = arena_alloc(&c->effects.arena, count * sizeof *members.members);
    pending.member_ids = arena_alloc(&c->effects.arena, count * sizeof *pending.member_ids);
    bool is_all = list_removals(round, &members, &pending);
    int cause = round->removals->removal; /* of the first, where they differ */
    struct buf records = BUF_EMPTY;
    if (pending.member_ids_count > 0) {
        record_append(&records, RECORD_PENDING_REMOVED, &pending);
    }
    if (members.members_count > 0 && members.members_count == group->members_count) {
        struct record_generation empty = {
            .group = group->id,
            .generation = round_next_generation(round),
            .protocol_type = group->protocol_type,
            .cause = (int8_t)cause,
        };
        record_append(&records, RECORD_GENERATION, &empty);
    } else if (members.members_count > 0) {
        members.cause = (int8_t)cause;
        record_append(&records, RECORD_MEMBERS_REMOVED, &members);
    }
    if (is_all) { /* LeaveGroups wait for all that they asked for */
        ensure(round->leaving == NULL);
        round->leaving = round->leavers;
        round->leavers = NULL;
    }
    round_propose(c, round, &records, removal_done, removal_given_up);
}
