#include "tests/core/classic/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"

enum { BEAT_MS = 3000, RETRY_MS = 100, SESSION_MS = 30000, REBALANCE_MS = 60000 };

uint64_t world_random(struct world *w, uint64_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (w->random >> 33) % below;
}

int64_t world_unanswered(const struct world *w)
{
    int64_t count = 0;
    for (const struct worker_call *call = w->calls; call != NULL; call = call->next) {
        count++;
    }
    return count;
}

/* ---- Sending ---- */

static struct span keep(struct worker_call *call, const char *text)
{
    return arena_copy(&call->arena, span_from_cstr(text));
}

static struct span group_name(struct worker_call *call, const struct worker *worker)
{
    char name[WORKER_TEXT];
    snprintf(name, sizeof name, "g%d", worker->group);
    return keep(call, name);
}

static struct span instance(struct worker_call *call, const struct worker *worker)
{
    char name[WORKER_TEXT];
    snprintf(name, sizeof name, "i%d", worker->number);
    return worker->is_static ? keep(call, name) : SPAN_NULL;
}

static struct worker_call *new_call(struct worker *worker, int16_t key, int16_t version)
{
    struct world *w = worker->world;
    struct worker_call *call = calloc(1, sizeof *call);
    char client[WORKER_TEXT];
    ensure(call != NULL && worker->waiting == NULL);
    snprintf(client, sizeof client, "c%d", worker->number);
    arena_init(&call->arena, SIZE_MAX);
    call->worker = worker;
    call->call.arena = &call->arena;
    call->call.api_key = key;
    call->call.api_version = version;
    call->call.client_id = keep(call, client);
    call->call.client_host = SPAN_LITERAL("/127.0.0.1");
    w->next_entropy++;
    memcpy(call->call.entropy, &w->next_entropy, sizeof w->next_entropy);
    call->next = w->calls;
    w->calls = call;
    return call;
}

static void send(struct worker_call *call, const void *request)
{
    struct worker *worker = call->worker;
    worker->waiting = call;
    call->call.request = request;
    rig_request(&worker->world->rig, &call->call);
}

static void send_join(struct worker *worker)
{
    struct worker_call *call = new_call(worker, API_JoinGroup, worker->join_version);
    struct join_group_request *request = arena_alloc(&call->arena, sizeof *request);
    struct join_group_request_protocol *protocols =
        arena_alloc(&call->arena, 2 * sizeof *protocols);
    protocols[0].name = SPAN_LITERAL("range");
    protocols[1].name = SPAN_LITERAL("sticky");
    protocols[0].metadata = protocols[1].metadata = keep(call, worker->metadata);
    *request = (struct join_group_request){
        .group_id = group_name(call, worker),
        .session_timeout_ms = SESSION_MS,
        .rebalance_timeout_ms = REBALANCE_MS,
        .member_id = keep(call, worker->member_id),
        .group_instance_id = instance(call, worker),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = protocols,
        .protocols_count = 2,
    };
    worker->world->joins++;
    send(call, request);
}

static void send_sync(struct worker *worker)
{
    struct worker_call *call = new_call(worker, API_SyncGroup, 5);
    struct sync_group_request *request = arena_alloc(&call->arena, sizeof *request);
    struct sync_group_request_assignment *list =
        arena_alloc(&call->arena, (size_t)worker->others_count * sizeof *list);
    int32_t count = worker->must_assign ? worker->others_count : 0;
    for (int32_t i = 0; i < count; i++) {
        char text[2 * WORKER_TEXT];
        snprintf(text, sizeof text, "%d:%s:%llu", worker->generation, worker->others[i],
                 (unsigned long long)world_random(worker->world, 1000000));
        list[i].member_id = keep(call, worker->others[i]);
        list[i].assignment = keep(call, text);
    }
    *request = (struct sync_group_request){
        .group_id = group_name(call, worker),
        .generation_id = worker->generation,
        .member_id = keep(call, worker->member_id),
        .group_instance_id = instance(call, worker),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocol_name = SPAN_LITERAL("range"),
        .assignments = list,
        .assignments_count = count,
    };
    worker->world->syncs++;
    send(call, request);
}

static void send_beat(struct worker *worker)
{
    struct worker_call *call = new_call(worker, API_Heartbeat, 4);
    struct heartbeat_request *request = arena_alloc(&call->arena, sizeof *request);
    *request = (struct heartbeat_request){
        .group_id = group_name(call, worker),
        .generation_id = worker->generation,
        .member_id = keep(call, worker->member_id),
        .group_instance_id = instance(call, worker),
    };
    worker->world->beats++;
    send(call, request);
}

static void send_leave(struct worker *worker)
{
    struct worker_call *call = new_call(worker, API_LeaveGroup, 5);
    struct leave_group_request *request = arena_alloc(&call->arena, sizeof *request);
    struct leave_group_request_member *member = arena_alloc(&call->arena, sizeof *member);
    *member = (struct leave_group_request_member){
        .member_id = keep(call, worker->member_id),
        .group_instance_id = instance(call, worker),
        .reason = SPAN_NULL,
    };
    *request = (struct leave_group_request){
        .group_id = group_name(call, worker),
        .members = member,
        .members_count = 1,
    };
    send(call, request);
}

void worker_step(struct worker *worker)
{
    if (worker->waiting != NULL || worker->next_ms > worker->world->rig.now_ms) {
        return;
    }
    switch (worker->state) {
        case WORKER_OFF:
            break;
        case WORKER_JOINING:
            send_join(worker);
            break;
        case WORKER_SYNCING:
            send_sync(worker);
            break;
        case WORKER_BEATING:
            worker->next_ms = worker->world->rig.now_ms + BEAT_MS;
            send_beat(worker);
            break;
        case WORKER_LEAVING:
            send_leave(worker);
            break;
    }
}

/* ---- Receiving ---- */

static void keep_text(char text[WORKER_TEXT], struct span from)
{
    ensure(from.len < WORKER_TEXT);
    if (from.len > 0) {
        memcpy(text, from.data, from.len);
    }
    text[from.len] = '\0';
}

static void go(struct worker *worker, enum worker_state state, int64_t delay_ms)
{
    worker->state = state;
    worker->next_ms = worker->world->rig.now_ms + delay_ms;
}

/* An error means what it means to Java's client; a well-behaved one should not see some of them. */
static void fail(struct worker *worker, const char *api, int16_t error)
{
    struct world *w = worker->world;
    switch (error) {
        case KAFKA_REBALANCE_IN_PROGRESS:
            go(worker, WORKER_JOINING, 0);
            return;
        case KAFKA_COORDINATOR_NOT_AVAILABLE:
        case KAFKA_NOT_COORDINATOR:
            if (worker->state == WORKER_SYNCING) {
                worker->state = WORKER_JOINING;
            }
            go(worker, worker->state, RETRY_MS);
            return;
        case KAFKA_UNKNOWN_MEMBER_ID:
        case KAFKA_ILLEGAL_GENERATION:
        case KAFKA_FENCED_INSTANCE_ID:
            if (w->is_gentle) {
                printf("%lld worker %d (%s, generation %d, join v%d): %s error %d\n",
                       (long long)w->rig.now_ms, worker->number, worker->member_id,
                       worker->generation, worker->join_version, api, error);
                w->surprises++;
            }
            worker->member_id[0] = '\0';
            worker->generation = -1;
            go(worker, WORKER_JOINING, 0);
            return;
        default:
            printf("worker %d: %s error %d\n", worker->number, api, error);
            abort();
    }
}

static void say_generation(struct worker *worker, const struct join_group_response *response)
{
    char key[3 * WORKER_TEXT];
    if (response->members_count == 0 || response->skip_assignment) {
        return;
    }
    struct buf list = BUF_EMPTY;
    for (int32_t i = 0; i < response->members_count; i++) {
        buf_append(&list, response->members[i].member_id.data, response->members[i].member_id.len);
        buf_put_u8(&list, ' ');
    }
    buf_put_u8(&list, 0);
    snprintf(key, sizeof key, "members of g%d/%d", worker->group, response->generation_id);
    facts_say(worker->world->facts, key, (const char *)list.data);
    buf_close(&list);
}

static void joined(struct worker *worker, const struct join_group_response *response)
{
    if (response->error_code == KAFKA_MEMBER_ID_REQUIRED) {
        if (worker->member_id[0] != '\0') {
            fail(worker, "JoinGroup(79)", KAFKA_UNKNOWN_MEMBER_ID);
        }
        keep_text(worker->member_id, response->member_id);
        go(worker, WORKER_JOINING, 0);
        return;
    }
    if (response->error_code != KAFKA_NONE) {
        fail(worker, "JoinGroup", response->error_code);
        return;
    }
    say_generation(worker, response);
    ensure(response->generation_id >= worker->generation);
    keep_text(worker->member_id, response->member_id);
    worker->generation = response->generation_id;
    worker->must_assign = response->members_count > 0 && !response->skip_assignment;
    worker->others_count = response->members_count;
    worker->others =
        realloc(worker->others, sizeof *worker->others * (size_t)(response->members_count + 1));
    for (int32_t i = 0; i < response->members_count; i++) {
        keep_text(worker->others[i], response->members[i].member_id);
    }
    go(worker, WORKER_SYNCING, 0);
}

static void synced(struct worker *worker, const struct sync_group_response *response)
{
    if (response->error_code != KAFKA_NONE) {
        fail(worker, "SyncGroup", response->error_code);
        return;
    }
    char key[3 * WORKER_TEXT];
    char expected[2 * WORKER_TEXT];
    keep_text(worker->assignment, response->assignment);
    snprintf(key, sizeof key, "assignment of g%d/%d/%s", worker->group, worker->generation,
             worker->member_id);
    facts_say(worker->world->facts, key, worker->assignment);
    snprintf(expected, sizeof expected, "%d:%s:", worker->generation, worker->member_id);
    /* A new incarnation of a static member has its old self's. */
    bool is_own = strncmp(worker->assignment, expected, strlen(expected)) == 0;
    ensure(is_own || (worker->is_static && worker->assignment[0] != '\0'));
    go(worker, WORKER_BEATING, (int64_t)world_random(worker->world, BEAT_MS));
}

static void answered(struct worker *worker, struct call *call, const void *response)
{
    int16_t error;
    switch (call->api_key) {
        case API_JoinGroup:
            joined(worker, response);
            break;
        case API_SyncGroup:
            synced(worker, response);
            break;
        case API_Heartbeat:
            error = ((const struct heartbeat_response *)response)->error_code;
            if (error != KAFKA_NONE) {
                fail(worker, "Heartbeat", error);
            }
            break;
        case API_LeaveGroup:
            go(worker, WORKER_OFF, 0);
            worker->member_id[0] = '\0';
            worker->generation = -1;
            break;
        default:
            abort();
    }
}

void worker_reply(void *ctx, struct call *call, const void *response)
{
    struct world *w = ctx;
    struct worker_call **link = &w->calls;
    while (*link != NULL && &(*link)->call != call) {
        link = &(*link)->next;
    }
    struct worker_call *own = *link;
    ensure(own != NULL && own->answers == 0); /* answered once */
    own->answers++;
    *link = own->next;
    struct worker *worker = own->worker;
    if (worker != NULL) {
        worker->waiting = NULL;
        if (w->drops_replies) {
            go(worker, worker->state == WORKER_SYNCING ? WORKER_JOINING : worker->state, RETRY_MS);
        } else {
            answered(worker, call, response);
        }
    }
    arena_close(&own->arena);
    free(own);
}

/* ---- What happens to it ---- */

void worker_disconnect(struct worker *worker)
{
    struct worker_call *call = worker->waiting;
    if (call == NULL) {
        return;
    }
    worker->waiting = NULL;
    call->worker = NULL;
    go(worker, worker->state == WORKER_SYNCING ? WORKER_JOINING : worker->state, RETRY_MS);
    rig_gone(&worker->world->rig, worker->world->rig.leader, &call->call);
}

void worker_start(struct worker *worker)
{
    ensure(worker->state == WORKER_OFF);
    worker->member_id[0] = '\0';
    worker->generation = -1;
    snprintf(worker->metadata, sizeof worker->metadata, "m%d", worker->number);
    go(worker, WORKER_JOINING, 0);
}

void worker_crash(struct worker *worker)
{
    worker_disconnect(worker);
    worker->state = WORKER_OFF;
    worker->member_id[0] = '\0';
    worker->generation = -1;
}

void worker_leave(struct worker *worker)
{
    worker_disconnect(worker);
    if (worker->member_id[0] == '\0') {
        worker_crash(worker);
    } else {
        go(worker, WORKER_LEAVING, 0);
    }
}

void worker_change(struct worker *worker)
{
    if (worker->state == WORKER_BEATING && worker->waiting == NULL) {
        snprintf(worker->metadata, sizeof worker->metadata, "m%d-%d", worker->number,
                 (int)world_random(worker->world, 1000));
        go(worker, WORKER_JOINING, 0);
    }
}
