/* The editing half of group.h: versions of a group and what is in them. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/hash.h"
#include "server/core/state_internal.h"

uint64_t pending_hash(const struct pending_member *pending, uint64_t group)
{
    uint64_t hash = hash_begin(3);
    hash = hash_word(hash, group);
    hash = hash_span(hash, pending->member_id);
    hash = hash_word(hash, (uint32_t)pending->session_timeout_ms);
    return hash_end(hash);
}

uint64_t group_hash(const struct group *group)
{
    uint64_t hash = hash_begin(4);
    hash = hash_word(hash, group->id);
    hash = hash_span(hash, group->name);
    hash = hash_word(hash, group->version);
    hash = hash_word(hash, (uint32_t)group->generation);
    hash = hash_span(hash, group->protocol_type);
    hash = hash_span(hash, group->protocol_name);
    hash = hash_word(hash, (uint64_t)group->empty_since_ms);
    hash = hash_word(hash, (uint64_t)group->has_assignment << 1 | group->is_changed);
    hash = hash_word(hash, group->leader);
    return hash_end(hash) + group->parts;
}

struct group *group_new(struct editions *editions, uint64_t id, struct span name)
{
    struct group *group = memory_new(sizeof *group);
    group->id = id;
    group->name = blob_span(blob_new(editions, name));
    group->protocol_type = blob_span(blob_new(editions, SPAN_EMPTY));
    group->empty_since_ms = -1;
    group->bytes = name.len;
    group->made = editions->current;
    return group;
}

/* Arrays have room for a power of two, so their capacity need not be kept. */
static bool is_full(int32_t count)
{
    return (count & (count - 1)) == 0;
}

static size_t room_for(int32_t count)
{
    return count == 0 ? 1 : (size_t)count * 2;
}

static void *copy_array(const void *from, int32_t count, size_t size)
{
    if (count == 0) {
        return NULL;
    }
    size_t room = 1;
    while (room < (size_t)count) {
        room *= 2;
    }
    void *copy = memory_new(room * size);
    return memcpy(copy, from, (size_t)count * size);
}

/* The index is only asked for the newest version, so it moves on to the copy. */
struct group *group_copy(struct editions *editions, const struct group *group)
{
    struct group *copy = memory_copy(group, sizeof *group);
    copy->members = copy_array(group->members, group->members_count, sizeof(struct member *));
    copy->pending = copy_array(group->pending, group->pending_count, sizeof *group->pending);
    copy->offsets = offsets_copy(&group->offsets);
    copy->made = editions->current;
    return copy;
}

void group_drop_version(struct editions *editions, struct group *group)
{
    uint32_t made = group->made;
    editions_drop(editions, group->members, made);
    editions_drop(editions, group->pending, made);
    editions_drop(editions, group->offsets.rows, made);
    editions_drop(editions, group->offsets.index, made);
    editions_drop(editions, group, made);
}

void group_drop(struct editions *editions, struct group *group)
{
    for (int32_t i = 0; i < group->members_count; i++) {
        editions_drop(editions, group->members[i], group->members[i]->made);
    }
    for (int32_t i = 0; i < group->pending_count; i++) {
        blob_drop(editions, blob_of(group->pending[i].member_id));
    }
    for (uint32_t i = 0; i < group->offsets.count; i++) {
        blob_drop(editions, group->offsets.rows[i].metadata);
    }
    blob_drop(editions, blob_of(group->name));
    blob_drop(editions, blob_of(group->protocol_type));
    blob_drop(editions, blob_of(group->protocol_name));
    group_index_free(group);
    group_drop_version(editions, group);
}

void group_add_member(struct group *group, struct member *member)
{
    if (is_full(group->members_count)) {
        size_t room = room_for(group->members_count);
        group->members = memory_resize(group->members, room * sizeof(struct member *));
    }
    group->members[group->members_count++] = member;
    group->parts += member->hash;
    group->bytes += member->bytes;
    group_index_add_member(group, member);
}

static void forget_member(struct editions *editions, struct group *group, struct member *member)
{
    group_index_remove_member(group, member);
    group->parts -= member->hash;
    group->bytes -= member->bytes;
    editions_drop(editions, member, member->made);
}

int32_t group_position(const struct group *group, const struct member *member)
{
    int32_t low = 0;
    int32_t high = group->members_count - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (group->members[middle]->place < member->place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    ensure(group->members[low] == member);
    return low;
}

void group_replace_member(struct editions *editions,
                          struct group *group,
                          const struct member *old,
                          struct member *member)
{
    int32_t at = group_position(group, old);
    forget_member(editions, group, group->members[at]);
    group->members[at] = member;
    group->parts += member->hash;
    group->bytes += member->bytes;
    if (group->index != NULL) {
        group_index_add_member(group, member);
    }
}

/* The array keeps its room: at least what its count asks for. */
static void close_gaps(struct group *group, int32_t first_gap)
{
    int32_t kept = first_gap;
    for (int32_t i = first_gap; i < group->members_count; i++) {
        if (group->members[i] != NULL) {
            group->members[kept++] = group->members[i];
        }
    }
    group->members_count = kept;
}

int32_t group_remove_members(struct editions *editions,
                             struct group *group,
                             const uint64_t *ids,
                             int32_t count)
{
    /* All are found before the first goes, since the search walks the whole array. */
    int32_t *positions = memory_new(((size_t)count + 1) * sizeof *positions);
    int32_t found = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct member *member = group_member_by_id(group, ids[i]);
        if (member != NULL) {
            positions[found++] = group_position(group, member);
        }
    }
    int32_t first_gap = group->members_count;
    int32_t before = group->members_count;
    for (int32_t i = 0; i < found; i++) {
        struct member **place = &group->members[positions[i]];
        if (*place != NULL) {
            forget_member(editions, group, *place);
            *place = NULL;
            first_gap = positions[i] < first_gap ? positions[i] : first_gap;
        }
    }
    close_gaps(group, first_gap);
    free(positions);
    return before - group->members_count;
}

void group_clear_members(struct editions *editions, struct group *group)
{
    for (int32_t i = 0; i < group->members_count; i++) {
        forget_member(editions, group, group->members[i]);
    }
    group->members_count = 0;
}

void group_add_pending(struct editions *editions,
                       struct group *group,
                       struct span member_id,
                       int32_t session_timeout_ms)
{
    if (is_full(group->pending_count)) {
        size_t room = room_for(group->pending_count);
        group->pending = memory_resize(group->pending, room * sizeof *group->pending);
    }
    int32_t at = group->pending_count++;
    group->pending[at] = (struct pending_member){
        .member_id = blob_span(blob_new(editions, member_id)),
        .session_timeout_ms = session_timeout_ms,
    };
    group->parts += pending_hash(&group->pending[at], group->id);
    group->bytes += member_id.len;
    group_index_add_pending(group, at);
}

/* The last takes the place: order among pending ids means nothing, but is equal on all nodes. */
bool group_remove_pending(struct editions *editions, struct group *group, struct span member_id)
{
    const struct pending_member *found = group_pending(group, member_id);
    if (found == NULL) {
        return false;
    }
    int32_t at = (int32_t)(found - group->pending);
    int32_t last = group->pending_count - 1;
    group->parts -= pending_hash(found, group->id);
    group->bytes -= found->member_id.len;
    group_index_remove_pending(group, at);
    blob_drop(editions, blob_of(found->member_id));
    if (at != last) {
        group_index_remove_pending(group, last);
        group->pending[at] = group->pending[last];
        group->pending_count--;
        group_index_add_pending(group, at);
    } else {
        group->pending_count--;
    }
    return true;
}

void group_set_text(struct editions *editions, struct span *field, struct span value)
{
    if (!span_equal(*field, value)) {
        struct blob *old = blob_of(*field);
        *field = blob_span(blob_new(editions, value));
        blob_drop(editions, old);
    }
}
