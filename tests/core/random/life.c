#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpc/ensure.h"
#include "tests/core/random/cluster.h"
#include "tests/core/random/wire.h"
#include "tests/sim/clients/loner.h"
#include "tests/sim/clients/worker.h"
#include "tests/sim/oracle/oracle.h"

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

/* I9: within the longer of session and rebalance timeout, and 10 s. */
static void settle(struct life *life)
{
    int64_t most_ms = rest_bound_ms(life);
    int64_t began_ms = life->now_ms;
    for (int i = 0; i < WORKERS_MAX; i++) { /* who sleeps must wake first */
        int64_t paused_ms = life->workers[i].paused_ms;
        began_ms = paused_ms > began_ms ? paused_ms : began_ms;
    }
    const char *why = "";
    int64_t calm_ms = 0;
    while (calm_ms < 3000) {
        run_until(life, life->now_ms + 250);
        why = rest_missing(life);
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
    rest_note_generations(life, generations);
    int64_t end_ms = life->now_ms + QUIET_MS;
    while (life->now_ms < end_ms) {
        int machine = (int)chance_below(&life->chance, MACHINES);
        const struct machine *next = &life->machines[machine];
        if (next->core != NULL && !cluster_is_paused(life, next)) {
            bool is_committed = chance_in(&life->chance, 500);
            cluster_take_over(life, machine, is_committed, chance_below(&life->chance, 500),
                              chance_below(&life->chance, 300));
        }
        run_until(life, life->now_ms + chance_between(&life->chance, 1000, 6000));
    }
    rest_check_generations(life, generations);
}

static void end_members(struct life *life)
{
    int64_t ms = life->options.session_ms + 10000;
    rest_end_members(life);
    run_until(life, life->now_ms + ms);
    rest_check_ended(life, ms);
}

/* ---- Beginning and end ---- */

static void begin(struct life *life, uint64_t seed, bool is_traced)
{
    *life = (struct life){.seed = seed, .is_traced = is_traced};
    life->chance.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    life->faults = calloc(1, sizeof *life->faults);
    ensure(life->faults != NULL);
    options_draw(life);
    life->now_ms = 1000;
    life->wire = calloc(1, sizeof *life->wire);
    ensure(life->wire != NULL);
    oracle_init(life);
    cluster_init(life);
    workers_init(life);
    loners_init(life);
    nemesis_start(life);
}

static void end(struct life *life)
{
    life->is_over = true;
    for (int i = 0; i < MACHINES; i++) {
        struct machine *machine = &life->machines[i];
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
    if (life->started != NULL) {
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
    free(life->faults);
}

void life_run(struct life *life, uint64_t seed, bool is_traced)
{
    begin(life, seed, is_traced);
    loners_declare(life);
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
