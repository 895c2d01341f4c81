/* What events do: deliveries, crashes, partitions, clients, transfers, pauses, lost disks. */
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "sim_parts.h"

struct sim_node *sim_leader(void)
{
    for (unsigned i = 0; i < sim.n; i++) {
        struct sim_node *node = sim.nodes[i];
        if (node->is_up && !node->is_asking && node->raft.state == RAFT_LEADER) {
            return node;
        }
    }
    return NULL;
}

struct sim_node *sim_rejoiner(void)
{
    for (unsigned i = 0; i < sim.n; i++) {
        if (!sim.nodes[i]->may_vote) {
            return sim.nodes[i];
        }
    }
    return NULL;
}

static bool has_fault(unsigned faults)
{
    return (sim.setting.faults & faults) != 0;
}

/* No faults now: all is to heal, or a lost disk is to come back in peace. */
static bool is_peace(void)
{
    return sim.is_calm || (has_fault(SIM_WIPE_QUIET) && sim_rejoiner() != NULL);
}

/* TCP holds back what a partition stops, it does not lose it. */
static void hold_back(struct sim_event *event, unsigned from, unsigned to)
{
    if (sim.is_fifo && sim_chance(900000)) {
        event->time = sim_now + 20 * SIM_MS;
        if (sim.last_delivery[from][to] < event->time) {
            sim.last_delivery[from][to] = event->time;
        }
        sim_push(*event);
    }
}

static void deliver(struct sim_event *event)
{
    struct sim_node *node = event->node;
    struct sim_message *message = event->what;
    if (sim.is_cut[event->number][node->i]) {
        hold_back(event, (unsigned)event->number, node->i);
        return;
    }
    if (!node->is_up || node->is_asking || (sim.is_fifo && message->to_epoch != node->epoch)) {
        return;
    }
    struct raft_message raft = message->raft;
    raft.server_id = message->from;
    raft.server_address = message->address;
    if (raft.type == RAFT_IO_APPEND_ENTRIES) {
        raft.append_entries.entries = sim_copy_to_raft(message->entries, message->n);
    } else if (raft.type == RAFT_IO_INSTALL_SNAPSHOT) {
        struct raft_snapshot *copy = sim_copy_snapshot(message->snapshot);
        raft.install_snapshot.conf = copy->configuration;
        raft.install_snapshot.data = copy->bufs[0];
    }
    node->recv(&node->io, &raft);
}

static void crash_some(void)
{
    sim_at(sim_now + 1 + sim_below(2 * sim.crash_mean), SIM_EVENT_CRASH, NULL, NULL, 0);
    struct sim_node *leader = sim_leader();
    unsigned first = leader != NULL && sim_chance(500000) ? leader->i : (unsigned)sim_below(sim.n);
    unsigned count = sim_chance(200000) ? sim.n : sim_chance(300000) ? 2 : 1;
    for (unsigned i = 0; i < count && !is_peace(); i++) {
        struct sim_node *node = sim.nodes[(first + i) % sim.n];
        if (node->is_up) {
            sim_crash(node);
            uint64_t away = sim_below(sim_chance(300000) ? 200 * SIM_MS : 3 * SIM_SECOND);
            sim_at(sim_now + away, SIM_EVENT_RESTART, node, NULL, 0);
        }
    }
}

static void cut_links(void)
{
    unsigned how = (unsigned)sim_below(4);
    unsigned lonely = (unsigned)sim_below(sim.n);
    bool side[SIM_NODES_MAX];
    memset(sim.is_cut, 0, sizeof sim.is_cut);
    for (unsigned i = 0; i < sim.n; i++) {
        side[i] = sim_below(2) != 0;
    }
    for (unsigned i = 0; i < sim.n; i++) {
        for (unsigned k = 0; k < sim.n; k++) {
            bool is_cut = false;
            if (i != k) {
                is_cut = how == 0   ? i == lonely || k == lonely
                         : how == 1 ? i == lonely
                         : how == 2 ? side[i] != side[k]
                                    : sim_chance(300000);
            }
            sim.is_cut[i][k] = is_cut;
        }
    }
}

static void partition(void)
{
    sim_at(sim_now + 1 + sim_below(2 * sim.partition_mean), SIM_EVENT_PARTITION, NULL, NULL, 0);
    if (!is_peace()) {
        cut_links();
        uint64_t length = sim_below(sim.setting.hostile != 0 ? 2 * SIM_SECOND : 5 * SIM_SECOND);
        sim_at(sim_now + length, SIM_EVENT_HEAL, NULL, NULL, 0);
    }
}

static void run_clients(void)
{
    sim_at(sim_now + 1 + sim_below(2 * sim.client_gap), SIM_EVENT_CLIENT, NULL, NULL, 0);
    for (unsigned i = 0; i < sim.n; i++) {
        sim.running = sim.nodes[i];
        sim_client(sim.nodes[i]);
    }
}

static void transfer(void)
{
    uint64_t gap = sim_below(sim.setting.hostile == 2 ? SIM_SECOND / 2 : 6 * SIM_SECOND);
    sim_at(sim_now + gap, SIM_EVENT_TRANSFER, NULL, NULL, 0);
    struct sim_node *leader = sim_leader();
    sim.running = leader;
    if (leader == NULL || sim.is_calm) {
        return;
    }
    /* Never freed: the library may use it after its callback. */
    struct raft_transfer *request = calloc(1, sizeof *request);
    ensure(request != NULL);
    raft_id to = sim_below(3) != 0 ? 1 + sim_below(sim.n) : 0;
    sim.stats->transfers += raft_transfer(&leader->raft, request, to, NULL) == 0;
}

static void pause_one(void)
{
    sim_at(sim_now + sim_below(8 * SIM_SECOND), SIM_EVENT_PAUSE, NULL, NULL, 0);
    if (!is_peace()) {
        uint64_t length = sim_below(sim_chance(300000) ? 4 * SIM_SECOND : 300 * SIM_MS);
        struct sim_node *node = sim.nodes[sim_below(sim.n)];
        node->paused_until = sim_now + length;
    }
}

static unsigned count_down(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < sim.n; i++) {
        n += !sim.nodes[i]->is_up;
    }
    return n;
}

static void empty_disk(struct sim_node *node)
{
    sim_crash(node);
    node->term = 0;
    node->vote = 0;
    node->log_count = 0;
    node->log_first = 1;
    node->snapshot = NULL;
    node->may_vote = false;
    node->term_max = sim_applied_count(); /* without the rule: what it must apply to be back */
    sim.stats->wipes++;
    sim_at(sim_now + sim_below(1500 * SIM_MS), SIM_EVENT_RESTART, node, NULL, 0);
}

static void wipe_one(void)
{
    struct sim_node *node = sim.nodes[sim_below(sim.n)];
    unsigned down = count_down();
    unsigned down_max = has_fault(SIM_WIPE_DOWN) ? (sim.n - 1) / 2 : 0;
    if (sim_rejoiner() != NULL || sim_leader() == NULL || !node->is_up || down > down_max) {
        return;
    }
    if (has_fault(SIM_WIPE_DOWN) && down == 0) {
        struct sim_node *other = sim.nodes[(node->i + 1 + sim_below(sim.n - 1)) % sim.n];
        sim_crash(other);
        sim_at(sim_now + 500 * SIM_MS + sim_below(4 * SIM_SECOND), SIM_EVENT_RESTART, other, NULL,
               0);
    }
    if (has_fault(SIM_WIPE_QUIET)) {
        memset(sim.is_cut, 0, sizeof sim.is_cut);
    }
    empty_disk(node);
}

/* One round trip to every other node, whose term is read half-way. */
static void ask_terms(struct sim_node *node)
{
    sim_at(sim_now + 200 * SIM_MS, SIM_EVENT_HELLO, node, NULL, 0);
    for (unsigned i = 0; i < sim.n; i++) {
        struct sim_node *peer = sim.nodes[i];
        if (peer == node || !peer->is_up || !peer->may_vote || peer->paused_until > sim_now ||
            sim.is_cut[node->i][i] || sim.is_cut[i][node->i] || sim_chance(sim.loss)) {
            continue;
        }
        sim_at(sim_now + sim_below(sim.latency), SIM_EVENT_ANSWER, node,
               (void *)(uintptr_t)peer->term, i);
    }
}

static void take_answer(struct sim_node *node, const struct sim_event *event)
{
    raft_term term = (raft_term)(uintptr_t)event->what;
    node->answered |= 1U << event->number;
    if (term > node->term_max) {
        node->term_max = term;
    }
    if (node->answered == ((1U << sim.n) - 1) - (1U << node->i)) {
        node->term = node->term_max + 1; /* no older leader can use this node */
        sim_start(node);
    }
}

/* Half of the time the leader has just died. */
static void tell_dead(void)
{
    sim_at(sim_now + sim_below(2 * SIM_SECOND), SIM_EVENT_HASTE, NULL, NULL, 0);
    struct sim_node *leader = sim_leader();
    if (leader != NULL && !is_peace() && sim_chance(500000)) {
        sim_crash(leader);
        sim_at(sim_now + sim_below(SIM_SECOND), SIM_EVENT_RESTART, leader, NULL, 0);
    }
    for (unsigned i = 0; i < sim.n && sim.setting.rules != 0; i++) {
        struct sim_node *node = sim.nodes[i];
        if (node->is_up && !node->is_asking && sim_chance(700000) &&
            node->raft.state == RAFT_FOLLOWER) {
            sim.running = node;
            guard_leader_died(&node->guard, node->raft.follower_state.current_leader.id);
        }
    }
}

static void restart(const struct sim_event *event)
{
    struct sim_node *node = event->node;
    if (!node->is_up && node->epoch == event->epoch) {
        node->is_up = true;
        node->epoch++;
        node->is_slow = !sim.is_calm && sim_chance(100000);
        sim_start(node);
    }
}

/* What happens to one node, if it is still the same process. */
static void step_node(struct sim_event *event)
{
    struct sim_node *node = event->node;
    switch (event->kind) {
        case SIM_EVENT_TICK:
            sim_at(sim_now + (uint64_t)(node->tick_ms * SIM_MS / node->clock_rate), SIM_EVENT_TICK,
                   node, NULL, 0);
            node->tick(&node->io);
            break;
        case SIM_EVENT_SENT:
            if (event->callback.send != NULL) {
                event->callback.send(event->what, 0);
            }
            break;
        case SIM_EVENT_DISK:
            sim_disk_done(node);
            break;
        case SIM_EVENT_SNAPSHOT_GET:
            if (node->snapshot != NULL) {
                event->callback.snapshot_get(event->what, sim_copy_snapshot(node->snapshot), 0);
            }
            break;
        case SIM_EVENT_WORK: {
            struct raft_io_async_work *work = event->what;
            event->callback.work(work, work->work(work));
            break;
        }
        case SIM_EVENT_HELLO:
            if (node->is_asking) {
                ask_terms(node);
            }
            break;
        case SIM_EVENT_ANSWER:
            if (node->is_asking) {
                take_answer(node, event);
            }
            break;
        default:
            ensure(false);
    }
}

void sim_step(struct sim_event *event)
{
    switch (event->kind) {
        case SIM_EVENT_DELIVER:
            deliver(event);
            break;
        case SIM_EVENT_RESTART:
            restart(event);
            break;
        case SIM_EVENT_CRASH:
            crash_some();
            break;
        case SIM_EVENT_PARTITION:
            partition();
            break;
        case SIM_EVENT_HEAL:
            memset(sim.is_cut, 0, sizeof sim.is_cut);
            break;
        case SIM_EVENT_CLIENT:
            run_clients();
            break;
        case SIM_EVENT_TRANSFER:
            transfer();
            break;
        case SIM_EVENT_PAUSE:
            pause_one();
            break;
        case SIM_EVENT_HASTE:
            tell_dead();
            break;
        case SIM_EVENT_WIPE:
            sim_at(sim_now + sim_below(10 * SIM_SECOND), SIM_EVENT_WIPE, NULL, NULL, 0);
            if (!sim.is_calm) {
                wipe_one();
            }
            break;
        default:
            if (event->node->is_up && event->node->epoch == event->epoch) {
                step_node(event);
            }
    }
}
