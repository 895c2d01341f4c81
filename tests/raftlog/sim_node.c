/* Life and death of a node, its state machine and its clients. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "sim_parts.h"
#include "sim_stop.h"

/* The state machine: how many commands were applied. */

static int fsm_apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **result)
{
    struct sim_node *node = fsm->data;
    uint64_t value = 0;
    memcpy(&value, buf->base, sizeof value);
    uint64_t position = node->applied++;
    sim_check_applied(node, position, value);
    *result = (void *)(uintptr_t)(position + 1);
    return 0;
}

static int fsm_snapshot(struct raft_fsm *fsm, struct raft_buffer *bufs[], unsigned *n_bufs)
{
    const struct sim_node *node = fsm->data;
    *bufs = raft_malloc(sizeof **bufs);
    ensure(*bufs != NULL);
    (*bufs)->len = sizeof node->applied;
    (*bufs)->base = raft_malloc((*bufs)->len);
    ensure((*bufs)->base != NULL);
    memcpy((*bufs)->base, &node->applied, (*bufs)->len);
    *n_bufs = 1;
    sim.stats->snapshots++;
    return 0;
}

static int fsm_restore(struct raft_fsm *fsm, struct raft_buffer *buf)
{
    struct sim_node *node = fsm->data;
    memcpy(&node->applied, buf->base, sizeof node->applied);
    raft_free(buf->base);
    sim_check_restored(node);
    return 0;
}

/* What the guard tells. */

static void on_fatal(void *ctx, const char *what)
{
    const struct sim_node *node = ctx;
    if (sim.setting.trace) {
        printf("  %.3f node %u stops: %s\n", (double)sim_now / SIM_SECOND, node->i, what);
    }
    if (node->raft.state == RAFT_UNAVAILABLE && node->disk_errors == 0) {
        sim_violation(SIM_UNAVAILABLE, node, "raft gave up without an I/O error", 0, 0);
    }
    sim.stats->stops++;
    longjmp(sim_stop, 1); /* a process ends at once: so do we */
}

static void on_rejoined(void *ctx)
{
    struct sim_node *node = ctx;
    node->may_vote = true;
    sim.stats->rejoins++;
}

static void on_term(void *ctx, raft_term term)
{
    (void)ctx;
    (void)term;
}

static void on_stepped_down(void *ctx)
{
    (void)ctx;
}

static void on_leader(void *ctx, raft_id id)
{
    (void)ctx;
    (void)id;
}

static int on_truncated(void *ctx, raft_index index)
{
    return sim_disk_truncated(ctx, index);
}

static const struct guard_events guard_events = {
    .fatal = on_fatal,
    .rejoined = on_rejoined,
    .stepped_up = on_term,
    .serving = on_term,
    .stepped_down = on_stepped_down,
    .leader = on_leader,
    .truncated = on_truncated,
};

void sim_launch(struct sim_node *node)
{
    memset(&node->raft, 0, sizeof node->raft);
    sim_io_init(node);
    node->fsm = (struct raft_fsm){.version = 1,
                                  .data = node,
                                  .apply = fsm_apply,
                                  .snapshot = fsm_snapshot,
                                  .restore = fsm_restore};
    node->operations = NULL;
    node->operations_tail = &node->operations;
    node->applied = 0;
    node->disk_free_at = sim_now;
    node->in_flight = 0;
    node->puts = 0;
    node->disk_errors = 0;
    node->was_leader = false;
    node->has_failed_write = false;
    node->is_asking = false;
    ensure(raft_init(&node->raft, &node->io, &node->fsm, node->id, node->address) == 0);
    raft_set_election_timeout(&node->raft, 1000);
    raft_set_heartbeat_timeout(&node->raft, 100);
    raft_set_install_snapshot_timeout(&node->raft, 2000);
    raft_set_snapshot_threshold(&node->raft, sim.threshold);
    raft_set_snapshot_trailing(&node->raft, sim.trailing);
    raft_set_pre_vote(&node->raft, sim.setting.prevote != 0);
    if (sim.setting.rules != 0) {
        guard_attach(&node->guard, &node->raft, &node->io, sim.setting.rules, !node->may_vote,
                     &guard_events, node);
        if (sim.setting.chunk != 0) {
            node->guard.chunk_entries_max = sim.setting.chunk;
        }
    }
}

void sim_start(struct sim_node *node)
{
    if (node->is_poisoned) {
        sim_violation(SIM_START, node, "truncate was lost behind a snapshot: does not load", 0, 0);
        return;
    }
    if ((sim.setting.rules & GUARD_REJOIN) != 0 && sim.setting.ask && !node->may_vote &&
        node->term == 0) { /* first ask every other node for its term */
        node->is_asking = true;
        node->answered = 0;
        node->term_max = 0;
        sim_at(sim_now, SIM_EVENT_HELLO, node, NULL, 0);
        return;
    }
    sim_launch(node);
    int rv = raft_start(&node->raft);
    if (rv != 0) {
        sim_violation(SIM_START, node, "raft_start failed", (uint64_t)rv, 0);
    }
}

void sim_crash(struct sim_node *node)
{
    if (!node->is_up) {
        return;
    }
    node->is_up = false;
    node->is_asking = false;
    node->epoch++;
    sim.stats->crashes++;
    for (int i = 0; i < GUARD_COUNTS; i++) {
        sim.stats->guard[i] += node->guard.counts[i];
    }
    sim_disk_crash(node);
}

/* Clients: each proposes its own number. */

struct request {
    struct raft_apply raft;
    struct sim_node *node;
    uint64_t value;
    uint64_t epoch;
};

static void on_applied(struct raft_apply *raft, int status, void *result)
{
    struct request *request = (struct request *)raft;
    if (request->node->epoch == request->epoch) {
        request->node->in_flight--;
    }
    if (status == 0) {
        sim_check_acked(request->node, raft->index, (uint64_t)(uintptr_t)result - 1,
                        request->value);
    }
    free(request);
}

static bool is_serving(const struct sim_node *node)
{
    return node->is_up && !node->is_asking && node->raft.state == RAFT_LEADER &&
           (sim.setting.rules == 0 || guard_is_serving(&node->guard));
}

void sim_client(struct sim_node *node)
{
    if (!is_serving(node) || (sim.setting.one != 0 && node->in_flight != 0)) {
        return;
    }
    struct request *request = calloc(1, sizeof *request);
    ensure(request != NULL);
    *request = (struct request){.node = node, .value = sim.next_value++, .epoch = node->epoch};
    struct raft_buffer buf = {.base = raft_malloc(8), .len = 8};
    ensure(buf.base != NULL);
    memcpy(buf.base, &request->value, 8);
    node->in_flight++;
    if (raft_apply(&node->raft, &request->raft, &buf, 1, on_applied) != 0) {
        node->in_flight--;
        raft_free(buf.base);
        free(request);
    }
}
