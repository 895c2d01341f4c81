/* What must be so when nothing goes wrong any more. */
#include <inttypes.h>
#include <stdio.h>

#include "server/core/state.h"
#include "tests/sim/clients/worker.h"
#include "tests/sim/life/life.h"

static const struct group *facts_of(const struct life *life, int group)
{
    char name[TEXT];
    snprintf(name, sizeof name, "g%d", group);
    const struct group_slot *slot =
        state_group(coordinator_state(life->reference), span_from_cstr(name));
    return slot == NULL ? NULL : slot->facts;
}

/* Why the group is not at rest; NULL: it is. */
static const char *missing_in(const struct life *life, int group)
{
    const struct group *facts = facts_of(life, group);
    int alive = 0;
    for (int i = 0; i < WORKERS_MAX; i++) {
        const struct worker *worker = &life->workers[i];
        if (worker->group != group || worker->state == WORKER_OFF) {
            continue;
        }
        alive++;
        if (worker->state != WORKER_STABLE) {
            return "a member has no assignment";
        }
        if (facts == NULL || worker->generation != facts->generation) {
            return "a member has an old generation";
        }
        if (group_find_member(facts, span_from_cstr(worker->member_id)) == NULL) {
            return "a member is none";
        }
    }
    if (facts == NULL) {
        return alive == 0 ? NULL : "there is no group";
    }
    if (facts->members_count != alive) {
        return "somebody who is dead is a member";
    }
    return alive > 0 && group_phase(facts) != GROUP_STABLE ? "it is not stable" : NULL;
}

const char *rest_missing(const struct life *life)
{
    const char *why = NULL;
    for (int g = 0; g < life->options.groups && why == NULL; g++) {
        why = missing_in(life, g);
    }
    return why;
}

int64_t rest_bound_ms(const struct life *life)
{
    int64_t session_ms = life->options.session_ms;
    int64_t rebalance_ms = life->options.rebalance_ms;
    return (session_ms > rebalance_ms ? session_ms : rebalance_ms) + 10000;
}

void rest_note_generations(const struct life *life, int32_t generations[GROUPS_MAX])
{
    for (int g = 0; g < life->options.groups; g++) {
        const struct group *facts = facts_of(life, g);
        generations[g] = facts == NULL ? 0 : facts->generation;
    }
}

void rest_check_generations(struct life *life, const int32_t generations[GROUPS_MAX])
{
    for (int g = 0; g < life->options.groups; g++) {
        const struct group *facts = facts_of(life, g);
        if (facts != NULL && facts->members_count > 0 && facts->generation != generations[g]) {
            life_fail(life, "g%d went from generation %d to %d for nothing but takeovers", g,
                      generations[g], facts->generation);
        }
    }
}

void rest_end_members(struct life *life)
{
    for (int i = 0; i < WORKERS_MAX; i++) {
        struct worker *worker = &life->workers[i];
        if (worker->state == WORKER_STABLE && chance_in(&life->chance, 500)) {
            worker_leave(worker);
        } else if (worker->state != WORKER_OFF) {
            worker_die(worker, false);
        }
    }
}

void rest_check_ended(struct life *life, int64_t after_ms)
{
    for (int g = 0; g < life->options.groups; g++) {
        const struct group *facts = facts_of(life, g);
        if (facts != NULL && facts->members_count > 0) {
            life_fail(life, "g%d has members %" PRId64 " ms after the last one's end", g, after_ms);
        }
    }
}
