/* Records about committed offsets. A commit is judged here, at its place in the log, by the group
 * as it is then (R4): that is what makes fencing exact. */
#include "rpc/build.h"
#include "rpc/errors.h"
#include "server/core/state_internal.h"

static int16_t judge(const struct group *group, const struct record_offsets *record)
{
    if (record->member == 0) {
        return group->members_count == 0 ? KAFKA_NONE : KAFKA_UNKNOWN_MEMBER_ID;
    }
#if ROSTER_BUG != 2042 /* else an incarnation that was replaced commits on */
    if (group_member_by_id(group, record->member) == NULL) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
#endif
#if ROSTER_BUG != 6 && ROSTER_BUG != 2043
    if (record->generation != group->generation) {
        return KAFKA_ILLEGAL_GENERATION;
    }
#endif
    return group->has_assignment ? KAFKA_NONE : KAFKA_REBALANCE_IN_PROGRESS;
}

/* What ListOffsets answers as latest is never below a committed offset (protocol.md D.2). */
static void raise_high(struct state *state, uint64_t topic_id, int32_t partition, int64_t offset)
{
    const struct topic *topic = state_topic_by_id(state, topic_id);
    int64_t high = topic->high_offsets[partition];
    if (offset <= high) {
        return;
    }
    struct topic *edited = state_edit_topic(state, topic);
    uint64_t change =
        topic_high_hash(topic_id, partition, offset) - topic_high_hash(topic_id, partition, high);
    edited->high_offsets[partition] = offset;
    edited->hash += change;
    state->rows_hash += change;
}

static int64_t expiry_of(int64_t commit_ms, int64_t retention_ms)
{
    int64_t expire_ms;
    if (retention_ms < 0) {
        return -1;
    }
    return __builtin_add_overflow(commit_ms, retention_ms, &expire_ms) ? INT64_MAX : expire_ms;
}

static void put_row(struct state *state,
                    struct group *group,
                    const struct record_offsets *record,
                    const struct record_offset *from)
{
    uint32_t before = group->offsets.count;
    int64_t epoch = from->leader_epoch;
    int64_t commit_ms = from->commit_ms == -1 ? state->totals.stamp_ms : from->commit_ms;
    struct offset_row *row = offsets_put(&group->offsets, record->topic, (int32_t)from->partition);
    if (group->offsets.count == before) {
        state->rows_hash -= offset_row_hash(group->id, row);
        blob_drop(&state->editions, row->metadata);
    } else {
        state->totals.offsets++;
    }
#if ROSTER_BUG == 10 /* chance in apply: an address, which differs within and between processes */
    commit_ms += (int64_t)(((uintptr_t)state >> 5 ^ (uintptr_t)state >> 12) & 7);
#endif
    row->leader_epoch = epoch < 0 || epoch > INT32_MAX ? -1 : (int32_t)epoch;
    row->offset = from->offset;
    row->commit_ms = commit_ms;
    row->expire_ms = expiry_of(commit_ms, record->retention_ms);
    row->version = state->totals.index;
    row->metadata = from->metadata.len == 0 ? NULL : blob_new(&state->editions, from->metadata);
    state->rows_hash += offset_row_hash(group->id, row);
    raise_high(state, record->topic, row->partition, row->offset);
}

void apply_offsets(struct apply *apply, const void *body)
{
    const struct record_offsets *record = body;
    struct state *state = apply->state;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_UNKNOWN_MEMBER_ID);
    if (slot == NULL) {
#if ROSTER_BUG == 2041 /* a group that was deleted refuses nothing */
        apply->verdict.error = KAFKA_NONE;
#endif
        return;
    }
    apply->verdict.error = judge(slot->facts, record);
    if (apply->verdict.error != KAFKA_NONE) {
        return;
    }
    const struct topic *topic = state_topic_by_id(state, record->topic);
    if (topic == NULL) {
        apply->verdict.error = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
#if ROSTER_BUG == 2044 /* nor does a topic that was deleted */
        apply->verdict.error = KAFKA_NONE;
#endif
        return;
    }
    uint64_t partitions = (uint64_t)topic->partitions_count;
    struct group *group = state_edit_group(state, slot);
    for (int32_t i = 0; i < record->offsets_count; i++) {
        if (record->offsets[i].partition < partitions) {
            put_row(state, group, record, &record->offsets[i]);
        }
    }
}

static void remove_row(struct state *state, struct group_slot *slot, const struct offset_row *found)
{
    uint64_t topic = found->topic;
    int32_t partition = found->partition;
    struct group *group = state_edit_group(state, slot);
    const struct offset_row *row = offsets_find(&group->offsets, topic, partition);
    state->rows_hash -= offset_row_hash(group->id, row);
    state->totals.offsets--;
    blob_drop(&state->editions, row->metadata);
    offsets_remove(&group->offsets, row);
}

static const struct offset_row *find_row(const struct group_slot *slot,
                                         uint64_t topic,
                                         uint64_t partition)
{
    return partition > INT32_MAX ? NULL
                                 : offsets_find(&slot->facts->offsets, topic, (int32_t)partition);
}

void apply_offsets_deleted(struct apply *apply, const void *body)
{
    const struct record_offsets_deleted *record = body;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_GROUP_ID_NOT_FOUND);
    if (slot == NULL) {
        return;
    }
    for (int32_t i = 0; i < record->partitions_count; i++) {
        const struct offset_row *row = find_row(slot, record->topic, record->partitions[i]);
        if (row != NULL) {
            remove_row(apply->state, slot, row);
        }
    }
}

void apply_offsets_expired(struct apply *apply, const void *body)
{
    const struct record_offsets_expired *record = body;
    struct group_slot *slot = apply_find_group(apply, record->group, KAFKA_GROUP_ID_NOT_FOUND);
    if (slot == NULL) {
        return;
    }
#if ROSTER_BUG != 2051 /* else the group may be in use again */
    if (slot->facts->version != record->version) {
        apply->verdict.error = KAFKA_REBALANCE_IN_PROGRESS;
        return;
    }
#endif
    for (int32_t i = 0; i < record->offsets_count; i++) {
        const struct record_expired_offset *expired = &record->offsets[i];
        const struct offset_row *row = find_row(slot, expired->topic, expired->partition);
        bool is_as_seen = row != NULL && row->version == expired->version;
#if ROSTER_BUG == 2052 /* committed anew meanwhile, and gone all the same */
        is_as_seen = row != NULL;
#endif
        if (is_as_seen) {
            remove_row(apply->state, slot, row);
        }
    }
}
