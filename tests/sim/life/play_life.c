/* A whole life: chaos, calm, quiet, end. README.md. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "rpc/ensure.h"
#include "tests/sim/clients/loner.h"
#include "tests/sim/clients/tube.h"
#include "tests/sim/clients/vandal.h"
#include "tests/sim/clients/worker.h"
#include "tests/sim/life/cluster.h"
#include "tests/sim/life/play_life.h"
#include "tests/sim/life/time.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/oracle/oracle.h"
#include "tests/sim/oracle/tap.h"
#include "tests/sim/world/node.h"

enum {
    CALM_MS = 60000,  /* as long as this after everything has healed ... */
    LEADER_MS = 5000, /* ... and a leader, ... */
    COMMIT_MS = 8000, /* ... an acknowledged commit, ... */
    GRACE_MS = 10000, /* ... and answers for all that is asked later, must be there by then */
    LEVEL_MS = 10000, /* how long replicas may differ when nothing is done any more */
    QUIET_MS = 25000,
    STOP_MS = 20000
};

/* What has been, when the life is over. */
static struct figures {
    struct tap_counts tap;
    struct oracle oracle;
    struct faults faults;
    uint64_t calls, replies, timeouts, quits, restarts, reseeds;
    int64_t settled_ms, simulated_ms;
} figures;

/* ---- Words ---- */

void life_fail(struct life *life, const char *format, ...)
{
    char text[1024];
    va_list args;
    (void)life;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    world_fail("%s", text);
}

void life_trace(struct life *life, const char *format, ...)
{
    char text[1024];
    va_list args;
    (void)life;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    world_trace(0, "%s", text);
}

static void print_epilogue(void *ctx)
{
    options_print(ctx, stdout);
}

/* ---- Checks that time brings ---- */

static void watch(struct life *life, void *who, uint64_t what)
{
    (void)who;
    (void)what;
    if (life->is_over) {
        return;
    }
    supervisor_look(life);
    for (const struct message *at = life->started; at != NULL; at = at->next_all) {
        if (life->cluster->stopped_at_ms[at->machine] < 0) {
            oracle_check_bound(life, &life->machines[at->machine], at);
        }
    }
    events_add(life, life->now_ms + 250, watch, NULL, 0);
}

/* Since when everything is well; INT64_MAX: it is not. */
static int64_t calm_since_ms = INT64_MAX;

void time_out_noticed(struct life *life, const struct message *message)
{
    bool is_dead = life->cluster->is_dead[message->machine];
    if (life->stage == STAGE_CALM && !is_dead && message->sent_ms - GRACE_MS > calm_since_ms) {
        life_fail(life, "API %d was not answered in time though nothing is wrong",
                  message->call.api_key);
    }
}

static void run_until(struct life *life, int64_t end_ms)
{
    world_run_until(end_ms * WORLD_MS);
    time_enter(life);
}

/* ---- Calm ---- */

static int64_t last_wake_ms(const struct life *life)
{
    int64_t last_ms = life->now_ms;
    for (int i = 0; i < WORKERS_MAX; i++) { /* who sleeps must wake first */
        int64_t paused_ms = life->workers[i].paused_ms;
        last_ms = paused_ms > last_ms ? paused_ms : last_ms;
    }
    return last_ms;
}

/* All that should run runs, and votes; a node that rejoins takes its time. */
static bool is_whole(const struct life *life)
{
    for (int i = 0; i < life->machines_count; i++) {
        if (!life->cluster->is_dead[i] &&
            (life->machines[i].core == NULL || life->cluster->is_damaged[i])) {
            return false;
        }
    }
    return true;
}

static void wait_for_nodes(struct life *life)
{
    int64_t began_ms = life->now_ms;
    while (!is_whole(life)) {
        run_until(life, life->now_ms + 100);
        supervisor_look(life);
        if (life->now_ms - began_ms > CALM_MS) {
            life_fail(life, "not all nodes are back %d s after the last fault", CALM_MS / 1000);
        }
    }
}

/* Those that everybody commits for. */
static bool has_topics(const struct life *life)
{
    char name[TEXT];
    for (int i = 0; i < TOPICS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        if (state_topic(coordinator_state(life->reference), span_from_cstr(name)) == NULL) {
            return false;
        }
    }
    return true;
}

/* I9: within the longer of session and rebalance timeout, and 10 s. */
static void settle(struct life *life)
{
    int64_t most_ms = rest_bound_ms(life);
    int64_t began_ms = life->now_ms;
    int64_t woken_ms = last_wake_ms(life);
    uint64_t acknowledged = life->oracle->acknowledged;
    bool can_commit = !life->options.has_small_limits && has_topics(life);
    const char *why = "";
    int64_t calm_ms = 0;
    while (calm_ms < 3000 || life->now_ms < began_ms + CALM_MS) {
        run_until(life, life->now_ms + 250);
        why = rest_missing(life);
        calm_ms = why == NULL ? calm_ms + 250 : 0;
        if (why == NULL && life->settled_ms == 0) {
            life->settled_ms = life->now_ms - began_ms;
        }
        if (why != NULL && life->now_ms - woken_ms > most_ms) {
            life_fail(life, "no rest after %" PRId64 " ms: %s", life->now_ms - woken_ms, why);
        }
        int64_t changed_ms = life->cluster->changed_ms; /* one that was told to end before */
        changed_ms = changed_ms > began_ms ? changed_ms : began_ms;
        if (life->now_ms - changed_ms > LEADER_MS && tap_leader(life) < 0) {
            life_fail(life, "nobody leads %" PRId64 " ms after the last fault",
                      life->now_ms - changed_ms);
        }
        if (life->now_ms - changed_ms > COMMIT_MS && can_commit &&
            life->oracle->acknowledged == acknowledged) {
            life_fail(life, "no commit is acknowledged %" PRId64 " ms after the last fault",
                      life->now_ms - changed_ms);
        }
    }
}

/* All come to what is committed now; that they then have the same state is seen at each apply. */
static void level(struct life *life)
{
    int64_t began_ms = life->now_ms;
    uint64_t position = life->position;
    while (!tap_has_reached(life, position)) {
        run_until(life, life->now_ms + 5);
        if (life->now_ms - began_ms > LEVEL_MS) {
            life_fail(life, "a replica is behind %d s long though nothing is wrong",
                      LEVEL_MS / 1000);
        }
    }
}

static void be_calm(struct life *life)
{
    life_trace(life, "---- calm");
    life->stage = STAGE_CALM;
    nemesis_heal(life);
    wait_for_nodes(life);
    calm_since_ms = life->now_ms;
    loners_declare(life); /* an operator may have deleted them all */
    loners_prove(life, CALM_MS);
    settle(life);
    level(life);
}

/* ---- Quiet: the leader dies now and then, and nobody may notice ---- */

static void be_quiet(struct life *life)
{
    int32_t generations[GROUPS_MAX];
    int64_t end_ms = life->now_ms + QUIET_MS;
    life_trace(life, "---- quiet");
    life->stage = STAGE_QUIET;
    rest_note_generations(life, generations);
    while (life->now_ms < end_ms) {
        int leader = tap_leader(life);
        if (leader >= 0 && is_whole(life)) {
            if (chance_in(&life->chance, 300)) {
                node_signal(leader + 1, NODE_SIGNAL_TERM);
            } else {
                node_kill(leader + 1);
            }
        }
        run_until(life, life->now_ms + chance_between(&life->chance, 5000, 9000));
    }
    wait_for_nodes(life);
    rest_check_generations(life, generations);
}

/* ---- End ---- */

static void end_members(struct life *life)
{
    int64_t ms = life->options.session_ms + 10000;
    life_trace(life, "---- end");
    life->stage = STAGE_END;
    rest_end_members(life);
    run_until(life, life->now_ms + ms);
    rest_check_ended(life, ms);
    level(life);
    oracle_check_cells(life);
}

/* In good order: every call is answered by then. */
static void stop_nodes(struct life *life)
{
    int64_t end_ms = life->now_ms + STOP_MS;
    bool is_any_on = true;
    life->is_over = true;
    for (int i = 0; i < life->machines_count; i++) {
        node_signal(i + 1, NODE_SIGNAL_TERM);
    }
    while (is_any_on && life->now_ms < end_ms) {
        run_until(life, life->now_ms + 100);
        is_any_on = false;
        for (int i = 0; i < life->machines_count; i++) {
            is_any_on = is_any_on || node_is_on(i + 1);
        }
    }
    if (is_any_on) {
        life_fail(life, "a node did not end within %d s", STOP_MS / 1000);
    }
    if (life->started != NULL) {
        life_fail(life, "API %d was never answered", life->started->call.api_key);
    }
}

/* I13. */
static void check_work(struct life *life)
{
    const struct oracle *oracle = life->oracle;
    if (life->options.has_small_limits || life->options.chaos_ms < 30000) {
        return;
    }
    if (oracle->acknowledged < 20 || oracle->reads < 20 || oracle->generations < 1 ||
        tap_counts()->elections < 1 || life->wire->replies < 100) {
        life_fail(life,
                  "a life without work says nothing: %" PRIu64 " commits, %" PRIu64
                  " reads, %" PRIu64 " generations, %" PRIu64 " elections",
                  oracle->acknowledged, oracle->reads, oracle->generations,
                  tap_counts()->elections);
    }
}

/* ---- Beginning and end ---- */

static void begin(struct life *life, const struct play_setting *setting)
{
    *life = (struct life){.seed = setting->seed, .is_traced = setting->is_traced};
    life->chance.state = setting->seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    life->faults = calloc(1, sizeof *life->faults);
    life->cluster = calloc(1, sizeof *life->cluster);
    ensure(life->faults != NULL && life->cluster != NULL);
    calm_since_ms = INT64_MAX;
    world_set_epilogue(print_epilogue, life);
    time_enter(life);
    options_draw(life, setting);
    wire_open(life);
    oracle_init(life);
    tap_open(life);
    supervisor_open(life);
    workers_init(life);
    loners_init(life);
    loners_declare(life);
    if (life->faults->is_on[FAULT_vandal]) {
        vandals_start(life);
    }
    nemesis_start(life);
    watch(life, NULL, 0);
}

static void end(struct life *life)
{
    figures = (struct figures){
        .tap = *tap_counts(),
        .oracle = *life->oracle,
        .faults = *life->faults,
        .calls = life->calls,
        .replies = life->wire->replies,
        .timeouts = life->wire->timeouts,
        .quits = life->cluster->quits,
        .restarts = life->cluster->restarts,
        .reseeds = life->cluster->reseeds,
        .settled_ms = life->settled_ms,
        .simulated_ms = life->now_ms,
    };
    supervisor_close(life);
    vandals_close();
    workers_close(life);
    loners_close(life);
    wire_close(life);
    oracle_close(life);
    tap_close(life);
    time_close();
    world_set_epilogue(NULL, NULL);
    free(life->faults);
    free(life->cluster);
}

static void run(const struct play_setting *setting)
{
    static struct life life;
    begin(&life, setting);
    run_until(&life, life.options.chaos_ms);
    be_calm(&life);
    if (life.faults->dead == 0) {
        be_quiet(&life);
    }
    end_members(&life);
    stop_nodes(&life);
    check_work(&life);
    end(&life);
}

static void print_figures(FILE *out)
{
    const struct figures *f = &figures;
    uint64_t struck = 0;
    for (int i = 0; i < FAULT_KINDS; i++) {
        struck += f->faults.struck[i];
    }
    fprintf(out,
            "simulated_s=%" PRId64 " calls=%" PRIu64 " replies=%" PRIu64 " timeouts=%" PRIu64
            " entries=%" PRIu64 " commits=%" PRIu64 " fenced=%" PRIu64 " reads=%" PRIu64
            " generations=%" PRIu64 " evictions=%" PRIu64 " elections=%" PRIu64
            " suspensions=%" PRIu64 " restored=%" PRIu64 " faults=%" PRIu64 " quits=%" PRIu64
            " starts=%" PRIu64 " reseeds=%" PRIu64 " foreign=%" PRIu64 " settled_ms=%" PRId64 "\n",
            f->simulated_ms / 1000, f->calls, f->replies, f->timeouts, f->tap.entries,
            f->oracle.acknowledged, f->oracle.fenced, f->oracle.reads, f->oracle.generations,
            f->oracle.evictions, f->tap.elections, f->tap.suspensions, f->tap.restored, struck,
            f->quits, f->restarts, f->reseeds, f->tap.foreign_calls, f->settled_ms);
}

const struct play play_life = {
    .name = "life",
    .help = "a whole life: chaos, calm, quiet, end (README.md)",
    .nodes = options_nodes,
    .run = run,
    .figures = print_figures,
};
