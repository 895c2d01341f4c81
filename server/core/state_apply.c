/* A proposal's records, one by one. */
#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/state_internal.h"

enum { ARENA_KEPT = 256 << 10 };

static apply_fn *const appliers[RECORD_TYPES_END] = {
    [RECORD_GROUP_CREATED] = apply_group_created,
    [RECORD_MEMBER_PENDING] = apply_member_pending,
    [RECORD_PENDING_REMOVED] = apply_pending_removed,
    [RECORD_GENERATION] = apply_generation,
    [RECORD_MEMBERS_STAGED] = apply_members_staged,
    [RECORD_ASSIGNMENT] = apply_assignment,
    [RECORD_ASSIGNMENTS_STAGED] = apply_assignments_staged,
    [RECORD_MEMBERS_REMOVED] = apply_members_removed,
    [RECORD_MEMBER_REPLACED] = apply_member_replaced,
    [RECORD_OFFSETS] = apply_offsets,
    [RECORD_OFFSETS_DELETED] = apply_offsets_deleted,
    [RECORD_OFFSETS_EXPIRED] = apply_offsets_expired,
    [RECORD_GROUP_DELETED] = apply_group_deleted,
    [RECORD_TOPIC_CREATED] = apply_topic_created,
    [RECORD_TOPIC_GROWN] = apply_topic_grown,
    [RECORD_TOPIC_DELETED] = apply_topic_deleted,
    [RECORD_NODE] = apply_node,
    [RECORD_FEATURE_LEVEL] = apply_feature_level,
};

struct group_slot *apply_find_group(struct apply *apply, uint64_t group, int16_t error)
{
    uint64_t id = group == 0 ? apply->group_made : group;
    struct group_slot *slot = state_group_by_id(apply->state, id);
    apply->verdict.group = id;
    if (slot == NULL) {
        apply->verdict.error = error;
    }
    return slot;
}

static void begin(struct state *state, uint64_t index, uint64_t term, int64_t stamp_ms)
{
#if ROSTER_BUG != 2082 /* else chunks of an older term wait for the close of a later one */
    if (term > state->totals.term) {
        state_drop_staged(state, 0);
    }
#endif
    state->totals.index = index;
    state->totals.term = term;
    state->totals.stamp_ms = stamp_ms;
}

int state_apply(struct state *state,
                uint64_t index,
                uint64_t term,
                int64_t stamp_ms,
                struct span records,
                struct verdict *verdicts,
                int verdicts_max)
{
    struct reader reader = reader_of(records);
    struct apply apply = {.state = state};
    struct record record;
    int count = 0;
    int result;
    begin(state, index, term, stamp_ms);
    while ((result = record_read(&reader, &state->arena, &record)) > 0) {
        apply.verdict = (struct verdict){.error = KAFKA_NONE};
        apply.version = record.version;
        apply.bytes = record.bytes;
        ensure(appliers[record.type] != NULL);
        appliers[record.type](&apply, record.body);
        arena_reset(&state->arena, ARENA_KEPT);
        if (count < verdicts_max) {
            verdicts[count] = apply.verdict;
        }
        count++;
    }
    arena_reset(&state->arena, ARENA_KEPT);
    state_seal(state);
    return result < 0 ? -1 : count;
}
