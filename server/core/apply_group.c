/* Records about a group and single members of it. */
#include "rpc/build.h"
#include "rpc/errors.h"
#include "server/core/state_internal.h"

void apply_group_created(struct apply *apply, const void *body)
{
    const struct record_group_created *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = state_group(state, record->name);
    if (slot == NULL) {
        struct group *group = group_new(&state->editions, state->next_id++, record->name);
        group->version = state->totals.index;
        slot = state_add_group(state, group);
        apply->verdict.id = group->id;
    }
    apply->verdict.group = slot->facts->id;
    apply->group_made = slot->facts->id;
}

void apply_member_pending(struct apply *apply, const void *body)
{
    const struct record_member_pending *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    if (span_is_empty(record->member_id)) {
        apply->verdict.error = KAFKA_INVALID_REQUEST;
        return;
    }
    if (group_pending(slot->facts, record->member_id) != NULL ||
        group_find_member(slot->facts, record->member_id) != NULL) {
        return;
    }
    struct group *group = state_edit_group(state, slot);
    group_add_pending(&state->editions, group, record->member_id, record->session_timeout_ms);
    state_update_group(state, group, group->members_count);
}

void apply_pending_removed(struct apply *apply, const void *body)
{
    const struct record_pending_removed *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    apply->verdict.error = KAFKA_UNKNOWN_MEMBER_ID;
    for (int32_t i = 0; i < record->member_ids_count; i++) {
        if (group_pending(slot->facts, record->member_ids[i]) != NULL) {
            struct group *group = state_edit_group(state, slot);
            group_remove_pending(&state->editions, group, record->member_ids[i]);
            apply->verdict.error = KAFKA_NONE;
        }
    }
    if (apply->verdict.error == KAFKA_NONE) {
        struct group *group = state_edit_group(state, slot);
        state_update_group(state, group, group->members_count);
    }
}

void apply_empty(struct apply *apply, struct group *group, int32_t members_before)
{
    if (members_before > 0) {
        group->empty_since_ms = apply->state->totals.stamp_ms;
    }
    group_set_text(&apply->state->editions, &group->protocol_name, SPAN_NULL);
    group->has_assignment = false;
    group->is_changed = false;
    group->leader = 0;
}

void apply_members_removed(struct apply *apply, const void *body)
{
    const struct record_members_removed *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    struct group *group = state_edit_group(state, slot);
    int32_t before = group->members_count;
    int32_t removed =
        group_remove_members(&state->editions, group, record->members, record->members_count);
    if (removed == 0) {
        apply->verdict.error = KAFKA_UNKNOWN_MEMBER_ID;
        return;
    }
    if (group->members_count == 0) {
        apply_empty(apply, group, before);
    } else {
        group->is_changed = true;
        if (group_member_by_id(group, group->leader) == NULL) {
            group->leader = 0;
        }
    }
    state_update_group(state, group, before);
}

struct member apply_member_facts(struct arena *arena, const struct record_member *from, uint64_t id)
{
    struct member member = {
        .id = id,
        .member_id = from->member_id,
        .instance_id = from->instance_id,
        .client_id = from->client_id,
        .client_host = from->client_host,
        .session_timeout_ms = from->session_timeout_ms,
        .rebalance_timeout_ms = from->rebalance_timeout_ms,
        .joined_without_id = from->joined_without_id,
        .protocols_count = from->protocols_count,
    };
    size_t count = (size_t)from->protocols_count;
    member.protocols = arena_alloc(arena, count * sizeof *member.protocols);
    for (size_t i = 0; i < count; i++) {
        member.protocols[i].name = from->protocols[i].name;
        member.protocols[i].metadata = from->protocols[i].metadata;
    }
    return member;
}

/* Whether [record] can stand for [old]: its ids are nobody else's. */
static bool can_replace(const struct group *group,
                        const struct member *old,
                        const struct record_member *record)
{
    const struct member *by_member_id = group_find_member(group, record->member_id);
    const struct member *by_instance_id = group_member_by_instance(group, record->instance_id);
    return !span_is_empty(record->member_id) && (by_member_id == NULL || by_member_id == old) &&
           (by_instance_id == NULL || by_instance_id == old);
}

void apply_member_replaced(struct apply *apply, const void *body)
{
    const struct record_member_replaced *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    const struct member *old = group_member_by_id(slot->facts, record->old);
    if (old == NULL) {
        apply->verdict.error = KAFKA_UNKNOWN_MEMBER_ID;
        return;
    }
    if (record->members_count != 1 || !can_replace(slot->facts, old, &record->members[0])) {
        apply->verdict.error = KAFKA_INVALID_REQUEST;
        return;
    }
    struct group *group = state_edit_group(state, slot);
    struct member facts = apply_member_facts(&state->arena, &record->members[0], state->next_id++);
    facts.place = old->place;
    facts.assignment = old->assignment;
    group_remove_pending(&state->editions, group, facts.member_id);
    struct member *member = member_new(&facts, group->id, state->editions.current);
    if (group->leader == old->id) {
        group->leader = member->id;
    }
    group_replace_member(&state->editions, group, old, member);
    if (!group->has_assignment) { /* the one that is being made names a dead id */
        group->is_changed = true;
    }
    state_update_group(state, group, group->members_count);
    apply->verdict.id = member->id;
}

void apply_group_deleted(struct apply *apply, const void *body)
{
    const struct record_group_deleted *record = body;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_GROUP_ID_NOT_FOUND);
    if (slot == NULL) {
        return;
    }
    const struct group *group = slot->facts;
    bool is_in_use = group->members_count > 0 || group->pending_count > 0 ||
                     (record->only_without_offsets && group->offsets.count > 0);
#if ROSTER_BUG == 2053 /* empty when it was looked at, so it goes */
    is_in_use = false;
#endif
    if (is_in_use) {
        apply->verdict.error = KAFKA_NON_EMPTY_GROUP;
        return;
    }
    state_remove_group(apply->state, slot);
}
