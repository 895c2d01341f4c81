#include "server/core/group.h"

#include "rpc/ensure.h"
#include "rpc/reader.h"
#include "server/core/state_internal.h"

enum group_phase group_phase(const struct group *group)
{
    if (group->members_count == 0) {
        return GROUP_EMPTY;
    }
    if (group->is_changed) {
        return GROUP_PREPARING;
    }
    return group->has_assignment ? GROUP_STABLE : GROUP_COMPLETING;
}

struct span group_member_metadata(const struct group *group, const struct member *member)
{
    for (int32_t i = 0; i < member->protocols_count; i++) {
        if (span_equal(member->protocols[i].name, group->protocol_name)) {
            return member->protocols[i].metadata;
        }
    }
    return SPAN_EMPTY;
}

/* The prefix that all versions of a consumer's subscription share: version, topics, user data
 * (protocol.md B.43). Bytes that do not have it may mean any topic. */
static bool may_subscribe(struct span metadata, struct span topic)
{
    struct reader r = reader_of(metadata);
    bool is_named = false;
    bool is_version = (int16_t)reader_be16(&r) >= 0;
    int32_t count = (int32_t)reader_be32(&r);
    for (int32_t i = 0; i < count && !reader_is_failed(&r); i++) {
        uint16_t len = reader_be16(&r);
        const uint8_t *name = reader_take(&r, len);
        is_named = is_named || (name != NULL && span_equal(span_of(name, len), topic));
    }
    int32_t user_data_len = (int32_t)reader_be32(&r);
    if (user_data_len > 0) {
        reader_take(&r, (size_t)user_data_len);
    }
    return is_named || !is_version || count < 0 || user_data_len < -1 || reader_is_failed(&r);
}

bool group_subscribes(const struct group *group, struct span topic)
{
    if (!span_equal(group->protocol_type, SPAN_LITERAL("consumer"))) {
        return false;
    }
    for (int32_t i = 0; i < group->members_count; i++) {
        if (may_subscribe(group_member_metadata(group, group->members[i]), topic)) {
            return true;
        }
    }
    return false;
}

static void check_members(const struct group *group)
{
    bool has_leader = group->leader == 0;
    uint64_t parts = 0;
    size_t bytes = group->name.len;
    for (int32_t i = 0; i < group->members_count; i++) {
        const struct member *member = group->members[i];
        ensure(member->id != 0 && !span_is_empty(member->member_id));
        ensure(i == 0 || member->place > group->members[i - 1]->place);
        ensure(span_is_null(member->assignment) != group->has_assignment);
        ensure(group_member_by_id(group, member->id) == member);
        ensure(group_find_member(group, member->member_id) == member);
        ensure(span_is_null(member->instance_id) ||
               group_member_by_instance(group, member->instance_id) == member);
        ensure(group_pending(group, member->member_id) == NULL);
        ensure(member->hash == member_hash(member, group->id));
        has_leader = has_leader || member->id == group->leader;
        parts += member->hash;
        bytes += member->bytes;
    }
    for (int32_t i = 0; i < group->pending_count; i++) {
        const struct pending_member *pending = &group->pending[i];
        ensure(!span_is_empty(pending->member_id));
        ensure(group_pending(group, pending->member_id) == pending);
        parts += pending_hash(pending, group->id);
        bytes += pending->member_id.len;
    }
    ensure(has_leader);
    ensure(parts == group->parts);
    ensure(bytes == group->bytes);
}

void group_check(const struct group *group)
{
    ensure(group->id != 0);
    ensure(group->generation >= 0);
    ensure(!span_is_null(group->protocol_type));
    check_members(group);
    if (group->members_count == 0) {
        ensure(!group->has_assignment && !group->is_changed && group->leader == 0);
        ensure(span_is_null(group->protocol_name));
    } else {
        ensure(group->empty_since_ms == -1);
        ensure(!span_is_null(group->protocol_name));
        ensure(group->generation > 0);
    }
    ensure(group->hash == group_hash(group));
    for (uint32_t i = 0; i < group->offsets.count; i++) {
        const struct offset_row *row = &group->offsets.rows[i];
        ensure(row->topic != 0 && row->partition >= 0);
        ensure(offsets_find(&group->offsets, row->topic, row->partition) == row);
    }
}
