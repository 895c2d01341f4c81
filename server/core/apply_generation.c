/* Records that begin a generation and give it its assignment (promise 2: each at most once). */
#include <stdint.h>

#include "rpc/build.h"
#include "rpc/errors.h"
#include "server/core/state_internal.h"

/* What of [list] may be a member of the new generation comes to [next]; the members of the
 * generation before are still in [group]. */
static void add_members(struct apply *apply,
                        const struct group *group,
                        struct group *next,
                        const struct record_member *list,
                        int32_t count)
{
    struct state *state = apply->state;
    for (int32_t i = 0; i < count; i++) {
        const struct record_member *from = &list[i];
        const struct member *old = from->id == 0 ? NULL : group_member_by_id(group, from->id);
        bool is_dead = old == NULL && (from->id != 0 || from->is_kept);
#if ROSTER_BUG == 2072 /* a member that was removed meanwhile is one again */
        is_dead = old == NULL && from->is_kept;
#endif
        if (is_dead || (old != NULL && group_member_by_id(next, old->id) != NULL)) {
            continue;
        }
        struct member facts =
            from->is_kept ? *old : apply_member_facts(&state->arena, from, from->id);
        if (span_is_empty(facts.member_id) || group_find_member(next, facts.member_id) != NULL ||
            group_member_by_instance(next, facts.instance_id) != NULL) {
            continue;
        }
        if (facts.id == 0) {
            facts.id = state->next_id++;
            apply->verdict.id = facts.id;
        }
        facts.place = (uint32_t)next->members_count;
        facts.assignment = SPAN_NULL;
        group_add_member(next, member_new(&facts, group->id, state->editions.current));
    }
}

/* The members of [next] replace those of [group] and are pending no more. */
static void take_members(struct editions *editions, struct group *group, struct group *next)
{
    group_clear_members(editions, group);
    for (int32_t i = 0; i < next->members_count; i++) {
        group_remove_pending(editions, group, next->members[i]->member_id);
        group_add_member(group, next->members[i]);
    }
    editions_drop(editions, next->members, editions->current);
    group_index_free(next);
}

static void begin_generation(struct apply *apply,
                             struct group *group,
                             const struct record_generation *record,
                             int32_t members_before)
{
    struct editions *editions = &apply->state->editions;
    group->generation = record->generation;
    group->has_assignment = false;
    group->is_changed = false;
    if (group->members_count == 0) {
        apply_empty(apply, group, members_before);
        return;
    }
    const struct member *leader = group_find_member(group, record->leader);
    group->leader = leader == NULL ? 0 : leader->id;
    group->empty_since_ms = -1;
    struct span name = record->protocol_name;
    group_set_text(editions, &group->protocol_type, record->protocol_type);
    group_set_text(editions, &group->protocol_name, span_is_null(name) ? SPAN_EMPTY : name);
}

void apply_generation(struct apply *apply, const void *body)
{
    const struct record_generation *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    uint64_t id = slot->facts->id;
    if (record->generation <= slot->facts->generation) {
        apply->verdict.error = KAFKA_ILLEGAL_GENERATION;
        state_drop_staged(state, id);
        return;
    }
    struct arena chunks;
    arena_init(&chunks, SIZE_MAX);
    struct staged_bodies staged =
        apply_staged_bodies(state, &chunks, id, record->generation, RECORD_MEMBERS_STAGED);
    struct group *group = state_edit_group(state, slot);
    int32_t before = group->members_count;
    struct group next = {.id = id};
    for (int i = 0; i < staged.count; i++) {
        const struct record_members_staged *chunk = staged.bodies[i];
        add_members(apply, group, &next, chunk->members, chunk->members_count);
    }
    add_members(apply, group, &next, record->members, record->members_count);
    take_members(&state->editions, group, &next);
    begin_generation(apply, group, record, before);
    state_update_group(state, group, before);
    state_drop_staged(state, id);
    arena_close(&chunks);
}

static void note_assignments(const struct group *group,
                             struct span *assignments,
                             const struct record_member_assignment *list,
                             int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const struct member *member = group_member_by_id(group, list[i].member);
        if (member != NULL) {
            assignments[group_position(group, member)] = list[i].assignment;
        }
    }
}

static void assign(struct state *state,
                   struct group *group,
                   const struct record_assignment *record,
                   struct arena *chunks)
{
    struct staged_bodies staged = apply_staged_bodies(state, chunks, group->id, record->generation,
                                                      RECORD_ASSIGNMENTS_STAGED);
    struct span *assignments =
        arena_alloc(chunks, (size_t)group->members_count * sizeof *assignments);
    for (int32_t i = 0; i < group->members_count; i++) {
        assignments[i] = SPAN_EMPTY;
    }
    for (int i = 0; i < staged.count; i++) {
        const struct record_assignments_staged *chunk = staged.bodies[i];
        note_assignments(group, assignments, chunk->assignments, chunk->assignments_count);
    }
    note_assignments(group, assignments, record->assignments, record->assignments_count);
    for (int32_t i = 0; i < group->members_count; i++) {
        const struct member *old = group->members[i];
        struct member *member =
            member_with(old, group->id, state->editions.current, old->place, assignments[i]);
        group_replace_member(&state->editions, group, old, member);
    }
    group->has_assignment = true;
    state_update_group(state, group, group->members_count);
}

void apply_assignment(struct apply *apply, const void *body)
{
    const struct record_assignment *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    const struct group *facts = slot->facts;
    if (facts->members_count == 0) {
        apply->verdict.error = KAFKA_UNKNOWN_MEMBER_ID;
    } else if (record->generation != facts->generation) {
        apply->verdict.error = KAFKA_ILLEGAL_GENERATION;
    } else if (facts->is_changed) {
        apply->verdict.error = KAFKA_REBALANCE_IN_PROGRESS;
    } else if (!facts->has_assignment) {
        struct arena chunks;
        arena_init(&chunks, SIZE_MAX);
        assign(state, state_edit_group(state, slot), record, &chunks);
        arena_close(&chunks);
    }
    state_drop_staged(state, facts->id);
}
