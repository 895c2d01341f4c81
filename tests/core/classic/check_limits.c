/* Limits that take thousands of calls to reach, at the limit and one beyond it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "tests/core/classic/rig.h"

static int answers;
static int16_t last_error;
static char last_id[64];
static size_t last_id_len;
static int last_generation;

static void on_reply(void *ctx, struct call *call, const void *response)
{
    (void)ctx;
    answers++;
    switch (call->api_key) {
        case API_JoinGroup: {
            const struct join_group_response *join = response;
            last_error = join->error_code;
            last_generation = join->generation_id;
            last_id_len = join->member_id.len;
            memcpy(last_id, join->member_id.data, last_id_len);
            break;
        }
        case API_Heartbeat:
            last_error = ((const struct heartbeat_response *)response)->error_code;
            break;
        case API_LeaveGroup:
            last_error = ((const struct leave_group_response *)response)->error_code;
            break;
        default:
            abort();
    }
}

/* The calls live until the end. */
static struct arena arena;
static int made;

static struct call *new_call(int16_t key, int16_t version, const void *request)
{
    struct call *call = arena_alloc(&arena, sizeof *call);
    *call = (struct call){
        .api_key = key,
        .api_version = version,
        .request = request,
        .client_id = SPAN_LITERAL("c"),
        .client_host = SPAN_LITERAL("/127.0.0.1"),
        .arena = &arena,
    };
    made++;
    memcpy(call->entropy, &made, sizeof made);
    return call;
}

static void join(struct rig *rig, int16_t version)
{
    struct join_group_request_protocol *protocol = arena_alloc(&arena, sizeof *protocol);
    struct join_group_request *request = arena_alloc(&arena, sizeof *request);
    *protocol = (struct join_group_request_protocol){SPAN_LITERAL("range"), SPAN_LITERAL("x")};
    *request = (struct join_group_request){
        .group_id = SPAN_LITERAL("g"),
        .session_timeout_ms = 1800000,
        .rebalance_timeout_ms = 300000,
        .member_id = SPAN_EMPTY,
        .group_instance_id = SPAN_NULL,
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = protocol,
        .protocols_count = 1,
    };
    rig_request(rig, new_call(API_JoinGroup, version, request));
}

static void start(struct rig *rig)
{
    answers = 0;
    arena_init(&arena, SIZE_MAX);
    rig_init(rig, &rig_limits);
    rig->reply = on_reply;
    rig_takeover(rig, 0, 0);
}

static void end(struct rig *rig)
{
    rig_check(rig);
    rig_close(rig);
    arena_close(&arena);
}

/* Ids that were handed out and not used, also those whose entries are on their way. */
static void check_pending(void)
{
    struct rig rig;
    start(&rig);
    for (int i = 0; i < LIMIT_PENDING_MEMBERS; i++) {
        join(&rig, 5);
        if (i % 1000 < 500) {
            rig_commit(&rig, SIZE_MAX);
        }
    }
    ensure(coordinator_counters(rig.nodes[0])->limit_group_size == 0);
    int before = answers;
    join(&rig, 5);
    ensure(answers == before + 1 && last_error == KAFKA_GROUP_MAX_SIZE_REACHED);
    ensure(coordinator_counters(rig.nodes[0])->limit_group_size == 1);
    rig_commit(&rig, SIZE_MAX);
    ensure(answers == LIMIT_PENDING_MEMBERS + 1 && last_error == KAFKA_MEMBER_ID_REQUIRED);
    end(&rig);
}

/* Calls of a member whose removal is in flight. */
static void check_waiting(void)
{
    struct rig rig;
    start(&rig);
    join(&rig, 3);
    rig_commit(&rig, SIZE_MAX);
    rig_tick(&rig, rig.now_ms + 3000);
    rig_commit(&rig, SIZE_MAX);
    ensure(last_error == 0 && last_generation == 1);
    struct heartbeat_request beat = {
        .group_id = SPAN_LITERAL("g"),
        .generation_id = 1,
        .member_id = span_of(last_id, last_id_len),
        .group_instance_id = SPAN_NULL,
    };
    struct leave_group_request leave = {
        .group_id = SPAN_LITERAL("g"),
        .member_id = beat.member_id,
    };
    rig_request(&rig, new_call(API_LeaveGroup, 2, &leave));
    answers = 0;
    for (int i = 0; i < LIMIT_WAITING_CALLS; i++) {
        rig_request(&rig, new_call(API_Heartbeat, 4, &beat));
    }
    ensure(answers == 0 && coordinator_counters(rig.nodes[0])->limit_waiting_calls == 0);
    rig_request(&rig, new_call(API_Heartbeat, 4, &beat));
    ensure(answers == 1 && last_error == KAFKA_COORDINATOR_NOT_AVAILABLE);
    ensure(coordinator_counters(rig.nodes[0])->limit_waiting_calls == 1);
    rig_commit(&rig, SIZE_MAX);
    ensure(answers == LIMIT_WAITING_CALLS + 2 && last_error == KAFKA_UNKNOWN_MEMBER_ID);
    ensure(coordinator_parked_calls(rig.nodes[0]) == 0);
    end(&rig);
}

/* Calls between an election and its barrier. */
static void check_unsettled(void)
{
    struct rig rig;
    start(&rig);
    struct heartbeat_request beat = {
        .group_id = SPAN_LITERAL("g"),
        .generation_id = 1,
        .member_id = SPAN_LITERAL("m"),
        .group_instance_id = SPAN_NULL,
    };
    coordinator_suspended(rig.nodes[0], rig.now_ms);
    for (int i = 0; i < LIMIT_UNSETTLED_CALLS; i++) {
        rig_request(&rig, new_call(API_Heartbeat, 4, &beat));
    }
    ensure(answers == 0);
    rig_request(&rig, new_call(API_Heartbeat, 4, &beat));
    ensure(answers == 1 && last_error == KAFKA_NOT_COORDINATOR);
    ensure(coordinator_counters(rig.nodes[0])->limit_unsettled_calls == 1);
    rig_commit(&rig, SIZE_MAX);
    ensure(answers == LIMIT_UNSETTLED_CALLS + 1);
    end(&rig);
}

int main(void)
{
    check_pending();
    check_waiting();
    check_unsettled();
    printf("ok\n");
    return 0;
}
