/* One life of a cluster: a time of faults, then a time in which everything must heal. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "sim_parts.h"
#include "sim_stop.h"

enum { PROGRESS_WITHIN_S = 10, CONVERGE_WITHIN_S = 60 };

struct sim sim;
jmp_buf sim_stop;

/* Draws what the seed decides; the order matters. */
static void draw(void)
{
    struct sim_setting *setting = &sim.setting;
    bool is_hostile = setting->hostile != 0;
    sim.crash_mean = is_hostile ? 300 * SIM_MS + sim_below(1700 * SIM_MS)
                                : 2 * SIM_SECOND + sim_below(8 * SIM_SECOND);
    sim.partition_mean = is_hostile ? 300 * SIM_MS + sim_below(2 * SIM_SECOND)
                                    : 2 * SIM_SECOND + sim_below(8 * SIM_SECOND);
    sim.client_gap = 2 * SIM_MS + sim_below(60 * SIM_MS);
    unsigned prevote = (unsigned)sim_below(2);
    unsigned one = (unsigned)sim_below(2);
    setting->prevote = setting->prevote == 2 ? prevote : setting->prevote;
    setting->one = setting->one == 2 ? one : setting->one;
    sim.is_fifo = sim_below(2) != 0;
    sim.loss = sim.is_fifo ? 0 : sim_below(3) != 0 ? sim_below(30000) : sim_below(200000);
    sim.duplicate = sim.is_fifo ? 0 : sim_below(30000);
    sim.latency = SIM_MS + sim_below(sim_below(4) != 0 ? 20 * SIM_MS : 200 * SIM_MS);
    sim.disk_latency = 500 + sim_below(sim_below(4) != 0 ? 10 * SIM_MS : 200 * SIM_MS);
    sim.threshold = 8 + (unsigned)sim_below(120);
    sim.trailing = 1 + (unsigned)sim_below(sim_below(2) != 0 ? 4 : 64);
    if (setting->hostile == 2) {
        sim.disk_latency = 500 + sim_below(sim_below(2) != 0 ? 100 * SIM_MS : 1500 * SIM_MS);
        sim.latency = SIM_MS + sim_below(300 * SIM_MS);
        sim.threshold = 4 + (unsigned)sim_below(20);
        sim.trailing = 1 + (unsigned)sim_below(4);
    }
    if ((setting->faults & SIM_NET) == 0) {
        sim.loss = 0;
        sim.duplicate = 0;
    }
}

static void make_nodes(void)
{
    for (unsigned i = 0; i < sim.n; i++) {
        struct sim_node *node = calloc(1, sizeof *node);
        ensure(node != NULL);
        *node =
            (struct sim_node){.i = i, .id = i + 1, .is_up = true, .log_first = 1, .clock_rate = 1};
        node->operations_tail = &node->operations;
        if ((sim.setting.faults & SIM_SKEW) != 0) {
            node->clock_rate = 1 + ((double)sim_below(400000) - 200000) / 1e6;
        }
        snprintf(node->address, sizeof node->address, "%u", i + 1);
        sim.nodes[i] = node;
    }
}

static void bootstrap(void)
{
    sim.is_calm = true;
    for (unsigned i = 0; i < sim.n; i++) {
        struct raft_configuration configuration;
        raft_configuration_init(&configuration);
        for (unsigned k = 0; k < sim.n; k++) {
            ensure(raft_configuration_add(&configuration, sim.nodes[k]->id, sim.nodes[k]->address,
                                          RAFT_VOTER) == 0);
        }
        sim.nodes[i]->may_vote = true;
        sim_launch(sim.nodes[i]);
        ensure(raft_bootstrap(&sim.nodes[i]->raft, &configuration) == 0);
        ensure(raft_start(&sim.nodes[i]->raft) == 0);
        raft_configuration_close(&configuration);
    }
    sim.is_calm = false;
}

static void start_faults(void)
{
    unsigned faults = sim.setting.faults;
    sim_at(SIM_SECOND, SIM_EVENT_CLIENT, NULL, NULL, 0);
    if ((faults & SIM_CRASH) != 0) {
        sim_at(sim.crash_mean, SIM_EVENT_CRASH, NULL, NULL, 0);
    }
    if ((faults & SIM_NET) != 0) {
        sim_at(sim.partition_mean, SIM_EVENT_PARTITION, NULL, NULL, 0);
    }
    if ((faults & SIM_TRANSFER) != 0) {
        sim_at(SIM_SECOND, SIM_EVENT_TRANSFER, NULL, NULL, 0);
    }
    if ((faults & SIM_PAUSE) != 0) {
        sim_at(SIM_SECOND, SIM_EVENT_PAUSE, NULL, NULL, 0);
    }
    if ((faults & (SIM_WIPE_QUIET | SIM_WIPE | SIM_WIPE_DOWN)) != 0) {
        sim_at(4 * SIM_SECOND, SIM_EVENT_WIPE, NULL, NULL, 0);
    }
    if ((faults & SIM_HASTE) != 0) {
        sim_at(2 * SIM_SECOND, SIM_EVENT_HASTE, NULL, NULL, 0);
    }
}

/* From here on the cluster has to work; in half of the runs a minority stays away for a while. */
static void heal(void)
{
    sim.is_calm = true;
    sim.healed_at = sim_now;
    sim.live_value = sim.next_value;
    memset(sim.is_cut, 0, sizeof sim.is_cut);
    sim.latency = sim.latency > 40 * SIM_MS ? 40 * SIM_MS : sim.latency;
    sim.disk_latency = sim.disk_latency > 20 * SIM_MS ? 20 * SIM_MS : sim.disk_latency;
    unsigned away = sim_chance(500000) && sim_rejoiner() == NULL ? (sim.n - 1) / 2 : 0;
    unsigned first = (unsigned)sim_below(sim.n);
    for (unsigned i = 0; i < sim.n; i++) {
        struct sim_node *node = sim.nodes[(first + i) % sim.n];
        node->is_slow = false;
        node->paused_until = 0;
        if (i < away) {
            sim_crash(node);
            node->epoch++; /* voids a restart that is already due */
        }
        if (!node->is_up) {
            sim_at(sim_now + (i < away ? 11 * SIM_SECOND : 0), SIM_EVENT_RESTART, node, NULL, 0);
        }
    }
}

/* Whether the life is over: all is well again, or not in time. */
static bool is_over(void)
{
    if (!sim.is_calm) {
        return false;
    }
    if (sim.live_acked_at == 0 && sim_now > sim.healed_at + PROGRESS_WITHIN_S * SIM_SECOND) {
        sim_violation(SIM_LIVENESS, sim_leader(), "nothing committed for 10 s after healing", 0, 0);
    }
    if (sim.live_acked_at != 0 && sim_has_converged()) {
        return true;
    }
    if (sim.live_acked_at != 0 &&
        sim_now > sim.healed_at + (uint64_t)CONVERGE_WITHIN_S * SIM_SECOND) {
        sim_violation(SIM_CONVERGE, sim_rejoiner(), "replicas still differ 60 s after healing", 0,
                      0);
    }
    return false;
}

static void run_event(struct sim_event *event)
{
    sim.running = event->node;
    if (setjmp(sim_stop) == 0) {
        sim_step(event);
        const struct sim_node *node = sim.running;
        if (node != NULL && node->is_up && !node->is_asking && sim.setting.rules != 0) {
            guard_turn(&sim.running->guard);
        }
    } else { /* a guard has stopped its process */
        sim_crash(sim.running);
        sim_at(sim_now + sim_below(500 * SIM_MS), SIM_EVENT_RESTART, sim.running, NULL, 0);
    }
    sim_check_node(sim.running);
}

enum sim_verdict sim_run(const struct sim_setting *setting, struct sim_stats *stats)
{
    sim = (struct sim){.setting = *setting, .stats = stats, .n = setting->nodes, .next_value = 1};
    sim_seed(setting->seed);
    draw();
    make_nodes();
    bootstrap();
    start_faults();
    uint64_t end = (uint64_t)setting->seconds * SIM_SECOND;
    struct sim_event event;
    while (sim.verdict == SIM_OK && sim_pop(&event)) {
        sim_now = event.time;
        if (!sim.is_calm && sim_now > end) {
            heal();
        }
        if (is_over()) {
            break;
        }
        struct sim_node *node = event.node;
        if (node != NULL && event.kind != SIM_EVENT_RESTART && node->paused_until > sim_now) {
            event.time = node->paused_until;
            sim_push(event);
            continue;
        }
        run_event(&event);
    }
    for (unsigned i = 0; i < sim.n; i++) {
        for (int k = 0; k < GUARD_COUNTS && sim.nodes[i]->is_up; k++) {
            stats->guard[k] += sim.nodes[i]->guard.counts[k];
        }
    }
    stats->verdicts[sim.verdict]++;
    return sim.verdict;
}
