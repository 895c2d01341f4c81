/* Bytes to facts. Nothing of them is trusted: what comes out is sound, has the hash that the
 * snapshot names, or is thrown away. */
#include <stdlib.h>

#include "rpc/codec.h"
#include "rpc/limits.h"
#include "server/core/hash.h"
#include "server/core/limits.h"
#include "server/core/snapshot.h"
#include "server/core/state_internal.h"

enum { ARENA_KEPT = 256 << 10 };

struct restoring {
    struct state *state; /* a new one */
    unsigned last_row;
    uint64_t last_id; /* of the last node, topic, group or chunk: they ascend */
    uint64_t rows;
    struct span before;  /* the bytes before the row that is being read */
    struct group *group; /* whose members, pending ids and offsets come */
    bool has_ended;
    bool is_damaged; /* the end does not fit what came before it */
};

static bool has_new_id(struct restoring *r, uint64_t id)
{
    bool is_new = id > r->last_id && id < r->state->next_id;
    r->last_id = id;
    return is_new;
}

static bool restore_header(struct restoring *r, const void *body)
{
    const struct snapshot_header *row = body;
    struct state *state = r->state;
    state->totals.index = row->index;
    state->totals.term = row->term;
    state->totals.stamp_ms = row->stamp_ms;
    state->totals.feature_level = row->feature_level;
    state->next_id = row->next_id;
    return row->next_id >= 1 && row->feature_level >= 0;
}

static bool restore_node(struct restoring *r, const void *body)
{
    const struct snapshot_node *row = body;
    struct node *node = row->id > r->last_id ? node_new(row->id, row->card) : NULL;
    r->last_id = row->id;
    if (node == NULL) {
        return false;
    }
    state_set_node(r->state, node);
    return true;
}

static bool restore_topic(struct restoring *r, const void *body)
{
    const struct snapshot_topic *row = body;
    struct state *state = r->state;
    int32_t count = row->high_offsets_count;
    if (!has_new_id(r, row->id) || !topic_name_is_legal(row->name) || uuid_is_zero(row->uuid) ||
        count < 1 || count > LIMIT_PARTITIONS || state_topic(state, row->name) != NULL ||
        state_topic_by_uuid(state, &row->uuid) != NULL) {
        return false;
    }
    struct topic *topic = topic_new(&state->editions, row->id, row->name, &row->uuid, count);
    topic->version = row->version;
    memcpy(topic->high_offsets, row->high_offsets, (size_t)count * sizeof *topic->high_offsets);
    state_add_topic(state, topic);
    return true;
}

/* The group whose rows end here; what group_check() would abort for is refused. */
static bool finish_group(struct restoring *r)
{
    struct group *group = r->group;
    if (group == NULL) {
        return true;
    }
    state_account_group(r->state, group, 0);
    r->state->totals.offsets += group->offsets.count;
    r->group = NULL;
    if (group->members_count == 0) {
        return !group->has_assignment && !group->is_changed && group->leader == 0 &&
               span_is_null(group->protocol_name) && group->empty_since_ms >= -1;
    }
    return group->generation > 0 && !span_is_null(group->protocol_name) &&
           group->empty_since_ms == -1 &&
           (group->leader == 0 || group_member_by_id(group, group->leader) != NULL);
}

static bool restore_group(struct restoring *r, const void *body)
{
    const struct snapshot_group *row = body;
    struct state *state = r->state;
    if (!has_new_id(r, row->id) || row->generation < 0 || state_group(state, row->name) != NULL) {
        return false;
    }
    struct group *group = group_new(&state->editions, row->id, row->name);
    group->version = row->version;
    group->generation = row->generation;
    group_set_text(&state->editions, &group->protocol_type, row->protocol_type);
    group_set_text(&state->editions, &group->protocol_name, row->protocol_name);
    group->empty_since_ms = row->empty_since_ms;
    group->has_assignment = row->has_assignment;
    group->is_changed = row->is_changed;
    group->leader = row->leader;
    state_add_group(state, group);
    r->group = group;
    return true;
}

static bool restore_member(struct restoring *r, const void *body)
{
    const struct snapshot_member *row = body;
    struct group *group = r->group;
    int32_t count = group->members_count;
    bool is_in_order = count == 0 || row->place > group->members[count - 1]->place;
    if (row->id == 0 || row->id >= r->state->next_id || !is_in_order || row->place > UINT32_MAX ||
        span_is_empty(row->member_id) || group_member_by_id(group, row->id) != NULL ||
        group_find_member(group, row->member_id) != NULL ||
        group_member_by_instance(group, row->instance_id) != NULL ||
        span_is_null(row->assignment) == group->has_assignment) {
        return false;
    }
    struct member member = {
        .id = row->id,
        .place = (uint32_t)row->place,
        .member_id = row->member_id,
        .instance_id = row->instance_id,
        .client_id = row->client_id,
        .client_host = row->client_host,
        .session_timeout_ms = row->session_timeout_ms,
        .rebalance_timeout_ms = row->rebalance_timeout_ms,
        .joined_without_id = row->joined_without_id,
        .protocols_count = row->protocols_count,
        .assignment = row->assignment,
    };
    size_t protocols = (size_t)row->protocols_count;
    member.protocols = arena_alloc(&r->state->arena, protocols * sizeof *member.protocols);
    for (size_t i = 0; i < protocols; i++) {
        member.protocols[i].name = row->protocols[i].name;
        member.protocols[i].metadata = row->protocols[i].metadata;
    }
    group_add_member(group, member_new(&member, group->id, group->made));
    return true;
}

static bool restore_pending(struct restoring *r, const void *body)
{
    const struct snapshot_pending *row = body;
    if (span_is_empty(row->member_id) || group_pending(r->group, row->member_id) != NULL ||
        group_find_member(r->group, row->member_id) != NULL) {
        return false;
    }
    group_add_pending(&r->state->editions, r->group, row->member_id, row->session_timeout_ms);
    return true;
}

static bool restore_offset(struct restoring *r, uint64_t topic, const struct snapshot_offset *from)
{
    struct group *group = r->group;
    if (group->offsets.count > 0) {
        const struct offset_row *last = &group->offsets.rows[group->offsets.count - 1];
        if (topic < last->topic ||
            (topic == last->topic && from->partition <= (uint64_t)last->partition)) {
            return false;
        }
    }
    if (from->partition > INT32_MAX || from->leader_epoch < -1 || from->leader_epoch > INT32_MAX ||
        from->expire_ms < -1) {
        return false;
    }
    struct offset_row *row = offsets_put(&group->offsets, topic, (int32_t)from->partition);
    row->leader_epoch = (int32_t)from->leader_epoch;
    row->offset = from->offset;
    row->commit_ms = from->commit_ms;
    row->expire_ms = from->expire_ms;
    row->version = from->version;
    row->metadata = from->metadata.len == 0 ? NULL : blob_new(&r->state->editions, from->metadata);
    r->state->rows_hash += offset_row_hash(group->id, row);
    return true;
}

static bool restore_offsets(struct restoring *r, const void *body)
{
    const struct snapshot_offsets *row = body;
    if (row->topic == 0 || row->topic >= r->state->next_id) {
        return false;
    }
    for (int32_t i = 0; i < row->offsets_count; i++) {
        if (!restore_offset(r, row->topic, &row->offsets[i])) {
            return false;
        }
    }
    return true;
}

static bool restore_staged(struct restoring *r, const void *body)
{
    const struct snapshot_staged *row = body;
    enum record_type type = (enum record_type)row->type;
    if (!has_new_id(r, row->id) || state_group_by_id(r->state, row->group) == NULL ||
        (row->type != RECORD_MEMBERS_STAGED && row->type != RECORD_ASSIGNMENTS_STAGED) ||
        row->version < 0 ||
        record_decode(type, (uint8_t)row->version, row->body, &r->state->arena) == NULL) {
        return false;
    }
    struct staged facts = {
        .id = row->id,
        .group = row->group,
        .generation = row->generation,
        .type = type,
        .version = (uint8_t)row->version,
    };
    state_stage(r->state, &facts, row->body);
    return true;
}

static bool restore_end(struct restoring *r, const void *body)
{
    const struct snapshot_end *row = body;
    state_seal(r->state);
    r->has_ended = true;
    r->is_damaged = row->rows != r->rows || (uint64_t)row->hash != r->state->totals.hash ||
                    (uint64_t)row->checksum != hash_of_span(r->before);
    return true;
}

/* The order of rows that snapshot.def states. */
static bool can_follow(unsigned row, unsigned last_row)
{
    if (row == SNAPSHOT_HEADER || last_row == 0) {
        return row == SNAPSHOT_HEADER && last_row == 0;
    }
    if (row == SNAPSHOT_GROUP) {
        return last_row <= SNAPSHOT_OFFSETS;
    }
    bool is_of_group = row > SNAPSHOT_GROUP && row <= SNAPSHOT_OFFSETS;
    return row >= last_row && (!is_of_group || last_row >= SNAPSHOT_GROUP);
}

static bool restore_row(struct restoring *r, struct reader *reader)
{
    static bool (*const restorers[SNAPSHOT_ROWS_END])(struct restoring *, const void *) = {
        [SNAPSHOT_HEADER] = restore_header,   [SNAPSHOT_NODE] = restore_node,
        [SNAPSHOT_TOPIC] = restore_topic,     [SNAPSHOT_GROUP] = restore_group,
        [SNAPSHOT_MEMBER] = restore_member,   [SNAPSHOT_PENDING] = restore_pending,
        [SNAPSHOT_OFFSETS] = restore_offsets, [SNAPSHOT_STAGED] = restore_staged,
        [SNAPSHOT_END] = restore_end,
    };
    r->before.len = (size_t)(reader->at - r->before.data);
    unsigned row = reader_u8(reader);
    unsigned version = reader_u8(reader);
    const struct kafka_schema *schema = snapshot_schema(row);
    if (schema == NULL || r->has_ended || !can_follow(row, r->last_row)) {
        return false;
    }
    bool is_next_kind = row != r->last_row;
    bool is_after_group = row == SNAPSHOT_GROUP || row > SNAPSHOT_OFFSETS;
    if (is_after_group && !finish_group(r)) {
        return false;
    }
    if (is_next_kind && !(r->last_row >= SNAPSHOT_GROUP && row <= SNAPSHOT_OFFSETS)) {
        r->last_id = 0;
    }
    void *body = arena_alloc(&r->state->arena, schema->size);
    if (codec_decode(schema, (int)version, reader, &r->state->arena, body) != CODEC_OK ||
        !restorers[row](r, body)) {
        return false;
    }
    arena_reset(&r->state->arena, ARENA_KEPT);
    r->last_row = row;
    r->rows++;
    return true;
}

enum snapshot_quality snapshot_read(struct state *state, struct span snapshot)
{
    struct reader reader = reader_of(snapshot);
    struct restoring r = {.state = state, .before = span_of(reader.at, 0)};
    const uint8_t *magic = reader_take(&reader, SNAPSHOT_MAGIC_BYTES);
    if (magic == NULL || memcmp(magic, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_BYTES) != 0 ||
        reader_u8(&reader) != SNAPSHOT_VERSION) {
        return SNAPSHOT_UNSOUND;
    }
    while (!reader_is_failed(&reader) && reader_left(&reader) > 0) {
        if (!restore_row(&r, &reader)) {
            return SNAPSHOT_UNSOUND;
        }
    }
    if (!r.has_ended) {
        return SNAPSHOT_UNSOUND;
    }
    return r.is_damaged ? SNAPSHOT_DAMAGED : SNAPSHOT_WHOLE;
}

/* The rows of [from] become those of [to], and the other way round. */
static void exchange_rows(struct state *to, struct state *from)
{
    struct state rows = *from;
    *from = *to;
    *to = rows;
    to->editions = from->editions;
    to->frozen = from->frozen;
    to->events = from->events;
    to->events_ctx = from->events_ctx;
    if (to->staged == NULL) {
        to->staged_last = &to->staged;
    }
}

int state_restore(struct state *state, struct span snapshot)
{
    struct state *fresh = state_new();
    fresh->editions.current = state->editions.current;
    bool is_whole = snapshot_read(fresh, snapshot) == SNAPSHOT_WHOLE;
    if (is_whole) {
        exchange_rows(state, fresh);
    }
    state_clear(fresh, &state->editions);
    arena_close(&fresh->arena);
    free(fresh);
    return is_whole ? 0 : -1;
}
