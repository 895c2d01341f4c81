/* LeaveGroup (13), v0-5. Up to v2 one member; from v3 a batch, with a code for each; v5 reasons.
 * Rules: protocol C.3.7. A member id that is empty beside an instance id is an operator's removal.
 * Answered when the removals have been applied. */
#include "rpc/errors.h"
#include "server/core/reply.h"
#include "server/core/round.h"

/* One that asks to leave, in any version. */
struct departure {
    struct span member_id;
    struct span instance_id;
    struct span reason;
};

static int32_t departures_count(const struct call *call)
{
    const struct leave_group_request *request = call->request;
    return call->api_version < 3 ? 1 : request->members_count;
}

static struct departure departure_at(const struct call *call, int32_t i)
{
    const struct leave_group_request *request = call->request;
    if (call->api_version < 3) {
        return (struct departure){.member_id = request->member_id};
    }
    const struct leave_group_request_member *member = &request->members[i];
    return (struct departure){
        .member_id = member->member_id,
        .instance_id = member->group_instance_id,
        .reason = member->reason,
    };
}

/* Who is meant; NULL: [*error] says why nobody. */
static struct seat *find_leaving(struct coordinator *c,
                                 struct group_slot *slot,
                                 const struct departure *departure,
                                 int16_t *error)
{
    struct round *round = slot->round;
    *error = KAFKA_NONE;
    struct span member_id = departure->member_id;
    if (!span_is_null(departure->instance_id)) {
        if (member_id.len > 0) {
            *error = seat_check_instance(c, slot, departure->instance_id, member_id);
        } else {
            const struct member *holder =
                group_member_by_instance(slot->facts, departure->instance_id);
            struct seat *candidate = seat_table_find(&round->by_instance, departure->instance_id);
            member_id = holder != NULL      ? holder->member_id
                        : candidate != NULL ? seat_id(candidate)
                                            : SPAN_EMPTY;
        }
    }
    struct seat *seat = *error == KAFKA_NONE ? seat_find(round, member_id) : NULL;
    if (seat == NULL && *error == KAFKA_NONE) {
        *error = KAFKA_UNKNOWN_MEMBER_ID;
    }
    return seat;
}

/* R6: somebody who is meant is on the way out already. */
static bool must_wait(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    for (int32_t i = 0; i < departures_count(call); i++) {
        struct departure departure = departure_at(call, i);
        const struct seat *seat = seat_find(slot->round, departure.member_id);
        const struct member *holder =
            span_is_null(departure.instance_id)
                ? NULL
                : group_member_by_instance(slot->facts, departure.instance_id);
        if (holder != NULL) {
            seat = seat_find(slot->round, holder->member_id);
        }
        if (seat != NULL && seat->removal != CAUSE_NONE) {
            round_wait(c, slot->round, call);
            return true;
        }
    }
    return false;
}

static void log_left(struct coordinator *c,
                     struct seat *seat,
                     const struct call *call,
                     struct span reason)
{
    const struct seat_view view = seat_view(seat->round->slot, seat);
    struct span client_id = view.member != NULL  ? view.member->client_id
                            : seat->join != NULL ? seat->join->client_id
                                                 : SPAN_EMPTY;
    effects_log(&c->effects, EFFECT_INFO,
                "member_left group=%s member=%s client_id=%s by=%s host=%s reason=%s",
                effect_text(&c->effects, seat->round->slot->facts->name),
                effect_text(&c->effects, seat_id(seat)), effect_text(&c->effects, client_id),
                effect_text(&c->effects, call->client_id),
                effect_text(&c->effects, call->client_host), effect_text(&c->effects, reason));
}

/* True: it is in the facts, so it is gone only when its removal has been applied. */
static bool dismiss(struct coordinator *c,
                    struct seat *seat,
                    const struct call *call,
                    const struct departure *departure)
{
    bool is_operator = departure->member_id.len == 0;
    int cause = is_operator ? CAUSE_OPERATOR : CAUSE_LEAVE;
    log_left(c, seat, call, departure->reason);
    if (seat->kind == SEAT_CANDIDATE) {
        bool is_fact = seat->was_pending;
        seat_reject(c, seat, KAFKA_UNKNOWN_MEMBER_ID, cause);
        return is_fact;
    }
    seat_flag(c, seat, cause);
    return true;
}

/* Answers with what is known now; true: some of it has to be applied first. */
static bool dismiss_all(struct coordinator *c,
                        struct group_slot *slot,
                        struct call *call,
                        struct leave_group_response *response)
{
    bool is_deferred = false;
    int32_t count = departures_count(call);
    if (call->api_version >= 3) {
        response->members_count = count;
        response->members = reply_elements(call, leave_group_response_member_schema(), count);
    }
    for (int32_t i = 0; i < count; i++) {
        struct departure departure = departure_at(call, i);
        int16_t error;
        struct seat *seat = find_leaving(c, slot, &departure, &error);
        if (seat != NULL && seat->removal != CAUSE_NONE) {
            error = KAFKA_UNKNOWN_MEMBER_ID; /* named twice in this batch */
        } else if (seat != NULL) {
            is_deferred = dismiss(c, seat, call, &departure) || is_deferred;
        }
        if (call->api_version < 3) {
            response->error_code = error;
            break;
        }
        response->members[i].member_id = departure.member_id;
        response->members[i].group_instance_id = departure.instance_id;
        response->members[i].error_code = error;
    }
    return is_deferred;
}

/* The last who came is first in the list. */
static struct leaver *reverse(struct leaver *leaver)
{
    struct leaver *reversed = NULL;
    for (struct leaver *next; leaver != NULL; leaver = next) {
        next = leaver->next;
        leaver->next = reversed;
        reversed = leaver;
    }
    return reversed;
}

void leavers_answer(struct coordinator *c, struct leaver **leavers, int16_t error)
{
    struct leaver *leaver = reverse(*leavers);
    *leavers = NULL;
    for (struct leaver *next; leaver != NULL; leaver = next) {
        next = leaver->next; /* it is in the call's arena */
        if (error == KAFKA_NONE) {
            coordinator_reply(c, leaver->call, leaver->response);
        } else {
            reply_error(c, leaver->call, error);
        }
    }
}

static void push_leaver(struct round *round, struct call *call, void *response)
{
    struct leaver *leaver = arena_alloc(call->arena, sizeof *leaver);
    leaver->call = call;
    leaver->response = response;
    leaver->next = round->leavers;
    round->leavers = leaver;
}

void leave_group_handle(struct coordinator *c, struct call *call)
{
    const struct leave_group_request *request = call->request;
    if (request->group_id.len == 0) {
        reply_error(c, call, KAFKA_INVALID_GROUP_ID);
        return;
    }
    struct group_slot *slot = state_group(c->state, request->group_id);
    if (slot == NULL) {
        reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
        return;
    }
    struct round *round = round_of(c, slot);
    if (round_is_gated(slot, NULL)) {
        round_wait(c, round, call);
        return;
    }
    if (must_wait(c, slot, call)) {
        return;
    }
    struct leave_group_response *response = reply_new(call, leave_group_response_schema());
    if (dismiss_all(c, slot, call, response)) {
        push_leaver(round, call, response);
    } else {
        coordinator_reply(c, call, response);
    }
}
