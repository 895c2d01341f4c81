/* For tests: everything that is kept beside the rows, recomputed from them. */
#include "rpc/ensure.h"
#include "server/core/state_internal.h"

static void check_groups(const struct state *state, struct state_totals *found, uint64_t *hash)
{
    uint64_t at = 0;
    for (struct group_slot *slot; (slot = roll_next(&state->groups, &at)) != NULL;) {
        const struct group *group = slot->facts;
        group_check(group);
        ensure(group->id == at - 1 && group->id < state->next_id);
        ensure(state_group(state, group->name) == slot);
        ensure(state_group_by_id(state, group->id) == slot);
        *hash += group->hash;
        for (uint32_t i = 0; i < group->offsets.count; i++) {
            *hash += offset_row_hash(group->id, &group->offsets.rows[i]);
        }
        found->groups++;
        found->members += (uint64_t)group->members_count;
        found->offsets += group->offsets.count;
    }
}

static void check_topics(const struct state *state, struct state_totals *found, uint64_t *hash)
{
    uint64_t at = 0;
    for (const struct topic *topic; (topic = roll_next(&state->topics, &at)) != NULL;) {
        ensure(topic->id == at - 1 && topic->id < state->next_id);
        ensure(topic->partitions_count >= 1);
        ensure(topic->hash == topic_hash(topic));
        ensure(state_topic(state, topic->name) == topic);
        ensure(state_topic_by_id(state, topic->id) == topic);
        ensure(state_topic_by_uuid(state, &topic->uuid) == topic);
        *hash += topic->hash;
        found->topics++;
        found->partitions += (uint64_t)topic->partitions_count;
    }
}

static void check_rest(const struct state *state, uint64_t *hash)
{
    uint64_t at = 0;
    for (const struct node *node; (node = roll_next(&state->nodes, &at)) != NULL;) {
        ensure(node->id == at - 1);
        ensure(node->hash == node_hash(node));
        *hash += node->hash;
    }
    uint64_t last = 0;
    for (const struct staged *staged = state->staged; staged != NULL; staged = staged->next) {
        ensure(staged->id > last && staged->id < state->next_id);
        ensure(staged->hash == staged_hash(staged));
        ensure(state_group_by_id(state, staged->group) != NULL);
        *hash += staged->hash;
        last = staged->id;
    }
}

void state_check(const struct state *state)
{
    const struct state_totals *totals = &state->totals;
    struct state_totals found = {0};
    uint64_t hash = 0;
    check_groups(state, &found, &hash);
    check_topics(state, &found, &hash);
    check_rest(state, &hash);
    ensure(found.groups == totals->groups && found.groups == state->groups.count);
    ensure(found.members == totals->members);
    ensure(found.offsets == totals->offsets);
    ensure(found.topics == totals->topics && found.topics == state->topics.count);
    ensure(found.partitions == totals->partitions);
    ensure(hash == state->rows_hash);
}
