/* Static members that come back (KIP-345): no member id, but an instance id that somebody holds.
 * The new incarnation takes the old one's place under a new id; whoever still uses the old id is
 * fenced. In a stable group whose protocol stays the same that costs no rebalance. Rules: protocol
 * C.3.3. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/join_group.h"
#include "server/core/member_id.h"

/* On its way into the log; on the heap, since its call may be answered before. */
struct replacement {
    bool has_same_names; /* of protocols, in the same order: then no vote changes */
    size_t old_id_len;
    size_t new_id_len;
    uint8_t ids[]; /* the old one, then the new one */
};

/* The old incarnation's seat goes, the new one's comes in its place. */
static struct seat *reseat(struct coordinator *c,
                           struct group_slot *slot,
                           struct span old_id,
                           const struct member *member,
                           bool has_same_names)
{
    struct round *round = round_of(c, slot);
    struct seat *old = seat_find(round, old_id);
    bool has_synced = true;
    if (old != NULL) {
        has_synced = old->has_synced;
        seat_answer(c, old, KAFKA_FENCED_INSTANCE_ID);
        bool common_is_known = round->common_is_known && has_same_names;
        seat_free(c, old);
        round->common_is_known = common_is_known;
    }
    struct seat *seat = seat_find(round, member->member_id);
    if (seat == NULL) { /* unless the round was made from these facts */
        seat = seat_add(c, round, member->member_id, SEAT_MEMBER);
        seat->has_synced = has_synced;
    }
    seat->member = member->id;
    seat_touch(c, seat, member->session_timeout_ms);
    return seat;
}

/* Before v9 a client cannot be told not to assign: it is shown another leader, its old self. */
static void answer_in_stable(struct coordinator *c,
                             struct group_slot *slot,
                             const struct member *member,
                             struct span old_id,
                             struct call *call)
{
    const struct group *group = slot->facts;
    const struct member *leader = group_member_by_id(group, group->leader);
    struct join_answer answer = {
        .generation = group->generation,
        .protocol_type = group->protocol_type,
        .protocol_name = group->protocol_name,
        .leader = leader == NULL ? SPAN_EMPTY : leader->member_id,
        .member_id = member->member_id,
    };
    if (member == leader && call->api_version >= 9) {
        answer.skip_assignment = true;
        answer.members = barrier_views(c, slot->round, &answer.members_count);
    } else if (member == leader) {
        answer.leader = arena_copy(call->arena, old_id);
    }
    join_answer(c, call, &answer);
}

/* Whether the group's protocol is the one that its members would choose now. It is looked up anew
 * only when somebody's list has changed: many may come back at once. */
static bool is_protocol_kept(struct coordinator *c, struct round *round)
{
    const struct group_slot *slot = round->slot;
    if (round_phase(slot) != GROUP_STABLE) {
        return false;
    }
    if (!round->vote_is_known) {
        int32_t count;
        struct seat_view *views = barrier_views(c, round, &count);
        struct span vote = barrier_select(views, count);
        if (span_is_null(vote)) {
            return false;
        }
        round->vote.len = 0;
        buf_append(&round->vote, vote.data, vote.len);
        round->vote_is_known = true;
    }
    return span_compare(buf_span(&round->vote), slot->facts->protocol_name) == 0;
}

static void answer_replaced(struct coordinator *c,
                            struct group_slot *slot,
                            const struct replacement *replacement,
                            struct call *call)
{
    struct span old_id = span_of(replacement->ids, replacement->old_id_len);
    struct span new_id =
        span_of(replacement->ids + replacement->old_id_len, replacement->new_id_len);
    const struct member *member = group_find_member(slot->facts, new_id);
    ensure(member != NULL);
    effects_log(&c->effects, EFFECT_INFO,
                "member_replaced group=%s instance=%s member=%s old=%s client_id=%s",
                effect_text(&c->effects, slot->facts->name),
                effect_text(&c->effects, member->instance_id), effect_text(&c->effects, new_id),
                effect_text(&c->effects, old_id), effect_text(&c->effects, member->client_id));
    c->counters.static_replacements++;
    struct seat *seat = reseat(c, slot, old_id, member, replacement->has_same_names);
    struct round *round = seat->round;
    round->vote_is_known = round->vote_is_known && replacement->has_same_names;
    round_mark(c, round);
    if (call == NULL) {
        return;
    }
    if (is_protocol_kept(c, round)) {
        answer_in_stable(c, slot, member, old_id, call);
    } else {
        join_park(c, seat, call, CAUSE_CHANGE);
    }
}

static void replace_done(struct coordinator *c,
                         struct proposal *proposal,
                         const struct verdict *verdicts,
                         int count)
{
    struct replacement *replacement = proposal->data;
    struct group_slot *slot = state_group_by_id(c->state, proposal->group);
    ensure(count == 1);
    if (slot != NULL && verdicts[0].error == KAFKA_NONE) {
        answer_replaced(c, slot, replacement, proposal->call);
    } else if (proposal->call != NULL) {
        reply_error(c, proposal->call, KAFKA_UNKNOWN_MEMBER_ID);
    }
    free(replacement);
}

static void replace_given_up(struct coordinator *c,
                             struct proposal *proposal,
                             int16_t error,
                             bool is_void)
{
    (void)error;
    const struct replacement *replacement = proposal->data;
    struct group_slot *slot = state_group_by_id(c->state, proposal->group);
    if (!is_void || slot == NULL || slot->round == NULL) {
        return;
    }
    struct span old_id = span_of(replacement->ids, replacement->old_id_len);
    struct seat *old = seat_find(slot->round, old_id);
    if (old != NULL) {
        old->is_replaced = false;
    }
}

static struct replacement *replacement_new(struct span old_id,
                                           struct span new_id,
                                           bool has_same_names)
{
    struct replacement *replacement = calloc(1, sizeof *replacement + old_id.len + new_id.len);
    ensure(replacement != NULL);
    replacement->has_same_names = has_same_names;
    replacement->old_id_len = old_id.len;
    replacement->new_id_len = new_id.len;
    memcpy(replacement->ids, old_id.data, old_id.len);
    memcpy(replacement->ids + old_id.len, new_id.data, new_id.len);
    return replacement;
}

void join_replace(struct coordinator *c,
                  struct group_slot *slot,
                  const struct member *old,
                  struct call *call)
{
    const struct join_group_request *request = call->request;
    struct round *round = round_of(c, slot);
    struct seat *seat = seat_find(round, old->member_id);
    ensure(seat != NULL);
    if (seat->removal != CAUSE_NONE || seat->is_replaced) {
        round_wait(c, round, call);
        return;
    }
    struct span new_id = member_id_make(call, request->group_instance_id);
    struct record_member member = join_record(call, new_id, 0);
    struct record_member_replaced record = {
        .group = slot->facts->id,
        .old = old->id,
        .members = &member,
        .members_count = 1,
    };
    struct buf records = BUF_EMPTY;
    record_append(&records, RECORD_MEMBER_REPLACED, &record);
    bool is_shared = round->gates == 0 || round->is_shared;
    struct proposal *proposal = round_propose(c, round, &records, replace_done, replace_given_up);
    proposal->call = call;
    proposal->data = replacement_new(old->member_id, new_id, join_has_same_names(request, old));
    proposal->drop = free;
    round->is_shared = is_shared && round_phase(slot) == GROUP_STABLE;
    seat->is_replaced = true;
}

void join_replace_candidate(struct coordinator *c, struct seat *old, struct call *call)
{
    struct round *round = old->round;
    const struct join_group_request *request = call->request;
    seat_answer(c, old, KAFKA_FENCED_INSTANCE_ID);
    seat_free(c, old);
    c->counters.static_replacements++;
    struct seat *seat =
        seat_add(c, round, member_id_make(call, request->group_instance_id), SEAT_CANDIDATE);
    join_park(c, seat, call, CAUSE_JOIN);
}
