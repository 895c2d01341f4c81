#include "server/core/seat.h"

#include <stdlib.h>

#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/barrier.h"
#include "server/core/round.h"

/* A candidate's time is up while the decision that makes it a member is in flight: look again. */
enum { AGAIN_MS = 1000 };

static void session_due(struct coordinator *c, struct deadline *deadline);

struct seat *seat_find(const struct round *round, struct span member_id)
{
    return seat_table_find(&round->by_id, member_id);
}

static void link_last(struct round *round, struct seat *seat)
{
    seat->next = NULL;
    seat->link = round->seats_last;
    *round->seats_last = seat;
    round->seats_last = &seat->next;
}

static void unlink_seat(struct seat *seat)
{
    *seat->link = seat->next;
    if (seat->next != NULL) {
        seat->next->link = seat->link;
    } else {
        seat->round->seats_last = seat->link;
    }
}

struct seat *seat_add(struct coordinator *c,
                      struct round *round,
                      struct span member_id,
                      enum seat_kind kind)
{
    (void)c;
    struct seat *seat = calloc(1, sizeof *seat + member_id.len);
    ensure(seat != NULL);
    deadline_init(&seat->session, session_due);
    seat->round = round;
    seat->kind = kind;
    seat->member_id_len = member_id.len;
    memcpy(seat->member_id, member_id.data, member_id.len);
    seat_table_add(&round->by_id, seat_id(seat), seat);
    link_last(round, seat);
    round->pending += kind == SEAT_PENDING;
    round->candidates += kind == SEAT_CANDIDATE;
    return seat;
}

void seat_free(struct coordinator *c, struct seat *seat)
{
    struct round *round = seat->round;
    ensure(seat->join == NULL && seat->sync == NULL);
    seat_unflag(seat);
    deadline_clear(&c->deadlines, &seat->session);
    seat_table_remove(&round->by_id, seat_id(seat));
    unlink_seat(seat);
    round->pending -= seat->kind == SEAT_PENDING;
    round->candidates -= seat->kind == SEAT_CANDIDATE;
    round->members_unheard -= seat->is_unheard;
    round->common_is_known = false;
    free(seat);
}

static struct span instance_of(const struct seat *seat)
{
    const struct join_group_request *request = seat->join->request;
    return request->group_instance_id;
}

void seat_become_candidate(struct coordinator *c, struct seat *seat, struct call *join)
{
    struct round *round = seat->round;
    if (seat->kind == SEAT_PENDING) {
        seat->was_pending = true;
        seat->kind = SEAT_CANDIDATE;
        round->pending--;
        round->candidates++;
        unlink_seat(seat); /* its place is that of its join */
        link_last(round, seat);
    }
    ensure(seat->kind == SEAT_CANDIDATE);
    seat_park_join(c, seat, join);
    deadline_set(&c->deadlines, &seat->session, c->now_ms + LIMIT_NEW_MEMBER_JOIN_MS);
}

void seat_become_member(struct coordinator *c, struct seat *seat, const struct member *member)
{
    struct round *round = seat->round;
    if (seat->kind == SEAT_CANDIDATE) {
        if (seat->join != NULL) {
            round->members_joined++;
            round->candidates_joined--;
            if (!span_is_null(instance_of(seat))) {
                seat_table_remove(&round->by_instance, instance_of(seat));
            }
        }
        round->candidates--;
    } else if (seat->kind == SEAT_PENDING) {
        round->pending--;
    }
    seat->kind = SEAT_MEMBER;
    seat->was_pending = false;
    seat->member = member->id;
    seat_touch(c, seat, member->session_timeout_ms);
}

void seat_touch(struct coordinator *c, struct seat *seat, int32_t session_timeout_ms)
{
    if (seat->is_unheard) {
        seat->is_unheard = false;
        seat->round->members_unheard--;
    }
    deadline_set(&c->deadlines, &seat->session, c->now_ms + session_timeout_ms);
}

/* ---- Parked calls ---- */

static const struct member *member_of(const struct seat *seat)
{
    const struct group *group = seat->round->slot->facts;
    return seat->kind == SEAT_MEMBER ? group_member_by_id(group, seat->member) : NULL;
}

static void candidate_joined(struct round *round,
                             const struct join_group_request *request,
                             struct seat *seat)
{
    if (!span_is_null(request->group_instance_id)) {
        seat_table_add(&round->by_instance, request->group_instance_id, seat);
    }
    if (round->candidates_joined++ == 0) {
        round->candidates_type.len = 0;
        buf_append(&round->candidates_type, request->protocol_type.data,
                   request->protocol_type.len);
    }
}

void seat_park_join(struct coordinator *c, struct seat *seat, struct call *call)
{
    struct round *round = seat->round;
    const struct join_group_request *request = call->request;
    struct call *old = seat_take_join(seat);
    if (old != NULL) {
        reply_error(c, old, KAFKA_REBALANCE_IN_PROGRESS);
    }
    const struct member *member = member_of(seat);
    ensure(call->link == NULL && call->seat == NULL);
    call->seat = seat;
    seat->join = call;
    seat->bytes = join_protocol_bytes(request);
    if (member != NULL) {
        struct seat_view facts = seat_view_of(NULL, member);
        for (int32_t i = 0; i < member->protocols_count; i++) {
            seat->bytes -= (int64_t)seat_view_metadata(&facts, i).len;
            seat->bytes -= (int64_t)seat_view_name(&facts, i).len;
        }
    }
    round->bytes += seat->bytes;
    round->members_joined += seat->kind == SEAT_MEMBER;
    if (seat->kind == SEAT_CANDIDATE) {
        candidate_joined(round, request, seat);
    }
    barrier_view_changed(round, member, request, old != NULL);
}

struct call *seat_take_join(struct seat *seat)
{
    struct round *round = seat->round;
    struct call *call = seat->join;
    if (call == NULL) {
        return NULL;
    }
    if (seat->kind == SEAT_CANDIDATE && !span_is_null(instance_of(seat))) {
        seat_table_remove(&round->by_instance, instance_of(seat));
    }
    round->members_joined -= seat->kind == SEAT_MEMBER;
    round->candidates_joined -= seat->kind == SEAT_CANDIDATE;
    round->bytes -= seat->bytes;
    round->common_is_known = false;
    seat->bytes = 0;
    seat->join = NULL;
    call->seat = NULL;
    return call;
}

void seat_park_sync(struct coordinator *c, struct seat *seat, struct call *call)
{
    struct call *old = seat_take_sync(seat);
    if (old != NULL) {
        reply_error(c, old, KAFKA_REBALANCE_IN_PROGRESS);
    }
    ensure(call->link == NULL && call->seat == NULL);
    call->seat = seat;
    seat->sync = call;
    seat->has_synced = true;
}

struct call *seat_take_sync(struct seat *seat)
{
    struct call *call = seat->sync;
    seat->sync = NULL;
    if (call != NULL) {
        call->seat = NULL;
    }
    return call;
}

/* Whoever waited was alive until now. */
static void touch_member(struct coordinator *c, struct seat *seat)
{
    const struct member *member = member_of(seat);
    if (member != NULL) {
        seat_touch(c, seat, member->session_timeout_ms);
    }
}

void seat_answer_sync(struct coordinator *c, struct seat *seat, int16_t error)
{
    struct call *sync = seat_take_sync(seat);
    if (sync != NULL) {
        touch_member(c, seat);
        reply_error(c, sync, error);
    }
}

void seat_answer(struct coordinator *c, struct seat *seat, int16_t error)
{
    struct call *join = seat_take_join(seat);
    if (join != NULL) {
        touch_member(c, seat);
        reply_error(c, join, error);
    }
    seat_answer_sync(c, seat, error);
}

void seat_reject(struct coordinator *c, struct seat *seat, int16_t error, int cause)
{
    struct round *round = seat->round;
    ensure(seat->kind == SEAT_CANDIDATE);
    seat_answer(c, seat, error);
    if (!seat->was_pending) {
        seat_free(c, seat);
    } else {
        seat->kind = SEAT_PENDING;
        seat->was_pending = false;
        round->candidates--;
        round->pending++;
        const struct pending_member *pending = group_pending(round->slot->facts, seat_id(seat));
        if (pending != NULL) {
            seat_touch(c, seat, pending->session_timeout_ms);
        }
        if (cause != CAUSE_NONE) {
            seat_flag(c, seat, cause);
        }
    }
    round_mark(c, round);
}

/* ---- The session's end ---- */

static void log_expiry(struct coordinator *c, const struct seat *seat, const char *event)
{
    const struct member *member = member_of(seat);
    struct span client_id = member != NULL       ? member->client_id
                            : seat->join != NULL ? seat->join->client_id
                                                 : SPAN_EMPTY;
    effects_log(&c->effects, EFFECT_INFO, "%s group=%s member=%s client_id=%s", event,
                effect_text(&c->effects, seat->round->slot->facts->name),
                effect_text(&c->effects, seat_id(seat)), effect_text(&c->effects, client_id));
}

static bool waits_here(const struct call *call)
{
    return call != NULL && !call->gone;
}

static void member_due(struct coordinator *c, struct seat *seat)
{
    const struct member *member = member_of(seat);
    ensure(member != NULL);
    if (waits_here(seat->join) || waits_here(seat->sync)) { /* so it is alive */
        deadline_set(&c->deadlines, &seat->session, c->now_ms + member->session_timeout_ms);
        return;
    }
    if (seat->join != NULL && seat->round->stage == ROUND_GENERATING) { /* it is in that record */
        deadline_set(&c->deadlines, &seat->session, c->now_ms + AGAIN_MS);
        return;
    }
    log_expiry(c, seat, "member_expired");
    c->counters.sessions_expired++;
    seat_flag(c, seat, CAUSE_SESSION);
}

void seat_disconnected(struct coordinator *c, struct seat *seat)
{
    const struct member *member = member_of(seat);
    const struct join_group_request *join = seat->join == NULL ? NULL : seat->join->request;
    if (seat->kind == SEAT_MEMBER && member != NULL) {
        deadline_set(&c->deadlines, &seat->session, c->now_ms + member->session_timeout_ms);
    } else if (seat->kind == SEAT_CANDIDATE && join != NULL) {
        deadline_set(&c->deadlines, &seat->session, c->now_ms + join->session_timeout_ms);
    }
}

static void session_due(struct coordinator *c, struct deadline *deadline)
{
    struct seat *seat = container_of(deadline, struct seat, session);
    if (seat->removal != CAUSE_NONE) {
        return;
    }
    switch (seat->kind) {
        case SEAT_MEMBER:
            member_due(c, seat);
            break;
        case SEAT_PENDING:
            log_expiry(c, seat, "pending_expired");
            seat_flag(c, seat, CAUSE_SESSION);
            break;
        case SEAT_CANDIDATE:
            if (seat->round->stage == ROUND_GENERATING) {
                deadline_set(&c->deadlines, &seat->session, c->now_ms + AGAIN_MS);
                break;
            }
            log_expiry(c, seat, "join_expired");
            c->counters.joins_expired++;
            seat_reject(c, seat, KAFKA_UNKNOWN_MEMBER_ID, CAUSE_SESSION);
            break;
    }
}
