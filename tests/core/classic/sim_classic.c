/* Random histories of classic groups: clients that come, change, leave and crash, leaders that die
 * with entries in flight, a log without room, a node that stands still. After each step all nodes
 * agree, what rounds count is what they hold; every call is answered once; a generation names one
 * member list and one assignment per member; and when it has been calm for a while every group is
 * stable.
 *
 *     sim_classic FIRST LAST [STEPS [log]]    the seeds; prints the one that fails before it aborts
 *
 * Seeds differ in how much happens. Odd ones are gentle: only leaders die, no entry takes seconds,
 * clients never vanish without a word while others could suffer; then no client may see an error
 * that it did not cause (promise 5). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "server/core/state.h"
#include "tests/core/classic/worker.h"

enum { WORKERS = 24, GROUPS = 4, STEP_MS_MAX = 400, CALM_MS = 240000 };

static void step_time(struct world *w, int64_t most_ms)
{
    rig_tick(&w->rig, w->rig.now_ms + (int64_t)world_random(w, (uint64_t)most_ms) + 1);
}

static void step_workers(struct world *w)
{
    for (int i = 0; i < w->workers_count; i++) {
        worker_step(&w->workers[i]);
    }
}

static void take_over(struct world *w)
{
    w->drops_replies = world_random(w, 2) == 0; /* killed, or just deposed */
    rig_takeover(&w->rig, (int)world_random(w, RIG_NODES),
                 (size_t)world_random(w, w->rig.waiting_count + 1));
    w->drops_replies = false;
}

/* A client does something. */
static void stir(struct world *w)
{
    struct worker *worker = &w->workers[world_random(w, (uint64_t)w->workers_count)];
    if (worker->state == WORKER_OFF) {
        worker_start(worker);
        return;
    }
    switch (world_random(w, 5)) {
        case 0:
            worker_change(worker);
            break;
        case 1:
            if (worker->state != WORKER_LEAVING) {
                worker_leave(worker);
            }
            break;
        case 2:
            worker_disconnect(worker);
            break;
        case 3:
            worker_crash(worker);
            break;
        case 4: /* a static member comes back before anybody misses it */
            worker_crash(worker);
            worker_start(worker);
            break;
    }
}

static void step(struct world *w)
{
    uint64_t dice = world_random(w, 1000) / w->unrest;
    step_time(w, STEP_MS_MAX);
    if (dice < 60) {
        stir(w);
    } else if (dice < 70) {
        take_over(w);
    } else if (dice < 75 && !w->is_gentle) {
        w->rig.refusals = (int)world_random(w, 4);
    } else if (dice < 78) {
        rig_suspend(&w->rig, (int64_t)world_random(w, 20000));
    } else if (dice < 80 && !w->is_gentle) {
        step_time(w, 9000); /* entries in flight time out */
    }
    step_workers(w);
    if (world_random(w, 3) > 0) {
        rig_commit(&w->rig, (size_t)world_random(w, w->rig.waiting_count + 1));
    }
    if (w->is_gentle && world_random(w, 4) == 0) {
        rig_commit(&w->rig, SIZE_MAX);
    }
    rig_check(&w->rig);
}

static void calm_down(struct world *w)
{
    int64_t end_ms = w->rig.now_ms + CALM_MS;
    w->rig.refusals = 0;
    while (w->rig.now_ms < end_ms) {
        step_time(w, 50);
        step_workers(w);
        rig_commit(&w->rig, SIZE_MAX);
    }
    rig_check(&w->rig);
}

/* Everybody who runs has an assignment of the same generation, and nobody else is a member. */
static void check_groups(struct world *w)
{
    for (int g = 0; g < GROUPS; g++) {
        int32_t running = 0;
        int32_t generation = -1;
        for (int i = 0; i < w->workers_count; i++) {
            const struct worker *worker = &w->workers[i];
            if (worker->group != g || worker->state == WORKER_OFF) {
                continue;
            }
            running++;
            ensure(worker->state == WORKER_BEATING);
            ensure(generation == -1 || generation == worker->generation);
            generation = worker->generation;
        }
        char name[WORKER_TEXT];
        snprintf(name, sizeof name, "g%d", g);
        const struct group_slot *slot =
            state_group(coordinator_state(w->rig.nodes[0]), span_from_cstr(name));
        ensure(slot != NULL || running == 0);
        ensure(slot == NULL || slot->facts->members_count == running);
        ensure(running == 0 || slot->facts->generation == generation);
    }
}

static void print_log(void *ctx, const char *line)
{
    const struct world *w = ctx;
    printf("%lld n%d %s\n", (long long)w->rig.now_ms, w->rig.leader, line);
    fflush(stdout);
}

static void run(uint64_t seed, int steps, bool is_talkative)
{
    struct world w = {.random = seed * 7919 + 1, .workers_count = WORKERS};
    printf("seed %" PRIu64, seed);
    fflush(stdout);
    rig_init(&w.rig, &rig_limits);
    w.rig.reply = worker_reply;
    w.rig.log = is_talkative ? print_log : NULL;
    w.rig.ctx = &w;
    w.facts = facts_new();
    w.is_gentle = seed % 2 == 1;
    w.unrest = 1 + seed / 2 % 4;
    w.workers = calloc(WORKERS, sizeof *w.workers);
    for (int i = 0; i < WORKERS; i++) {
        static const int16_t versions[] = {2, 4, 5, 9};
        w.workers[i] = (struct worker){.world = &w, .number = i, .group = i % GROUPS};
        w.workers[i].join_version = versions[world_random(&w, 4)];
        w.workers[i].is_static = w.workers[i].join_version >= 5 && world_random(&w, 2) == 0;
    }
    rig_takeover(&w.rig, 0, 0);
    for (int i = 0; i < steps; i++) {
        step(&w);
    }
    calm_down(&w);
    check_groups(&w);
    ensure(w.surprises == 0);
    const struct state_totals *totals = state_totals(coordinator_state(w.rig.nodes[0]));
    printf(" entries=%" PRIu64 " terms=%" PRIu64 " members=%" PRIu64 " joins=%" PRIu64
           " syncs=%" PRIu64 " beats=%" PRIu64 "\n",
           w.rig.index, w.rig.term, totals->members, w.joins, w.syncs, w.beats);
    for (int i = 0; i < WORKERS; i++) {
        worker_crash(&w.workers[i]);
        free(w.workers[i].others);
    }
    rig_takeover(&w.rig, 1, SIZE_MAX);
    ensure(world_unanswered(&w) == 0);
    rig_close(&w.rig);
    facts_free(w.facts);
    free(w.workers);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
    int steps = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3000;
    for (uint64_t seed = first; seed <= last; seed++) {
        run(seed, steps, argc > 4);
    }
    return 0;
}
