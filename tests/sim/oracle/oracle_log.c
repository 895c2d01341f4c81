/* The records: what is proposed must have a cause, what is applied must do what it says and no
 * more. */
#include <stdio.h>
#include <string.h>

#include "rpc/ensure.h"
#include "server/core/record.h"
#include "tests/sim/oracle/oracle.h"

typedef void record_look_fn(struct life *life, void *ctx, const struct record *record);

static void each_record(struct life *life, struct span records, record_look_fn *look, void *ctx)
{
    struct reader reader = reader_of(records);
    struct arena arena;
    struct record record;
    arena_init(&arena, SIZE_MAX);
    while (record_read(&reader, &arena, &record) > 0) {
        look(life, ctx, &record);
    }
    arena_close(&arena);
}

/* ---- Proposed ---- */

static bool is_named(const struct record_member *members, int32_t count, uint64_t id)
{
    for (int32_t i = 0; i < count; i++) {
        if (members[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Those who stand in chunks that the same machine proposed just before (R8). */
static void note_chunk(struct life *life,
                       const struct group *group,
                       const struct record_members_staged *record)
{
    for (int32_t i = 0; i < record->members_count; i++) {
        char key[TEXT];
        snprintf(key, sizeof key, "chunk/%llu/%d/%llu", (unsigned long long)group->id,
                 record->generation, (unsigned long long)record->members[i].id);
        book_set_number(life->oracle->book, key, 1);
    }
}

static bool is_in_chunk(const struct life *life,
                        const struct group *group,
                        int32_t generation,
                        uint64_t id)
{
    char key[TEXT];
    snprintf(key, sizeof key, "chunk/%llu/%d/%llu", (unsigned long long)group->id, generation,
             (unsigned long long)id);
    return book_number(life->oracle->book, key, 0) != 0;
}

static void look_at_proposed(struct life *life, void *ctx, const struct record *record)
{
    const struct machine *machine = ctx;
    const struct state *state = coordinator_state(machine->core);
    if (record->type == RECORD_MEMBERS_STAGED) {
        const struct record_members_staged *staged = record->body;
        note_chunk(life, state_group_by_id(state, staged->group)->facts, staged);
    } else if (record->type == RECORD_MEMBERS_REMOVED) {
        const struct record_members_removed *removed = record->body;
        const struct group *group = state_group_by_id(state, removed->group)->facts;
        for (int32_t i = 0; i < removed->members_count; i++) {
            const struct member *member = group_member_by_id(group, removed->members[i]);
            if (member != NULL) {
                oracle_check_removal(life, machine, group, member, removed->cause == CAUSE_REJOIN);
            }
        }
    } else if (record->type == RECORD_GENERATION) {
        const struct record_generation *next = record->body;
        const struct group *group = state_group_by_id(state, next->group)->facts;
        for (int32_t i = 0; i < group->members_count; i++) {
            const struct member *member = group->members[i];
            if (next->members_count == 0 && member->joined_without_id) {
                continue; /* nobody learned the id of the last one (R3) */
            }
            if (!is_named(next->members, next->members_count, member->id) &&
                !is_in_chunk(life, group, next->generation, member->id)) {
                oracle_check_removal(life, machine, group, member, true);
            }
        }
    }
}

void oracle_proposed(struct life *life, const struct machine *machine, struct span records)
{
    each_record(life, records, look_at_proposed, (void *)(uintptr_t)machine);
}

/* ---- Applied ---- */

struct applying {
    uint64_t group; /* what 0 means */
    bool is_after;
};

static const struct state *reference(const struct life *life)
{
    return coordinator_state(life->reference);
}

static const struct group *group_of(const struct life *life,
                                    const struct applying *applying,
                                    uint64_t id)
{
    const struct group_slot *slot =
        state_group_by_id(reference(life), id == 0 ? applying->group : id);
    return slot == NULL ? NULL : slot->facts;
}

static void look_at_offsets(struct life *life,
                            const struct applying *applying,
                            const struct record_offsets *record)
{
    const struct group *group = group_of(life, applying, record->group);
    const struct topic *topic = state_topic_by_id(reference(life), record->topic);
    if (group == NULL || topic == NULL) {
        return;
    }
    for (int32_t i = 0; i < record->offsets_count; i++) {
        const struct record_offset *offset = &record->offsets[i];
        const struct offset_row *row =
            offsets_find(&group->offsets, topic->id, (int32_t)offset->partition);
        if (row != NULL && span_equal(offset_row_metadata(row), offset->metadata)) {
            oracle_offset_written(life, group, topic, (int32_t)offset->partition, offset->metadata);
        }
    }
}

/* C.7. The wall clock went on since it was decided, so what was due then is due now. */
static void check_expiry(struct life *life,
                         const struct group *group,
                         const struct topic *topic,
                         const struct offset_row *row)
{
    int64_t now_ms = life->wall_ms_max;
    int64_t base_ms = row->commit_ms;
    if (group->members_count == 0 && group->protocol_type.len > 0 && group->empty_since_ms >= 0) {
        base_ms = group->empty_since_ms;
    }
    int64_t due_ms =
        row->expire_ms >= 0 ? row->expire_ms : base_ms + life->options.limits.offsets_retention_ms;
    bool is_protected = group->members_count > 0 && (group_phase(group) != GROUP_STABLE ||
                                                     group_subscribes(group, topic->name));
    if (due_ms > now_ms || is_protected) {
        life_fail(life, "offset %lld of a group of %d members expired %lld ms %s",
                  (long long)row->offset, group->members_count, (long long)(due_ms - now_ms),
                  is_protected ? "though it is in use" : "too soon");
    }
}

static void look_at_expired(struct life *life,
                            const struct applying *applying,
                            const struct record_offsets_expired *record)
{
    const struct group *group = group_of(life, applying, record->group);
    for (int32_t i = 0; group != NULL && i < record->offsets_count; i++) {
        const struct record_expired_offset *expired = &record->offsets[i];
        const struct topic *topic = state_topic_by_id(reference(life), expired->topic);
        const struct offset_row *row =
            offsets_find(&group->offsets, expired->topic, (int32_t)expired->partition);
        char key[TEXT];
        char names[2][TEXT];
        snprintf(key, sizeof key, "expiring/%llu/%llu/%llu", (unsigned long long)group->id,
                 (unsigned long long)expired->topic, (unsigned long long)expired->partition);
        if (topic == NULL) {
            continue;
        }
        oracle_text(names[0], group->name);
        oracle_text(names[1], topic->name);
        if (!applying->is_after) {
            book_set_number(life->oracle->book, key, row == NULL ? -1 : row->offset);
            if (row != NULL && row->version == expired->version &&
                group->version == record->version) {
                check_expiry(life, group, topic, row);
            }
        } else if (row == NULL && book_number(life->oracle->book, key, -1) != -1) {
            oracle_offsets_gone(life, names[0], names[1], (int32_t)expired->partition);
        }
    }
}

static void look_at_deleted(struct life *life,
                            const struct applying *applying,
                            const struct record_offsets_deleted *record)
{
    const struct group *group = group_of(life, applying, record->group);
    const struct topic *topic = state_topic_by_id(reference(life), record->topic);
    for (int32_t i = 0; group != NULL && topic != NULL && i < record->partitions_count; i++) {
        int32_t partition = (int32_t)record->partitions[i];
        char names[2][TEXT];
        oracle_text(names[0], group->name);
        oracle_text(names[1], topic->name);
        if (offsets_find(&group->offsets, topic->id, partition) != NULL) {
            life_fail(life, "an offset was deleted and is still there");
        }
        oracle_offsets_gone(life, names[0], names[1], partition);
    }
}

/* What goes with a group or a topic: its name is kept until it is gone. */
static void look_at_end(struct life *life,
                        const char *kind,
                        uint64_t id,
                        struct span name,
                        bool is_there)
{
    char key[TEXT];
    char text[TEXT];
    snprintf(key, sizeof key, "ending/%s/%llu", kind, (unsigned long long)id);
    if (is_there) {
        oracle_text(text, name);
        book_set(life->oracle->book, key, text);
        return;
    }
    const char *was = book_get(life->oracle->book, key);
    bool is_group = strcmp(kind, "group") == 0;
    if (was != NULL && was[0] != 0) {
        oracle_offsets_gone(life, is_group ? was : NULL, is_group ? NULL : was, -1);
        book_set(life->oracle->book, key, "");
    }
}

static void look_before(struct life *life, void *ctx, const struct record *record)
{
    struct applying *applying = ctx;
    if (record->type == RECORD_GROUP_CREATED) {
        const struct record_group_created *created = record->body;
        const struct group_slot *slot = state_group(reference(life), created->name);
        applying->group = slot == NULL ? 0 : slot->facts->id;
    } else if (record->type == RECORD_OFFSETS_EXPIRED) {
        look_at_expired(life, applying, record->body);
    } else if (record->type == RECORD_GROUP_DELETED) {
        const struct record_group_deleted *deleted = record->body;
        const struct group *group = group_of(life, applying, deleted->group);
        if (group != NULL) {
            look_at_end(life, "group", group->id, group->name, true);
        }
    } else if (record->type == RECORD_TOPIC_DELETED) {
        const struct record_topic_deleted *deleted = record->body;
        const struct topic *topic = state_topic_by_id(reference(life), deleted->topic);
        if (topic != NULL) {
            look_at_end(life, "topic", topic->id, topic->name, true);
        }
    }
}

static void look_after(struct life *life, void *ctx, const struct record *record)
{
    struct applying *applying = ctx;
    const struct group *group = NULL;
    switch (record->type) {
        case RECORD_GROUP_CREATED:
            group = state_group(reference(life),
                                ((const struct record_group_created *)record->body)->name)
                        ->facts;
            applying->group = group->id;
            break;
        case RECORD_GENERATION:
            group =
                group_of(life, applying, ((const struct record_generation *)record->body)->group);
            if (group != NULL) {
                oracle_note_generation(life, group);
            }
            break;
        case RECORD_ASSIGNMENT:
            group =
                group_of(life, applying, ((const struct record_assignment *)record->body)->group);
            if (group != NULL) {
                oracle_note_assignment(life, group);
            }
            break;
        case RECORD_MEMBER_REPLACED:
            group = group_of(life, applying,
                             ((const struct record_member_replaced *)record->body)->group);
            if (group != NULL) {
                oracle_note_generation(life, group);
            }
            break;
        case RECORD_OFFSETS:
            look_at_offsets(life, applying, record->body);
            break;
        case RECORD_OFFSETS_EXPIRED:
            look_at_expired(life, applying, record->body);
            break;
        case RECORD_OFFSETS_DELETED:
            look_at_deleted(life, applying, record->body);
            break;
        case RECORD_GROUP_DELETED: {
            uint64_t id = ((const struct record_group_deleted *)record->body)->group;
            if (group_of(life, applying, id) == NULL) {
                look_at_end(life, "group", id, SPAN_NULL, false);
            }
            break;
        }
        case RECORD_TOPIC_DELETED: {
            uint64_t id = ((const struct record_topic_deleted *)record->body)->topic;
            look_at_end(life, "topic", id, SPAN_NULL, false);
            break;
        }
        default:
            break;
    }
}

void oracle_applies(struct life *life, struct span records)
{
    struct applying applying = {.is_after = false};
    each_record(life, records, look_before, &applying);
}

void oracle_applied(struct life *life, struct span records)
{
    struct applying applying = {.is_after = true};
    each_record(life, records, look_after, &applying);
}
