#include "server/core/round.h"

#include <stdlib.h>

#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/barrier.h"

const char *rebalance_cause_name(enum rebalance_cause cause)
{
    static const char *const names[] = {
        [CAUSE_NONE] = "none",   [CAUSE_JOIN] = "join",         [CAUSE_CHANGE] = "change",
        [CAUSE_LEAVE] = "leave", [CAUSE_SESSION] = "session",   [CAUSE_REJOIN] = "rejoin",
        [CAUSE_SYNC] = "sync",   [CAUSE_OPERATOR] = "operator", [CAUSE_TAKEOVER] = "takeover",
        [CAUSE_SIZE] = "size",
    };
    ensure((size_t)cause < sizeof names / sizeof names[0] && names[cause] != NULL);
    return names[cause];
}

/* ---- Life ---- */

static void waiting_due(struct coordinator *c, struct deadline *deadline);

static void retry_due(struct coordinator *c, struct deadline *deadline)
{
    round_mark(c, container_of(deadline, struct round, retry));
}

static void grace_due(struct coordinator *c, struct deadline *deadline)
{
    round_mark(c, container_of(deadline, struct round, grace));
}

static struct round *round_new(struct coordinator *c, struct group_slot *slot)
{
    struct round *round = calloc(1, sizeof *round);
    ensure(round != NULL);
    round->slot = slot;
    round->seats_last = &round->seats;
    round->removals_last = &round->removals;
    call_list_init(&round->waiting);
    deadline_init(&round->barrier, barrier_due);
    deadline_init(&round->sync, barrier_sync_due);
    deadline_init(&round->waiting_due, waiting_due);
    deadline_init(&round->retry, retry_due);
    deadline_init(&round->grace, grace_due);
    round->next = c->rounds.first;
    if (round->next != NULL) {
        round->next->link = &round->next;
    }
    round->link = &c->rounds.first;
    c->rounds.first = round;
    slot->round = round;
    return round;
}

/* As after a takeover: nothing is known of the members but the facts. */
static void arm(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    bool is_completing = group_phase(group) == GROUP_COMPLETING;
    for (int32_t i = 0; i < group->members_count; i++) {
        const struct member *member = group->members[i];
        struct seat *seat = seat_add(c, round, member->member_id, SEAT_MEMBER);
        seat->member = member->id;
        seat->has_synced = !is_completing;
        seat->is_unheard = member->joined_without_id;
#if ROSTER_BUG == 2032 /* waited for like everybody else, though it may never come */
        seat->is_unheard = false;
#endif
        round->members_unheard += seat->is_unheard;
        int64_t session_ms = member->session_timeout_ms;
#if ROSTER_BUG == 8 /* deadlines of another machine, long past */
        session_ms = -1;
#endif
        deadline_set(&c->deadlines, &seat->session, c->now_ms + session_ms);
    }
    for (int32_t i = 0; i < group->pending_count; i++) {
        const struct pending_member *pending = &group->pending[i];
        struct seat *seat = seat_add(c, round, pending->member_id, SEAT_PENDING);
        deadline_set(&c->deadlines, &seat->session, c->now_ms + pending->session_timeout_ms);
    }
#if ROSTER_BUG == 2013 /* a generation without assignment waits for ever */
    is_completing = false;
#endif
    if (is_completing) {
        barrier_arm_sync(c, round);
    }
    if (round->members_unheard > 0) {
        deadline_set(&c->deadlines, &round->grace, c->now_ms + LIMIT_UNHEARD_MS);
    }
}

struct round *round_of(struct coordinator *c, struct group_slot *slot)
{
    if (slot->round == NULL) {
        struct round *round = round_new(c, slot);
        arm(c, round);
        round_mark(c, round); /* the facts may ask for something (R1) */
    }
    return slot->round;
}

static void unmark(struct coordinator *c, struct round *round)
{
    struct round **link = &c->rounds.dirty;
    while (*link != round) {
        ensure(*link != NULL);
        link = &(*link)->next_dirty;
    }
    *link = round->next_dirty;
    if (*link == NULL) {
        c->rounds.dirty_last = link;
    }
    round->is_dirty = false;
}

/* Its calls have been answered. */
static void round_free(struct coordinator *c, struct round *round)
{
    ensure(round->waiting.count == 0 && round->leavers == NULL && round->leaving == NULL);
    while (round->seats != NULL) {
        seat_free(c, round->seats);
    }
    if (round->is_dirty) {
        unmark(c, round);
    }
    deadline_clear(&c->deadlines, &round->barrier);
    deadline_clear(&c->deadlines, &round->sync);
    deadline_clear(&c->deadlines, &round->waiting_due);
    deadline_clear(&c->deadlines, &round->retry);
    deadline_clear(&c->deadlines, &round->grace);
    seat_table_close(&round->by_id);
    seat_table_close(&round->by_instance);
    free(round->common);
    buf_close(&round->common_text);
    buf_close(&round->candidates_type);
    buf_close(&round->vote);
    buf_close(&round->cause_member);
    buf_close(&round->cause_client);
    *round->link = round->next;
    if (round->next != NULL) {
        round->next->link = round->link;
    }
    round->slot->round = NULL;
    free(round);
}

static bool is_idle(const struct round *round)
{
    return round->stage == ROUND_IDLE && round->seats == NULL && round->gates == 0 &&
           round->waiting.count == 0 && round->pending_proposed == 0 &&
           round->generation_tried <= round->slot->facts->generation;
}

void round_drop(struct coordinator *c, struct group_slot *slot, int16_t error)
{
    struct round *round = slot->round;
    if (round == NULL) {
        return;
    }
    for (struct call *call; (call = call_list_pop(&round->waiting)) != NULL;) {
        reply_error(c, call, error);
    }
    leavers_answer(c, &round->leavers, error);
    leavers_answer(c, &round->leaving, error);
    for (struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
#if ROSTER_BUG == 15 /* parked calls are forgotten */
        seat_take_join(seat);
        seat_take_sync(seat);
#endif
        seat_answer(c, seat, error);
    }
    round_free(c, round);
}

void round_orphan(struct coordinator *c, struct group_slot *slot)
{
    struct round *round = slot->round;
    if (round == NULL) {
        return;
    }
    for (struct call *call; (call = call_list_pop(&round->waiting)) != NULL;) {
        call_list_push(&c->orphans, call);
    }
    for (struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
        struct call *join = seat->kind == SEAT_CANDIDATE ? seat_take_join(seat) : NULL;
        if (join != NULL) {
            call_list_push(&c->orphans, join);
        }
    }
    round_drop(c, slot, KAFKA_UNKNOWN_MEMBER_ID);
}

void rounds_drop(struct coordinator *c)
{
    while (c->rounds.first != NULL) {
        round_drop(c, c->rounds.first->slot, KAFKA_NOT_COORDINATOR);
    }
}

/* ---- Turns ---- */

void round_mark(struct coordinator *c, struct round *round)
{
    if (round->is_dirty) {
        return;
    }
    round->is_dirty = true;
    round->next_dirty = NULL;
    *c->rounds.dirty_last = round;
    c->rounds.dirty_last = &round->next_dirty;
}

void rounds_mark(struct coordinator *c)
{
    for (struct round *round = c->rounds.first; round != NULL; round = round->next) {
        round_mark(c, round);
    }
}

/* What waited for the gate is decided now, in order; it may close the gate again. */
static void admit_waiting(struct coordinator *c, struct round *round)
{
    for (size_t n = round->waiting.count; n > 0; n--) {
        coordinator_dispatch(c, call_list_pop(&round->waiting));
    }
}

static void turn(struct coordinator *c, struct round *round)
{
    if (round->gates == 0) {
        admit_waiting(c, round);
    }
    if (round->gates == 0 && c->is_stopping) {
        round_stop(c, round);
    } else if (round->gates == 0 && !deadline_is_set(&round->retry)) {
        if (round->removals != NULL) {
            seats_remove(c, round);
        } else {
            barrier_turn(c, round);
        }
    }
    if (is_idle(round)) {
        round_free(c, round);
    }
}

void rounds_turn(struct coordinator *c)
{
    if (c->role != ROLE_LEADING) {
        return; /* they stay marked until it leads again, or are dropped */
    }
    while (c->rounds.dirty != NULL) {
        struct round *round = c->rounds.dirty;
        unmark(c, round);
        turn(c, round);
    }
}

void round_blame(struct round *round,
                 enum rebalance_cause cause,
                 struct span member_id,
                 struct span client_id)
{
    if (round->cause != CAUSE_NONE) {
        return;
    }
    round->cause = cause;
    round->cause_member.len = 0;
    round->cause_client.len = 0;
    buf_append(&round->cause_member, member_id.data, member_id.len);
    buf_append(&round->cause_client, client_id.data, client_id.len);
}

void round_forgive(struct round *round)
{
    round->cause = CAUSE_NONE;
    round->cause_member.len = 0;
    round->cause_client.len = 0;
}

int32_t round_next_generation(const struct round *round)
{
    int32_t last = round->slot->facts->generation;
    last = round->generation_tried > last ? round->generation_tried : last;
    ensure(last < INT32_MAX);
    return last + 1;
}

/* ---- The gate ---- */

bool round_is_gated(const struct group_slot *slot, const struct call *replacement)
{
    const struct round *round = slot->round;
    if (round == NULL || round->gates == 0) {
        return false;
    }
    const struct call *first = round->waiting.first;
    bool is_next =
        replacement != NULL && (first == NULL || replacement->sequence < first->sequence);
    return !(is_next && round->is_shared);
}

static void waiting_due(struct coordinator *c, struct deadline *deadline)
{
    struct round *round = container_of(deadline, struct round, waiting_due);
    while (round->waiting.first != NULL && round->waiting.first->deadline_ms <= c->now_ms) {
        struct call *call = call_list_pop(&round->waiting);
        c->counters.proposals_timed_out++;
        reply_error(c, call, reply_error_of_timeout(call));
    }
    if (round->waiting.first != NULL) {
        deadline_set(&c->deadlines, &round->waiting_due, round->waiting.first->deadline_ms);
    }
}

void round_wait(struct coordinator *c, struct round *round, struct call *call)
{
    if (round->waiting.count >= LIMIT_WAITING_CALLS) {
        c->counters.limit_waiting_calls++;
        reply_error(c, call, KAFKA_COORDINATOR_NOT_AVAILABLE);
        return;
    }
    if (call->deadline_ms == INT64_MAX) {
        call->deadline_ms = c->now_ms + LIMIT_PROPOSAL_TIMEOUT_MS;
    }
    call_list_push(&round->waiting, call);
#if ROSTER_BUG == 2113 /* waits for the decision in flight however long that takes */
    call->deadline_ms = INT64_MAX;
#endif
    if (!deadline_is_set(&round->waiting_due)) {
        deadline_set(&c->deadlines, &round->waiting_due, call->deadline_ms);
    }
}

struct proposal *round_propose(struct coordinator *c,
                               struct round *round,
                               struct buf *records,
                               proposal_fn *done,
                               proposal_give_up_fn *give_up)
{
    struct proposal *proposal = proposal_make(c, NULL, records, done);
    proposal->group = round->slot->facts->id;
    proposal->give_up = give_up;
    round->gates++;
    round->is_shared = false;
    return proposal;
}

struct round *round_of_proposal(struct coordinator *c, const struct proposal *proposal)
{
    const struct group_slot *slot =
        proposal->group == 0 ? NULL : state_group_by_id(c->state, proposal->group);
    return slot == NULL ? NULL : slot->round;
}

void round_decided(struct coordinator *c, const struct proposal *proposal)
{
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    ensure(round->gates > 0);
    round->gates--;
    round_mark(c, round);
}

void round_retry(struct coordinator *c, struct round *round)
{
    deadline_set(&c->deadlines, &round->retry, c->now_ms + LIMIT_RETRY_MS);
}

/* ---- What other handlers ask ---- */

enum group_phase round_phase(const struct group_slot *slot)
{
    const struct round *round = slot->round;
    return round != NULL && round->stage != ROUND_IDLE ? GROUP_PREPARING : group_phase(slot->facts);
}

bool round_waits_for_removal(struct coordinator *c,
                             struct group_slot *slot,
                             const struct member *member,
                             struct call *call)
{
    struct round *round = round_of(c, slot);
    const struct seat *seat = seat_find(round, member->member_id);
    ensure(seat != NULL);
    int removal = seat->removal;
#if ROSTER_BUG == 2061 /* whoever is being removed is served meanwhile */
    removal = CAUSE_NONE;
#endif
    if (removal == CAUSE_NONE) {
        return false;
    }
    round_wait(c, round, call);
    return true;
}

void round_touch(struct coordinator *c, struct group_slot *slot, const struct member *member)
{
    struct seat *seat = seat_find(round_of(c, slot), member->member_id);
    ensure(seat != NULL && seat->kind == SEAT_MEMBER);
    seat_touch(c, seat, member->session_timeout_ms);
}

void round_stop(struct coordinator *c, struct round *round)
{
    for (struct call *call; (call = call_list_pop(&round->waiting)) != NULL;) {
        reply_error(c, call, KAFKA_NOT_COORDINATOR);
    }
    leavers_answer(c, &round->leavers, KAFKA_NOT_COORDINATOR);
    if (round->gates > 0) {
        return; /* parked joins and syncs may be part of the decision in flight */
    }
    for (struct seat *seat = round->seats, *next; seat != NULL; seat = next) {
        next = seat->next;
        if (seat->kind == SEAT_CANDIDATE) {
            seat_reject(c, seat, KAFKA_NOT_COORDINATOR, CAUSE_NONE);
        } else {
            seat_answer(c, seat, KAFKA_NOT_COORDINATOR);
        }
    }
}
