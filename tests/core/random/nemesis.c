/* What goes wrong, and when. */
#include "rpc/ensure.h"
#include "tests/core/random/cluster.h"
#include "tests/core/random/wire.h"
#include "tests/sim/clients/worker.h"
#include "tests/sim/oracle/oracle.h"

static int some_machine(struct life *life)
{
    return (int)chance_below(&life->chance, MACHINES);
}

static bool can_lead(const struct life *life, int machine)
{
    const struct machine *m = &life->machines[machine];
    return m->core != NULL && !cluster_is_paused(life, m) && !m->own->is_stopping;
}

static void take_over(struct life *life)
{
    int machine = some_machine(life);
    bool is_cut = life->faults->cuts && chance_in(&life->chance, 500);
    if (!can_lead(life, machine)) {
        return;
    }
    int64_t settling_ms = chance_in(&life->chance, 100) ? chance_below(&life->chance, 2000)
                                                        : chance_below(&life->chance, 60);
    cluster_take_over(life, machine, chance_in(&life->chance, 500),
                      is_cut ? chance_below(&life->chance, 600) : 0, settling_ms);
}

/* Raft elects somebody sooner or later. */
static void watch(struct life *life, void *who, uint64_t what)
{
    struct cluster *cluster = life->cluster;
    (void)who;
    (void)what;
    if (life->is_over) {
        return;
    }
    events_add(life, life->now_ms + chance_between(&life->chance, 150, 700), watch, NULL, 0);
    wire_check(life);
    const struct machine *leader = cluster->leader < 0 ? NULL : &life->machines[cluster->leader];
    bool is_asleep = leader != NULL && cluster_is_paused(life, leader);
    bool is_leaving = leader != NULL && leader->own->is_stopping && chance_in(&life->chance, 500);
    if (leader == NULL || is_leaving || (is_asleep && chance_in(&life->chance, 300))) {
        take_over(life);
    }
}

static void restart_event(struct life *life, void *who, uint64_t what)
{
    struct machine *machine = who;
    (void)what;
    cluster_restart(life, machine->at);
}

static void crash(struct life *life, int machine)
{
    cluster_crash(life, machine, chance_in(&life->chance, 500));
    events_add(life, life->now_ms + chance_between(&life->chance, 100, 10000), restart_event,
               &life->machines[machine], 0);
}

static void end_event(struct life *life, void *who, uint64_t incarnation)
{
    struct machine *machine = who;
    if (machine->core != NULL && machine->incarnation == incarnation) {
        crash(life, machine->at);
    }
}

static void stop(struct life *life, int machine)
{
    struct machine *m = &life->machines[machine];
    if (m->core == NULL || cluster_is_paused(life, m)) {
        return;
    }
    cluster_stop(life, machine);
    events_add(life, life->now_ms + chance_between(&life->chance, 100, 2000), end_event, m,
               m->incarnation);
}

static void calm_log(struct life *life, void *who, uint64_t what)
{
    (void)who;
    (void)what;
    life->cluster->refusing = 0;
    life->cluster->commit_ms_max = 5;
    life->cluster->lag_ms_max = 20;
    life->cluster->is_wall_off = false;
}

static void thaw_event(struct life *life, void *who, uint64_t what)
{
    struct machine *machine = who;
    (void)what;
    cluster_thaw(life, machine->at);
}

static void snapshot(struct life *life, int machine)
{
    cluster_freeze(life, machine);
    events_add(life, life->now_ms + chance_below(&life->chance, 3000), thaw_event,
               &life->machines[machine], 0);
}

static void break_some_lane(struct life *life)
{
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        if (lane_is_busy(lane) && chance_in(&life->chance, 300)) {
            lane_break(life, lane);
            return;
        }
    }
}

static void upset_log(struct life *life, const struct faults *faults)
{
    struct cluster *cluster = life->cluster;
    if (faults->refuses && chance_in(&life->chance, 500)) {
        cluster->refusing = (int)chance_between(&life->chance, 100, 1000);
        cluster->refuses_as_follower = chance_in(&life->chance, 300);
    }
    if (faults->is_slow) {
        cluster->commit_ms_max = chance_between(&life->chance, 50, 4000);
        cluster->lag_ms_max = chance_between(&life->chance, 20, 3000);
    }
    if (faults->loses_wall) {
        life->cluster->is_wall_off = true;
    }
    events_add(life, life->now_ms + chance_between(&life->chance, 100, 6000), calm_log, NULL, 0);
}

static void strike(struct life *life)
{
    const struct faults *faults = life->faults;
    int machine = some_machine(life);
    if (chance_in(&life->chance, 500) && life->cluster->leader >= 0) {
        machine = life->cluster->leader;
    }
    life->struck++;
    switch (chance_below(&life->chance, 9)) {
        case 0:
            if (faults->takes_over) {
                take_over(life);
            }
            break;
        case 1:
            if (faults->crashes) {
                crash(life, machine);
            }
            break;
        case 2:
            if (faults->pauses) {
                cluster_pause(life, machine, chance_between(&life->chance, 50, 4000));
            }
            break;
        case 3:
            if (faults->stops) {
                stop(life, machine);
            }
            break;
        case 4:
            upset_log(life, faults);
            break;
        case 5:
            if (faults->jumps_wall) {
                life->cluster->wall_ahead_ms += chance_below(&life->chance, 3 * 24) * 3600 * 1000;
            }
            break;
        case 6:
            if (faults->snapshots) {
                snapshot(life, machine);
            }
            break;
        case 7:
            if (faults->installs) {
                cluster_install(life, machine, some_machine(life));
            }
            break;
        default:
            if (faults->breaks_lanes) {
                break_some_lane(life);
            }
            break;
    }
}

static void strike_event(struct life *life, void *who, uint64_t what)
{
    (void)who;
    (void)what;
    if (life->stage != STAGE_CHAOS || life->is_over) {
        return;
    }
    strike(life);
    events_add(life, life->now_ms + chance_between(&life->chance, 50, 3000), strike_event, NULL, 0);
}

void nemesis_start(struct life *life)
{
    events_add(life, 0, watch, NULL, 0);
    events_add(life, chance_below(&life->chance, 10000), strike_event, NULL, 0);
}

void nemesis_heal(struct life *life)
{
    calm_log(life, NULL, 0);
    for (int i = 0; i < MACHINES; i++) {
        struct machine *machine = &life->machines[i];
        if (machine->own->is_stopping) {
            cluster_crash(life, i, true);
        }
        cluster_restart(life, i);
    }
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        if (lane->machine >= 0 && lane->incarnation != life->machines[lane->machine].incarnation) {
            lane_break(life, lane); /* it leads nowhere */
        }
    }
}
