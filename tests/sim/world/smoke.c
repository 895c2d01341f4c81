/* The least that a life can be: a leader, a topic and a group over one connection each, the leader
 * is killed, another one leads and knows both. */
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/frame.h"
#include "server/core/coordinator.h"
#include "server/server.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/node.h"
#include "tests/sim/world/play.h"

enum { CREATE_TOPICS = 19, JOIN_GROUP = 11, REPLY_BYTES_MAX = 1 << 20 };

/* One question, one answer. */
struct question {
    struct network_conn *conn;
    struct buf frame, reply;
    bool is_answered, is_closed;
};

static void on_opened(void *ctx, struct network_conn *conn)
{
    struct question *question = ctx;
    network_write(conn, question->frame.data, question->frame.len);
}

static void on_bytes(void *ctx, struct network_conn *conn, const uint8_t *bytes, size_t len)
{
    struct question *question = ctx;
    struct frame frame;
    (void)conn;
    buf_append(&question->reply, bytes, len);
    question->is_answered =
        frame_parse(buf_span(&question->reply), REPLY_BYTES_MAX, &frame) == FRAME_COMPLETE;
}

static void on_closed(void *ctx, struct network_conn *conn, enum network_closing closing)
{
    struct question *question = ctx;
    (void)conn;
    (void)closing;
    question->is_closed = true;
}

static const struct network_events events = {on_opened, on_bytes, on_closed};

static void frame_request(int16_t key, int16_t version, const void *request, struct buf *out)
{
    buf_put_be32(out, 0);
    buf_put_be16(out, (uint16_t)key);
    buf_put_be16(out, (uint16_t)version);
    buf_put_be32(out, 1);
    buf_put_be16(out, 5);
    buf_append(out, "smoke", 5);
    codec_encode(api_find(key)->request(), version, request, out);
    buf_set_be32(out, 0, (uint32_t)(out->len - FRAME_PREFIX_BYTES));
}

static int find_leader(void)
{
    for (int node = 1; node <= world_nodes(); node++) {
        const struct server *server = node_server(node);
        if (server != NULL && server->driver.coordinator != NULL &&
            driver_is_leading(&server->driver)) {
            return node;
        }
    }
    return 0;
}

static int wait_for_leader(int64_t seconds)
{
    int64_t end_us = world_now_us() + seconds * WORLD_SECOND;
    while (find_leader() == 0) {
        if (!world_step(end_us)) {
            world_fail("no leader within %lld s", (long long)seconds);
        }
    }
    return find_leader();
}

/* Asks the leader; decodes into [response], whose memory is the arena's. */
static void ask(int16_t key,
                int16_t version,
                const void *request,
                struct arena *arena,
                void *response)
{
    struct question question = {.frame = BUF_EMPTY, .reply = BUF_EMPTY};
    char host[] = {'n', (char)('0' + wait_for_leader(10)), '\0'};
    frame_request(key, version, request, &question.frame);
    question.conn = network_connect(0, host, NODE_CLIENT_PORT, 0, &events, &question);
    int64_t end_us = world_now_us() + 10 * WORLD_SECOND;
    while (!question.is_answered && !question.is_closed && world_step(end_us)) {
    }
    if (!question.is_answered) {
        world_fail("API %d was not answered, closed=%d", key, question.is_closed);
    }
    struct reader reader = reader_of(arena_copy(arena, buf_span(&question.reply)));
    reader.at += FRAME_PREFIX_BYTES + 4;
    if (codec_decode(api_find(key)->response(), version, &reader, arena, response) != CODEC_OK) {
        world_fail("API %d: the reply does not decode", key);
    }
    network_close(question.conn);
    buf_close(&question.frame);
    buf_close(&question.reply);
}

static void create_topic(int16_t expected)
{
    struct arena arena;
    arena_init(&arena, REPLY_BYTES_MAX);
    struct create_topics_request_topic topic;
    struct create_topics_request request;
    struct create_topics_response response;
    codec_set_defaults(create_topics_request_topic_schema(), &topic);
    codec_set_defaults(create_topics_request_schema(), &request);
    topic.name = span_from_cstr("shards");
    topic.num_partitions = 8;
    topic.replication_factor = 1;
    request.topics = &topic;
    request.topics_count = 1;
    ask(CREATE_TOPICS, 2, &request, &arena, &response);
    if (response.topics_count != 1 || response.topics[0].error_code != expected) {
        world_fail("CreateTopics said %d, not %d",
                   response.topics_count == 1 ? response.topics[0].error_code : -1, expected);
    }
    arena_close(&arena);
}

static int32_t join_group(void)
{
    struct arena arena;
    arena_init(&arena, REPLY_BYTES_MAX);
    struct join_group_request_protocol protocol;
    struct join_group_request request;
    struct join_group_response response;
    codec_set_defaults(join_group_request_protocol_schema(), &protocol);
    codec_set_defaults(join_group_request_schema(), &request);
    protocol.name = span_from_cstr("range");
    protocol.metadata = span_from_cstr("anything");
    request.group_id = span_from_cstr("group");
    request.session_timeout_ms = 10000;
    request.rebalance_timeout_ms = 10000;
    request.protocol_type = span_from_cstr("consumer");
    request.protocols = &protocol;
    request.protocols_count = 1;
    ask(JOIN_GROUP, 2, &request, &arena, &response);
    if (response.error_code != 0) {
        world_fail("JoinGroup said %d", response.error_code);
    }
    int32_t generation = response.generation_id;
    arena_close(&arena);
    return generation;
}

static int nodes_of(const struct play_setting *setting)
{
    return setting->nodes == 0 ? 3 : setting->nodes;
}

static void run(const struct play_setting *setting)
{
    int64_t seconds = setting->seconds == 0 ? 30 : setting->seconds;
    for (int node = 1; node <= world_nodes(); node++) {
        node_configure(node, "group.initial.rebalance.delay.ms=0\n");
        node_boot(node);
    }
    create_topic(0);
    int32_t before = join_group();
    int old = wait_for_leader(1);
    node_kill(old);
    wait_for_leader(5);
    create_topic(36); /* it is there already */
    int32_t after = join_group();
    if (after <= before) {
        world_fail("generation %d follows %d", after, before);
    }
    node_boot(old);
    world_run_until(seconds * WORLD_SECOND);
    uint64_t hash = 0;
    for (int node = 1; node <= world_nodes(); node++) {
        const struct server *server = node_server(node);
        if (server == NULL) {
            world_fail("node %d is off: %s", node, node_last_words(node));
        }
        uint64_t own = coordinator_state_hash(server->driver.coordinator);
        hash = node == 1 ? own : hash;
        if (own != hash) {
            world_fail("node %d holds another state", node);
        }
    }
}

const struct play play_smoke = {.name = "smoke",
                                .help = "a topic, a group, a killed leader",
                                .nodes = nodes_of,
                                .run = run};
