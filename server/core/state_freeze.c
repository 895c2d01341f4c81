/* A version of the facts that stays as it is (R17). */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/snapshot.h"
#include "server/core/state_internal.h"

static void *new_array(size_t count)
{
    return memory_new((count + 1) * sizeof(void *));
}

void *state_freeze(struct state *state)
{
    ensure(state->frozen == NULL);
    struct frozen *frozen = memory_new(sizeof *frozen);
    frozen->totals = state->totals;
    frozen->next_id = state->next_id;
    frozen->nodes = new_array(state->nodes.count);
    frozen->topics = new_array(state->topics.count);
    frozen->groups = new_array(state->groups.count);
    uint64_t at = 0;
    for (const struct node *node; (node = roll_next(&state->nodes, &at)) != NULL;) {
        frozen->nodes[frozen->nodes_count++] = node;
    }
    at = 0;
    for (const struct topic *topic; (topic = roll_next(&state->topics, &at)) != NULL;) {
        frozen->topics[frozen->topics_count++] = topic;
    }
    for (size_t i = 0; i < state->groups.used; i++) {
        const struct group_slot *slot = state->groups.entries[i].item;
        if (slot != NULL) {
            frozen->groups[frozen->groups_count++] = slot->facts;
        }
    }
    size_t staged_count = 0;
    for (const struct staged *staged = state->staged; staged != NULL; staged = staged->next) {
        staged_count++;
    }
    frozen->staged = new_array(staged_count);
    for (const struct staged *staged = state->staged; staged != NULL; staged = staged->next) {
        frozen->staged[frozen->staged_count++] = staged;
    }
    editions_freeze(&state->editions);
    state->frozen = frozen;
    return frozen;
}

void state_release(struct state *state, void *frozen)
{
    struct frozen *held = frozen;
    ensure(held != NULL && held == state->frozen);
    state->frozen = NULL;
    editions_release(&state->editions);
    free(held->nodes);
    free(held->topics);
    free(held->groups);
    free(held->staged);
    free(held);
}
