/* One group of many members: what each step of its life costs, so that nothing grows with the
 * square of them.
 *
 *     measure_large MEMBERS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/schema.h"
#include "server/core/coordinator.h"
#include "server/core/state.h"

enum { TEXT = 64, SESSION_MS = 60000, REBALANCE_MS = 60000 };

static const struct coordinator_limits limits = {
    .initial_rebalance_delay_ms = 3000,
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

struct member_client {
    struct call call;
    struct arena arena;
    char member_id[TEXT];
    char instance_id[TEXT];
    bool is_static;
    bool is_waiting;
    int16_t error;
    int32_t generation;
    char metadata[TEXT];
};

static struct coordinator *core;
static struct member_client *clients;
static int count;
static int64_t now_ms = 1000;
static uint64_t batch, entropy, term;
static bool is_holding;
static struct buf *held;
static uint64_t *held_numbers;
static size_t held_count, held_cap;

/* ---- The log ---- */

static void drain(void);

static void take(const struct effect *effect)
{
    if (held_count == held_cap) {
        held_cap = held_cap * 2 + 64;
        held = realloc(held, held_cap * sizeof *held);
        held_numbers = realloc(held_numbers, held_cap * sizeof *held_numbers);
        ensure(held != NULL && held_numbers != NULL);
    }
    held[held_count] = BUF_EMPTY;
    buf_append(&held[held_count], effect->records.data, effect->records.len);
    held_numbers[held_count++] = effect->number;
}

static void commit_all(void)
{
    for (size_t i = 0; i < held_count; i++) {
        struct buf records = held[i];
        struct applied applied = {.index = ++batch,
                                  .term = term,
                                  .number = held_numbers[i],
                                  .stamp_ms = now_ms,
                                  .own = true,
                                  .records = buf_span(&records)};
        coordinator_apply(core, &applied, now_ms);
        drain();
        buf_close(&records);
    }
    held_count = 0;
}

static void answer(struct call *call, const void *response)
{
    struct member_client *client = (struct member_client *)(void *)call;
    client->is_waiting = false;
    if (call->api_key == API_JoinGroup) {
        const struct join_group_response *join = response;
        client->error = join->error_code;
        client->generation = join->generation_id;
        ensure(join->member_id.len < TEXT);
        memcpy(client->member_id, join->member_id.data, join->member_id.len);
        client->member_id[join->member_id.len] = 0;
    } else if (call->api_key == API_SyncGroup) {
        client->error = ((const struct sync_group_response *)response)->error_code;
    } else if (call->api_key == API_Heartbeat) {
        client->error = ((const struct heartbeat_response *)response)->error_code;
    } else if (call->api_key == API_LeaveGroup) {
        client->error = ((const struct leave_group_response *)response)->error_code;
    }
}

static void drain(void)
{
    struct effects *effects = coordinator_effects(core);
    for (struct effect *effect; (effect = effects_next(effects)) != NULL;) {
        if (effect->kind == EFFECT_REPLY) {
            answer(effect->call, effect->response);
        } else if (effect->kind == EFFECT_PROPOSE) {
            take(effect);
        }
    }
    effects_reset(effects);
}

static void step(void)
{
    drain();
    while (!is_holding && held_count > 0) {
        commit_all();
    }
}

static void pass(int64_t ms)
{
    int64_t end_ms = now_ms + ms;
    while (coordinator_next_deadline(core) <= end_ms) {
        int64_t due_ms = coordinator_next_deadline(core);
        now_ms = due_ms > now_ms ? due_ms : now_ms;
        coordinator_tick(core, now_ms, now_ms);
        step();
    }
    now_ms = end_ms;
}

static void pass_until_answered(void)
{
    for (int i = 0; i < count; i++) {
        while (clients[i].is_waiting) {
            pass(1000);
        }
    }
}

/* ---- Calls ---- */

static void send(struct member_client *client, int16_t key, int16_t version, const void *request)
{
    ensure(!client->is_waiting);
    client->is_waiting = true;
    client->call = (struct call){.api_key = key,
                                 .api_version = version,
                                 .request = request,
                                 .client_id = SPAN_LITERAL("client"),
                                 .client_host = SPAN_LITERAL("/10.0.0.1"),
                                 .arena = &client->arena};
    entropy++;
    memcpy(client->call.entropy, &entropy, sizeof entropy);
    coordinator_request(core, &client->call, now_ms);
    step();
}

static struct span instance(const struct member_client *client)
{
    return client->is_static ? span_from_cstr(client->instance_id) : SPAN_NULL;
}

static void join(struct member_client *client)
{
    arena_reset(&client->arena, SIZE_MAX);
    struct join_group_request *request = arena_alloc(&client->arena, sizeof *request);
    struct join_group_request_protocol *protocols =
        arena_alloc(&client->arena, 2 * sizeof *protocols);
    protocols[0].name = SPAN_LITERAL("range");
    protocols[1].name = SPAN_LITERAL("cooperative-sticky");
    protocols[0].metadata = protocols[1].metadata = span_from_cstr(client->metadata);
    *request = (struct join_group_request){
        .group_id = SPAN_LITERAL("g"),
        .session_timeout_ms = SESSION_MS,
        .rebalance_timeout_ms = REBALANCE_MS,
        .member_id = arena_copy(&client->arena, span_from_cstr(client->member_id)),
        .group_instance_id = instance(client),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = protocols,
        .protocols_count = 2};
    send(client, API_JoinGroup, 9, request);
}

static void sync(struct member_client *client, bool leads)
{
    arena_reset(&client->arena, SIZE_MAX);
    struct sync_group_request *request = arena_alloc(&client->arena, sizeof *request);
    struct sync_group_request_assignment *list =
        arena_alloc(&client->arena, (leads ? (size_t)count : 1) * sizeof *list);
    for (int i = 0; leads && i < count; i++) {
        list[i].member_id = span_from_cstr(clients[i].member_id);
        list[i].assignment = span_from_cstr(clients[i].metadata);
    }
    *request = (struct sync_group_request){.group_id = SPAN_LITERAL("g"),
                                           .generation_id = client->generation,
                                           .member_id = span_from_cstr(client->member_id),
                                           .group_instance_id = instance(client),
                                           .protocol_type = SPAN_LITERAL("consumer"),
                                           .protocol_name = SPAN_LITERAL("range"),
                                           .assignments = list,
                                           .assignments_count = leads ? count : 0};
    send(client, API_SyncGroup, 5, request);
}

static void beat(struct member_client *client)
{
    arena_reset(&client->arena, SIZE_MAX);
    struct heartbeat_request *request = arena_alloc(&client->arena, sizeof *request);
    *request = (struct heartbeat_request){.group_id = SPAN_LITERAL("g"),
                                          .generation_id = client->generation,
                                          .member_id = span_from_cstr(client->member_id),
                                          .group_instance_id = instance(client)};
    send(client, API_Heartbeat, 4, request);
}

static void leave(struct member_client *client)
{
    arena_reset(&client->arena, SIZE_MAX);
    struct leave_group_request *request = arena_alloc(&client->arena, sizeof *request);
    struct leave_group_request_member *member = arena_alloc(&client->arena, sizeof *member);
    *member = (struct leave_group_request_member){.member_id = span_from_cstr(client->member_id),
                                                  .group_instance_id = instance(client),
                                                  .reason = SPAN_NULL};
    *request = (struct leave_group_request){
        .group_id = SPAN_LITERAL("g"), .members = member, .members_count = 1};
    send(client, API_LeaveGroup, 5, request);
}

/* ---- What is measured ---- */

static double last_s;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void begin(void)
{
    last_s = seconds();
}

static void end(const char *what)
{
    double took_s = seconds() - last_s;
    printf("%-58s %9.1f ms %8.2f us each\n", what, took_s * 1000, took_s * 1e6 / count);
    fflush(stdout);
}

static void check_all(int16_t error)
{
    for (int i = 0; i < count; i++) {
        ensure(!clients[i].is_waiting && clients[i].error == error);
    }
}

static void sync_all(void)
{
    for (int i = count - 1; i >= 0; i--) {
        sync(&clients[i], i == 0);
    }
    check_all(0);
}

static void lead(void)
{
    coordinator_winning(core, ++term, now_ms);
    coordinator_elected(core, term, now_ms);
    step();
    pass(10);
}

static void measure_dynamic(void)
{
    begin();
    for (int i = 0; i < count; i++) {
        join(&clients[i]);
    }
    check_all(79);
    end("ids handed out");
    begin();
    for (int i = 0; i < count; i++) {
        join(&clients[i]);
    }
    end("first joins");
    begin();
    pass_until_answered();
    check_all(0);
    end("first generation");
    begin();
    sync_all();
    end("syncs");
    begin();
    for (int i = 0; i < count; i++) {
        beat(&clients[i]);
    }
    check_all(0);
    end("heartbeats");
    begin();
    for (int i = 0; i < count; i++) {
        snprintf(clients[i].metadata, TEXT, "subscription-%d-changed", i);
        join(&clients[i]);
    }
    check_all(0);
    end("all rejoin, changed");
    sync_all();
    begin();
    is_holding = true;
    leave(&clients[0]);
    for (int i = 1; i < count; i++) {
        join(&clients[i]);
    }
    is_holding = false;
    step();
    end("one leaves, all others' joins wait for the gate");
    clients[0].member_id[0] = 0;
    join(&clients[0]);
    join(&clients[0]);
    for (int i = 1; i < count; i++) {
        if (!clients[i].is_waiting) {
            join(&clients[i]);
        }
    }
    pass_until_answered();
    begin();
    coordinator_deposed(core, now_ms);
    step();
    lead();
    end("takeover");
    begin();
    for (int i = 1; i < count; i++) {
        leave(&clients[i]);
    }
    end("all but one leave, one after the other");
    begin();
    leave(&clients[0]);
    end("the last one leaves");
}

static void measure_leaves_together(void)
{
    for (int i = 0; i < count; i++) {
        clients[i].member_id[0] = 0;
        join(&clients[i]);
        join(&clients[i]);
    }
    pass_until_answered();
    check_all(0);
    sync_all();
    begin();
    is_holding = true;
    for (int i = 0; i < count; i++) {
        leave(&clients[i]);
    }
    is_holding = false;
    step();
    check_all(0);
    end("all leave together");
}

static void measure_static(void)
{
    for (int i = 0; i < count; i++) {
        clients[i].is_static = true;
        snprintf(clients[i].instance_id, TEXT, "instance-%d", i);
        clients[i].member_id[0] = 0;
        join(&clients[i]);
    }
    pass_until_answered();
    check_all(0);
    sync_all();
    begin();
    for (int i = 0; i < count; i++) {
        clients[i].member_id[0] = 0;
        join(&clients[i]);
    }
    check_all(0);
    end("static members restart, one after the other");
    begin();
    is_holding = true;
    for (int i = 0; i < count; i++) {
        clients[i].member_id[0] = 0;
        join(&clients[i]);
    }
    is_holding = false;
    step();
    check_all(0);
    end("static members restart together");
    begin();
    pass(SESSION_MS + 1000);
    end("all sessions end");
}

int main(int argc, char **argv)
{
    count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000;
    ensure(count > 1);
    clients = calloc((size_t)count, sizeof *clients);
    ensure(clients != NULL);
    for (int i = 0; i < count; i++) {
        arena_init(&clients[i].arena, SIZE_MAX);
        snprintf(clients[i].metadata, TEXT, "subscription-%d", i);
    }
    core = coordinator_new(&limits, 1);
    lead();
    measure_dynamic();
    measure_leaves_together();
    measure_static();
    coordinator_check(core);
    coordinator_free(core);
    for (int i = 0; i < count; i++) {
        arena_close(&clients[i].arena);
    }
    free(clients);
    free(held);
    free(held_numbers);
    return 0;
}
