#include "tests/core/random/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/core/random/wire.h"
#include "tests/sim/clients/loner.h"
#include "tests/sim/oracle/oracle.h"

static void submit(struct life *life, struct machine *machine);

/* ---- Batches ---- */

static void batch_free(struct batch *batch)
{
    if (batch == NULL) {
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        buf_close(&batch->items[i].records);
    }
    free(batch->items);
    free(batch);
}

static void drop_batches(struct machine *machine)
{
    batch_free(machine->own->queue);
    batch_free(machine->own->flight);
    machine->own->queue = NULL;
    machine->own->flight = NULL;
}

static void propose(struct life *life, struct machine *machine, const struct effect *effect)
{
    struct cluster *cluster = life->cluster;
    if (machine->term != 0 && !machine->own->is_elected) {
        coordinator_refused(machine->core, effect->number, false, life->now_ms);
        return;
    }
    if (chance_in(&life->chance, cluster->refusing)) {
        coordinator_refused(machine->core, effect->number, !cluster->refuses_as_follower,
                            life->now_ms);
        return;
    }
    oracle_proposed(life, machine, effect->records);
    struct batch *batch = machine->own->queue;
    if (batch == NULL) {
        batch = machine->own->queue = calloc(1, sizeof *batch);
        ensure(batch != NULL);
        batch->term = machine->term;
        batch->maker = machine->at;
        batch->incarnation = machine->incarnation;
    }
    if (batch->count == batch->cap) {
        batch->cap = batch->cap * 2 + 4;
        batch->items = realloc(batch->items, batch->cap * sizeof *batch->items);
        ensure(batch->items != NULL);
    }
    struct item *item = &batch->items[batch->count++];
    *item = (struct item){.number = effect->number};
    buf_append(&item->records, effect->records.data, effect->records.len);
    if (batch->term == 0) {
        life_fail(life, "a machine that leads nothing proposed something");
    }
}

/* ---- Inputs ---- */

static void drain(struct life *life, struct machine *machine)
{
    struct effects *effects = coordinator_effects(machine->core);
    for (struct effect *effect; (effect = effects_next(effects)) != NULL;) {
        switch (effect->kind) {
            case EFFECT_REPLY:
                wire_answered(life, machine->at, effect->call, effect->response);
                break;
            case EFFECT_PROPOSE:
                propose(life, machine, effect);
                break;
            case EFFECT_LOG:
                life_trace(life, "n%d log %s", machine->at + 1, effect->line);
                oracle_logged(life, machine, effect->line);
                break;
        }
    }
    effects_reset(effects);
}

void cluster_begin_input(struct life *life, struct machine *machine)
{
    life->inputs++;
    machine->input_ms = life->now_ms;
}

void cluster_end_input(struct life *life, struct machine *machine)
{
    machine_note_role(machine); /* before its answers are looked at */
    drain(life, machine);
    machine_note_role(machine);
    if (!life->options.has_large_metadata || chance_in(&life->chance, 30)) {
        coordinator_check(machine->core); /* hashes all metadata anew */
    }
    if (machine->own->queue != NULL && machine->own->flight == NULL && !machine->is_cut) {
        submit(life, machine);
    }
}

/* ---- Commit and apply ---- */

static void apply_batch(struct life *life, struct machine *machine, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct item *item = &batch->items[i];
        bool is_own = batch->maker == machine->at && batch->incarnation == machine->incarnation &&
                      (machine->term == batch->term || chance_in(&life->chance, 500));
        struct applied applied = {
            .index = batch->index,
            .term = batch->term,
            .number = item->number,
            .stamp_ms = batch->stamp_ms,
            .own = is_own,
            .records = item->records.data == NULL ? SPAN_EMPTY : buf_span(&item->records),
        };
        cluster_begin_input(life, machine);
        coordinator_apply(machine->core, &applied, life->now_ms);
        machine->position++;
        cluster_end_input(life, machine);
    }
    machine->own->applied = batch->index;
    if (coordinator_state_hash(machine->core) != life->cluster->hashes[batch->index - 1]) {
        life_fail(life, "n%d has another state after batch %llu", machine->at + 1,
                  (unsigned long long)batch->index);
    }
}

static void catch_up(struct life *life, struct machine *machine, uint64_t index)
{
    while (machine->core != NULL && machine->own->applied < index) {
        apply_batch(life, machine, life->cluster->log[machine->own->applied]);
    }
}

/* [what]: index and incarnation of whom it is for. */
static void apply_event(struct life *life, void *who, uint64_t what)
{
    struct machine *machine = who;
    if (machine->core == NULL || machine->is_cut) {
        return; /* it catches up later */
    }
    if (cluster_is_paused(life, machine)) {
        events_add(life, machine->own->resume_ms, apply_event, machine, what);
        return;
    }
    catch_up(life, machine, what);
}

static void apply_to_reference(struct life *life, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct buf *records = &batch->items[i].records;
        struct applied applied = {
            .index = batch->index,
            .term = batch->term,
            .number = batch->items[i].number,
            .stamp_ms = batch->stamp_ms,
            .records = records->data == NULL ? SPAN_EMPTY : buf_span(records),
        };
        oracle_applies(life, applied.records);
        coordinator_apply(life->reference, &applied, life->now_ms);
        ensure(effects_next(coordinator_effects(life->reference)) == NULL);
        life->position++;
        oracle_applied(life, applied.records);
    }
    if (!life->options.has_large_metadata || chance_in(&life->chance, 30)) {
        coordinator_check(life->reference);
    }
}

static void append(struct life *life, struct batch *batch)
{
    struct cluster *cluster = life->cluster;
    if (cluster->log_count == cluster->log_cap) {
        cluster->log_cap = cluster->log_cap * 2 + 64;
        cluster->log = realloc(cluster->log, cluster->log_cap * sizeof *cluster->log);
        cluster->hashes = realloc(cluster->hashes, cluster->log_cap * sizeof *cluster->hashes);
        ensure(cluster->log != NULL && cluster->hashes != NULL);
    }
    int64_t last_ms = cluster->log_count == 0 ? 0 : cluster->log[cluster->log_count - 1]->stamp_ms;
    int64_t wall_ms = cluster_wall_ms(life);
    batch->stamp_ms = wall_ms > last_ms ? wall_ms : last_ms;
    life->wall_ms_max = wall_ms;
    batch->index = cluster->log_count + 1;
    cluster->log[cluster->log_count++] = batch;
    apply_to_reference(life, batch);
    cluster->hashes[batch->index - 1] = coordinator_state_hash(life->reference);
    for (int i = 0; i < MACHINES; i++) {
        if (i != cluster->leader) {
            int64_t lag_ms = chance_below(&life->chance, cluster->lag_ms_max + 1);
            events_add(life, life->now_ms + lag_ms, apply_event, &cluster->machines[i],
                       batch->index);
        }
    }
}

static void commit_event(struct life *life, void *who, uint64_t term)
{
    struct machine *machine = who;
    if (machine->own->flight == NULL || machine->term != term || machine->is_cut) {
        return;
    }
    if (cluster_is_paused(life, machine)) {
        events_add(life, machine->own->resume_ms, commit_event, machine, term);
        return;
    }
    struct batch *batch = machine->own->flight;
    machine->own->flight = NULL;
    append(life, batch);
    catch_up(life, machine, batch->index);
    if (machine->core != NULL && machine->own->flight == NULL && machine->own->queue != NULL &&
        !machine->is_cut) {
        submit(life, machine);
    }
}

static void submit(struct life *life, struct machine *machine)
{
    struct cluster *cluster = life->cluster;
    machine->own->flight = machine->own->queue;
    machine->own->queue = NULL;
    int64_t most =
        chance_in(&life->chance, 20) ? 10 * cluster->commit_ms_max : cluster->commit_ms_max;
    most = most > 8000 ? 8000 : most;
    events_add(life, life->now_ms + chance_below(&life->chance, most + 1), commit_event, machine,
               machine->term);
}

/* ---- Time ---- */

int64_t cluster_next_ms(const struct life *life, int *machine)
{
    int64_t next_ms = INT64_MAX;
    for (int i = 0; i < MACHINES; i++) {
        const struct machine *m = &life->machines[i];
        if (m->core == NULL) {
            continue;
        }
        int64_t due_ms = coordinator_next_deadline(m->core);
        if (due_ms != INT64_MAX && due_ms < m->own->resume_ms) {
            due_ms = m->own->resume_ms + 1; /* what came meanwhile is first */
        }
        if (due_ms < next_ms) {
            next_ms = due_ms;
            *machine = i;
        }
    }
    return next_ms < life->now_ms ? life->now_ms : next_ms;
}

void cluster_tick(struct life *life, int machine)
{
    struct machine *m = &life->machines[machine];
    cluster_begin_input(life, m);
    coordinator_tick(m->core, life->now_ms,
                     life->cluster->is_wall_off ? -1 : cluster_wall_ms(life));
    cluster_end_input(life, m);
}

/* ---- Leadership ---- */

static void tell_leader(struct life *life, void *who, uint64_t leader)
{
    struct machine *machine = who;
    if (machine->core != NULL && (machine->term == 0 || leader == (uint64_t)machine->at + 1)) {
        cluster_begin_input(life, machine);
        coordinator_leader(machine->core, leader);
        cluster_end_input(life, machine);
    }
}

static void depose(struct life *life, struct machine *machine)
{
    if (machine->term == 0) {
        return;
    }
    life_trace(life, "n%d deposed, term %llu", machine->at + 1, (unsigned long long)machine->term);
    machine->term = 0;
    machine->own->is_elected = false;
    machine->stopped_ms = -1;
    drop_batches(machine);
    if (machine->core != NULL) {
        cluster_begin_input(life, machine);
        coordinator_deposed(machine->core, life->now_ms);
        cluster_end_input(life, machine);
    }
    if (machine->is_cut) {
        machine->is_cut = false;
        events_add(life, life->now_ms, apply_event, machine, life->cluster->log_count);
    }
}

static void depose_event(struct life *life, void *who, uint64_t term)
{
    struct machine *machine = who;
    if (machine->core == NULL || machine->term != term) {
        return;
    }
    if (cluster_is_paused(life, machine)) {
        events_add(life, machine->own->resume_ms + chance_below(&life->chance, 50), depose_event,
                   machine, term);
        return;
    }
    depose(life, machine);
    int leader = life->cluster->leader;
    tell_leader(life, machine, leader < 0 ? 0 : (uint64_t)leader + 1);
}

/* What the leader had in flight when it lost the lead. */
static void decide(struct life *life, struct machine *old, bool is_committed)
{
    struct batch *batch = old->own->flight;
    old->own->flight = NULL;
    batch_free(old->own->queue);
    old->own->queue = NULL;
    life->cluster->leader = -1;
    if (batch == NULL || !is_committed) {
        batch_free(batch);
        return;
    }
    append(life, batch);
}

static void elect(struct life *life, void *who, uint64_t term)
{
    struct machine *machine = who;
    if (machine->core == NULL || machine->term != term || machine->is_cut) {
        return;
    }
    if (cluster_is_paused(life, machine)) {
        events_add(life, machine->own->resume_ms, elect, machine, term);
        return;
    }
    catch_up(life, machine, life->cluster->log_count);
    machine->own->is_elected = true;
    machine->input_ms = life->now_ms;
    machine_begin_serving(machine);
    life_trace(life, "n%d elected, term %llu", machine->at + 1, (unsigned long long)term);
    oracle_elected(life, machine);
    cluster_begin_input(life, machine);
    coordinator_elected(machine->core, term, life->now_ms);
    cluster_end_input(life, machine);
    for (int i = 0; i < MACHINES; i++) {
        events_add(life, life->now_ms + chance_below(&life->chance, 100), tell_leader,
                   &life->machines[i], (uint64_t)machine->at + 1);
    }
}

void cluster_take_over(struct life *life,
                       int machine,
                       bool is_committed,
                       int64_t stale_ms,
                       int64_t settling_ms)
{
    struct cluster *cluster = life->cluster;
    struct machine *next = &cluster->machines[machine];
    ensure(next->core != NULL && !cluster_is_paused(life, next));
    if (cluster->leader >= 0) {
        struct machine *old = &cluster->machines[cluster->leader];
        uint64_t term = old->term;
        decide(life, old, is_committed);
        if (old == next || (stale_ms == 0 && !cluster_is_paused(life, old))) {
            if (chance_in(&life->chance, 500)) {
                catch_up(life, old, cluster->log_count); /* it hears of the commit first */
            }
            depose(life, old);
        } else {
            old->is_cut = true;
            wire_cut(life, old->at);
            loner_probe(&life->loners[LONERS_MAX - 1], old->at, machine);
            events_add(life, life->now_ms + stale_ms, depose_event, old, term);
        }
    }
    if (next->term != 0) { /* it was cut off and leads again */
        depose(life, next);
    }
    life->term++;
    cluster->leader = machine;
    next->term = life->term;
    next->own->is_elected = false;
    life_trace(life, "n%d wins term %llu", machine + 1, (unsigned long long)life->term);
    cluster_begin_input(life, next);
    coordinator_winning(next->core, life->term, life->now_ms);
    coordinator_leader(next->core, (uint64_t)machine + 1);
    next->was_leading = false;
    cluster_end_input(life, next);
    events_add(life, life->now_ms + settling_ms, elect, next, life->term);
}

/* ---- Processes ---- */

static void resume(struct life *life, void *who, uint64_t paused_ms)
{
    struct machine *machine = who;
    int64_t gap_ms = life->now_ms - machine->input_ms;
    (void)paused_ms;
    if (machine->core == NULL || gap_ms <= life->options.limits.election_timeout_ms ||
        !coordinator_is_leading(machine->core)) {
        return;
    }
    life_trace(life, "n%d stood still for %lld ms", machine->at + 1, (long long)gap_ms);
    machine->stopped_ms = machine->input_ms;
    cluster_begin_input(life, machine);
    coordinator_suspended(machine->core, life->now_ms);
    cluster_end_input(life, machine);
}

void cluster_pause(struct life *life, int machine, int64_t ms)
{
    struct machine *m = &life->machines[machine];
    if (m->core == NULL || cluster_is_paused(life, m)) {
        return;
    }
    m->own->resume_ms = life->now_ms + ms;
    m->pauses_ms += ms;
    m->input_ms = life->now_ms;
    events_add(life, m->own->resume_ms, resume, m, (uint64_t)ms);
}

static void forget_frozen(struct machine *machine)
{
    if (machine->own->frozen != NULL) {
        coordinator_release(machine->core, machine->own->frozen);
        machine->own->frozen = NULL;
    }
}

void cluster_crash(struct life *life, int machine, bool is_committed)
{
    struct machine *m = &life->machines[machine];
    if (m->core == NULL) {
        return;
    }
    life_trace(life, "n%d dies", machine + 1);
    if (life->cluster->leader == machine) {
        decide(life, m, is_committed);
        for (int i = 0; i < MACHINES; i++) {
            events_add(life, life->now_ms + chance_below(&life->chance, 400), tell_leader,
                       &life->machines[i], 0);
        }
    }
    drop_batches(m);
    forget_frozen(m);
    coordinator_free(m->core);
    m->core = NULL;
    m->term = 0;
    m->own->is_elected = false;
    m->is_cut = false;
    m->own->is_stopping = false;
    m->own->resume_ms = 0;
    m->incarnation++;
    wire_crashed(life, machine);
}

static struct coordinator *born(struct life *life, int machine)
{
    return coordinator_new(&life->options.limits, (uint64_t)machine + 1);
}

void cluster_restart(struct life *life, int machine)
{
    struct machine *m = &life->machines[machine];
    if (m->core != NULL) {
        return;
    }
    life_trace(life, "n%d starts at batch %llu", machine + 1,
               (unsigned long long)m->own->snapshot_index);
    m->core = born(life, machine);
    m->own->applied = m->own->snapshot_index;
    m->position = m->own->snapshot_position;
    m->was_leading = false;
    m->stopped_ms = -1;
    if (m->own->snapshot_index > 0 &&
        coordinator_restore(m->core, buf_span(&m->own->snapshot)) != 0) {
        life_fail(life, "n%d cannot read its snapshot", machine + 1);
    }
    if (m->own->applied > 0 &&
        coordinator_state_hash(m->core) != life->cluster->hashes[m->own->applied - 1]) {
        life_fail(life, "n%d has another state after its snapshot", machine + 1);
    }
    events_add(life, life->now_ms + chance_below(&life->chance, 500), apply_event, m,
               life->cluster->log_count);
    if (life->cluster->leader >= 0) {
        events_add(life, life->now_ms + chance_below(&life->chance, 300), tell_leader, m,
                   (uint64_t)life->cluster->leader + 1);
    }
}

void cluster_stop(struct life *life, int machine)
{
    struct machine *m = &life->machines[machine];
    if (m->core == NULL || cluster_is_paused(life, m)) {
        return;
    }
    life_trace(life, "n%d is about to end", machine + 1);
    m->own->is_stopping = true;
    cluster_begin_input(life, m);
    coordinator_stopping(m->core, life->now_ms);
    cluster_end_input(life, m);
}

/* ---- Snapshots ---- */

void cluster_freeze(struct life *life, int machine)
{
    struct machine *m = &life->machines[machine];
    (void)life;
    if (m->core == NULL || m->own->frozen != NULL || m->own->applied == 0) {
        return;
    }
    m->own->frozen = coordinator_freeze(m->core);
    m->own->frozen_index = m->own->applied;
    m->own->frozen_position = m->position;
}

void cluster_thaw(struct life *life, int machine)
{
    struct machine *m = &life->machines[machine];
    (void)life;
    if (m->core == NULL || m->own->frozen == NULL) {
        return;
    }
    m->own->snapshot.len = 0;
    coordinator_encode(m->own->frozen, &m->own->snapshot);
    m->own->snapshot_index = m->own->frozen_index;
    m->own->snapshot_position = m->own->frozen_position;
    forget_frozen(m);
    coordinator_check(m->core);
}

void cluster_install(struct life *life, int machine, int from)
{
    struct machine *m = &life->machines[machine];
    const struct machine *other = &life->machines[from];
    if (m->core == NULL || m->term != 0 || m->own->frozen != NULL ||
        other->own->snapshot_index <= m->own->applied) {
        return;
    }
    life_trace(life, "n%d installs n%d's snapshot of batch %llu", machine + 1, from + 1,
               (unsigned long long)other->own->snapshot_index);
    m->own->snapshot.len = 0;
    buf_append(&m->own->snapshot, other->own->snapshot.data, other->own->snapshot.len);
    m->own->snapshot_index = other->own->snapshot_index;
    m->own->snapshot_position = other->own->snapshot_position;
    cluster_begin_input(life, m);
    if (coordinator_restore(m->core, buf_span(&m->own->snapshot)) != 0) {
        life_fail(life, "n%d cannot install a snapshot", machine + 1);
    }
    m->own->applied = m->own->snapshot_index;
    m->position = m->own->snapshot_position;
    cluster_end_input(life, m);
    if (coordinator_state_hash(m->core) != life->cluster->hashes[m->own->applied - 1]) {
        life_fail(life, "n%d has another state after a snapshot's installation", machine + 1);
    }
}

/* ---- Beginning and end ---- */

void cluster_init(struct life *life)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    ensure(cluster != NULL);
    life->cluster = cluster;
    life->machines = cluster->machines;
    life->machines_count = MACHINES;
    cluster->wall_ahead_ms = INT64_C(1700000000000);
    cluster->leader = -1;
    cluster->commit_ms_max = 5;
    cluster->lag_ms_max = 20;
    for (int i = 0; i < MACHINES; i++) {
        cluster->machines[i].at = i;
        cluster->machines[i].own = &cluster->own[i];
        cluster->machines[i].incarnation = 1;
        cluster->machines[i].stopped_ms = -1;
        cluster->machines[i].core = born(life, i);
    }
    life->reference = coordinator_new(&life->options.limits, 99);
}

static void check_replay(struct life *life)
{
    struct coordinator *fresh = coordinator_new(&life->options.limits, 98);
    void *frozen = coordinator_freeze(life->reference);
    struct buf bytes = BUF_EMPTY;
    coordinator_encode(frozen, &bytes);
    coordinator_release(life->reference, frozen);
    if (coordinator_restore(fresh, buf_span(&bytes)) != 0 ||
        coordinator_state_hash(fresh) != coordinator_state_hash(life->reference)) {
        life_fail(life, "a snapshot of the end gives another state");
    }
    coordinator_check(fresh);
    coordinator_free(fresh);
    buf_close(&bytes);
}

void cluster_close(struct life *life)
{
    struct cluster *cluster = life->cluster;
    check_replay(life);
    for (int i = 0; i < MACHINES; i++) {
        struct machine *machine = &cluster->machines[i];
        forget_frozen(machine);
        drop_batches(machine);
        coordinator_free(machine->core);
        buf_close(&machine->own->snapshot);
    }
    coordinator_free(life->reference);
    for (size_t i = 0; i < cluster->log_count; i++) {
        batch_free(cluster->log[i]);
    }
    free(cluster->log);
    free(cluster->hashes);
    free(cluster);
    life->cluster = NULL;
}
