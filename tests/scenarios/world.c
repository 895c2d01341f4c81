#include "tests/scenarios/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "server/core/record.h"
#include "server/core/state.h"
#include "tests/scenarios/print.h"

void world_fail(struct world *w, const char *format, ...)
{
    if (w->error[0] != 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(w->error, sizeof w->error, format, args);
    va_end(args);
}

/* The defaults of a configuration, but for the initial delay: most stories are not about it. */
static const struct coordinator_limits defaults = {
    .initial_rebalance_delay_ms = 0,
    .session_timeout_min_ms = 6000,
    .session_timeout_max_ms = 1800000,
    .group_size_max = INT32_MAX,
    .offset_metadata_bytes_max = 4096,
    .offsets_retention_ms = INT64_C(7) * 24 * 3600 * 1000,
    .offsets_check_interval_ms = 600000,
    .groups_max = 100000,
    .topics_max = 10000,
    .partitions_max = 200000,
    .offsets_max = 2000000,
    .member_metadata_bytes_max = 1 << 20,
    .group_metadata_bytes_max = 64 << 20,
    .election_timeout_ms = 300,
};

void world_init(struct world *w)
{
    *w = (struct world){.limits = defaults, .leader = -1};
    w->names = calloc(1, sizeof *w->names);
    ensure(w->names != NULL);
}

static void close_entries(struct world_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_close(&entries[i].records);
    }
    free(entries);
}

void world_close(struct world *w)
{
    if (w->frozen != NULL) {
        coordinator_release(w->nodes[w->frozen_node].coordinator, w->frozen);
    }
    for (int i = 0; i < WORLD_NODES; i++) {
        if (w->nodes[i].coordinator != NULL) {
            coordinator_free(w->nodes[i].coordinator);
        }
    }
    for (size_t i = 0; i < w->calls_count; i++) {
        arena_close(&w->calls[i]->arena);
        buf_close(&w->calls[i]->bytes);
        free(w->calls[i]);
    }
    free(w->calls);
    close_entries(w->log, w->log_count);
    close_entries(w->held, w->held_count);
    buf_close(&w->out);
    free(w->names);
}

/* ---- Effects ---- */

static void print_reply(struct world *w, const struct world_call *call, const void *response)
{
    const struct api *api = api_find(call->call.api_key);
    struct buf bytes = BUF_EMPTY;
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    codec_encode(api->response(), call->call.api_version, response, &bytes);
    struct reader reader = reader_of(bytes.data == NULL ? SPAN_EMPTY : buf_span(&bytes));
    void *decoded = arena_alloc(&arena, api->response()->size);
    enum codec_error error =
        codec_decode(api->response(), call->call.api_version, &reader, &arena, decoded);
    if (error != CODEC_OK || reader_left(&reader) != 0) {
        world_fail(w, "the reply to %s does not decode: %s", call->label, codec_error_name(error));
    } else if (!w->is_quiet) {
        print_format(&w->out, "%" PRId64 " %s < %s", w->now_ms, call->label, api->name);
        print_struct(&w->out, w->names, api->response(), call->call.api_version, decoded);
        print_format(&w->out, "\n");
    }
    arena_close(&arena);
    buf_close(&bytes);
}

static void handle_reply(struct world *w, const struct effect *effect)
{
    for (size_t i = w->calls_count; i > 0; i--) {
        struct world_call *call = w->calls[i - 1];
        if (&call->call != effect->call) {
            continue;
        }
        if (call->is_answered) {
            world_fail(w, "%s was answered twice", call->label);
        }
        call->is_answered = true;
        print_reply(w, call, effect->response);
        return;
    }
    world_fail(w, "an answer to a call that never was");
}

static void push(struct world_entry **entries, size_t *count, struct world_entry entry)
{
    *entries = realloc(*entries, (*count + 1) * sizeof **entries);
    ensure(*entries != NULL);
    (*entries)[(*count)++] = entry;
}

static void handle_propose(struct world *w, int node, const struct effect *effect)
{
    struct world_entry entry = {
        .applied = {.term = w->term, .number = effect->number},
        .maker = node,
        .incarnation = w->nodes[node].incarnation,
    };
    buf_append(&entry.records, effect->records.data, effect->records.len);
    if (w->leader != node) {
        world_fail(w, "%s proposed something and does not lead", w->nodes[node].name);
    }
    if (w->shows_records && !w->is_quiet) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "%" PRId64, w->now_ms);
        print_records(&w->out, w->names, prefix, effect->records);
    }
    push(&w->held, &w->held_count, entry);
}

static bool is_wanted(const struct world *w, const char *line)
{
    char event[80];
    snprintf(event, sizeof event, " %.*s ", (int)strcspn(line, " "), line);
    return w->log_events[0] == 0 || strstr(w->log_events, event) != NULL;
}

static void handle_log(struct world *w, int node, const struct effect *effect)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    if (w->is_quiet || effect->level == EFFECT_DEBUG || !is_wanted(w, effect->line)) {
        return;
    }
    print_format(&w->out, "%" PRId64 " ", w->now_ms);
    if (node != w->leader) {
        print_format(&w->out, "%s: ", w->nodes[node].name);
    }
    print_format(&w->out, "log %s ", levels[effect->level]);
    names_shrink(w->names, span_from_cstr(effect->line), &w->out);
    print_format(&w->out, "\n");
}

static void drain(struct world *w, int node)
{
    struct effects *effects = coordinator_effects(w->nodes[node].coordinator);
    struct effect *effect;
    while ((effect = effects_next(effects)) != NULL) {
        if (effect->kind == EFFECT_PROPOSE && w->refuse != 0) {
            bool is_full = w->refuse == 1;
            uint64_t number = effect->number;
            w->refuse = 0;
            coordinator_refused(w->nodes[node].coordinator, number, is_full, w->now_ms);
            continue;
        }
        switch (effect->kind) {
            case EFFECT_REPLY:
                handle_reply(w, effect);
                break;
            case EFFECT_PROPOSE:
                handle_propose(w, node, effect);
                break;
            case EFFECT_LOG:
                handle_log(w, node, effect);
                break;
        }
    }
    effects_reset(effects);
}

static void learn_topics(struct world *w, int node)
{
    const struct state *state = coordinator_state(w->nodes[node].coordinator);
    const struct topic *topic;
    uint64_t at = 0;
    while ((topic = state_next_topic(state, &at)) != NULL) {
        names_add_topic(w->names, topic->name, topic->uuid);
    }
}

static void check_nodes(struct world *w)
{
    uint64_t hash = coordinator_state_hash(w->nodes[0].coordinator);
    for (int i = 0; i < WORLD_NODES; i++) {
        coordinator_check(w->nodes[i].coordinator);
        if (coordinator_state_hash(w->nodes[i].coordinator) != hash) {
            world_fail(w, "%s and %s differ at index %zu", w->nodes[0].name, w->nodes[i].name,
                       w->log_count);
        }
    }
}

/* ---- The log ---- */

static int64_t next_stamp(const struct world *w)
{
    int64_t stamp_ms = w->now_ms + w->wall_ahead_ms;
    int64_t last_ms = w->log_count == 0 ? 0 : w->log[w->log_count - 1].applied.stamp_ms;
    return stamp_ms > last_ms ? stamp_ms : last_ms;
}

static void apply_entry(struct world *w, struct world_entry entry)
{
    entry.applied.index = w->log_count + 1;
    entry.applied.stamp_ms = next_stamp(w);
    entry.applied.records = entry.records.data == NULL ? SPAN_EMPTY : buf_span(&entry.records);
    push(&w->log, &w->log_count, entry);
    for (int i = 0; i < WORLD_NODES; i++) {
        struct applied applied = entry.applied;
        applied.own = entry.maker == i && entry.incarnation == w->nodes[i].incarnation;
        coordinator_apply(w->nodes[i].coordinator, &applied, w->now_ms);
        learn_topics(w, i); /* before replies name them */
        drain(w, i);
    }
    check_nodes(w);
}

void world_append(struct world *w, struct span records)
{
    struct world_entry entry = {.applied = {.term = w->term}, .maker = -1};
    buf_append(&entry.records, records.data, records.len);
    apply_entry(w, entry);
}

void world_commit(struct world *w, size_t count)
{
    for (size_t i = 0; i < count && w->held_count > 0; i++) {
        struct world_entry first = w->held[0];
        w->held_count--;
        memmove(w->held, w->held + 1, w->held_count * sizeof *w->held);
        apply_entry(w, first);
    }
}

void world_lose(struct world *w)
{
    for (size_t i = 0; i < w->held_count; i++) {
        buf_close(&w->held[i].records);
    }
    w->held_count = 0;
}

/* ---- Time ---- */

static int64_t wall(const struct world *w)
{
    return w->is_wall_off ? -1 : w->now_ms + w->wall_ahead_ms;
}

static int next_node(const struct world *w, int64_t *due_ms)
{
    int node = -1;
    *due_ms = INT64_MAX;
    for (int i = 0; i < WORLD_NODES; i++) {
        int64_t at_ms = coordinator_next_deadline(w->nodes[i].coordinator);
        if (at_ms < *due_ms) {
            *due_ms = at_ms;
            node = i;
        }
    }
    return node;
}

static void flow(struct world *w)
{
    while (!w->is_holding && w->held_count > 0 && w->error[0] == 0) {
        world_commit(w, 1);
    }
}

void world_settle(struct world *w)
{
    for (int i = 0; i < WORLD_NODES; i++) {
        drain(w, i);
    }
    flow(w);
    check_nodes(w);
    world_advance(w, w->now_ms);
}

void world_advance(struct world *w, int64_t to_ms)
{
    for (int count = 0; w->error[0] == 0; count++) {
        int64_t due_ms;
        int node = next_node(w, &due_ms);
        if (node < 0 || due_ms > to_ms) {
            break;
        }
        if (count > WORLD_DEADLINES_MAX) {
            world_fail(w, "%s has a deadline that never ends", w->nodes[node].name);
            return;
        }
        w->now_ms = due_ms > w->now_ms ? due_ms : w->now_ms;
        coordinator_tick(w->nodes[node].coordinator, w->now_ms, wall(w));
        drain(w, node);
        flow(w);
    }
    w->now_ms = to_ms > w->now_ms ? to_ms : w->now_ms;
}

/* ---- Calls ---- */

/* splitmix64 (Vigna): well spread, and the same in each run. */
static void fill_entropy(struct world *w, uint8_t *entropy, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        uint64_t z = w->entropy += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy(entropy + i, &z, 8);
    }
}

struct world_call *world_new_call(struct world *w, const char *label, int node)
{
    struct world_call *call = calloc(1, sizeof *call);
    ensure(call != NULL && w->calls_count < WORLD_CALLS_MAX);
    arena_init(&call->arena, SIZE_MAX);
    snprintf(call->label, sizeof call->label, "%s", label);
    call->node = node;
    call->incarnation = w->nodes[node].incarnation;
    call->call.arena = &call->arena;
    call->call.client_id = SPAN_LITERAL("client");
    call->call.client_host = SPAN_LITERAL("/127.0.0.1");
    fill_entropy(w, call->call.entropy, sizeof call->call.entropy);
    w->calls = realloc(w->calls, (w->calls_count + 1) * sizeof(struct world_call *));
    ensure(w->calls != NULL);
    w->calls[w->calls_count++] = call;
    return call;
}

struct world_call *world_find_call(struct world *w, struct span label)
{
    for (size_t i = w->calls_count; i > 0; i--) {
        if (span_equal(label, span_from_cstr(w->calls[i - 1]->label))) {
            return w->calls[i - 1];
        }
    }
    return NULL;
}

/* Through the bytes of the version, so that the coordinator sees what a client can say. */
void world_request(struct world *w, int node, struct world_call *call)
{
    const struct kafka_schema *schema = api_find(call->call.api_key)->request();
    codec_encode(schema, call->call.api_version, call->call.request, &call->bytes);
    struct reader reader =
        reader_of(call->bytes.data == NULL ? SPAN_EMPTY : buf_span(&call->bytes));
    void *request = arena_alloc(&call->arena, schema->size);
    enum codec_error error =
        codec_decode(schema, call->call.api_version, &reader, &call->arena, request);
    if (error != CODEC_OK || reader_left(&reader) != 0) {
        world_fail(w, "the request %s does not decode: %s", call->label, codec_error_name(error));
        return;
    }
    call->call.request = request;
    ensure(coordinator_serves(call->call.api_key));
    coordinator_request(w->nodes[node].coordinator, &call->call, w->now_ms);
}

/* ---- Roles ---- */

void world_start(struct world *w)
{
    w->is_started = true;
    for (int i = 0; i < WORLD_NODES; i++) {
        struct world_node *node = &w->nodes[i];
        node->id = (uint64_t)i + 1;
        node->incarnation = 1;
        snprintf(node->name, sizeof node->name, "n%d", i + 1);
        node->coordinator = coordinator_new(&w->limits, node->id);
    }
    w->is_quiet = true;
    world_win(w, 0);
    world_elected(w);
    world_settle(w);
    w->is_quiet = false;
}

static void tell_leader(struct world *w)
{
    for (int i = 0; i < WORLD_NODES; i++) {
        coordinator_leader(w->nodes[i].coordinator, w->leader < 0 ? 0 : w->nodes[w->leader].id);
    }
}

void world_depose(struct world *w)
{
    if (w->leader < 0) {
        world_fail(w, "nobody leads");
        return;
    }
    int node = w->leader;
    coordinator_deposed(w->nodes[node].coordinator, w->now_ms);
    drain(w, node);
    w->leader = -1;
    tell_leader(w);
}

void world_win(struct world *w, int node)
{
    if (w->leader >= 0) {
        world_fail(w, "%s leads still", w->nodes[w->leader].name);
        return;
    }
    w->leader = node;
    w->term++;
    coordinator_winning(w->nodes[node].coordinator, w->term, w->now_ms);
    tell_leader(w);
}

void world_elected(struct world *w)
{
    if (w->leader < 0 || w->held_count > 0) {
        world_fail(w, w->leader < 0 ? "nobody won" : "held proposals must be committed or lost");
        return;
    }
    coordinator_elected(w->nodes[w->leader].coordinator, w->term, w->now_ms);
}

/* ---- Snapshots ---- */

static struct coordinator *restore(struct world *w,
                                   uint64_t id,
                                   struct coordinator *from,
                                   void *frozen)
{
    struct buf bytes = BUF_EMPTY;
    struct coordinator *fresh = coordinator_new(&w->limits, id);
    coordinator_encode(frozen, &bytes);
    coordinator_release(from, frozen);
    if (coordinator_restore(fresh, buf_span(&bytes)) != 0) {
        world_fail(w, "a snapshot cannot be restored");
    }
    buf_close(&bytes);
    return fresh;
}

static void replay(struct world *w, struct coordinator *fresh, uint64_t after_index)
{
    for (size_t i = (size_t)after_index; i < w->log_count && w->error[0] == 0; i++) {
        struct applied applied = w->log[i].applied;
        applied.own = false;
        coordinator_apply(fresh, &applied, w->now_ms);
        while (effects_next(coordinator_effects(fresh)) != NULL) {
        }
        effects_reset(coordinator_effects(fresh));
    }
}

static void check_equal(struct world *w, const struct coordinator *fresh, const char *what)
{
    coordinator_check(fresh);
    if (coordinator_state_hash(fresh) != coordinator_state_hash(w->nodes[0].coordinator)) {
        world_fail(w, "%s gives another state", what);
    }
}

void world_restart(struct world *w, int node)
{
    struct coordinator *old = w->nodes[node].coordinator;
    if (w->leader == node) {
        world_fail(w, "%s leads: depose it first", w->nodes[node].name);
        return;
    }
    w->nodes[node].coordinator = restore(w, w->nodes[node].id, old, coordinator_freeze(old));
    w->nodes[node].incarnation++;
    coordinator_free(old);
    tell_leader(w);
}

void world_freeze(struct world *w, int node)
{
    if (w->frozen != NULL) {
        world_fail(w, "a snapshot is under way");
        return;
    }
    w->frozen = coordinator_freeze(w->nodes[node].coordinator);
    w->frozen_node = node;
    w->frozen_index = w->log_count;
}

void world_thaw(struct world *w)
{
    if (w->frozen == NULL) {
        world_fail(w, "there is no snapshot");
        return;
    }
    struct coordinator *fresh = restore(w, 99, w->nodes[w->frozen_node].coordinator, w->frozen);
    w->frozen = NULL;
    replay(w, fresh, w->frozen_index);
    check_equal(w, fresh, "snapshot and log");
    coordinator_free(fresh);
}

static void check_snapshot(struct world *w)
{
    struct coordinator *from = w->nodes[1].coordinator;
    struct coordinator *fresh = restore(w, 99, from, coordinator_freeze(from));
    check_equal(w, fresh, "a snapshot");
    coordinator_free(fresh);
}

static void check_replay(struct world *w)
{
    struct coordinator *fresh = coordinator_new(&w->limits, 99);
    replay(w, fresh, 0);
    check_equal(w, fresh, "the log from its start");
    coordinator_free(fresh);
}

void world_finish(struct world *w)
{
    w->is_quiet = true;
    if (w->leader >= 0) {
        world_depose(w);
    }
    for (size_t i = 0; i < w->calls_count; i++) {
        const struct world_call *call = w->calls[i];
        if (!call->is_answered && call->incarnation == w->nodes[call->node].incarnation) {
            world_fail(w, "%s was never answered", call->label);
        }
    }
    for (int i = 0; i < WORLD_NODES; i++) {
        if (coordinator_parked_calls(w->nodes[i].coordinator) != 0) {
            world_fail(w, "%s has calls parked that nobody made", w->nodes[i].name);
        }
    }
    if (w->frozen != NULL) {
        world_thaw(w);
    }
    check_snapshot(w);
    check_replay(w);
}
