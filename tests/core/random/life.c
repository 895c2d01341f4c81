#include "tests/core/random/life.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpc/ensure.h"
#include "tests/core/random/cluster.h"
#include "tests/core/random/loner.h"
#include "tests/core/random/oracle.h"
#include "tests/core/random/wire.h"
#include "tests/core/random/worker.h"

enum { TICKS_MAX = 100000, QUIET_MS = 20000 };

void life_fail(struct life *life, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "seed %" PRIu64 " at %" PRId64 " ms: ", life->seed, life->now_ms);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    _Exit(1);
}

void life_trace(struct life *life, const char *format, ...)
{
    if (!life->is_traced) {
        return;
    }
    va_list args;
    va_start(args, format);
    printf("%" PRId64 " ", life->now_ms);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* ---- Time ---- */

static void run_until(struct life *life, int64_t end_ms)
{
    int ticks = 0;
    for (;;) {
        int machine = -1;
        int64_t tick_ms = cluster_next_ms(life, &machine);
        int64_t event_ms = events_next_ms(&life->events);
        bool is_tick = machine >= 0 && tick_ms < event_ms;
        int64_t next_ms = is_tick ? tick_ms : event_ms;
        if (next_ms > end_ms) {
            break;
        }
        ticks = next_ms > life->now_ms ? 0 : ticks + 1;
        if (ticks > TICKS_MAX) {
            life_fail(life, "there is a deadline that never ends");
        }
        life->now_ms = next_ms;
        if (is_tick) {
            cluster_tick(life, machine);
        } else {
            events_run_one(life);
        }
    }
    life->now_ms = end_ms;
}

/* ---- At rest ---- */

static const struct group *facts_of(const struct life *life, int group)
{
    char name[TEXT];
    snprintf(name, sizeof name, "g%d", group);
    const struct group_slot *slot =
        state_group(coordinator_state(life->cluster->reference), span_from_cstr(name));
    return slot == NULL ? NULL : slot->facts;
}

/* Why the group is not at rest; NULL: it is. */
static const char *unrest_of(const struct life *life, int group)
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

static const char *unrest(const struct life *life)
{
    const char *why = NULL;
    for (int g = 0; g < life->options.groups && why == NULL; g++) {
        why = unrest_of(life, g);
    }
    return why;
}

/* I9: within the longer of session and rebalance timeout, and 10 s. */
static void settle(struct life *life)
{
    int64_t session_ms = life->options.session_ms;
    int64_t rebalance_ms = life->options.rebalance_ms;
    int64_t most_ms = (session_ms > rebalance_ms ? session_ms : rebalance_ms) + 10000;
    int64_t began_ms = life->now_ms;
    for (int i = 0; i < WORKERS_MAX; i++) { /* who sleeps must wake first */
        int64_t paused_ms = life->workers[i].paused_ms;
        began_ms = paused_ms > began_ms ? paused_ms : began_ms;
    }
    const char *why = "";
    int64_t calm_ms = 0;
    while (calm_ms < 3000) {
        run_until(life, life->now_ms + 250);
        why = unrest(life);
        calm_ms = why == NULL ? calm_ms + 250 : 0;
        if (why != NULL && life->now_ms - began_ms > most_ms) {
            life_fail(life, "no rest after %" PRId64 " ms: %s", life->now_ms - began_ms, why);
        }
    }
    life->settled_ms = life->now_ms - began_ms - calm_ms;
}

/* Takeovers alone are noticed by nobody: worker.c minds errors, here the generations count. */
static void stay_quiet(struct life *life)
{
    int32_t generations[GROUPS_MAX];
    for (int g = 0; g < life->options.groups; g++) {
        const struct group *facts = facts_of(life, g);
        generations[g] = facts == NULL ? 0 : facts->generation;
    }
    int64_t end_ms = life->now_ms + QUIET_MS;
    while (life->now_ms < end_ms) {
        int machine = (int)chance_below(&life->chance, MACHINES);
        const struct machine *next = &life->cluster->machines[machine];
        if (next->core != NULL && !cluster_is_paused(life, next)) {
            bool is_committed = chance_in(&life->chance, 500);
            cluster_take_over(life, machine, is_committed, chance_below(&life->chance, 500),
                              chance_below(&life->chance, 300));
        }
        run_until(life, life->now_ms + chance_between(&life->chance, 1000, 6000));
    }
    for (int g = 0; g < life->options.groups; g++) {
        const struct group *facts = facts_of(life, g);
        if (facts != NULL && facts->members_count > 0 && facts->generation != generations[g]) {
            life_fail(life, "g%d went from generation %d to %d for nothing but takeovers", g,
                      generations[g], facts->generation);
        }
    }
}

static void end_members(struct life *life)
{
    for (int i = 0; i < WORKERS_MAX; i++) {
        struct worker *worker = &life->workers[i];
        if (worker->state == WORKER_STABLE && chance_in(&life->chance, 500)) {
            worker_leave(worker);
        } else if (worker->state != WORKER_OFF) {
            worker_die(worker, false);
        }
    }
    run_until(life, life->now_ms + life->options.session_ms + 10000);
    for (int g = 0; g < life->options.groups; g++) {
        const struct group *facts = facts_of(life, g);
        if (facts != NULL && facts->members_count > 0) {
            life_fail(life, "g%d has members %d ms after the last one's end", g,
                      life->options.session_ms + 10000);
        }
    }
}

/* ---- Beginning and end ---- */

static void begin(struct life *life, uint64_t seed, bool is_traced)
{
    *life = (struct life){.seed = seed, .is_traced = is_traced};
    life->chance.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    options_draw(&life->options, &life->chance);
    life->now_ms = 1000;
    life->wall_ahead_ms = INT64_C(1700000000000);
    life->wire = calloc(1, sizeof *life->wire);
    ensure(life->wire != NULL);
    oracle_init(life);
    cluster_init(life);
    workers_init(life);
    loners_init(life);
    nemesis_start(life);
}

static void declare_topics(struct life *life)
{
    /* By whoever asks first: without an operator there are none but these. */
    struct loner *loner = &life->loners[LONERS_MAX - 1];
    loner->life = life;
    loner->number = LONERS_MAX - 1;
    lane_init(life, &loner->lane, 20000);
    lane_init(life, &loner->other, 20000);
    loner_declare(loner);
}

static void end(struct life *life)
{
    life->is_over = true;
    for (int i = 0; i < MACHINES; i++) {
        struct machine *machine = &life->cluster->machines[i];
        if (machine->core != NULL) {
            cluster_begin_input(life, machine);
            coordinator_deposed(machine->core, life->now_ms);
            cluster_end_input(life, machine);
            machine->term = 0;
            if (coordinator_parked_calls(machine->core) != 0) {
                life_fail(life, "n%d has calls that were never answered", i + 1);
            }
        }
    }
    if (life->wire->started != NULL) {
        life_fail(life, "a call was never answered");
    }
    oracle_check_cells(life);
    while (events_next_ms(&life->events) != INT64_MAX) {
        life->now_ms = events_next_ms(&life->events);
        events_run_one(life);
    }
    wire_close(life);
    cluster_close(life);
    oracle_close(life);
    workers_close(life);
    loners_close(life);
    events_close(&life->events);
    free(life->wire);
}

void life_run(struct life *life, uint64_t seed, bool is_traced)
{
    begin(life, seed, is_traced);
    declare_topics(life);
    run_until(life, life->options.chaos_ms);
    life_trace(life, "---- calm");
    life->stage = STAGE_CALM;
    nemesis_heal(life);
    settle(life);
    life_trace(life, "---- quiet");
    life->stage = STAGE_QUIET;
    stay_quiet(life);
    life_trace(life, "---- end");
    life->stage = STAGE_END;
    end_members(life);
    int64_t ms = life->now_ms;
    end(life);
    life->now_ms = ms;
}
