/* What must hold: the n-th applied command is the same everywhere and for ever, a term has one
 * leader, what is acknowledged lies on a majority of the disks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "sim_parts.h"

const char *const sim_verdict_texts[SIM_VERDICTS] = {
    "ok",          "state-machine", "two-leaders", "too-few-copies",
    "unavailable", "start-failed",  "no-progress", "no-convergence",
};

static uint64_t *applied;
static uint64_t applied_count;
static uint64_t applied_cap;

void sim_violation(enum sim_verdict verdict,
                   const struct sim_node *node,
                   const char *what,
                   uint64_t a,
                   uint64_t b)
{
    if (sim.verdict != SIM_OK) {
        return;
    }
    sim.verdict = verdict;
    printf("seed %" PRIu64 " t=%.3f %s: node %d, %s (%" PRIu64 ", %" PRIu64 ")\n", sim.setting.seed,
           (double)sim_now / SIM_SECOND, sim_verdict_texts[verdict],
           node == NULL ? -1 : (int)node->i, what, a, b);
}

uint64_t sim_applied_count(void)
{
    return applied_count;
}

void sim_check_applied(const struct sim_node *node, uint64_t position, uint64_t value)
{
    if (position < applied_count) {
        if (applied[position] != value) {
            sim_violation(SIM_STATE, node, "another command was applied at this position", position,
                          value);
        }
        return;
    }
    if (applied_count == applied_cap) {
        applied_cap = applied_cap == 0 ? 1024 : 2 * applied_cap;
        applied = realloc(applied, applied_cap * sizeof *applied);
        ensure(applied != NULL);
    }
    applied[applied_count++] = value;
}

void sim_check_restored(const struct sim_node *node)
{
    if (node->applied > applied_count) {
        sim_violation(SIM_STATE, node, "restored more than was ever applied", node->applied,
                      applied_count);
    }
}

static bool has_copy(const struct sim_node *node, raft_index index, uint64_t value)
{
    if (!node->may_vote || (node->snapshot != NULL && node->snapshot->index >= index)) {
        return true; /* a lost disk has no vote, so it may count */
    }
    if (index < node->log_first || index >= node->log_first + node->log_count) {
        return false;
    }
    const struct sim_entry *entry = &node->log[index - node->log_first];
    return entry->len == sizeof value && memcmp(entry->data, &value, sizeof value) == 0;
}

void sim_check_acked(const struct sim_node *node,
                     raft_index index,
                     uint64_t position,
                     uint64_t value)
{
    sim.stats->acks++;
    if (position >= applied_count || applied[position] != value) {
        sim_violation(SIM_STATE, node, "acked command is not at its position", position, value);
    }
    unsigned copies = 0;
    for (unsigned i = 0; i < sim.n; i++) {
        copies += has_copy(sim.nodes[i], index, value);
    }
    if (copies <= sim.n / 2) {
        sim_violation(SIM_COPIES, node, "acked command has too few copies on disk", copies, index);
    }
    if (sim.live_value != 0 && value >= sim.live_value && sim.live_acked_at == 0) {
        sim.live_acked_at = sim_now;
    }
}

static raft_id *leader_of; /* by term */
static uint64_t leader_cap;

static void check_leader(struct sim_node *node)
{
    raft_term term = node->raft.current_term;
    if (term >= leader_cap) {
        uint64_t cap = 2 * term + 1024;
        leader_of = realloc(leader_of, cap * sizeof *leader_of);
        ensure(leader_of != NULL);
        memset(leader_of + leader_cap, 0, (cap - leader_cap) * sizeof *leader_of);
        leader_cap = cap;
    }
    if (leader_of[term] != 0 && leader_of[term] != node->id) {
        sim_violation(SIM_ELECTION, node, "two leaders in one term", term, leader_of[term]);
    }
    leader_of[term] = node->id;
}

void sim_check_node(struct sim_node *node)
{
    if (node == NULL || !node->is_up || node->is_asking) {
        return;
    }
    bool is_leader = node->raft.state == RAFT_LEADER;
    if (is_leader) {
        check_leader(node);
    }
    sim.stats->leaders += is_leader && !node->was_leader;
    node->was_leader = is_leader;
    if (node->raft.state == RAFT_UNAVAILABLE && node->disk_errors == 0) {
        sim_violation(SIM_UNAVAILABLE, node, "raft gave up without an I/O error", 0, 0);
    }
    /* Without the rule a node counts as back once it has applied what was applied before. */
    if ((sim.setting.rules & GUARD_REJOIN) == 0 && !node->may_vote &&
        node->applied >= node->term_max) {
        node->may_vote = true;
        sim.stats->rejoins++;
    }
}

bool sim_has_converged(void)
{
    for (unsigned i = 0; i < sim.n; i++) {
        const struct sim_node *node = sim.nodes[i];
        if (!node->is_up || node->is_asking || node->applied != applied_count || !node->may_vote) {
            return false;
        }
    }
    return true;
}
