/* Chunks of decisions that are too large for one entry (R8): kept as they came until the record
 * that closes them. */
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/state_internal.h"

static bool is_of(const struct staged *staged, int32_t generation, enum record_type type)
{
    return staged->generation == generation && staged->type == type;
}

struct staged_bodies apply_staged_bodies(const struct state *state,
                                         struct arena *arena,
                                         uint64_t group,
                                         int32_t generation,
                                         enum record_type type)
{
    struct staged_bodies found = {NULL, 0};
    size_t count = 0;
    for (const struct staged *staged = state->staged; staged != NULL; staged = staged->next) {
        count += staged->group == group;
    }
    found.bodies = arena_alloc(arena, count * sizeof *found.bodies);
    for (const struct staged *staged = state->staged; staged != NULL; staged = staged->next) {
        if (staged->group == group && is_of(staged, generation, type)) {
            struct span bytes = span_of(staged->body, staged->len);
            const void *body = record_decode(type, staged->version, bytes, arena);
            ensure(body != NULL); /* it was read when it was staged */
            found.bodies[found.count++] = body;
        }
    }
    return found;
}

static void stage(struct apply *apply, uint64_t group, int32_t generation, enum record_type type)
{
    struct state *state = apply->state;
    bool has_other = false;
    for (const struct staged *staged = state->staged; staged != NULL; staged = staged->next) {
        has_other = has_other || (staged->group == group && !is_of(staged, generation, type));
    }
    if (has_other) {
        state_drop_staged(state, group);
    }
    struct staged facts = {
        .id = state->next_id++,
        .group = group,
        .generation = generation,
        .type = type,
        .version = apply->version,
    };
    state_stage(state, &facts, apply->bytes);
}

void apply_members_staged(struct apply *apply, const void *body)
{
    const struct record_members_staged *record = body;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    if (record->members_count == 0) {
        state_drop_staged(apply->state, slot->facts->id);
    } else if (record->generation <= slot->facts->generation) {
        apply->verdict.error = KAFKA_ILLEGAL_GENERATION;
    } else {
        stage(apply, slot->facts->id, record->generation, RECORD_MEMBERS_STAGED);
    }
}

void apply_assignments_staged(struct apply *apply, const void *body)
{
    const struct record_assignments_staged *record = body;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
        return;
    }
    const struct group *group = slot->facts;
    if (record->assignments_count == 0) {
        state_drop_staged(apply->state, group->id);
    } else if (record->generation != group->generation || group->members_count == 0 ||
               group->is_changed || group->has_assignment) {
        apply->verdict.error = KAFKA_ILLEGAL_GENERATION;
    } else {
        stage(apply, group->id, record->generation, RECORD_ASSIGNMENTS_STAGED);
    }
}
