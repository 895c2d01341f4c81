/* Handing out member ids (KIP-394), and joins that create their group. Both are facts before they
 * are answered or acted on, so a failover in between is not the client's problem. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/join_group.h"
#include "server/core/member_id.h"

/* An id on its way into the log; on the heap, since its call may be answered before. */
struct hand_out {
    uint64_t group; /* 0: it is created by the same proposal */
    int32_t session_timeout_ms;
    size_t member_id_len;
    uint8_t member_id[];
};

static void count_down(struct coordinator *c, const struct hand_out *hand_out)
{
    struct group_slot *slot =
        hand_out->group == 0 ? NULL : state_group_by_id(c->state, hand_out->group);
    if (slot == NULL || slot->round == NULL) {
        return;
    }
    struct round *round = slot->round;
    ensure(round->pending_proposed > 0);
    round->pending_proposed--;
    round_mark(c, round);
}

static void seat_pending(struct coordinator *c,
                         struct group_slot *slot,
                         const struct hand_out *hand_out)
{
    struct span member_id = span_of(hand_out->member_id, hand_out->member_id_len);
    struct round *round = round_of(c, slot);
    if (seat_find(round, member_id) == NULL) { /* unless the round was made from these facts */
        struct seat *seat = seat_add(c, round, member_id, SEAT_PENDING);
        seat_touch(c, seat, hand_out->session_timeout_ms);
    }
}

static void log_created(struct coordinator *c, const struct verdict *verdict)
{
    const struct group_slot *slot = state_group_by_id(c->state, verdict->group);
    if (verdict->id == 0 || slot == NULL) {
        return; /* it was there */
    }
    c->counters.groups_created++;
    effects_log(&c->effects, EFFECT_INFO, "group_created group=%s",
                effect_text(&c->effects, slot->facts->name));
}

static void hand_out_done(struct coordinator *c,
                          struct proposal *proposal,
                          const struct verdict *verdicts,
                          int count)
{
    struct hand_out *hand_out = proposal->data;
    const struct verdict *verdict = &verdicts[count - 1];
    struct group_slot *slot = state_group_by_id(c->state, verdict->group);
    if (hand_out->group == 0) {
        log_created(c, &verdicts[0]);
    }
    count_down(c, hand_out);
    if (slot != NULL && verdict->error == KAFKA_NONE) {
        seat_pending(c, slot, hand_out);
    }
    free(hand_out);
    struct call *call = proposal->call;
    if (call != NULL && verdict->error == KAFKA_NONE) {
        join_refuse(c, call, KAFKA_MEMBER_ID_REQUIRED, member_id_make(call, call->client_id));
    } else if (call != NULL) {
        coordinator_dispatch(c, call); /* the group was deleted before it: decided anew */
    }
}

static void hand_out_given_up(struct coordinator *c,
                              struct proposal *proposal,
                              int16_t error,
                              bool is_void)
{
    (void)error;
    if (is_void) {
        count_down(c, proposal->data);
    }
}

static void propose_hand_out(struct coordinator *c,
                             uint64_t group,
                             struct call *call,
                             struct buf *records)
{
    const struct join_group_request *request = call->request;
    struct span member_id = member_id_make(call, call->client_id);
    struct record_member_pending pending = {
        .group = group,
        .member_id = member_id,
        .session_timeout_ms = request->session_timeout_ms,
    };
    record_append(records, RECORD_MEMBER_PENDING, &pending);
    struct hand_out *hand_out = calloc(1, sizeof *hand_out + member_id.len);
    ensure(hand_out != NULL);
    hand_out->group = group;
    hand_out->session_timeout_ms = request->session_timeout_ms;
    hand_out->member_id_len = member_id.len;
    memcpy(hand_out->member_id, member_id.data, member_id.len);
    struct proposal *proposal = proposal_make(c, call, records, hand_out_done);
    proposal->data = hand_out;
    proposal->drop = free;
    proposal->give_up = hand_out_given_up;
}

void join_hand_out_id(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    struct round *round = round_of(c, slot);
    if (slot->facts->pending_count + round->pending_proposed >= LIMIT_PENDING_MEMBERS) {
        c->counters.limit_group_size++;
        join_refuse(c, call, KAFKA_GROUP_MAX_SIZE_REACHED, SPAN_EMPTY);
        return;
    }
    struct buf records = BUF_EMPTY;
    round->pending_proposed++;
    propose_hand_out(c, slot->facts->id, call, &records);
}

static void created_done(struct coordinator *c,
                         struct proposal *proposal,
                         const struct verdict *verdicts,
                         int count)
{
    ensure(count == 1);
    log_created(c, &verdicts[0]);
    if (proposal->call != NULL) {
        coordinator_dispatch(c, proposal->call);
    }
}

void join_missing_group(struct coordinator *c, struct call *call)
{
    const struct join_group_request *request = call->request;
    if (request->member_id.len > 0) {
        reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
        return;
    }
    if (request->protocol_type.len == 0 || request->protocols_count == 0) {
        reply_error(c, call, KAFKA_INCONSISTENT_GROUP_PROTOCOL);
        return;
    }
    if (state_totals(c->state)->groups >= (uint64_t)c->limits.groups_max) {
        c->counters.limit_groups++;
        effects_log(&c->effects, EFFECT_WARN,
                    "join_refused group=%s limit=coordinator.max.groups client_id=%s",
                    effect_text(&c->effects, request->group_id),
                    effect_text(&c->effects, call->client_id));
        reply_error(c, call, KAFKA_POLICY_VIOLATION);
        return;
    }
    struct record_group_created created = {.name = request->group_id};
    struct buf records = BUF_EMPTY;
    record_append(&records, RECORD_GROUP_CREATED, &created);
    if (call->api_version >= 4 && span_is_null(request->group_instance_id)) {
        propose_hand_out(c, 0, call, &records);
    } else {
        proposal_make(c, call, &records, created_done);
    }
}
