#include "tests/core/facts/history.h"

#include <stdio.h>

#include "server/core/record.h"

enum { GROUPS = 6, TOPICS = 4, MEMBERS = 40 };

void history_init(struct history *history, uint64_t seed)
{
    *history = (struct history){.random = seed, .term = 1, .stamp_ms = 1000000};
}

/* splitmix64 */
uint64_t history_random(struct history *history, uint64_t below)
{
    uint64_t z = history->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* Texts must live until the record is appended. */
struct texts {
    char bytes[4096];
    size_t used;
};

static struct span say(struct texts *texts, const char *kind, uint64_t n)
{
    char *at = texts->bytes + texts->used;
    int len = snprintf(at, sizeof texts->bytes - texts->used, "%s-%u", kind, (unsigned)n);
    texts->used += (size_t)len + 1;
    return span_of(at, (size_t)len);
}

/* A group that is there, mostly; NULL: none is. */
static const struct group *pick_group(struct history *h, const struct state *state)
{
    uint64_t at = 0;
    const struct group *chosen = NULL;
    uint64_t skip = history_random(h, state_totals(state)->groups + 1);
    for (struct group_slot *slot; (slot = state_next_group(state, &at)) != NULL;) {
        chosen = slot->facts;
        if (skip-- == 0) {
            break;
        }
    }
    return chosen;
}

static uint64_t pick_topic(struct history *h, const struct state *state)
{
    uint64_t at = 0;
    uint64_t chosen = 1;
    uint64_t skip = history_random(h, state_totals(state)->topics + 1);
    for (const struct topic *topic; (topic = state_next_topic(state, &at)) != NULL;) {
        chosen = topic->id;
        if (skip-- == 0) {
            break;
        }
    }
    return chosen;
}

static struct record_member new_member(struct history *h,
                                       struct texts *texts,
                                       struct record_member_protocol *protocol)
{
    uint64_t n = history_random(h, MEMBERS);
    return (struct record_member){
        .member_id = say(texts, "member", n),
        .instance_id = n % 3 == 0 ? say(texts, "instance", n / 3) : SPAN_NULL,
        .client_id = SPAN_EMPTY,
        .client_host = SPAN_LITERAL("/::1"),
        .session_timeout_ms = (int32_t)history_random(h, 90000),
        .rebalance_timeout_ms = (int32_t)history_random(h, 90000),
        .joined_without_id = n % 2 == 0,
        .protocols = protocol,
        .protocols_count = 1,
    };
}

/* Some of the members there are, kept or with new facts, and some new ones. */
static int32_t choose_members(struct history *h,
                              const struct group *group,
                              struct texts *texts,
                              struct record_member_protocol *protocol,
                              struct record_member *members,
                              int32_t room)
{
    int32_t count = 0;
    for (int32_t i = 0; i < group->members_count && count < room; i++) {
        uint64_t fate = history_random(h, 4);
        if (fate != 0) {
            members[count] = new_member(h, texts, protocol);
            members[count].id = group->members[i]->id;
            members[count++].is_kept = fate != 1;
        }
    }
    for (uint64_t more = history_random(h, 8); more > 0 && count < room; more--) {
        members[count++] = new_member(h, texts, protocol);
    }
    return count;
}

static void put_generation(struct history *h, const struct group *group, struct buf *out)
{
    struct texts texts = {.used = 0};
    struct record_member_protocol protocol = {SPAN_LITERAL("range"), say(&texts, "meta", h->index)};
    struct record_member members[30];
    int32_t generation = group->generation + (int32_t)history_random(h, 6);
    bool is_emptied = history_random(h, 8) == 0;
    if (history_random(h, 3) == 0) {
        struct record_members_staged chunk = {.group = group->id, .generation = generation};
        chunk.members = members;
        chunk.members_count = choose_members(h, group, &texts, &protocol, members, 30);
        record_append(out, RECORD_MEMBERS_STAGED, &chunk);
    }
    struct record_generation record = {
        .group = group->id,
        .generation = generation,
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocol_name = SPAN_LITERAL("range"),
        .members = members,
        .members_count = is_emptied ? 0 : choose_members(h, group, &texts, &protocol, members, 30),
    };
    record.leader = record.members_count > 0 ? members[0].member_id : SPAN_EMPTY;
    if (history_random(h, 5) != 0) {
        record_append(out, RECORD_GENERATION, &record);
    }
}

static void put_assignment(struct history *h, const struct group *group, struct buf *out)
{
    struct texts texts = {.used = 0};
    struct record_member_assignment list[60];
    int32_t count = 0;
    for (int32_t i = 0; i < group->members_count && count < 60; i++) {
        if (history_random(h, 5) != 0) {
            list[count].member = group->members[i]->id;
            list[count++].assignment = say(&texts, "own", history_random(h, 9));
        }
    }
    if (history_random(h, 3) == 0) {
        struct record_assignments_staged chunk = {group->id, group->generation, list, count};
        record_append(out, RECORD_ASSIGNMENTS_STAGED, &chunk);
        count = 0;
    }
    if (history_random(h, 4) != 0) {
        struct record_assignment record = {group->id, group->generation, list, count};
        record_append(out, RECORD_ASSIGNMENT, &record);
    }
}

static void put_member_change(struct history *h, const struct group *group, struct buf *out)
{
    struct texts texts = {.used = 0};
    if (group->members_count == 0) {
        return;
    }
    uint64_t chosen = group->members[history_random(h, (uint64_t)group->members_count)]->id;
    if (history_random(h, 2) == 0) {
        uint64_t ids[2] = {chosen, history_random(h, 50)};
        struct record_members_removed record = {group->id, ids, 2, CAUSE_LEAVE};
        record_append(out, RECORD_MEMBERS_REMOVED, &record);
    } else {
        struct record_member_protocol protocol = {SPAN_LITERAL("range"), SPAN_LITERAL("m")};
        struct record_member member = new_member(h, &texts, &protocol);
        struct record_member_replaced record = {group->id, chosen, &member, 1};
        record_append(out, RECORD_MEMBER_REPLACED, &record);
    }
}

static void put_offsets(struct history *h,
                        const struct state *state,
                        const struct group *group,
                        struct buf *out)
{
    struct texts texts = {.used = 0};
    struct record_offset rows[8];
    for (size_t i = 0; i < 8; i++) {
        rows[i] = (struct record_offset){
            .partition = history_random(h, 40),
            .offset = (int64_t)history_random(h, 1000) - 1,
            .leader_epoch = (int64_t)history_random(h, 4) - 1,
            .commit_ms = history_random(h, 9) == 0 ? 77 : -1,
            .metadata = history_random(h, 2) == 0 ? SPAN_EMPTY : say(&texts, "note", h->index),
        };
    }
    uint64_t member = 0;
    if (group->members_count > 0 && history_random(h, 10) != 0) {
        member = group->members[history_random(h, (uint64_t)group->members_count)]->id;
    }
    struct record_offsets record = {
        .group = group->id,
        .member = member,
        .generation = group->generation - (history_random(h, 10) == 0),
        .topic = pick_topic(h, state),
        .retention_ms = history_random(h, 5) == 0 ? 5000 : -1,
        .offsets = rows,
        .offsets_count = 1 + (int32_t)history_random(h, 8),
    };
    record_append(out, RECORD_OFFSETS, &record);
}

static void put_offsets_gone(struct history *h, const struct group *group, struct buf *out)
{
    struct record_expired_offset expired[4];
    uint64_t partitions[4];
    int32_t count = 0;
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    /* Table order may differ between replicas. */
    const struct offset_row **sorted = offsets_sorted(&group->offsets, &arena);
    while (count < 4 && count < (int32_t)group->offsets.count) {
        const struct offset_row *row = sorted[count];
        expired[count].topic = row->topic;
        expired[count].partition = (uint64_t)row->partition;
        expired[count].version = row->version - (history_random(h, 4) == 0);
        partitions[count] = (uint64_t)row->partition;
        count++;
    }
    arena_close(&arena);
    if (count == 0) {
        return;
    }
    if (history_random(h, 2) == 0) {
        struct record_offsets_deleted record = {group->id, expired[0].topic, partitions, count};
        record_append(out, RECORD_OFFSETS_DELETED, &record);
    } else {
        struct record_offsets_expired record = {group->id, group->version, expired, count};
        record_append(out, RECORD_OFFSETS_EXPIRED, &record);
    }
}

static void put_topic_change(struct history *h, const struct state *state, struct buf *out)
{
    struct texts texts = {.used = 0};
    uint64_t kind = history_random(h, 6);
    if (kind == 0) {
        struct record_topic_deleted record = {pick_topic(h, state)};
        record_append(out, RECORD_TOPIC_DELETED, &record);
    } else if (kind < 3) {
        struct record_topic_grown record = {pick_topic(h, state), (int32_t)history_random(h, 60)};
        record_append(out, RECORD_TOPIC_GROWN, &record);
    } else {
        struct record_topic_created record = {
            .name = say(&texts, "topic", history_random(h, TOPICS)),
            .partitions = (int32_t)history_random(h, 40),
        };
        for (size_t i = 0; i < sizeof record.uuid.bytes; i++) {
            record.uuid.bytes[i] = (uint8_t)history_random(h, 256);
        }
        record_append(out, RECORD_TOPIC_CREATED, &record);
    }
}

static void put_node(struct history *h, struct buf *out)
{
    struct texts texts = {.used = 0};
    struct buf card = BUF_EMPTY;
    struct node_listener listener = {SPAN_LITERAL("PLAINTEXT"), say(&texts, "host", h->index),
                                     (int32_t)history_random(h, 65536)};
    struct node node = {.listeners = &listener, .listeners_count = 1};
    node_encode_card(&node, &card);
    struct record_node record = {1 + history_random(h, 5), buf_span(&card)};
    record_append(out, RECORD_NODE, &record);
    buf_close(&card);
}

static void put_pending(struct history *h, const struct group *group, struct buf *out)
{
    struct texts texts = {.used = 0};
    struct span name = say(&texts, "member", history_random(h, MEMBERS));
    if (history_random(h, 3) != 0) {
        struct record_member_pending record = {group->id, name, 6000};
        record_append(out, RECORD_MEMBER_PENDING, &record);
    } else {
        struct record_pending_removed record = {group->id, &name, 1};
        record_append(out, RECORD_PENDING_REMOVED, &record);
    }
}

static void put_one(struct history *h, const struct state *state, struct buf *out)
{
    struct texts texts = {.used = 0};
    const struct group *group = pick_group(h, state);
    uint64_t kind = history_random(h, 100);
    if (group == NULL || kind < 6) {
        struct record_group_created record = {say(&texts, "group", history_random(h, GROUPS))};
        record_append(out, RECORD_GROUP_CREATED, &record);
    } else if (kind < 16) {
        put_topic_change(h, state, out);
    } else if (kind < 18) {
        put_node(h, out);
    } else if (kind < 28) {
        put_pending(h, group, out);
    } else if (kind < 38) {
        put_generation(h, group, out);
    } else if (kind < 48) {
        put_assignment(h, group, out);
    } else if (kind < 54) {
        put_member_change(h, group, out);
    } else if (kind < 60) {
        put_offsets_gone(h, group, out);
    } else if (kind < 62) {
        struct record_group_deleted record = {group->id, kind == 60};
        record_append(out, RECORD_GROUP_DELETED, &record);
    } else {
        put_offsets(h, state, group, out);
    }
}

void history_next(struct history *history, const struct state *state, struct buf *records)
{
    history->index += 1;
    history->stamp_ms += (int64_t)history_random(history, 50);
    history->term += history_random(history, 20) == 0;
    for (uint64_t n = history_random(history, 4); n > 0; n--) {
        put_one(history, state, records);
    }
}

int history_step(struct history *history, struct state *state, struct buf *records)
{
    struct buf own = BUF_EMPTY;
    history_next(history, state, &own);
    int count = state_apply(state, history->index, history->term, history->stamp_ms, buf_span(&own),
                            NULL, 0);
    if (records != NULL) {
        buf_append(records, own.data, own.len);
    }
    buf_close(&own);
    return count;
}
