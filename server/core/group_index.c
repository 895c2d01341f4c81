/* How the members and pending ids of a large group are found: without it, a group of 10,000 would
 * cost 10,000 comparisons for each of its calls. Small groups are searched. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/hash.h"
#include "server/core/state_internal.h"

/* Pending ids are values that move in their array, so their items are places: index + 1. */
struct group_index {
    struct table by_id;
    struct table by_member_id;
    struct table by_instance_id;
    struct table pending;
};

static void *place_item(int32_t at)
{
    return (void *)(uintptr_t)((uint32_t)at + 1);
}

static int32_t place_at(const void *item)
{
    return (int32_t)((uintptr_t)item - 1);
}

static void put_member(struct group_index *index, struct member *member)
{
    table_put(&index->by_id, hash_of_id(member->id), member);
    table_put(&index->by_member_id, hash_of_span(member->member_id), member);
    if (!span_is_null(member->instance_id)) {
        table_put(&index->by_instance_id, hash_of_span(member->instance_id), member);
    }
}

static void put_pending(struct group *group, int32_t at)
{
    table_put(&group->index->pending, hash_of_span(group->pending[at].member_id), place_item(at));
}

/* True: there is an index now, of all that the group has. */
static bool was_made(struct group *group)
{
    if (group->index != NULL || group->members_count + group->pending_count <= GROUP_SEARCHED_MAX) {
        return false;
    }
    group->index = memory_new(sizeof *group->index);
    for (int32_t i = 0; i < group->members_count; i++) {
        put_member(group->index, group->members[i]);
    }
    for (int32_t i = 0; i < group->pending_count; i++) {
        put_pending(group, i);
    }
    return true;
}

void group_index_add_member(struct group *group, struct member *member)
{
    if (!was_made(group) && group->index != NULL) {
        put_member(group->index, member);
    }
}

void group_index_remove_member(struct group *group, const struct member *member)
{
    struct group_index *index = group->index;
    if (index == NULL) {
        return;
    }
    table_remove(&index->by_id, hash_of_id(member->id), member);
    table_remove(&index->by_member_id, hash_of_span(member->member_id), member);
    if (!span_is_null(member->instance_id)) {
        table_remove(&index->by_instance_id, hash_of_span(member->instance_id), member);
    }
}

void group_index_add_pending(struct group *group, int32_t at)
{
    if (!was_made(group) && group->index != NULL) {
        put_pending(group, at);
    }
}

void group_index_remove_pending(struct group *group, int32_t at)
{
    if (group->index != NULL) {
        uint64_t hash = hash_of_span(group->pending[at].member_id);
        table_remove(&group->index->pending, hash, place_item(at));
    }
}

void group_index_free(struct group *group)
{
    struct group_index *index = group->index;
    if (index != NULL) {
        table_close(&index->by_id);
        table_close(&index->by_member_id);
        table_close(&index->by_instance_id);
        table_close(&index->pending);
        free(index);
        group->index = NULL;
    }
}

static bool has_id(const void *item, const void *key)
{
    return ((const struct member *)item)->id == *(const uint64_t *)key;
}

static bool has_member_id(const void *item, const void *key)
{
    return span_equal(((const struct member *)item)->member_id, *(const struct span *)key);
}

static bool has_instance_id(const void *item, const void *key)
{
    return span_equal(((const struct member *)item)->instance_id, *(const struct span *)key);
}

static const struct member *search(const struct group *group,
                                   table_match_fn *match,
                                   const void *key)
{
    for (int32_t i = 0; i < group->members_count; i++) {
        if (match(group->members[i], key)) {
            return group->members[i];
        }
    }
    return NULL;
}

const struct member *group_find_member(const struct group *group, struct span member_id)
{
    if (group->index == NULL) {
        return search(group, has_member_id, &member_id);
    }
    uint64_t hash = hash_of_span(member_id);
    return table_find(&group->index->by_member_id, hash, has_member_id, &member_id);
}

const struct member *group_member_by_id(const struct group *group, uint64_t id)
{
    if (group->index == NULL) {
        return search(group, has_id, &id);
    }
    return table_find(&group->index->by_id, hash_of_id(id), has_id, &id);
}

const struct member *group_member_by_instance(const struct group *group, struct span instance_id)
{
    if (span_is_null(instance_id)) {
        return NULL;
    }
    if (group->index == NULL) {
        return search(group, has_instance_id, &instance_id);
    }
    uint64_t hash = hash_of_span(instance_id);
    return table_find(&group->index->by_instance_id, hash, has_instance_id, &instance_id);
}

struct pending_key {
    const struct group *group;
    struct span member_id;
};

static bool is_pending(const void *item, const void *key)
{
    const struct pending_key *wanted = key;
    return span_equal(wanted->group->pending[place_at(item)].member_id, wanted->member_id);
}

const struct pending_member *group_pending(const struct group *group, struct span member_id)
{
    struct pending_key key = {group, member_id};
    if (group->index != NULL) {
        uint64_t hash = hash_of_span(member_id);
        const void *item = table_find(&group->index->pending, hash, is_pending, &key);
        return item == NULL ? NULL : &group->pending[place_at(item)];
    }
    for (int32_t i = 0; i < group->pending_count; i++) {
        if (is_pending(place_item(i), &key)) {
            return &group->pending[i];
        }
    }
    return NULL;
}
