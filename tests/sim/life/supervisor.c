/* What a service manager does, and an operator: a process that has ended is started again; where
 * one says that its disk is damaged, the disk is emptied and the node rejoins. A process may end
 * for the reasons that it was given only. */
#include <stdio.h>
#include <string.h>

#include "raftlog/internal.h"
#include "server/server.h"
#include "tests/sim/life/cluster.h"
#include "tests/sim/life/time.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/oracle/tap.h"
#include "tests/sim/world/disk.h"
#include "tests/sim/world/node.h"

enum { STARTS_BEFORE_WIPE = 2, LAG = 20 /* proposals behind whoever is first */ };

static bool is_voter(int machine)
{
    const struct server *server = node_server(machine + 1);
    return server != NULL && server->driver.log != NULL && server->driver.log->is_started &&
           server->driver.log->startup.standing == HELLO_VOTER;
}

/* ---- Starting ---- */

static void start(struct life *life, void *who, uint64_t what)
{
    struct machine *machine = who;
    struct cluster *cluster = life->cluster;
    int at = machine->at;
    if (cluster->start_number[at] != what || cluster->is_dead[at] || node_is_on(at + 1)) {
        return;
    }
    if (cluster->is_damaged[at] && cluster->failed_starts[at] >= STARTS_BEFORE_WIPE) {
        life_trace(life, "n%d: its disk is emptied, as its message says", at + 1);
        disk_wipe(at + 1);
        cluster->must_have[at] = 0;
        cluster->failed_starts[at] = 0;
        cluster->reseeds++;
    }
    cluster->restarts++;
    node_configure(at + 1, cluster->config);
    node_boot(at + 1);
}

void supervisor_start_later(struct life *life, int machine, int64_t after_ms)
{
    uint64_t number = ++life->cluster->start_number[machine];
    events_add(life, life->now_ms + after_ms, start, &life->machines[machine], number);
}

/* ---- Ends ---- */

/* A reason that no fault explains. */
static bool is_explained(const struct life *life, int machine, const char *words)
{
    static const char *const never[] = {"raftlog_states_differ", "raftlog_snapshot_too_large",
                                        "cannot_apply", "ERROR configuration"};
    const struct faults *faults = life->faults;
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        if (strstr(words, never[i]) != NULL) {
            return false;
        }
    }
    if (life->cluster->is_hurried[machine]) {
        return true;
    }
    return faults->is_on[FAULT_disk_error] || faults->is_on[FAULT_disk_full] ||
           faults->is_on[FAULT_slow_disk] || faults->is_on[FAULT_slow_cpu] ||
           life->cluster->is_damaged[machine];
}

static void quit(struct life *life, int machine)
{
    struct cluster *cluster = life->cluster;
    const char *words = node_last_words(machine + 1);
    cluster->quits++;
    life_trace(life, "n%d quits: %s", machine + 1, words);
    if (!is_explained(life, machine, words)) {
        life_fail(life, "n%d quits without a reason: %s", machine + 1, words);
    }
    if (strstr(words, "cannot_start") != NULL || strstr(words, "raftlog_start") != NULL ||
        strstr(words, "remove this node's data directory") != NULL) {
        cluster->failed_starts[machine]++;
    }
}

static void ended(void *ctx, int node, enum node_end end)
{
    struct life *life = ctx;
    struct cluster *cluster = life->cluster;
    int machine = node - 1;
    time_enter(life);
    cluster->changed_ms = life->now_ms;
    life_trace(life, "n%d ended: %s", node, node_end_text(end));
    if (end == NODE_ABORTED) {
        life_fail(life, "n%d: a broken invariant: %s", node, node_last_words(node));
    }
    if (end == NODE_EXITED) {
        for (const struct message *at = life->started; at != NULL; at = at->next_all) {
            if (at->machine == machine) {
                life_fail(life, "n%d ends in good order and never answered API %d (%d)", node,
                          at->call.api_key, at->correlation_id);
            }
        }
    }
    if (end == NODE_QUIT) {
        quit(life, machine);
    }
    tap_ended(life, machine);
    cluster->stopped_at_ms[machine] = -1;
    if (!life->is_over) {
        supervisor_start_later(life, machine, chance_between(&life->chance, 100, 4000));
    }
}

static void booted(void *ctx, int node)
{
    struct life *life = ctx;
    time_enter(life);
    life->cluster->changed_ms = life->now_ms;
    life->cluster->is_hurried[node - 1] = false;
    life_trace(life, "n%d starts", node);
}

/* What it says when it has loaded its log: nobody has had time to tell it what is missing. */
static void logged(void *ctx, int node, const char *line)
{
    struct life *life = ctx;
    if (strstr(line, " stopped_at_once ") != NULL) { /* told twice */
        life->cluster->is_hurried[node - 1] = true;
    }
    const char *started = strstr(line, "raftlog_started ");
    uint64_t must_have = life->cluster->must_have[node - 1];
    unsigned long long last = 0;
    char standing[16] = "";
    if (started != NULL && must_have > 0 &&
        sscanf(started, "raftlog_started node=%*d term=%*u last_index=%llu standing=%15s", &last,
               standing) == 2 &&
        strcmp(standing, "voter") == 0 && last < must_have) {
        life_fail(life, "n%d votes without entries up to %llu that it had, and has not noticed",
                  node, (unsigned long long)must_have);
    }
}

/* ---- Standing still ---- */

void supervisor_stop(struct life *life, int machine, bool is_frozen, bool loses_time)
{
    bool is_done = is_frozen ? node_freeze(machine + 1, loses_time) : node_stop(machine + 1);
    if (is_done) {
        life_trace(life, "n%d stands still", machine + 1);
        life->cluster->stopped_at_ms[machine] = life->now_ms;
    }
}

void supervisor_continue(struct life *life, int machine)
{
    int64_t since_ms = life->cluster->stopped_at_ms[machine];
    if (node_is_frozen(machine + 1)) {
        node_thaw(machine + 1);
    } else if (node_is_stopped(machine + 1)) {
        node_continue(machine + 1);
    }
    if (since_ms >= 0) {
        life_trace(life, "n%d goes on", machine + 1);
        life->machines[machine].pauses_ms += life->now_ms - since_ms;
        life->cluster->stopped_at_ms[machine] = -1;
    }
}

/* ---- Damage ---- */

bool supervisor_may_power_off(const struct life *life, int machine)
{
    for (int i = 0; i < life->machines_count; i++) {
        if (life->cluster->is_damaged[i] && i != machine) {
            return false;
        }
    }
    return true;
}

bool supervisor_may_damage(const struct life *life, int machine)
{
    for (int i = 0; i < life->machines_count; i++) {
        if (i != machine && !is_voter(i)) {
            return false;
        }
    }
    return supervisor_may_power_off(life, machine) && life->position > 0;
}

void supervisor_damage(struct life *life, int machine)
{
    life->cluster->is_damaged[machine] = true;
}

void supervisor_expect_notice(struct life *life, int machine, const char *path)
{
    unsigned long long last = 0;
    const char *name = strrchr(path, '/');
    if (name != NULL && sscanf(name, "/%*u-%llu", &last) == 1) {
        life->cluster->must_have[machine] = last;
    }
}

void supervisor_look(struct life *life)
{
    struct cluster *cluster = life->cluster;
    for (int i = 0; i < life->machines_count; i++) {
        const struct machine *machine = &life->machines[i];
        if (cluster->is_damaged[i] && machine->core != NULL && is_voter(i) &&
            machine->position + LAG >= life->position) {
            life_trace(life, "n%d has caught up", i + 1);
            cluster->is_damaged[i] = false;
            cluster->must_have[i] = 0;
            cluster->failed_starts[i] = 0;
        }
    }
}

/* ---- Beginning and end ---- */

void supervisor_open(struct life *life)
{
    static const struct node_events events = {booted, ended, logged};
    struct cluster *cluster = life->cluster;
    cluster->life = life;
    for (int i = 0; i < life->machines_count; i++) {
        cluster->stopped_at_ms[i] = -1;
    }
    node_listen(&events, life);
    for (int i = 0; i < life->machines_count; i++) {
        supervisor_start_later(life, i, chance_below(&life->chance, 1500));
    }
}

void supervisor_close(struct life *life)
{
    static const struct node_events nobody = {NULL, NULL, NULL};
    node_listen(&nobody, life);
}
