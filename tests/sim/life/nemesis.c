/* What goes wrong, and when. */
#include "tests/sim/clients/tube.h"
#include "tests/sim/life/cluster.h"
#include "tests/sim/life/time.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/oracle/tap.h"
#include "tests/sim/world/disk.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/node.h"

enum { DISK_BYTES = 1 << 30, DAY_S = 24 * 3600 };

/* ---- Chance ---- */

static int64_t some_ms(struct life *life)
{
    return chance_between(&life->chance, 20, life->faults->length_ms);
}

static int some_node(struct life *life)
{
    return (int)chance_between(&life->chance, 1, life->machines_count);
}

static int victim(struct life *life)
{
    int leader = tap_leader(life);
    bool is_leader = leader >= 0 && chance_in(&life->chance, life->faults->leader_per_mille);
    return is_leader ? leader + 1 : some_node(life);
}

static void later(struct life *life, event_fn *fn, int node)
{
    events_add(life, life->now_ms + some_ms(life), fn, &life->machines[node - 1], (uint64_t)node);
}

/* ---- Processes and machines ---- */

static void crash(struct life *life)
{
    node_kill(victim(life));
}

static void lose_power(struct life *life)
{
    int node = victim(life);
    if (supervisor_may_power_off(life, node - 1)) {
        node_lose_power(node);
    }
}

static void end_in_some_step(struct life *life)
{
    int node = victim(life);
    unsigned steps = (unsigned)chance_between(&life->chance, 1, 60);
    if (chance_in(&life->chance, 500) && supervisor_may_power_off(life, node - 1)) {
        node_lose_power_at_step(node, steps);
    } else {
        node_kill_at_step(node, steps);
    }
}

static void go_on(struct life *life, void *who, uint64_t node)
{
    (void)who;
    supervisor_continue(life, (int)node - 1);
}

static void stop(struct life *life)
{
    int node = victim(life);
    supervisor_stop(life, node - 1, false, false);
    later(life, go_on, node);
}

static void freeze(struct life *life)
{
    int node = victim(life);
    supervisor_stop(life, node - 1, true, chance_in(&life->chance, 500));
    later(life, go_on, node);
}

static void terminate(struct life *life)
{
    node_signal(victim(life), NODE_SIGNAL_TERM);
}

static void storm(struct life *life)
{
    bool is_power = chance_in(&life->chance, 500);
    int spared = chance_in(&life->chance, 500) ? some_node(life) : 0;
    for (int node = 1; node <= life->machines_count; node++) {
        if (node == spared) {
            continue;
        }
        if (is_power && supervisor_may_power_off(life, node - 1)) {
            node_lose_power(node);
        } else {
            node_kill(node);
        }
    }
}

/* ---- Network ---- */

static void end_partition(struct life *life, void *who, uint64_t what)
{
    (void)life;
    (void)who;
    (void)what;
    network_partition(0);
}

static void partition(struct life *life)
{
    unsigned side = 1U << victim(life);
    if (chance_in(&life->chance, 500)) {
        side |= 1U << some_node(life);
    }
    life_trace(life, "partition %x", side);
    network_partition(side);
    later(life, end_partition, 1);
}

/* Both ends in one number, 0: all. */
static uint64_t some_link(struct life *life)
{
    int from = victim(life);
    int to = chance_in(&life->chance, 300) ? 0 : some_node(life);
    return (uint64_t)(chance_in(&life->chance, 500) ? from * 64 + to : to * 64 + from);
}

static void mend(struct life *life, void *who, uint64_t link)
{
    (void)life;
    (void)who;
    int from = (int)link / 64;
    int to = (int)link % 64;
    network_cut(from, to, false);
    network_hold(from, to, false);
    network_set_link(from, to, &network_link_default);
}

static void for_a_while(struct life *life, uint64_t link)
{
    events_add(life, life->now_ms + some_ms(life), mend, life->machines, link);
}

static void cut_one_way(struct life *life)
{
    uint64_t link = some_link(life);
    network_cut((int)link / 64, (int)link % 64, true);
    for_a_while(life, link);
}

static void lose_packets(struct life *life)
{
    uint64_t link = chance_in(&life->chance, 300) ? 0 : some_link(life);
    struct network_link worse = {.least_us = 100};
    worse.most_us = chance_between(&life->chance, 500, 100000);
    worse.tail_per_mille = (int)chance_below(&life->chance, 100);
    worse.tail_us = chance_between(&life->chance, 1000, 1000000);
    worse.loss_per_mille = (int)chance_below(&life->chance, 300);
    network_set_link((int)link / 64, (int)link % 64, &worse);
    for_a_while(life, link);
}

static void hold(struct life *life)
{
    uint64_t link = some_link(life);
    network_hold((int)link / 64, (int)link % 64, true);
    for_a_while(life, link);
}

static void reset(struct life *life)
{
    if (chance_in(&life->chance, 500)) {
        wire_break_some(life, (int)chance_between(&life->chance, 20, 500));
    } else {
        int node = victim(life);
        network_break(node, chance_in(&life->chance, 500) ? 0 : some_node(life));
    }
}

static void cut_clients(struct life *life)
{
    int node = victim(life);
    for (int client = 0; client < WORKERS_MAX + LONERS_MAX; client++) {
        if (chance_in(&life->chance, 500)) {
            continue;
        }
        int host = network_client_host(client);
        bool is_to = chance_in(&life->chance, 500);
        int from = is_to ? host : node;
        int to = is_to ? node : host;
        network_cut(from, to, true);
        for_a_while(life, (uint64_t)(from * 64 + to));
    }
}

/* ---- Disks ---- */

static void ease_disk(struct life *life, void *who, uint64_t node)
{
    (void)life;
    (void)who;
    disk_set_speed((int)node, &disk_speed_default);
    disk_fail_no_more((int)node);
    disk_set_capacity((int)node, DISK_BYTES);
}

static void slow_disk(struct life *life)
{
    int node = victim(life);
    struct disk_speed slow = {.least_us = 1000};
    slow.most_us = chance_between(&life->chance, 2000, 300000);
    slow.tail_per_mille = (int)chance_below(&life->chance, 100);
    slow.tail_us = chance_between(&life->chance, 10000, 2000000);
    disk_set_speed(node, &slow);
    later(life, ease_disk, node);
}

static void fail_disk(struct life *life)
{
    static const unsigned some[] = {
        DISK_WRITE, DISK_SYNC, DISK_NAMES, DISK_ALLOCATE, DISK_WRITE | DISK_SYNC,
        DISK_OPEN,  DISK_READ, DISK_ANY};
    int node = victim(life);
    unsigned operations = some[chance_below(&life->chance, 8)];
    unsigned after = (unsigned)chance_between(&life->chance, 1, 40);
    unsigned times = (unsigned)chance_between(&life->chance, 1, 5);
    disk_fail(node, operations, after, times, chance_in(&life->chance, 500) ? 1000 : 300);
    later(life, ease_disk, node);
}

static void fill_disk(struct life *life)
{
    int node = victim(life);
    disk_fill(node,
              chance_in(&life->chance, 300) ? 0 : (uint64_t)chance_below(&life->chance, 24 << 20));
    later(life, ease_disk, node);
}

static void corrupt(struct life *life)
{
    int node = some_node(life);
    char path[200] = "";
    if (!supervisor_may_damage(life, node - 1)) {
        return;
    }
    supervisor_damage(life, node - 1);
    if (chance_in(&life->chance, 500)) {
        node_kill(node);
    } else {
        node_lose_power(node);
    }
    if (node_is_on(node)) {
        return;
    }
    enum disk_kind kind = (enum disk_kind)chance_below(&life->chance, DISK_KINDS);
    bool is_cut = chance_in(&life->chance, 300);
    bool is_done = is_cut ? disk_truncate(node, kind, path, sizeof path)
                          : disk_flip_bit(node, kind, path, sizeof path);
    if (is_done) {
        life_trace(life, "n%d: %s is %s", node, path, is_cut ? "shorter" : "damaged");
        if (kind == DISK_SEGMENT_CLOSED) {
            supervisor_expect_notice(life, node - 1, path);
        }
    }
}

static void wipe(struct life *life)
{
    int node = some_node(life);
    if (!supervisor_may_damage(life, node - 1)) {
        return;
    }
    supervisor_damage(life, node - 1);
    node_lose_power(node);
    disk_wipe(node);
    life->cluster->must_have[node - 1] = 0;
    life_trace(life, "n%d: its disk is emptied", node);
}

/* ---- Time ---- */

static void step_clock(struct life *life, int node, int64_t by_ms)
{
    tap_note_clocks(life);
    node_step_wall_clock(node, by_ms);
    tap_note_clocks(life);
}

static void jump(struct life *life)
{
    int64_t by_ms;
    if (chance_in(&life->chance, 500)) { /* all the same, as an NTP server gone mad */
        by_ms = chance_below(&life->chance, 3 * DAY_S) * 1000;
        for (int node = 1; node <= life->machines_count; node++) {
            step_clock(life, node, by_ms);
        }
        return;
    }
    by_ms = chance_between(&life->chance, -2 * DAY_S, 2 * DAY_S) * 1000;
    if (chance_in(&life->chance, 500)) {
        by_ms /= 1000;
    }
    step_clock(life, victim(life), by_ms);
}

static void drift(struct life *life)
{
    int node = victim(life);
    node_set_drift(node, (int)chance_between(&life->chance, -500, 500));
}

static void quicken(struct life *life, void *who, uint64_t node)
{
    (void)life;
    (void)who;
    node_set_turn_cost((int)node, 20, 80);
}

static void slow_cpu(struct life *life)
{
    int node = victim(life);
    node_set_turn_cost(node, 100, chance_between(&life->chance, 1000, 60000));
    later(life, quicken, node);
}

/* ---- All ---- */

static void nothing(struct life *life)
{
    (void)life; /* vandals work by themselves */
}

static void strike(struct life *life)
{
    static void (*const strikes[FAULT_KINDS])(struct life *) = {
        [FAULT_crash] = crash,
        [FAULT_power] = lose_power,
        [FAULT_steps] = end_in_some_step,
        [FAULT_stop] = stop,
        [FAULT_freeze] = freeze,
        [FAULT_term] = terminate,
        [FAULT_storm] = storm,
        [FAULT_partition] = partition,
        [FAULT_oneway] = cut_one_way,
        [FAULT_loss] = lose_packets,
        [FAULT_hold] = hold,
        [FAULT_reset] = reset,
        [FAULT_clients] = cut_clients,
        [FAULT_slow_disk] = slow_disk,
        [FAULT_disk_error] = fail_disk,
        [FAULT_disk_full] = fill_disk,
        [FAULT_corrupt] = corrupt,
        [FAULT_wipe] = wipe,
        [FAULT_clock] = jump,
        [FAULT_drift] = drift,
        [FAULT_slow_cpu] = slow_cpu,
        [FAULT_vandal] = nothing,
    };
    int kind = (int)chance_below(&life->chance, FAULT_KINDS);
    for (int i = 0; i < FAULT_KINDS && !life->faults->is_on[kind]; i++) {
        kind = (kind + 1) % FAULT_KINDS;
    }
    if (life->faults->is_on[kind]) {
        life_trace(life, "fault: %s", fault_names[kind]);
        life->struck++;
        life->faults->struck[kind]++;
        strikes[kind](life);
    }
}

static void strike_event(struct life *life, void *who, uint64_t what)
{
    (void)who;
    (void)what;
    if (life->stage != STAGE_CHAOS || life->is_over) {
        return;
    }
    supervisor_look(life);
    /* Nothing before the cluster has come to be once: until then nobody may say that it votes. */
    if (life->position > 0) {
        strike(life);
    }
    events_add(life, life->now_ms + chance_between(&life->chance, 50, 2 * life->faults->pace_ms),
               strike_event, NULL, 0);
}

void nemesis_start(struct life *life)
{
    events_add(life, chance_between(&life->chance, 1000, 10000), strike_event, NULL, 0);
}

/* Some stay dead: those that are damaged anyway, then others. */
static void choose_dead(struct life *life)
{
    struct cluster *cluster = life->cluster;
    int left = life->faults->dead;
    for (int i = 0; i < life->machines_count; i++) {
        if (cluster->is_damaged[i]) {
            left = 0; /* without all others it could not come back */
        }
    }
    while (left > 0) {
        int machine = some_node(life) - 1;
        if (!cluster->is_dead[machine]) {
            cluster->is_dead[machine] = true;
            left--;
            life_trace(life, "n%d stays dead", machine + 1);
            if (!node_lose_power(machine + 1)) {
                node_kill(machine + 1);
            }
        }
    }
}

void nemesis_heal(struct life *life)
{
    supervisor_look(life);
    choose_dead(life);
    network_heal(true);
    for (int i = 0; i < life->machines_count; i++) {
        node_kill_at_step(i + 1, 0);
        node_lose_power_at_step(i + 1, 0);
        ease_disk(life, NULL, (uint64_t)i + 1);
        quicken(life, NULL, (uint64_t)i + 1);
        supervisor_continue(life, i); /* stopped and frozen: one after the other */
        supervisor_continue(life, i);
        if (!life->cluster->is_dead[i] && !node_is_on(i + 1)) {
            supervisor_start_later(life, i, chance_below(&life->chance, 500));
        }
    }
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        if (lane->machine >= 0 &&
            (life->cluster->is_dead[lane->machine] || life->machines[lane->machine].core == NULL ||
             life->machines[lane->machine].incarnation != lane->incarnation)) {
            lane_break(life, lane); /* it leads nowhere */
        }
    }
}
