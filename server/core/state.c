/* The rows of the state: how they come, go and are found. What each record does with them is in
 * apply_*.c. */
#include "server/core/state.h"

#include <stdlib.h>

#include "rpc/build.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/limits.h"
#include "server/core/hash.h"
#include "server/core/state_internal.h"

struct state *state_new(void)
{
    struct state *state = memory_new(sizeof *state);
    state->next_id = 1;
    state->staged_last = &state->staged;
    arena_init(&state->arena, RPC_CALL_ARENA_BYTES);
    state_seal(state);
    return state;
}

static void clear_groups(struct state *state, struct editions *editions)
{
    uint64_t at = 0;
    for (struct group_slot *slot; (slot = roll_next(&state->groups, &at)) != NULL;) {
        if (slot->round != NULL && state->events.group_deleted != NULL) {
            state->events.group_deleted(state->events_ctx, slot);
        }
        group_drop(editions, (struct group *)(uintptr_t)slot->facts);
        free(slot);
    }
    roll_close(&state->groups);
    table_close(&state->groups_by_name);
    table_close(&state->groups_by_id);
}

void state_clear(struct state *state, struct editions *editions)
{
    clear_groups(state, editions);
    uint64_t at = 0;
    for (struct topic *topic; (topic = roll_next(&state->topics, &at)) != NULL;) {
        topic_drop(editions, topic);
    }
    at = 0;
    for (struct node *node; (node = roll_next(&state->nodes, &at)) != NULL;) {
        editions_drop(editions, node, node->made);
    }
    for (struct staged *staged = state->staged, *next; staged != NULL; staged = next) {
        next = staged->next;
        editions_drop(editions, staged, staged->made);
    }
    roll_close(&state->topics);
    roll_close(&state->nodes);
    table_close(&state->topics_by_name);
    table_close(&state->topics_by_id);
    table_close(&state->topics_by_uuid);
}

void state_free(struct state *state)
{
    if (state == NULL) {
        return;
    }
    ensure(state->frozen == NULL);
    state_clear(state, &state->editions);
    editions_close(&state->editions);
    arena_close(&state->arena);
    free(state);
}

void state_set_events(struct state *state, const struct state_events *events, void *ctx)
{
    state->events = *events;
    state->events_ctx = ctx;
}

const struct state_totals *state_totals(const struct state *state)
{
    return &state->totals;
}

void state_seal(struct state *state)
{
    struct state_totals *totals = &state->totals;
    uint64_t hash = hash_begin(8);
    hash = hash_word(hash, state->rows_hash);
    hash = hash_word(hash, totals->index);
    hash = hash_word(hash, totals->term);
    hash = hash_word(hash, (uint64_t)totals->stamp_ms);
    hash = hash_word(hash, (uint32_t)totals->feature_level);
    hash = hash_word(hash, state->next_id);
    totals->hash = hash_end(hash);
}

/* ---- Lookup ---- */

static bool slot_has_name(const void *item, const void *key)
{
    return span_equal(((const struct group_slot *)item)->facts->name, *(const struct span *)key);
}

static bool slot_has_id(const void *item, const void *key)
{
    return ((const struct group_slot *)item)->facts->id == *(const uint64_t *)key;
}

static bool topic_has_name(const void *item, const void *key)
{
    return span_equal(((const struct topic *)item)->name, *(const struct span *)key);
}

static bool topic_has_id(const void *item, const void *key)
{
    return ((const struct topic *)item)->id == *(const uint64_t *)key;
}

static bool topic_has_uuid(const void *item, const void *key)
{
    return uuid_equal(((const struct topic *)item)->uuid, *(const struct uuid *)key);
}

static uint64_t hash_of_uuid(const struct uuid *uuid)
{
    return hash_of_span(span_of(uuid->bytes, sizeof uuid->bytes));
}

struct group_slot *state_group(const struct state *state, struct span name)
{
    return table_find(&state->groups_by_name, hash_of_span(name), slot_has_name, &name);
}

struct group_slot *state_group_by_id(const struct state *state, uint64_t id)
{
    return table_find(&state->groups_by_id, hash_of_id(id), slot_has_id, &id);
}

const struct topic *state_topic(const struct state *state, struct span name)
{
    return table_find(&state->topics_by_name, hash_of_span(name), topic_has_name, &name);
}

const struct topic *state_topic_by_id(const struct state *state, uint64_t id)
{
    return table_find(&state->topics_by_id, hash_of_id(id), topic_has_id, &id);
}

const struct topic *state_topic_by_uuid(const struct state *state, const struct uuid *uuid)
{
    return table_find(&state->topics_by_uuid, hash_of_uuid(uuid), topic_has_uuid, uuid);
}

const struct node *state_node(const struct state *state, uint64_t id)
{
    return roll_find(&state->nodes, id);
}

struct group_slot *state_next_group(const struct state *state, uint64_t *at)
{
    return roll_next(&state->groups, at);
}

const struct topic *state_next_topic(const struct state *state, uint64_t *at)
{
    return roll_next(&state->topics, at);
}

const struct node *state_next_node(const struct state *state, uint64_t *at)
{
    return roll_next(&state->nodes, at);
}

/* ---- Groups ---- */

struct group_slot *state_add_group(struct state *state, struct group *group)
{
    struct group_slot *slot = memory_new(sizeof *slot);
    slot->facts = group;
    roll_put(&state->groups, group->id, slot);
    table_put(&state->groups_by_name, hash_of_span(group->name), slot);
    table_put(&state->groups_by_id, hash_of_id(group->id), slot);
    group->hash = group_hash(group);
    state->rows_hash += group->hash;
    state->totals.groups++;
    return slot;
}

void state_remove_group(struct state *state, struct group_slot *slot)
{
    struct group *group = (struct group *)(uintptr_t)slot->facts;
    if (state->events.group_deleted != NULL) {
        state->events.group_deleted(state->events_ctx, slot);
    }
    state_drop_staged(state, group->id);
    for (uint32_t i = 0; i < group->offsets.count; i++) {
        state->rows_hash -= offset_row_hash(group->id, &group->offsets.rows[i]);
    }
    state->rows_hash -= group->hash;
    state->totals.groups--;
    state->totals.members -= (uint64_t)group->members_count;
    state->totals.offsets -= group->offsets.count;
#if ROSTER_BUG == 2071 /* the next group or member gets the id of one that is gone */
    state->next_id = group->id;
#endif
    roll_remove(&state->groups, group->id);
    table_remove(&state->groups_by_name, hash_of_span(group->name), slot);
    table_remove(&state->groups_by_id, hash_of_id(group->id), slot);
    group_drop(&state->editions, group);
    free(slot);
}

struct group *state_edit_group(struct state *state, struct group_slot *slot)
{
    struct group *group = (struct group *)(uintptr_t)slot->facts;
#if ROSTER_BUG == 2171 /* a snapshot's groups go on changing under it */
    return group;
#endif
    if (editions_holds(&state->editions, group->made)) {
        struct group *copy = group_copy(&state->editions, group);
        group_drop_version(&state->editions, group);
        slot->facts = copy;
        return copy;
    }
    return group;
}

void state_update_group(struct state *state, struct group *group, int32_t members_before)
{
    group->version = state->totals.index;
    state_account_group(state, group, members_before);
}

void state_account_group(struct state *state, struct group *group, int32_t members_before)
{
    state->rows_hash -= group->hash;
    group->hash = group_hash(group);
    state->rows_hash += group->hash;
    state->totals.members += (uint64_t)group->members_count;
    state->totals.members -= (uint64_t)members_before;
}

/* ---- Topics and nodes ---- */

void state_add_topic(struct state *state, struct topic *topic)
{
    roll_put(&state->topics, topic->id, topic);
    table_put(&state->topics_by_name, hash_of_span(topic->name), topic);
    table_put(&state->topics_by_id, hash_of_id(topic->id), topic);
    table_put(&state->topics_by_uuid, hash_of_uuid(&topic->uuid), topic);
    topic->hash = topic_hash(topic);
    state->rows_hash += topic->hash;
    state->totals.topics++;
    state->totals.partitions += (uint64_t)topic->partitions_count;
}

void state_remove_topic(struct state *state, struct topic *topic)
{
    roll_remove(&state->topics, topic->id);
    table_remove(&state->topics_by_name, hash_of_span(topic->name), topic);
    table_remove(&state->topics_by_id, hash_of_id(topic->id), topic);
    table_remove(&state->topics_by_uuid, hash_of_uuid(&topic->uuid), topic);
    state->rows_hash -= topic->hash;
    state->totals.topics--;
    state->totals.partitions -= (uint64_t)topic->partitions_count;
    topic_drop(&state->editions, topic);
}

struct topic *state_edit_topic(struct state *state, const struct topic *topic)
{
    struct topic *old = (struct topic *)(uintptr_t)topic;
#if ROSTER_BUG == 2172 /* and its topics */
    return old;
#endif
    if (!editions_holds(&state->editions, old->made)) {
        return old;
    }
    struct topic *copy = topic_copy(&state->editions, old);
    roll_replace(&state->topics, copy->id, copy);
    table_remove(&state->topics_by_name, hash_of_span(old->name), old);
    table_put(&state->topics_by_name, hash_of_span(copy->name), copy);
    table_remove(&state->topics_by_id, hash_of_id(old->id), old);
    table_put(&state->topics_by_id, hash_of_id(copy->id), copy);
    table_remove(&state->topics_by_uuid, hash_of_uuid(&old->uuid), old);
    table_put(&state->topics_by_uuid, hash_of_uuid(&copy->uuid), copy);
    topic_drop(&state->editions, old);
    return copy;
}

void state_set_node(struct state *state, struct node *node)
{
    struct node *old = roll_find(&state->nodes, node->id);
    node->made = state->editions.current;
    state->rows_hash += node->hash;
    if (old == NULL) {
        roll_put(&state->nodes, node->id, node);
        return;
    }
    state->rows_hash -= old->hash;
    roll_replace(&state->nodes, node->id, node);
    editions_drop(&state->editions, old, old->made);
}

/* ---- Staging (R8) ---- */

uint64_t staged_hash(const struct staged *staged)
{
    uint64_t hash = hash_begin(9);
    hash = hash_word(hash, staged->id);
    hash = hash_word(hash, staged->group);
    hash = hash_word(hash, (uint32_t)staged->generation);
    hash = hash_word(hash, (uint64_t)staged->type << 8 | staged->version);
    hash = hash_span(hash, span_of(staged->body, staged->len));
#if ROSTER_BUG == 2083 /* what is staged is not compared */
    return 0;
#endif
    return hash_end(hash);
}

void state_stage(struct state *state, const struct staged *facts, struct span body)
{
    struct staged *staged = malloc(sizeof *staged + body.len);
    ensure(staged != NULL);
    *staged = *facts;
    staged->next = NULL;
    staged->len = body.len;
    memcpy(staged->body, body.data, body.len);
    staged->made = state->editions.current;
    staged->hash = staged_hash(staged);
    state->rows_hash += staged->hash;
    *state->staged_last = staged;
    state->staged_last = &staged->next;
}

void state_drop_staged(struct state *state, uint64_t group)
{
    struct staged **link = &state->staged;
    while (*link != NULL) {
        struct staged *staged = *link;
        if (group != 0 && staged->group != group) {
            link = &staged->next;
            continue;
        }
        *link = staged->next;
        state->rows_hash -= staged->hash;
        editions_drop(&state->editions, staged, staged->made);
    }
    state->staged_last = link;
}
