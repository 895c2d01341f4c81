#include "tests/sim/clients/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/oracle/oracle.h"

enum { BACKOFF_MS = 100, FLAVOURS = 4, METADATA_MAX = 120000 };

static void wake(struct life *life, void *who, uint64_t plan);

/* ---- Plans ---- */

static void plan(struct worker *worker, int64_t after_ms)
{
    struct life *life = worker->life;
    int64_t at_ms = life->now_ms + after_ms;
    at_ms = at_ms > worker->paused_ms ? at_ms : worker->paused_ms;
    events_add(life, at_ms, wake, worker, ++worker->plan);
}

static void go(struct worker *worker, enum worker_state state, int64_t after_ms)
{
    worker->state = state;
    plan(worker, after_ms);
}

static void forget(struct worker *worker)
{
    worker->member_id[0] = 0;
    worker->generation = -1;
    worker->leads = false;
}

static void look_for_leader(struct worker *worker)
{
    if (worker->lane.machine >= 0) {
        lane_break(worker->life, &worker->lane);
    }
    if (worker->data.machine >= 0) {
        lane_break(worker->life, &worker->data);
    }
    finder_forget(&worker->finder);
}

static bool is_connected(struct worker *worker, struct lane *lane)
{
    struct life *life = worker->life;
    if (lane->machine >= 0) {
        return true;
    }
    int machine = finder_leader(life, &worker->finder);
    if (machine < 0) {
        return false;
    }
    lane_open(life, lane, machine);
    return true;
}

/* ---- What it says ---- */

static void client_name(const struct worker *worker, char text[TEXT])
{
    snprintf(text, TEXT, "c%d", worker->number);
}

static void group_name(const struct worker *worker, char text[TEXT])
{
    snprintf(text, TEXT, "g%d", worker->group);
}

static struct span instance(const struct worker *worker, char text[TEXT])
{
    snprintf(text, TEXT, "i%d", worker->number % WORKERS_MAX);
    return worker->is_static ? span_from_cstr(text) : SPAN_NULL;
}

static struct message *new_message(struct worker *worker,
                                   struct lane *lane,
                                   int16_t key,
                                   int16_t version)
{
    char client[TEXT];
    client_name(worker, client);
    return message_new(worker->life, lane, key, version, client);
}

/* A subscription of the consumer protocol, v0 (protocol.md B.43), in the message's arena. */
static struct span subscription(struct worker *worker, struct message *message)
{
    struct life *life = worker->life;
    struct buf buf = BUF_EMPTY;
    char name[TEXT];
    int count = 1 + worker->change % TOPICS;
    buf_put_be16(&buf, 0);
    buf_put_be32(&buf, (uint32_t)count);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "t%d", (worker->change + i) % TOPICS);
        buf_put_be16(&buf, (uint16_t)strlen(name));
        buf_append(&buf, name, strlen(name));
    }
    size_t more = life->options.has_large_metadata
                      ? (size_t)(worker->change * 7919 + worker->number * 104729) % METADATA_MAX
                      : 4;
    buf_put_be32(&buf, (uint32_t)more);
    memset(buf_reserve(&buf, more), worker->change, more);
    buf.len += more;
    struct span copy = arena_copy(&message->arena, buf_span(&buf));
    buf_close(&buf);
    return copy;
}

static int fill_protocols(struct worker *worker,
                          struct message *message,
                          struct join_group_request_protocol protocols[2])
{
    static const char *const names[FLAVOURS][2] = {
        {"range", "sticky"}, {"sticky", "range"}, {"range", NULL}, {"odd", NULL}};
    const char *const *own = names[worker->flavour];
    int count = 0;
    for (; count < 2 && own[count] != NULL; count++) {
        protocols[count].name = span_from_cstr(own[count]);
        protocols[count].metadata = subscription(worker, message);
    }
    return count;
}

/* ---- What it does about errors ---- */

/* While nothing happens but takeovers, a client may not see what it did not cause. */
static void mind(struct worker *worker, const char *api, int16_t error)
{
    if (worker->life->stage == STAGE_QUIET && worker->state != WORKER_GHOST) {
        life_fail(worker->life, "%s of c%d (%s, generation %d) got %d out of the blue", api,
                  worker->number, worker->member_id, worker->generation, error);
    }
}

/* As the Java client does. True: dealt with. */
static bool deal(struct worker *worker, const char *api, int16_t error)
{
    switch (error) {
        case KAFKA_COORDINATOR_NOT_AVAILABLE:
        case KAFKA_NOT_COORDINATOR:
        case KAFKA_COORDINATOR_LOAD_IN_PROGRESS:
            look_for_leader(worker);
            if (worker->state == WORKER_SYNCING) {
                worker->state = WORKER_JOINING;
            }
            go(worker, worker->state, BACKOFF_MS);
            return true;
        case KAFKA_REBALANCE_IN_PROGRESS:
            mind(worker, api, error);
            go(worker, WORKER_JOINING, chance_below(&worker->life->chance, 50));
            return true;
        case KAFKA_UNKNOWN_MEMBER_ID:
        case KAFKA_ILLEGAL_GENERATION:
            mind(worker, api, error);
            if (error == KAFKA_UNKNOWN_MEMBER_ID) {
                forget(worker);
            }
            go(worker, WORKER_JOINING, 0);
            return true;
        case KAFKA_FENCED_INSTANCE_ID:
            mind(worker, api, error);
            worker_die(worker, false);
            return true;
        case KAFKA_GROUP_MAX_SIZE_REACHED:
        case KAFKA_INCONSISTENT_GROUP_PROTOCOL:
        case KAFKA_POLICY_VIOLATION:
            if (!worker->life->options.has_small_limits &&
                !worker->life->options.has_mixed_protocols) {
                return false;
            }
            mind(worker, api, error);
            worker_die(worker, false);
            return true;
        default:
            return false;
    }
}

static void lost(struct worker *worker)
{
    finder_forget(&worker->finder);
    if (worker->state == WORKER_SYNCING) {
        worker->state = WORKER_JOINING;
    }
    if (worker->state != WORKER_OFF) {
        go(worker, worker->state, BACKOFF_MS);
    }
}

static void refused(struct worker *worker, const char *api, int16_t error)
{
    if (!deal(worker, api, error)) {
        life_fail(worker->life, "%s of c%d got %d", api, worker->number, error);
    }
}

/* ---- Join, sync ---- */

static void joined(struct life *life, struct message *message, const void *answer)
{
    struct worker *worker = message->owner;
    const struct join_group_response *response = answer;
    (void)life;
    if (worker->state != WORKER_JOINING) {
        return;
    }
    if (response == NULL) {
        lost(worker);
        return;
    }
    if (response->error_code == KAFKA_MEMBER_ID_REQUIRED) {
        mind(worker, "JoinGroup", response->error_code);
        oracle_text(worker->member_id, response->member_id);
        go(worker, WORKER_JOINING, 0);
        return;
    }
    if (response->error_code != KAFKA_NONE) {
        refused(worker, "JoinGroup", response->error_code);
        return;
    }
    oracle_text(worker->member_id, response->member_id);
    oracle_text(worker->protocol, response->protocol_name);
    worker->generation = response->generation_id;
    worker->leads = response->members_count > 0 && !response->skip_assignment;
    worker->others_count = response->members_count;
    worker->others =
        realloc(worker->others, sizeof *worker->others * ((size_t)response->members_count + 1));
    ensure(worker->others != NULL);
    for (int32_t i = 0; i < response->members_count; i++) {
        oracle_text(worker->others[i], response->members[i].member_id);
    }
    go(worker, WORKER_SYNCING, chance_below(&life->chance, 20));
}

static void send_join(struct worker *worker)
{
    struct life *life = worker->life;
    char name[TEXT];
    char own[TEXT];
    struct join_group_request_protocol protocols[2];
    struct message *message =
        new_message(worker, &worker->lane, API_JoinGroup, worker->join_version);
    group_name(worker, name);
    struct join_group_request request = {
        .group_id = span_from_cstr(name),
        .session_timeout_ms = life->options.session_ms,
        .rebalance_timeout_ms = life->options.rebalance_ms,
        .member_id = span_from_cstr(worker->member_id),
        .group_instance_id = instance(worker, own),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = protocols,
        .protocols_count = fill_protocols(worker, message, protocols),
    };
    message_send(life, message, &request, joined, worker, 0);
}

static void synced(struct life *life, struct message *message, const void *answer)
{
    struct worker *worker = message->owner;
    const struct sync_group_response *response = answer;
    if (worker->state != WORKER_SYNCING) {
        return;
    }
    if (response == NULL) {
        lost(worker);
    } else if (response->error_code != KAFKA_NONE) {
        refused(worker, "SyncGroup", response->error_code);
    } else {
        go(worker, WORKER_STABLE, chance_below(&life->chance, worker->life->options.beat_ms));
    }
}

static void send_sync(struct worker *worker)
{
    struct life *life = worker->life;
    char name[TEXT];
    char own[TEXT];
    struct message *message =
        new_message(worker, &worker->lane, API_SyncGroup, worker->sync_version);
    int32_t count = worker->leads ? worker->others_count : 0;
    struct sync_group_request_assignment *list =
        arena_alloc(&message->arena, ((size_t)count + 1) * sizeof *list);
    for (int32_t i = 0; i < count; i++) {
        char identity[TEXT];
        char text[3 * TEXT];
        oracle_identity(life, worker->others[i], identity);
        snprintf(text, sizeof text, "A%d|%s|%llu", worker->generation, identity,
                 (unsigned long long)chance_next(&life->chance) % 100000);
        list[i].member_id = span_from_cstr(worker->others[i]);
        list[i].assignment = arena_copy(&message->arena, span_from_cstr(text));
        oracle_assigned(life, text);
    }
    group_name(worker, name);
    struct sync_group_request request = {
        .group_id = span_from_cstr(name),
        .generation_id = worker->generation,
        .member_id = span_from_cstr(worker->member_id),
        .group_instance_id = instance(worker, own),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocol_name = span_from_cstr(worker->protocol),
        .assignments = list,
        .assignments_count = count,
    };
    message_send(life, message, &request, synced, worker, 0);
}

/* ---- Beat, leave ---- */

static void beaten(struct life *life, struct message *message, const void *answer)
{
    struct worker *worker = message->owner;
    const struct heartbeat_response *response = answer;
    (void)life;
    if (worker->state != WORKER_STABLE) {
        return;
    }
    if (response == NULL) {
        lost(worker);
    } else if (response->error_code != KAFKA_NONE) {
        refused(worker, "Heartbeat", response->error_code);
    }
}

static void send_beat(struct worker *worker, message_fn *done)
{
    char name[TEXT];
    char own[TEXT];
    struct message *message =
        new_message(worker, &worker->lane, API_Heartbeat, worker->beat_version);
    group_name(worker, name);
    struct heartbeat_request request = {
        .group_id = span_from_cstr(name),
        .generation_id = worker->generation,
        .member_id = span_from_cstr(worker->member_id),
        .group_instance_id = instance(worker, own),
    };
    message->timeout_ms = worker->life->options.session_ms; /* as the Java client's */
    message_send(worker->life, message, &request, done, worker, 0);
}

static void left(struct life *life, struct message *message, const void *answer)
{
    struct worker *worker = message->owner;
    (void)life;
    (void)answer;
    if (worker->state == WORKER_LEAVING) {
        worker_die(worker, false);
    }
}

static void send_leave(struct worker *worker)
{
    char name[TEXT];
    char own[TEXT];
    struct message *message =
        new_message(worker, &worker->lane, API_LeaveGroup, worker->leave_version);
    struct leave_group_request_member members[3] = {0};
    group_name(worker, name);
    members[0].member_id = span_from_cstr(worker->member_id);
    members[0].group_instance_id = instance(worker, own);
    members[0].reason = SPAN_LITERAL("test");
    members[1] = members[0]; /* twice in one batch */
    members[2].member_id = SPAN_LITERAL("nobody");
    struct leave_group_request request = {
        .group_id = span_from_cstr(name),
        .member_id = members[0].member_id,
        .members = members,
        .members_count = (int32_t)chance_between(&worker->life->chance, 1, 3),
    };
    message_send(worker->life, message, &request, left, worker, 0);
}

/* ---- Offsets ---- */

void worker_commit(struct life *life,
                   struct lane *lane,
                   int16_t version,
                   const char *client,
                   const char *group,
                   int32_t generation,
                   const char *member_id,
                   const char *instance_id,
                   message_fn *done,
                   void *owner)
{
    struct message *message = message_new(life, lane, API_OffsetCommit, version, client);
    struct offset_commit_request_partition partitions[3];
    int count = (int)chance_between(&life->chance, 1, 3);
    struct offset_commit_request_topic topic;
    codec_set_defaults(offset_commit_request_topic_schema(), &topic);
    char name[TEXT];
    snprintf(name, sizeof name, "t%d", (int)chance_below(&life->chance, TOPICS));
    const struct topic *known =
        state_topic(coordinator_state(life->reference), span_from_cstr(name));
    topic.name = span_from_cstr(name);
    if (known != NULL) {
        topic.topic_id = known->uuid;
    }
    topic.partitions = partitions;
    topic.partitions_count = count;
    int first = (int)chance_below(&life->chance, 4);
    for (int i = 0; i < count; i++) {
        struct op *op = oracle_new_op(life);
        char text[TEXT];
        op->generation = generation;
        snprintf(op->member_id, TEXT, "%s", member_id);
        snprintf(op->instance_id, TEXT, "%s",
                 version >= 7 && instance_id != NULL ? instance_id : "");
        snprintf(text, sizeof text, "op%llu", (unsigned long long)op->id);
        codec_set_defaults(offset_commit_request_partition_schema(), &partitions[i]);
        partitions[i].partition_index = first + i;
        partitions[i].committed_offset = (int64_t)op->id;
        partitions[i].committed_metadata = arena_copy(&message->arena, span_from_cstr(text));
        message->first_op = i == 0 ? op->id : message->first_op;
    }
    message->ops = count;
    struct offset_commit_request request;
    codec_set_defaults(offset_commit_request_schema(), &request);
    request.group_id = span_from_cstr(group);
    request.generation_id_or_member_epoch = generation;
    request.member_id = span_from_cstr(member_id);
    request.group_instance_id = span_from_cstr(instance_id);
    if (chance_in(&life->chance, 100)) {
        request.retention_time_ms = chance_between(&life->chance, 1, 100) * 1000;
    }
    request.topics = &topic;
    request.topics_count = 1;
    message_send(life, message, &request, done, owner, 0);
}

static void committed(struct life *life, struct message *message, const void *answer)
{
    struct worker *worker = message->owner;
    const struct offset_commit_response *response = answer;
    (void)life;
    if (response == NULL || worker->state != WORKER_STABLE) {
        return;
    }
    int16_t error = response->topics[0].partitions[0].error_code;
    switch (error) {
        case KAFKA_NONE:
        case KAFKA_UNKNOWN_TOPIC_OR_PARTITION:
        case KAFKA_UNKNOWN_TOPIC_ID:
        case KAFKA_OFFSET_METADATA_TOO_LARGE:
        case KAFKA_POLICY_VIOLATION:
        case KAFKA_REQUEST_TIMED_OUT:
            return;
        case KAFKA_GROUP_ID_NOT_FOUND:
            mind(worker, "OffsetCommit", error);
            return;
        default:
            refused(worker, "OffsetCommit", error);
    }
}

static void commit(struct worker *worker)
{
    char name[TEXT];
    char client[TEXT];
    char own[TEXT];
    group_name(worker, name);
    client_name(worker, client);
    instance(worker, own);
    for (int64_t n = chance_between(&worker->life->chance, 1, 3); n > 0; n--) {
        worker_commit(worker->life, &worker->data, worker->commit_version, client, name,
                      worker->generation, worker->member_id, worker->is_static ? own : NULL,
                      committed, worker);
    }
}

void worker_fetch(struct life *life,
                  struct lane *lane,
                  int16_t version,
                  const char *client,
                  const char *group,
                  message_fn *done,
                  void *owner)
{
    struct message *message = message_new(life, lane, API_OffsetFetch, version, client);
    struct offset_fetch_request_topic topics[TOPICS];
    char names[TOPICS][TEXT];
    int32_t partitions[] = {0, 1, 2, 3, 4, 5, 6};
    bool is_all = version >= 2 && chance_in(&life->chance, 400);
    const struct state *state = coordinator_state(life->reference);
    for (int i = 0; i < TOPICS; i++) {
        snprintf(names[i], TEXT, "t%d", i);
        const struct topic *known = state_topic(state, span_from_cstr(names[i]));
        codec_set_defaults(offset_fetch_request_topic_schema(), &topics[i]);
        topics[i].name = span_from_cstr(names[i]);
        if (known != NULL) {
            topics[i].topic_id = known->uuid;
        }
        topics[i].partition_indexes = partitions;
        topics[i].partition_indexes_count = 7;
    }
    struct offset_fetch_request_group asked;
    struct offset_fetch_request request;
    codec_set_defaults(offset_fetch_request_group_schema(), &asked);
    codec_set_defaults(offset_fetch_request_schema(), &request);
    asked.group_id = span_from_cstr(group);
    asked.topics = is_all ? NULL : topics;
    asked.topics_count = is_all ? -1 : TOPICS;
    request.group_id = asked.group_id;
    request.topics = version < 8 ? asked.topics : NULL;
    request.topics_count = version < 8 ? asked.topics_count : 0;
    request.groups = version < 8 ? NULL : &asked;
    request.groups_count = version < 8 ? 0 : 1;
    message_send(life, message, &request, done, owner, 0);
}

static void fetched(struct life *life, struct message *message, const void *answer)
{
    (void)life;
    (void)message;
    (void)answer; /* the oracle has looked at it */
}

static void use_offsets(struct worker *worker)
{
    struct life *life = worker->life;
    char name[TEXT];
    char client[TEXT];
    if (lane_is_busy(&worker->data) || !is_connected(worker, &worker->data)) {
        return;
    }
    if (chance_in(&life->chance, 600)) {
        commit(worker);
    }
    if (chance_in(&life->chance, 400)) {
        group_name(worker, name);
        client_name(worker, client);
        worker_fetch(life, &worker->data, worker->fetch_version, client, name, fetched, worker);
    }
}

/* ---- Its life ---- */

static bool churn(struct worker *worker)
{
    struct life *life = worker->life;
    if (!life->options.churns || life->stage != STAGE_CHAOS || !chance_in(&life->chance, 25)) {
        return false;
    }
    switch (chance_below(&life->chance, 6)) {
        case 0:
            worker_leave(worker);
            return true;
        case 1:
            worker_die(worker, chance_in(&life->chance, 500));
            worker_start(worker); /* at once: a static member is replaced */
            return true;
        case 2:
            worker_die(worker, chance_in(&life->chance, 500));
            return true;
        case 3:
            worker->change++;
            go(worker, WORKER_JOINING, 0);
            return true;
        case 4:
            worker_pause(worker, chance_below(&life->chance, 3 * life->options.session_ms));
            return true;
        default:
            go(worker, WORKER_JOINING, 0); /* again, with nothing new */
            return true;
    }
}

static void haunt(struct worker *worker)
{
    struct life *life = worker->life;
    if (life->now_ms >= worker->until_ms || life->stage != STAGE_CHAOS) {
        worker_die(worker, false);
        return;
    }
    if (is_connected(worker, &worker->data) && !lane_is_busy(&worker->data)) {
        commit(worker);
    }
    if (is_connected(worker, &worker->lane) && !lane_is_busy(&worker->lane) &&
        chance_in(&life->chance, 300)) {
        send_beat(worker, beaten);
    }
    plan(worker, chance_between(&life->chance, 200, 3000));
}

static void stable(struct worker *worker)
{
    struct life *life = worker->life;
    if (churn(worker)) {
        return;
    }
    plan(worker,
         life->options.beat_ms / 2 + chance_below(&life->chance, life->options.beat_ms / 2 + 1));
    if (!lane_is_busy(&worker->lane) && is_connected(worker, &worker->lane)) {
        send_beat(worker, beaten);
    }
    use_offsets(worker);
}

/* Ghosts stay dead. */
static void revive(struct worker *worker)
{
    struct life *life = worker->life;
    if (life->stage == STAGE_CHAOS && worker->number < WORKERS_MAX) {
        worker_start(worker);
    }
}

static void wake(struct life *life, void *who, uint64_t what)
{
    struct worker *worker = who;
    if (worker->plan != what || life->is_over) {
        return;
    }
    if (worker->paused_ms > life->now_ms) {
        plan(worker, 0);
        return;
    }
    if (worker->state == WORKER_OFF) {
        revive(worker);
        return;
    }
    if (worker->state == WORKER_GHOST) {
        haunt(worker);
        return;
    }
    if (worker->state == WORKER_STABLE) {
        stable(worker);
        return;
    }
    if (lane_is_busy(&worker->lane) || !is_connected(worker, &worker->lane)) {
        plan(worker, BACKOFF_MS);
        return;
    }
    if (worker->state == WORKER_JOINING) {
        send_join(worker);
    } else if (worker->state == WORKER_SYNCING) {
        send_sync(worker);
    } else {
        send_leave(worker);
    }
}

void worker_start(struct worker *worker)
{
    forget(worker);
    worker->paused_ms = 0;
    go(worker, WORKER_JOINING, chance_below(&worker->life->chance, 100));
}

static void haunts(struct worker *worker)
{
    struct life *life = worker->life;
    for (int i = 0; i < GHOSTS_MAX; i++) {
        struct worker *ghost = &life->workers[WORKERS_MAX + i];
        if (ghost->state == WORKER_OFF && worker->generation >= 0) {
            ghost->group = worker->group;
            ghost->is_static = worker->is_static;
            ghost->number = worker->number + WORKERS_MAX;
            ghost->commit_version = worker->commit_version;
            ghost->beat_version = worker->beat_version;
            ghost->generation = worker->generation;
            memcpy(ghost->member_id, worker->member_id, TEXT);
            ghost->until_ms = life->now_ms + chance_between(&life->chance, 1000, 60000);
            go(ghost, WORKER_GHOST, chance_below(&life->chance, 1000));
            return;
        }
    }
}

void worker_die(struct worker *worker, bool leaves_ghost)
{
    struct life *life = worker->life;
    if (leaves_ghost) {
        haunts(worker);
    }
    worker->state = WORKER_OFF;
    look_for_leader(worker); /* its connections close */
    forget(worker);
    go(worker, WORKER_OFF, chance_between(&life->chance, 100, 3 * life->options.session_ms));
}

void worker_leave(struct worker *worker)
{
    if (worker->member_id[0] == 0 || lane_is_busy(&worker->lane)) {
        worker_die(worker, false);
    } else {
        go(worker, WORKER_LEAVING, 0);
    }
}

void worker_pause(struct worker *worker, int64_t ms)
{
    worker->paused_ms = worker->life->now_ms + ms;
    worker->lane.deaf_until_ms = worker->paused_ms;
    worker->data.deaf_until_ms = worker->paused_ms;
    plan(worker, 0);
}

static void init(struct life *life, struct worker *worker, int number)
{
    struct chance *chance = &life->chance;
    *worker = (struct worker){.life = life, .number = number, .generation = -1};
    worker->group = (int)chance_below(chance, life->options.groups);
    worker->join_version = (int16_t)chance_below(chance, 10);
    worker->sync_version = (int16_t)chance_below(chance, 6);
    worker->beat_version = (int16_t)chance_below(chance, 5);
    worker->leave_version = (int16_t)chance_below(chance, 6);
    worker->commit_version = (int16_t)chance_between(chance, 1, 10);
    worker->fetch_version = (int16_t)chance_between(chance, 1, 10);
    worker->is_static = worker->join_version >= 5 && chance_in(chance, 400);
    worker->flavour = (int)chance_below(chance, 3);
    if (life->options.has_mixed_protocols && chance_in(chance, 200)) {
        worker->flavour = 3;
    }
    worker->change = (int)chance_below(chance, 100);
    int host = number % WORKERS_MAX; /* a ghost has no host of its own */
    finder_init(life, &worker->finder, host);
    lane_init(life, &worker->lane, host,
              life->options.rebalance_ms + life->options.session_ms + 10000);
    lane_init(life, &worker->data, host, chance_between(chance, 3000, 30000));
}

void workers_init(struct life *life)
{
    life->workers = calloc(WORKERS_MAX + GHOSTS_MAX, sizeof *life->workers);
    ensure(life->workers != NULL);
    for (int i = 0; i < WORKERS_MAX + GHOSTS_MAX; i++) {
        init(life, &life->workers[i], i);
    }
    for (int i = 0; i < life->options.workers; i++) {
        struct worker *worker = &life->workers[i];
        worker->state = WORKER_JOINING;
        plan(worker, chance_below(&life->chance, 5000));
    }
}

void workers_close(struct life *life)
{
    for (int i = 0; i < WORKERS_MAX + GHOSTS_MAX; i++) {
        free(life->workers[i].others);
        finder_close(&life->workers[i].finder);
        lane_close(&life->workers[i].lane);
        lane_close(&life->workers[i].data);
    }
    free(life->workers);
    life->workers = NULL;
}
