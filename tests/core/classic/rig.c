#include "tests/core/classic/rig.h"

#include <stdlib.h>

#include "rpc/ensure.h"

const struct coordinator_limits rig_limits = {
    .initial_rebalance_delay_ms = 3000,
    .session_timeout_min_ms = 6000,
    .session_timeout_max_ms = 1800000,
    .group_size_max = INT32_MAX,
    .offset_metadata_bytes_max = 4096,
    .offsets_retention_ms = INT64_C(7) * 24 * 3600 * 1000,
    .offsets_check_interval_ms = 600000,
    .groups_max = 200000,
    .topics_max = 10000,
    .partitions_max = 200000,
    .offsets_max = 2000000,
    .member_metadata_bytes_max = 1 << 20,
    .group_metadata_bytes_max = 64 << 20,
    .election_timeout_ms = 300,
};

void rig_init(struct rig *rig, const struct coordinator_limits *limits)
{
    *rig = (struct rig){.leader = -1, .now_ms = 1000};
    for (int i = 0; i < RIG_NODES; i++) {
        rig->nodes[i] = coordinator_new(limits, (uint64_t)i + 1);
    }
}

void rig_close(struct rig *rig)
{
    for (int i = 0; i < RIG_NODES; i++) {
        coordinator_free(rig->nodes[i]);
    }
    for (size_t i = 0; i < rig->waiting_count; i++) {
        buf_close(&rig->waiting[i].records);
    }
    free(rig->waiting);
}

/* ---- Effects ---- */

static void propose(struct rig *rig, int node, const struct effect *effect)
{
    ensure(node == rig->leader);
    if (rig->refusals > 0) {
        rig->refusals--;
        coordinator_refused(rig->nodes[node], effect->number, true, rig->now_ms);
        return;
    }
    if (rig->waiting_count == rig->waiting_cap) {
        rig->waiting_cap = rig->waiting_cap * 2 + 16;
        rig->waiting = realloc(rig->waiting, rig->waiting_cap * sizeof *rig->waiting);
        ensure(rig->waiting != NULL);
    }
    struct rig_entry *entry = &rig->waiting[rig->waiting_count++];
    *entry = (struct rig_entry){.term = rig->term, .number = effect->number, .maker = node};
    buf_append(&entry->records, effect->records.data, effect->records.len);
}

static void drain(struct rig *rig, int node)
{
    struct effects *effects = coordinator_effects(rig->nodes[node]);
    for (struct effect *effect; (effect = effects_next(effects)) != NULL;) {
        switch (effect->kind) {
            case EFFECT_REPLY:
                rig->reply(rig->ctx, effect->call, effect->response);
                break;
            case EFFECT_PROPOSE:
                propose(rig, node, effect);
                break;
            case EFFECT_LOG:
                if (rig->log != NULL) {
                    rig->log(rig->ctx, effect->line);
                }
                break;
        }
    }
    effects_reset(effects);
}

/* ---- Inputs ---- */

void rig_request(struct rig *rig, struct call *call)
{
    int node = rig->leader < 0 ? 0 : rig->leader;
    coordinator_request(rig->nodes[node], call, rig->now_ms);
    drain(rig, node);
}

void rig_gone(struct rig *rig, int node, struct call *call)
{
    coordinator_gone(rig->nodes[node], call, rig->now_ms);
    drain(rig, node);
}

void rig_tick(struct rig *rig, int64_t to_ms)
{
    ensure(to_ms >= rig->now_ms);
    rig->now_ms = to_ms;
    for (int i = 0; i < RIG_NODES; i++) {
        while (coordinator_next_deadline(rig->nodes[i]) <= to_ms) {
            coordinator_tick(rig->nodes[i], to_ms, to_ms);
            drain(rig, i);
        }
    }
}

void rig_suspend(struct rig *rig, int64_t gap_ms)
{
    rig->now_ms += gap_ms;
    coordinator_suspended(rig->nodes[rig->leader], rig->now_ms);
    drain(rig, rig->leader);
}

static void apply(struct rig *rig, struct rig_entry *entry)
{
    struct applied applied = {
        .index = ++rig->index,
        .term = entry->term,
        .number = entry->number,
        .stamp_ms = rig->now_ms,
        .records = buf_span(&entry->records),
    };
    for (int i = 0; i < RIG_NODES; i++) {
        applied.own = i == entry->maker;
        coordinator_apply(rig->nodes[i], &applied, rig->now_ms);
        drain(rig, i);
    }
    buf_close(&entry->records);
}

void rig_commit(struct rig *rig, size_t most)
{
    for (; most > 0 && rig->waiting_count > 0; most--) {
        struct rig_entry entry = rig->waiting[0];
        rig->waiting_count--;
        for (size_t i = 0; i < rig->waiting_count; i++) {
            rig->waiting[i] = rig->waiting[i + 1];
        }
        apply(rig, &entry);
    }
}

void rig_takeover(struct rig *rig, int node, size_t kept)
{
    if (rig->leader >= 0) {
        int old = rig->leader;
        rig->leader = -1;
        coordinator_deposed(rig->nodes[old], rig->now_ms);
        drain(rig, old);
    }
    rig->term++;
    rig->leader = node;
    coordinator_winning(rig->nodes[node], rig->term, rig->now_ms);
    drain(rig, node);
    rig_commit(rig, kept);
    for (size_t i = 0; i < rig->waiting_count; i++) {
        buf_close(&rig->waiting[i].records);
    }
    rig->waiting_count = 0;
    coordinator_elected(rig->nodes[node], rig->term, rig->now_ms);
    drain(rig, node);
}

void rig_check(struct rig *rig)
{
    uint64_t hash = coordinator_state_hash(rig->nodes[0]);
    for (int i = 0; i < RIG_NODES; i++) {
        coordinator_check(rig->nodes[i]);
        ensure(coordinator_state_hash(rig->nodes[i]) == hash);
    }
}
