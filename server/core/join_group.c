/* JoinGroup (11), v0-9.
 *
 * Version notes: v0 no rebalance timeout; v4 an empty member id is answered 79 with one to use; v5
 * instance ids; v9 SkipAssignment.
 *
 * The checks and their order are those of protocol C.3.1. Whoever passes them waits for the barrier
 * (barrier.h), is answered with the current generation, or gets an id to come back with. */
#include "server/core/join_group.h"

#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/member_id.h"

/* ---- Who joins ---- */

bool join_is_without_id(const struct call *call)
{
    const struct join_group_request *request = call->request;
    return call->api_version < 4 && request->member_id.len == 0;
}

struct record_member join_record(struct call *call, struct span member_id, uint64_t id)
{
    const struct join_group_request *request = call->request;
    struct record_member record = {
        .id = id,
        .member_id = member_id,
        .instance_id = request->group_instance_id,
        .client_id = call->client_id,
        .client_host = call->client_host,
        .session_timeout_ms = request->session_timeout_ms,
        .rebalance_timeout_ms = join_rebalance_timeout_ms(call),
        .joined_without_id = join_is_without_id(call),
        .protocols_count = request->protocols_count,
    };
    size_t count = (size_t)request->protocols_count;
    record.protocols = arena_alloc(call->arena, count * sizeof *record.protocols);
    for (size_t i = 0; i < count; i++) {
        record.protocols[i].name = request->protocols[i].name;
        record.protocols[i].metadata = request->protocols[i].metadata;
    }
#if ROSTER_BUG == 2021 /* of the protocols the first alone is kept */
    record.protocols_count = count > 0 ? 1 : 0;
#elif ROSTER_BUG == 2022 /* one timeout is kept */
    record.rebalance_timeout_ms = record.session_timeout_ms;
#elif ROSTER_BUG == 2023 /* client id and host are not kept */
    record.client_id = SPAN_EMPTY;
    record.client_host = SPAN_EMPTY;
#endif
    return record;
}

bool join_keeps_member(const struct call *call, const struct member *member)
{
    const struct join_group_request *request = call->request;
    return !member->joined_without_id && join_is_unchanged(request, member) &&
           request->session_timeout_ms == member->session_timeout_ms &&
           join_rebalance_timeout_ms(call) == member->rebalance_timeout_ms &&
           span_compare(call->client_id, member->client_id) == 0 &&
           span_compare(call->client_host, member->client_host) == 0;
}

void join_park(struct coordinator *c,
               struct seat *seat,
               struct call *call,
               enum rebalance_cause cause)
{
    struct round *round = seat->round;
    const struct join_group_request *request = call->request;
    if (seat->kind == SEAT_MEMBER) {
        seat_park_join(c, seat, call);
        seat_touch(c, seat, request->session_timeout_ms);
    } else {
        bool is_new = seat->join == NULL;
        seat_become_candidate(c, seat, call);
        if (is_new) {
            barrier_joined(round);
        }
    }
    barrier_prepare(c, round, cause, seat_id(seat), call->client_id);
    round_mark(c, round);
}

/* ---- Checks ---- */

/* What the request alone decides. */
static int16_t check_request(struct coordinator *c, const struct join_group_request *request)
{
    if (request->group_id.len == 0 || request->group_id.len > LIMIT_GROUP_ID_BYTES) {
        return KAFKA_INVALID_GROUP_ID;
    }
    if (request->session_timeout_ms < c->limits.session_timeout_min_ms ||
        request->session_timeout_ms > c->limits.session_timeout_max_ms) {
        return KAFKA_INVALID_SESSION_TIMEOUT;
    }
    if (!span_is_null(request->group_instance_id) &&
        (request->group_instance_id.len == 0 ||
         request->group_instance_id.len > LIMIT_INSTANCE_ID_BYTES)) {
        return KAFKA_INVALID_REQUEST;
    }
    if (request->protocol_type.len > LIMIT_PROTOCOL_TYPE_BYTES ||
        request->protocols_count > LIMIT_PROTOCOLS) {
        return KAFKA_INCONSISTENT_GROUP_PROTOCOL;
    }
    int64_t most = c->limits.member_metadata_bytes_max;
    most = most < LIMIT_MEMBER_BYTES ? most : LIMIT_MEMBER_BYTES;
    if (join_protocol_bytes(request) > most) {
        c->counters.limit_member_metadata++;
        effects_log(&c->effects, EFFECT_WARN,
                    "join_refused group=%s limit=group.max.member.metadata.bytes bytes=%lld",
                    effect_text(&c->effects, request->group_id),
                    (long long)join_protocol_bytes(request));
        return KAFKA_GROUP_MAX_SIZE_REACHED;
    }
    return KAFKA_NONE;
}

/* The seat that this request would take again; NULL: it would be a new one. */
static struct seat *own_seat(const struct group_slot *slot,
                             const struct join_group_request *request)
{
    if (slot->round == NULL) {
        return NULL;
    }
    if (request->member_id.len > 0) {
        return seat_find(slot->round, request->member_id);
    }
    if (span_is_null(request->group_instance_id)) {
        return NULL;
    }
    const struct member *holder = group_member_by_instance(slot->facts, request->group_instance_id);
    return holder != NULL ? seat_find(slot->round, holder->member_id)
                          : seat_table_find(&((struct round *)slot->round)->by_instance,
                                            request->group_instance_id);
}

/* group.max.size. While a rebalance is on, those who are parked count, so that an oversize group
 * loses its last joiners; a static member that comes back takes no new place. */
static bool is_full(const struct coordinator *c,
                    const struct group_slot *slot,
                    const struct seat *own)
{
    const struct round *round = slot->round;
    bool is_member = own != NULL && own->kind == SEAT_MEMBER;
    switch (round_phase(slot)) {
        case GROUP_EMPTY:
            return false;
        case GROUP_PREPARING:
            return !(own != NULL && own->join != NULL) &&
                   (round == NULL ? 0 : round->members_joined + round->candidates) >=
                       c->limits.group_size_max;
        case GROUP_COMPLETING:
        case GROUP_STABLE:
            break;
    }
    return !is_member && slot->facts->members_count >= c->limits.group_size_max;
}

/* What a seat's protocols take of the group's bytes now. */
static int64_t bytes_of(const struct group_slot *slot, const struct seat *seat)
{
    int64_t bytes = seat->bytes;
    const struct member *member =
        seat->kind == SEAT_MEMBER ? group_member_by_id(slot->facts, seat->member) : NULL;
    for (int32_t i = 0; member != NULL && i < member->protocols_count; i++) {
        bytes += (int64_t)(member->protocols[i].name.len + member->protocols[i].metadata.len);
    }
    return bytes;
}

/* group.max.metadata.bytes, of all members. Whoever adds nothing may join again, whatever the group
 * has taken on meanwhile: its assignment counts, too. */
static bool is_too_heavy(const struct coordinator *c,
                         const struct group_slot *slot,
                         const struct seat *own,
                         const struct join_group_request *request)
{
    const struct round *round = slot->round;
    int64_t bytes = (int64_t)slot->facts->bytes + (round == NULL ? 0 : round->bytes);
    int64_t more = join_protocol_bytes(request) - (own == NULL ? 0 : bytes_of(slot, own));
    return more > 0 && bytes + more > c->limits.group_metadata_bytes_max;
}

/* Checks 6 to 8; true: answered. */
static bool is_refused(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    const struct join_group_request *request = call->request;
    struct seat *own = own_seat(slot, request);
    bool is_over = is_full(c, slot, own);
    if (is_over || is_too_heavy(c, slot, own, request)) {
        c->counters.limit_group_size += is_over;
        c->counters.limit_group_metadata += !is_over;
        effects_log(&c->effects, EFFECT_WARN, "join_refused group=%s limit=%s client_id=%s",
                    effect_text(&c->effects, request->group_id),
                    is_over ? "group.max.size" : "group.max.metadata.bytes",
                    effect_text(&c->effects, call->client_id));
        join_refuse(c, call, KAFKA_GROUP_MAX_SIZE_REACHED, SPAN_EMPTY);
        if (is_over && own != NULL && own->kind != SEAT_CANDIDATE) {
            seat_flag(c, own, CAUSE_SIZE);
        }
        return true;
    }
    if (!barrier_accepts(c, slot, request)) {
        reply_error(c, call, KAFKA_INCONSISTENT_GROUP_PROTOCOL);
        return true;
    }
    return false;
}

/* ---- Paths ---- */

static void join_as_new(struct coordinator *c,
                        struct group_slot *slot,
                        struct call *call,
                        struct span prefix)
{
    struct round *round = round_of(c, slot);
    struct seat *seat = seat_add(c, round, member_id_make(call, prefix), SEAT_CANDIDATE);
    join_park(c, seat, call, CAUSE_JOIN);
}

static void join_without_id(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    const struct join_group_request *request = call->request;
    struct span instance_id = request->group_instance_id;
    if (span_is_null(instance_id)) {
        join_as_new(c, slot, call, call->client_id);
        return;
    }
    const struct member *old = group_member_by_instance(slot->facts, instance_id);
#if ROSTER_BUG == 12 /* whoever comes back is somebody new */
    old = NULL;
#endif
    struct seat *candidate = seat_table_find(&round_of(c, slot)->by_instance, instance_id);
    if (old != NULL) {
        join_replace(c, slot, old, call);
    } else if (candidate != NULL) {
        join_replace_candidate(c, candidate, call);
    } else {
        join_as_new(c, slot, call, instance_id);
    }
}

/* A member of the facts joins again. */
static void rejoin(struct coordinator *c,
                   struct group_slot *slot,
                   const struct member *member,
                   struct call *call)
{
    const struct join_group_request *request = call->request;
    const struct group *group = slot->facts;
    struct seat *seat = seat_find(slot->round, member->member_id);
    bool is_unchanged = join_is_unchanged(request, member);
    switch (round_phase(slot)) {
        case GROUP_EMPTY:
            reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
            return;
        case GROUP_PREPARING:
            break;
        case GROUP_COMPLETING: /* the answer may have been lost */
            if (is_unchanged) {
                seat_touch(c, seat, member->session_timeout_ms);
                join_answer_current(c, slot, member, call);
                return;
            }
            break;
        case GROUP_STABLE: /* a leader that joins again wants to assign again */
            if (is_unchanged && member->id != group->leader) {
                seat_touch(c, seat, member->session_timeout_ms);
                join_answer_current(c, slot, member, call);
                return;
            }
            break;
    }
    join_park(c, seat, call, CAUSE_CHANGE);
}

/* The id that somebody who names an instance must have; true: answered. */
static bool is_fenced(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    const struct join_group_request *request = call->request;
    struct span instance_id = request->group_instance_id;
    if (span_is_null(instance_id)) {
        return false;
    }
    if (group_pending(slot->facts, request->member_id) != NULL) {
        reply_error(c, call, KAFKA_UNKNOWN_SERVER_ERROR); /* as Kafka: such ids are dynamic */
        return true;
    }
    int16_t error = seat_check_instance(c, slot, instance_id, request->member_id);
    if (error != KAFKA_NONE) {
        reply_error(c, call, error);
    }
    return error != KAFKA_NONE;
}

static void join_with_id(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    const struct join_group_request *request = call->request;
    if (is_fenced(c, slot, call)) {
        return;
    }
    const struct member *member = group_find_member(slot->facts, request->member_id);
    struct seat *seat = seat_find(round_of(c, slot), request->member_id);
    bool is_leaving = seat != NULL && seat->removal != CAUSE_NONE;
#if ROSTER_BUG == 2062 /* a rebalance takes up a member that is being removed */
    is_leaving = false;
#endif
    if (is_leaving) {
        round_wait(c, slot->round, call);
    } else if (member != NULL) {
        rejoin(c, slot, member, call);
    } else if (seat != NULL) { /* its id was handed out, or its join comes again */
        join_park(c, seat, call, CAUSE_JOIN);
    } else {
        reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
    }
}

/* A member's session is not to run out for want of a decision: it is here. */
static void wait_for_gate(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    const struct join_group_request *request = call->request;
    const struct member *member = group_find_member(slot->facts, request->member_id);
    if (member != NULL && (span_is_null(request->group_instance_id) ||
                           span_equal(request->group_instance_id, member->instance_id))) {
        round_touch(c, slot, member);
    }
    round_wait(c, slot->round, call);
}

void join_group_handle(struct coordinator *c, struct call *call)
{
    const struct join_group_request *request = call->request;
    bool is_dynamic = span_is_null(request->group_instance_id);
    bool has_id = request->member_id.len > 0;
    int16_t error = check_request(c, request);
    if (error != KAFKA_NONE) {
        join_refuse(c, call, error,
                    error == KAFKA_GROUP_MAX_SIZE_REACHED ? SPAN_EMPTY : request->member_id);
        return;
    }
    if (call->gone && !has_id) {
        reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID); /* R3: nobody would learn the id */
        return;
    }
    struct group_slot *slot = state_group(c->state, request->group_id);
    if (slot == NULL) {
        join_missing_group(c, call);
        return;
    }
    round_of(c, slot);
    bool gets_id = !has_id && is_dynamic && call->api_version >= 4;
    bool is_replacement = !has_id && !is_dynamic && round_phase(slot) == GROUP_STABLE;
    if (!gets_id && round_is_gated(slot, is_replacement ? call : NULL)) {
        wait_for_gate(c, slot, call);
        return;
    }
    if (is_refused(c, slot, call)) {
        return;
    }
    if (gets_id) {
        join_hand_out_id(c, slot, call);
    } else if (has_id) {
        join_with_id(c, slot, call);
    } else {
        join_without_id(c, slot, call);
    }
}
