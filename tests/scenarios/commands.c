#include "tests/scenarios/commands.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "server/core/record.h"
#include "server/core/state.h"
#include "tests/scenarios/parse.h"
#include "tests/scenarios/print.h"

/* A command's own view of the line. */
struct command {
    struct world *w;
    struct parser p;
    int node; /* that it is for */
};

typedef void command_fn(struct command *cmd);

static const char *cstr(struct command *cmd, struct span word)
{
    char *text = arena_alloc(cmd->p.arena, word.len + 1);
    memcpy(text, word.data == NULL ? (const void *)"" : word.data, word.len);
    return text;
}

static int64_t number(struct command *cmd)
{
    int64_t value = 0;
    struct span word = parse_word(&cmd->p);
    if (!parse_is_number(word, &value)) {
        parse_fail(&cmd->p, "a number is missing");
    }
    return value;
}

static int node_of(struct command *cmd, struct span word)
{
    for (int i = 0; i < WORLD_NODES; i++) {
        if (span_equal(word, span_from_cstr(cmd->w->nodes[i].name))) {
            return i;
        }
    }
    parse_fail(&cmd->p, "a node is missing");
    return 0;
}

static struct coordinator *coordinator_of(const struct command *cmd)
{
    return cmd->w->nodes[cmd->node].coordinator;
}

/* ---- Requests ---- */

static const struct {
    const char *name;
    int16_t key;
} requests[] = {
    {"join", API_JoinGroup},
    {"sync", API_SyncGroup},
    {"heartbeat", API_Heartbeat},
    {"leave", API_LeaveGroup},
    {"commit", API_OffsetCommit},
    {"fetch", API_OffsetFetch},
    {"offset_delete", API_OffsetDelete},
    {"describe", API_DescribeGroups},
    {"list", API_ListGroups},
    {"delete_groups", API_DeleteGroups},
    {"create_topics", API_CreateTopics},
    {"delete_topics", API_DeleteTopics},
    {"create_partitions", API_CreatePartitions},
};

static int16_t request_key(struct span word)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (span_equal(word, span_from_cstr(requests[i].name))) {
            return requests[i].key;
        }
    }
    return -1;
}

static void set_defaults(int16_t key, const struct kafka_schema *schema, void *request)
{
    codec_set_defaults(schema, request);
    if (key == API_JoinGroup) {
        struct join_group_request *join = request;
        join->session_timeout_ms = 10000;
        join->rebalance_timeout_ms = 60000;
        join->protocol_type = SPAN_LITERAL("consumer");
    }
}

static int version_of(struct command *cmd, const struct api *api)
{
    struct span word = parse_peek(&cmd->p);
    int64_t version = api->max_version;
    if (word.len > 1 && word.data[0] == 'v' &&
        parse_is_number(span_of(word.data + 1, word.len - 1), &version)) {
        parse_word(&cmd->p);
    }
    if (!api_has_version(api, (int)version)) {
        parse_fail(&cmd->p, "%s has no version %d", api->name, (int)version);
    }
    return (int)version;
}

static void run_request(struct command *cmd, int16_t key)
{
    const struct api *api = api_find(key);
    struct span label = parse_word(&cmd->p);
    struct world_call *call = world_new_call(cmd->w, cstr(cmd, label), cmd->node);
    void *request = arena_alloc(&call->arena, api->request()->size);
    cmd->p.version = version_of(cmd, api);
    for (bool any = true; any;) {
        any = parse_prefix(&cmd->p, "client=");
        if (any) {
            call->call.client_id = arena_copy(&call->arena, parse_text(&cmd->p));
        } else if (parse_prefix(&cmd->p, "host=")) {
            call->call.client_host = arena_copy(&call->arena, parse_text(&cmd->p));
            any = true;
        }
    }
    set_defaults(key, api->request(), request);
    parse_struct(&cmd->p, api->request(), request);
    call->call.api_key = key;
    call->call.api_version = (int16_t)cmd->p.version;
    call->call.request = request;
    if (cmd->p.error[0] == 0) {
        world_request(cmd->w, cmd->node, call);
    }
}

/* ---- Commands ---- */

static void run_at(struct command *cmd)
{
    int64_t at_ms = number(cmd);
    if (at_ms < cmd->w->now_ms) {
        parse_fail(&cmd->p, "time does not go back");
        return;
    }
    world_advance(cmd->w, at_ms);
}

static void run_topic(struct command *cmd)
{
    struct buf records = BUF_EMPTY;
    struct record_topic_created record = {.name = parse_word(&cmd->p)};
    struct world_call *call = world_new_call(cmd->w, "", cmd->node); /* for its entropy */
    record.partitions = (int32_t)number(cmd);
    memcpy(record.uuid.bytes, call->call.entropy, sizeof record.uuid.bytes);
    call->is_answered = true;
    record_append(&records, RECORD_TOPIC_CREATED, &record);
    world_append(cmd->w, buf_span(&records));
    buf_close(&records);
}

static void run_untopic(struct command *cmd)
{
    struct buf records = BUF_EMPTY;
    const struct state *state = coordinator_state(cmd->w->nodes[0].coordinator);
    const struct topic *topic = state_topic(state, parse_word(&cmd->p));
    if (topic == NULL) {
        parse_fail(&cmd->p, "there is no such topic");
        return;
    }
    struct record_topic_deleted record = {.topic = topic->id};
    record_append(&records, RECORD_TOPIC_DELETED, &record);
    world_append(cmd->w, buf_span(&records));
    buf_close(&records);
}

static void run_hold(struct command *cmd)
{
    cmd->w->is_holding = true;
}

static void run_commit(struct command *cmd)
{
    int64_t count = INT64_MAX;
    if (!span_is_null(parse_peek(&cmd->p))) {
        count = number(cmd);
    }
    size_t held = cmd->w->held_count; /* what is proposed meanwhile stays held */
    world_commit(cmd->w, (size_t)count < held ? (size_t)count : held);
}

static void run_lose(struct command *cmd)
{
    world_lose(cmd->w);
}

static void run_flow(struct command *cmd)
{
    cmd->w->is_holding = false;
}

static void run_refuse(struct command *cmd)
{
    struct span why = parse_word(&cmd->p);
    cmd->w->refuse = span_equal(why, SPAN_LITERAL("full")) ? 1 : 2;
}

static void run_depose(struct command *cmd)
{
    world_depose(cmd->w);
}

static void run_win(struct command *cmd)
{
    world_win(cmd->w, node_of(cmd, parse_word(&cmd->p)));
}

static void run_elected(struct command *cmd)
{
    world_elected(cmd->w);
}

static void run_takeover(struct command *cmd)
{
    int node = node_of(cmd, parse_word(&cmd->p));
    world_depose(cmd->w);
    world_win(cmd->w, node);
    world_elected(cmd->w);
}

static void run_leader(struct command *cmd)
{
    struct span word = parse_word(&cmd->p);
    bool is_none = span_equal(word, SPAN_LITERAL("none"));
    coordinator_leader(coordinator_of(cmd), is_none ? 0 : cmd->w->nodes[node_of(cmd, word)].id);
}

static void run_suspend(struct command *cmd)
{
    if (!span_is_null(parse_peek(&cmd->p))) {
        cmd->w->now_ms += number(cmd); /* no deadline fires on the way: nothing ran */
    }
    coordinator_suspended(coordinator_of(cmd), cmd->w->now_ms);
}

static void run_stop(struct command *cmd)
{
    coordinator_stopping(coordinator_of(cmd), cmd->w->now_ms);
}

static void run_gone(struct command *cmd)
{
    struct world_call *call = world_find_call(cmd->w, parse_word(&cmd->p));
    if (call == NULL || call->is_answered) {
        parse_fail(&cmd->p, "no call of this label waits");
        return;
    }
    coordinator_gone(cmd->w->nodes[call->node].coordinator, &call->call, cmd->w->now_ms);
}

/* A card with one listener of that host. */
static void run_card(struct command *cmd)
{
    int node = node_of(cmd, parse_word(&cmd->p));
    struct buf card = BUF_EMPTY;
    struct node_listener listener = {
        .name = SPAN_LITERAL("PLAINTEXT"), .host = parse_text(&cmd->p), .port = 9092};
    struct node description = {.rack = SPAN_NULL, .listeners = &listener, .listeners_count = 1};
    node_encode_card(&description, &card);
    coordinator_node(coordinator_of(cmd), cmd->w->nodes[node].id, buf_span(&card), cmd->w->now_ms);
    buf_close(&card);
}

static void run_nodes(struct command *cmd)
{
    const struct node *node;
    uint64_t at = 0;
    while ((node = state_next_node(coordinator_state(coordinator_of(cmd)), &at)) != NULL) {
        for (int32_t i = 0; i < node->listeners_count; i++) {
            print_format(&cmd->w->out, "%" PRId64 " node %" PRIu64 " %.*s:%" PRId32 "\n",
                         cmd->w->now_ms, node->id, (int)node->listeners[i].host.len,
                         (const char *)node->listeners[i].host.data, node->listeners[i].port);
        }
    }
}

static void run_wall(struct command *cmd)
{
    cmd->w->is_wall_off = span_equal(parse_peek(&cmd->p), SPAN_LITERAL("off"));
    if (cmd->w->is_wall_off) {
        parse_word(&cmd->p);
    } else {
        cmd->w->wall_ahead_ms = number(cmd);
    }
}

static void run_freeze(struct command *cmd)
{
    world_freeze(cmd->w, cmd->node);
}

static void run_thaw(struct command *cmd)
{
    world_thaw(cmd->w);
}

static void run_restart(struct command *cmd)
{
    world_restart(cmd->w, node_of(cmd, parse_word(&cmd->p)));
}

static void run_records(struct command *cmd)
{
    cmd->w->shows_records = span_equal(parse_word(&cmd->p), SPAN_LITERAL("on"));
}

static void run_logs(struct command *cmd)
{
    size_t len = strlen(cmd->p.at);
    cmd->w->log_events[0] = 0;
    if (len + 2 > sizeof cmd->w->log_events) {
        parse_fail(&cmd->p, "too many events");
    } else if (!span_equal(parse_peek(&cmd->p), SPAN_LITERAL("all"))) {
        snprintf(cmd->w->log_events, sizeof cmd->w->log_events, "%s ", cmd->p.at - 1);
    }
}

static void run_counters(struct command *cmd)
{
    static const struct {
        const char *name;
        size_t offset;
    } counters[] = {
#define X(name_, help_) {#name_, offsetof(struct coordinator_counters, name_)},
        COORDINATOR_COUNTERS(X)
#undef X
    };
    const uint8_t *values = (const void *)coordinator_counters(coordinator_of(cmd));
    print_format(&cmd->w->out, "%" PRId64 " counters", cmd->w->now_ms);
    for (struct span word; !span_is_null(word = parse_word(&cmd->p));) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
            if (span_equal(word, span_from_cstr(counters[i].name))) {
                uint64_t value;
                memcpy(&value, values + counters[i].offset, sizeof value);
                print_format(&cmd->w->out, " %s=%" PRIu64, counters[i].name, value);
                is_known = true;
            }
        }
        if (!is_known) {
            parse_fail(&cmd->p, "no counter is called %s", cstr(cmd, word));
        }
    }
    print_format(&cmd->w->out, "\n");
}

static void run_parked(struct command *cmd)
{
    print_format(&cmd->w->out, "%" PRId64 " parked %zu\n", cmd->w->now_ms,
                 coordinator_parked_calls(coordinator_of(cmd)));
}

static void run_config(struct command *cmd)
{
    static const struct {
        const char *key;
        size_t offset;
        bool is_wide;
    } keys[] = {
#define KEY(key_, member_)                               \
    {key_, offsetof(struct coordinator_limits, member_), \
     sizeof(((struct coordinator_limits *)0)->member_) == 8}
        KEY("group.initial.rebalance.delay.ms", initial_rebalance_delay_ms),
        KEY("group.min.session.timeout.ms", session_timeout_min_ms),
        KEY("group.max.session.timeout.ms", session_timeout_max_ms),
        KEY("group.max.size", group_size_max),
        KEY("offset.metadata.max.bytes", offset_metadata_bytes_max),
        KEY("offsets.retention.ms", offsets_retention_ms),
        KEY("offsets.retention.check.interval.ms", offsets_check_interval_ms),
        KEY("coordinator.max.groups", groups_max),
        KEY("coordinator.max.topics", topics_max),
        KEY("coordinator.max.partitions", partitions_max),
        KEY("coordinator.max.offsets", offsets_max),
        KEY("group.max.member.metadata.bytes", member_metadata_bytes_max),
        KEY("group.max.metadata.bytes", group_metadata_bytes_max),
        KEY("election.timeout.ms", election_timeout_ms),
#undef KEY
    };
    for (struct span word; !span_is_null(word = parse_word(&cmd->p));) {
        bool is_known = false;
        int64_t value = parse_prefix(&cmd->p, "=") ? number(cmd) : 0;
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            if (span_equal(word, span_from_cstr(keys[i].key))) {
                uint8_t *at = (uint8_t *)&cmd->w->limits + keys[i].offset;
                int32_t narrow = (int32_t)value;
                is_known = true;
                memcpy(at, keys[i].is_wide ? (const void *)&value : (const void *)&narrow,
                       keys[i].is_wide ? sizeof value : sizeof narrow);
            }
        }
        if (!is_known || cmd->w->is_started) {
            parse_fail(&cmd->p, "no limit is called %s, or it is too late", cstr(cmd, word));
        }
    }
}

static void dispatch(struct command *cmd);

/* The rest of the line, again and again: % is 0, 1, … Nothing is printed. */
static void run_repeat(struct command *cmd)
{
    int64_t times = number(cmd);
    const char *pattern = cmd->p.at;
    cmd->w->is_quiet = true;
    for (int64_t i = 0; i < times && cmd->p.error[0] == 0 && cmd->w->error[0] == 0; i++) {
        char line[1024];
        size_t len = 0;
        for (const char *at = pattern; *at != 0 && len + 24 < sizeof line; at++) {
            if (*at == '%') {
                len += (size_t)snprintf(line + len, sizeof line - len, "%" PRId64, i);
            } else {
                line[len++] = *at;
            }
        }
        line[len] = 0;
        cmd->p.at = line;
        dispatch(cmd);
        world_settle(cmd->w);
    }
    cmd->p.at = "";
    cmd->w->is_quiet = false;
}

static void run_quiet(struct command *cmd)
{
    cmd->w->is_quiet = true;
    dispatch(cmd);
    world_settle(cmd->w);
    cmd->w->is_quiet = false;
}

static const struct {
    const char *name;
    command_fn *run;
} commands[] = {
    /* clang-format off */
    {"at", run_at},
    {"topic", run_topic},
    {"untopic", run_untopic},
    {"hold", run_hold},
    {"commit", run_commit},
    {"lose", run_lose},
    {"flow", run_flow},
    {"refuse", run_refuse},
    {"depose", run_depose},
    {"win", run_win},
    {"elected", run_elected},
    {"takeover", run_takeover},
    {"leader", run_leader},
    {"suspend", run_suspend},
    {"stop", run_stop},
    {"gone", run_gone},
    {"card", run_card},
    {"nodes", run_nodes},
    {"wall", run_wall},
    {"freeze", run_freeze},
    {"thaw", run_thaw},
    {"restart", run_restart},
    {"records", run_records},
    {"counters", run_counters},
    {"parked", run_parked},
    {"repeat", run_repeat},
    {"quiet", run_quiet},
    {"logs", run_logs},
    /* clang-format on */
};

/* "commit" and "commit 3" are commands, "commit c1 …" is a request. */
static bool is_request(struct command *cmd, struct span word)
{
    int64_t count;
    struct span next = parse_peek(&cmd->p);
    if (!span_equal(word, SPAN_LITERAL("commit"))) {
        return request_key(word) >= 0;
    }
    return !span_is_null(next) && !parse_is_number(next, &count);
}

static void dispatch(struct command *cmd)
{
    struct span word = parse_word(&cmd->p);
    if (span_equal(word, SPAN_LITERAL("config"))) {
        run_config(cmd);
        return;
    }
    if (!cmd->w->is_started) {
        world_start(cmd->w);
    }
    cmd->node = cmd->w->leader < 0 ? 0 : cmd->w->leader;
    if (word.len > 1 && word.data[word.len - 1] == ':') {
        cmd->node = node_of(cmd, span_of(word.data, word.len - 1));
        word = parse_word(&cmd->p);
    }
    if (is_request(cmd, word)) {
        run_request(cmd, request_key(word));
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (span_equal(word, span_from_cstr(commands[i].name))) {
            commands[i].run(cmd);
            return;
        }
    }
    parse_fail(&cmd->p, "no such command");
}

void commands_run(struct world *w, const char *line)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct command cmd = {.w = w, .p = {.at = line, .names = w->names, .arena = &arena}};
    dispatch(&cmd);
    if (cmd.p.error[0] != 0) {
        world_fail(w, "%s", cmd.p.error);
    }
    if (w->error[0] == 0 && w->is_started) {
        world_settle(w);
    }
    arena_close(&arena);
}
