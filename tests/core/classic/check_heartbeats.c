/* What a heartbeat costs: no allocation, at any size of group; and what members cost between their
 * heartbeats: no work per member and tick. A program of its own, as it counts all allocations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/schema.h"
#include "server/core/state.h"
#include "tests/core/classic/rig.h"

enum { SESSION_MS = 45000, BEAT_MS = 3000 };

static uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

struct worker {
    struct call call;
    struct arena arena;
    char group[16];
    uint8_t member_id[64];
    size_t member_id_len;
    int32_t generation;
};

static struct worker *workers;
static int16_t last_error;

static void on_reply(void *ctx, struct call *call, const void *response)
{
    (void)ctx;
    struct worker *worker = (struct worker *)(void *)call;
    if (call->api_key == API_Heartbeat) {
        last_error = ((const struct heartbeat_response *)response)->error_code;
    } else if (call->api_key == API_JoinGroup) {
        const struct join_group_response *joined = response;
        ensure(joined->error_code == 0 && joined->member_id.len <= sizeof worker->member_id);
        memcpy(worker->member_id, joined->member_id.data, joined->member_id.len);
        worker->member_id_len = joined->member_id.len;
        worker->generation = joined->generation_id;
    }
}

static void join(struct rig *rig, struct worker *worker, int number, int group)
{
    struct join_group_request *request = arena_alloc(&worker->arena, sizeof *request);
    struct join_group_request_protocol *protocol = arena_alloc(&worker->arena, sizeof *protocol);
    snprintf(worker->group, sizeof worker->group, "g%d", group);
    *protocol = (struct join_group_request_protocol){SPAN_LITERAL("range"), SPAN_LITERAL("x")};
    *request = (struct join_group_request){
        .group_id = span_from_cstr(worker->group),
        .session_timeout_ms = SESSION_MS,
        .rebalance_timeout_ms = 300000,
        .member_id = SPAN_EMPTY,
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = protocol,
        .protocols_count = 1,
    };
    worker->call = (struct call){
        .api_key = API_JoinGroup,
        .api_version = 3,
        .request = request,
        .client_id = SPAN_LITERAL("c"),
        .client_host = SPAN_LITERAL("/127.0.0.1"),
        .arena = &worker->arena,
    };
    memcpy(worker->call.entropy, &number, sizeof number);
    rig_request(rig, &worker->call);
}

static void beat(struct rig *rig, struct worker *worker)
{
    struct heartbeat_request request = {
        .group_id = span_from_cstr(worker->group),
        .generation_id = worker->generation,
        .member_id = span_of(worker->member_id, worker->member_id_len),
    };
    arena_reset(&worker->arena, 4096);
    worker->call = (struct call){
        .api_key = API_Heartbeat, .api_version = 4, .request = &request, .arena = &worker->arena};
    last_error = -1;
    rig_request(rig, &worker->call);
    ensure(last_error == 0);
}

/* Everybody beats every three seconds for two minutes, evenly spread. */
static uint64_t beat_on(struct rig *rig, int members)
{
    uint64_t before = allocations;
    int64_t start_ms = rig->now_ms;
    for (int64_t n = 0; n < (int64_t)members * (120000 / BEAT_MS); n++) {
        int64_t at_ms = start_ms + n * BEAT_MS / members;
        if (at_ms > rig->now_ms) {
            rig_tick(rig, at_ms);
        }
        beat(rig, &workers[n % members]);
    }
    return allocations - before;
}

/* The state machine without its clients' SyncGroups: CompletingRebalance answers 0 as Stable does,
 * and its deadline is far. */
static void run(int groups, int members)
{
    struct rig rig;
    rig_init(&rig, &rig_limits);
    rig.reply = on_reply;
    rig_takeover(&rig, 0, 0);
    workers = calloc((size_t)members, sizeof *workers);
    for (int i = 0; i < members; i++) {
        arena_init(&workers[i].arena, SIZE_MAX);
        join(&rig, &workers[i], i, i % groups);
        rig_commit(&rig, SIZE_MAX);
    }
    for (int i = 0; i < 2; i++) { /* the initial delay, and its extension */
        rig_tick(&rig, rig.now_ms + 3000);
        rig_commit(&rig, SIZE_MAX);
    }
    beat_on(&rig, members); /* buffers get their sizes */
    uint64_t made = beat_on(&rig, members);
    printf("groups=%d members=%d heartbeats=%d allocations=%" PRIu64 "\n", groups, members,
           members * (120000 / BEAT_MS), made);
    ensure(made == 0);
    ensure(coordinator_counters(rig.nodes[0])->sessions_expired == 0);
    ensure(state_totals(coordinator_state(rig.nodes[0]))->members == (uint64_t)members);
    rig_check(&rig);
    rig_close(&rig);
    for (int i = 0; i < members; i++) {
        arena_close(&workers[i].arena);
    }
    free(workers);
}

int main(void)
{
    run(1, 1);
    run(20, 100);
    run(1, 3000);
    return 0;
}
