/* Connections on a real socket, with the test in the place of dispatch. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "rpc/codec.h"
#include "rpc/frame.h"
#include "server/conn.h"
#include "server/conns.h"

enum { RUNNING_MAX = 512, REPLY_BYTES = 10, LARGE_BYTES = 30000 };

static uv_loop_t loop;
static uv_tcp_t server;
static struct conns conns;
static struct conns_limits limits;
static uint16_t port;

/* What has been handed to the test, in order. */
static struct request *running[RUNNING_MAX];
static size_t started;
static size_t gone;
static bool answers_at_once;
static int32_t hold_ms;     /* of Fetch */
static int16_t refused_key; /* -1: none */

/* A reply of LARGE_BYTES and some more. */
static void answer_large(struct request *request)
{
    static const uint8_t text[LARGE_BYTES];
    static const struct metadata_response response = {
        .cluster_id = {.data = text, .len = sizeof text}};
    conn_reply(request, &response);
}

static void answer(size_t i)
{
    static const struct heartbeat_response heartbeat;
    static const struct offset_commit_response commit;
    static const struct fetch_response fetch;
    struct request *request = running[i];
    running[i] = NULL;
    switch (request->call.api_key) {
        case API_Heartbeat:
            conn_reply(request, &heartbeat);
            break;
        case API_OffsetCommit:
            conn_reply(request, &commit);
            break;
        case API_Metadata:
            answer_large(request);
            break;
        default:
            conn_hold(request, &fetch, hold_ms);
            break;
    }
}

static void on_request(void *ctx, struct request *request)
{
    struct reader reader = reader_of(
        span_of(request->frame.data + FRAME_PREFIX_BYTES, request->frame.len - FRAME_PREFIX_BYTES));
    struct request_header header;
    (void)ctx;
    frame_read_header(&reader, &header, &request->api);
    request->call = (struct call){
        .api_key = header.api_key, .api_version = header.api_version, .arena = &request->arena};
    request->correlation_id = header.correlation_id;
    cr_assert_lt(started, RUNNING_MAX);
    running[started++] = request;
    if (header.api_key == API_Produce) {
        running[started - 1] = NULL;
        conn_skip(request);
    } else if (header.api_key == refused_key) {
        running[started - 1] = NULL;
        conn_refuse(request);
    } else if (answers_at_once || header.api_key == API_Fetch) {
        answer(started - 1);
    }
}

static void on_gone(void *ctx, struct request *request)
{
    (void)ctx;
    cr_assert_null(request->conn);
    gone++;
}

static void on_connection(uv_stream_t *stream, int status)
{
    cr_assert_eq(status, 0);
    conns_accept(&conns, stream, SPAN_LITERAL("TEST"));
}

static void set_up(void)
{
    limits = (struct conns_limits){
        .request_bytes_max = 1 << 20,
        .connections_max = 100,
        .connections_per_ip_max = 100,
        .pipeline_max = 8,
        .unsent_bytes_max = 1 << 20,
        .queued_bytes_max = 1 << 20,
        .idle_ms = 60000,
        .descriptors_max = 1 << 20,
    };
    refused_key = -1;
}

/* After the test has changed [limits]. */
static void begin(void)
{
    static const struct conns_events events = {on_request, on_gone};
    struct sockaddr_in address;
    int len = sizeof address;
    log_set_level(LOG_LEVEL_ERROR);
    cr_assert_eq(uv_loop_init(&loop), 0);
    conns_init(&conns, &loop, &limits, &events, NULL);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(&loop, &server);
    uv_tcp_bind(&server, (struct sockaddr *)&address, 0);
    cr_assert_eq(uv_listen((uv_stream_t *)&server, 128, on_connection), 0);
    uv_tcp_getsockname(&server, (struct sockaddr *)&address, &len);
    port = ntohs(address.sin_port);
}

static void turn(void)
{
    for (int i = 0; i < 4; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        conns_end_turn(&conns);
    }
}

static void turn_for(int64_t ms)
{
    uint64_t end = uv_hrtime() + (uint64_t)ms * 1000000;
    while (uv_hrtime() < end) {
        turn();
        usleep(1000);
    }
}

/* What each client has received and not looked at; by descriptor. */
static struct inbox received[64];

static void end(void)
{
    conns_close_all(&conns);
    for (size_t i = 0; i < started; i++) {
        if (running[i] != NULL) {
            answer(i);
        }
    }
    turn();
    conns_close(&conns);
    for (size_t i = 0; i < sizeof received / sizeof received[0]; i++) {
        inbox_close(&received[i]);
    }
    uv_close((uv_handle_t *)&server, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
}

TestSuite(conns, .init = set_up);

static int dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    turn();
    return fd;
}

static void put_request(struct buf *out, int16_t key, int16_t version, int32_t correlation_id)
{
    buf_put_be32(out, 10);
    buf_put_be16(out, (uint16_t)key);
    buf_put_be16(out, (uint16_t)version);
    buf_put_be32(out, (uint32_t)correlation_id);
    buf_put_be16(out, 0xffff);
}

static void send_all(int fd, const struct buf *bytes)
{
    cr_assert_eq(send(fd, bytes->data, bytes->len, 0), (ssize_t)bytes->len);
}

/* Requests of these keys, numbered from [first], in one piece. */
static void ask(int fd, int32_t first, size_t count, const int16_t *keys)
{
    struct buf bytes = BUF_EMPTY;
    for (size_t i = 0; i < count; i++) {
        put_request(&bytes, keys[i], keys[i] == API_Fetch ? 4 : 1, first + (int32_t)i);
    }
    send_all(fd, &bytes);
    buf_close(&bytes);
    turn();
}

static void ask_heartbeats(int fd, int32_t first, size_t count)
{
    int16_t keys[RUNNING_MAX];
    for (size_t i = 0; i < count; i++) {
        keys[i] = API_Heartbeat;
    }
    ask(fd, first, count, keys);
}

/* The correlation id of the next reply; -1: none has arrived; -2: the end of the connection. */
static int32_t next_reply(int fd)
{
    static uint8_t bytes[CONNS_READ_BYTES];
    struct buf reply = BUF_EMPTY;
    struct span chunk = SPAN_EMPTY;
    ssize_t got = 1;
    cr_assert_lt(fd, 64);
    while (inbox_next(&received[fd], &chunk, LARGE_BYTES * 2, &reply) != FRAME_COMPLETE) {
        got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got <= 0) {
            return got < 0 && errno == EAGAIN ? -1 : -2;
        }
        chunk = span_of(bytes, (size_t)got);
    }
    inbox_keep(&received[fd], chunk);
    struct reader r = reader_of(span_of(reply.data + FRAME_PREFIX_BYTES, 4));
    int32_t correlation_id = (int32_t)reader_be32(&r);
    buf_close(&reply);
    return correlation_id;
}

static struct conn *only_conn(void)
{
    cr_assert_eq(conns.count, 1);
    return conns.first;
}

Test(conns, one_request)
{
    begin();
    int fd = dial();
    ask_heartbeats(fd, 7, 1);
    cr_assert_eq(started, 1);
    cr_assert_eq(next_reply(fd), -1);
    answer(0);
    turn();
    cr_assert_eq(next_reply(fd), 7);
    close(fd);
    turn();
    cr_assert_eq(conns.count, 0);
    cr_assert_eq(conns.counters.closed, 1);
    end();
}

/* R12. */
Test(conns, commits_run_together_and_all_else_waits)
{
    static const int16_t keys[] = {API_OffsetCommit, API_OffsetCommit, API_Heartbeat,
                                   API_OffsetCommit};
    begin();
    int fd = dial();
    ask(fd, 1, 4, keys);
    cr_assert_eq(started, 2);
    answer(1);
    turn();
    cr_assert_eq(next_reply(fd), -1, "a reply overtook an earlier one");
    cr_assert_eq(started, 2);
    answer(0);
    turn();
    cr_assert_eq(next_reply(fd), 1);
    cr_assert_eq(next_reply(fd), 2);
    cr_assert_eq(started, 3, "the heartbeat starts, the commit behind it does not");
    answer(2);
    turn();
    cr_assert_eq(started, 4);
    answer(3);
    turn();
    cr_assert_eq(next_reply(fd), 3);
    cr_assert_eq(next_reply(fd), 4);
    close(fd);
    end();
}

Test(conns, held_reply_leaves_in_time)
{
    static const int16_t fetch[] = {API_Fetch};
    begin();
    hold_ms = 60;
    int fd = dial();
    ask(fd, 1, 1, fetch);
    turn_for(20);
    cr_assert_eq(next_reply(fd), -1);
    turn_for(80);
    cr_assert_eq(next_reply(fd), 1);
    close(fd);
    end();
}

Test(conns, held_reply_leaves_when_a_request_waits)
{
    static const int16_t fetch[] = {API_Fetch};
    begin();
    hold_ms = 60000;
    int fd = dial();
    ask(fd, 1, 1, fetch);
    cr_assert_eq(next_reply(fd), -1);
    ask_heartbeats(fd, 2, 1);
    cr_assert_eq(next_reply(fd), 1);
    cr_assert_eq(next_reply(fd), -1);
    answer(1);
    turn();
    cr_assert_eq(next_reply(fd), 2);
    /* Both in one piece. */
    static const int16_t both[] = {API_Fetch, API_Heartbeat};
    ask(fd, 3, 2, both);
    cr_assert_eq(next_reply(fd), 3);
    close(fd);
    end();
}

/* What waits was there before the Fetch was begun. */
Test(conns, fetch_is_not_held_before_a_waiting_request)
{
    static const int16_t keys[] = {API_Heartbeat, API_Fetch, API_Heartbeat};
    begin();
    hold_ms = 60000;
    int fd = dial();
    ask(fd, 1, 3, keys);
    cr_assert_eq(started, 1);
    answer(0);
    turn();
    cr_assert_eq(next_reply(fd), 1);
    cr_assert_eq(next_reply(fd), 2);
    cr_assert_eq(started, 3);
    close(fd);
    end();
}

Test(conns, held_replies_leave_when_the_node_stops)
{
    static const int16_t fetch[] = {API_Fetch};
    begin();
    hold_ms = 60000;
    int fd = dial();
    ask(fd, 1, 1, fetch);
    conns_stop_holding(&conns);
    turn();
    cr_assert_eq(next_reply(fd), 1);
    ask(fd, 2, 1, fetch);
    cr_assert_eq(next_reply(fd), 2);
    conns_finish(&conns);
    turn();
    cr_assert_eq(next_reply(fd), -2);
    cr_assert_eq(conns.count, 0);
    close(fd);
    end();
}

Test(conns, pipeline_limit)
{
    begin();
    int fd = dial();
    ask_heartbeats(fd, 1, limits.pipeline_max - 1);
    cr_assert(only_conn()->is_reading);
    cr_assert_eq(conns.counters.limit_pipeline, 0);
    ask_heartbeats(fd, (int32_t)limits.pipeline_max, 1);
    cr_assert_eq(only_conn()->pending, limits.pipeline_max);
    cr_assert_not(only_conn()->is_reading);
    cr_assert_eq(conns.counters.limit_pipeline, 1);
    ask_heartbeats(fd, (int32_t)limits.pipeline_max + 1, 3);
    cr_assert_eq(only_conn()->pending, limits.pipeline_max);
    answers_at_once = true;
    answer(0);
    turn();
    for (int32_t i = 1; i <= (int32_t)limits.pipeline_max + 3; i++) {
        cr_assert_eq(next_reply(fd), i);
    }
    cr_assert(only_conn()->is_reading);
    close(fd);
    end();
}

/* More than the limit in one piece: what is not taken yet is kept, in order. */
Test(conns, pipeline_in_one_piece)
{
    begin();
    int fd = dial();
    ask_heartbeats(fd, 1, 20);
    cr_assert_eq(only_conn()->pending, limits.pipeline_max);
    cr_assert_eq(started, 1);
    answers_at_once = true;
    answer(0);
    turn();
    for (int32_t i = 1; i <= 20; i++) {
        cr_assert_eq(next_reply(fd), i);
    }
    cr_assert_eq(conns.requests.in_use, 0);
    cr_assert_eq(conns.budget.used, 0);
    close(fd);
    end();
}

Test(conns, unsent_limit)
{
    limits.unsent_bytes_max = 4 * REPLY_BYTES;
    begin();
    answers_at_once = true;
    int fd = dial();
    struct buf bytes = BUF_EMPTY;
    for (int32_t i = 1; i <= 6; i++) {
        put_request(&bytes, API_Heartbeat, 0, i);
    }
    send_all(fd, &bytes);
    buf_close(&bytes);
    while (started == 0) {
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    cr_assert_eq(started, 4, "before anything leaves");
    cr_assert_eq(conns.counters.limit_unsent, 1);
    turn();
    cr_assert_eq(started, 6);
    for (int32_t i = 1; i <= 6; i++) {
        cr_assert_eq(next_reply(fd), i);
    }
    close(fd);
    end();
}

/* A frame of [claim] bytes of which [sent] are sent. */
static void send_part(int fd, uint32_t claim, size_t sent)
{
    struct buf bytes = BUF_EMPTY;
    buf_put_be32(&bytes, claim);
    memset(buf_reserve(&bytes, sent), 0, sent);
    bytes.len += sent;
    send_all(fd, &bytes);
    buf_close(&bytes);
    turn();
}

Test(conns, request_bytes_limit)
{
    begin();
    int fd = dial();
    send_part(fd, (uint32_t)limits.request_bytes_max, 8);
    cr_assert_eq(next_reply(fd), -1);
    cr_assert_eq(conns.count, 1);
    int over = dial();
    send_part(over, (uint32_t)limits.request_bytes_max + 1, 0);
    cr_assert_eq(next_reply(over), -2);
    cr_assert_eq(conns.counters.limit_request_bytes, 1);
    int huge = dial();
    send_part(huge, 2147483647, 100);
    cr_assert_eq(next_reply(huge), -2);
    cr_assert_eq(conns.count, 1);
    close(fd);
    close(over);
    close(huge);
    end();
}

static void turn_until_closed(int fd)
{
    for (int i = 0; i < 500; i++) {
        int32_t reply = next_reply(fd);
        cr_assert_lt(reply, 0);
        if (reply == -2) {
            return;
        }
        turn_for(10);
    }
    cr_assert_fail("the connection stays open");
}

/* Half-sent frames beyond the budget: the holders are not read from, then the largest is closed;
 * a small client is served all the time. */
Test(conns, budget_of_half_sent_frames)
{
    limits.queued_bytes_max = 300000;
    limits.idle_ms = 400; /* a sweep every 50 ms */
    begin();
    answers_at_once = true;
    int large = dial();
    int larger = dial();
    int small = dial();
    send_part(large, 900000, 60000);
    cr_assert_eq(conns.counters.limit_budget_paused, 0);
    send_part(larger, 900000, 100000);
    send_part(larger, 900000, 100000);
    cr_assert(budget_is_over(&conns.budget));
    cr_assert_gt(conns.counters.limit_budget_paused, 0);
    ask_heartbeats(small, 1, 1);
    cr_assert_eq(next_reply(small), 1);
    turn_until_closed(larger); /* the largest holder */
    cr_assert_eq(next_reply(large), -1);
    cr_assert_eq(conns.counters.limit_budget_closed, 1);
    cr_assert_not(budget_is_over(&conns.budget));
    ask_heartbeats(small, 2, 1);
    cr_assert_eq(next_reply(small), 2);
    close(large);
    close(larger);
    close(small);
    end();
}

/* Far beyond it nobody waits for a sweep. */
Test(conns, budget_is_far_exceeded)
{
    limits.queued_bytes_max = 200000;
    begin();
    int large = dial();
    int larger = dial();
    send_part(large, 900000, 60000);
    send_part(larger, 900000, 200000);
    cr_assert_eq(next_reply(larger), -2);
    cr_assert_eq(next_reply(large), -1);
    cr_assert_eq(conns.counters.limit_budget_closed, 1);
    cr_assert_not(budget_is_over(&conns.budget));
    end();
}

/* Large replies that become ready in one turn, when nothing can be sent or closed yet. */
Test(conns, budget_of_replies_of_one_turn)
{
    enum { CLIENTS = 12 };
    int fds[CLIENTS];
    limits.queued_bytes_max = 200000;
    begin();
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = dial();
        struct buf bytes = BUF_EMPTY;
        put_request(&bytes, API_Metadata, 2, i);
        send_all(fds[i], &bytes);
        buf_close(&bytes);
        turn();
    }
    cr_assert_eq(started, CLIENTS);
    for (size_t i = 0; i < CLIENTS; i++) {
        answer(i);
        cr_assert_not(budget_is_far_over(&conns.budget));
    }
    turn();
    int served = 0;
    int closed = 0;
    for (int i = 0; i < CLIENTS; i++) {
        int32_t id = next_reply(fds[i]);
        served += id == i;
        closed += id == -2;
    }
    cr_assert_eq(served + closed, CLIENTS);
    cr_assert_geq(served, 6);
    cr_assert_gt(closed, 0);
    cr_assert_eq(conns.counters.limit_budget_closed, (uint64_t)closed);
    cr_assert_eq(conns.budget.used, 0);
    end();
}

Test(conns, budget_wakes_those_that_waited)
{
    limits.queued_bytes_max = 300000;
    begin();
    answers_at_once = true;
    int holder = dial();
    int waiter = dial();
    send_part(holder, 900000, 200000);
    send_part(waiter, 100000, 50000);
    cr_assert_gt(conns.counters.limit_budget_paused, 0);
    struct buf rest = BUF_EMPTY;
    memset(buf_reserve(&rest, 50000), 0, 50000);
    rest.len = 50000;
    put_request(&rest, API_Heartbeat, 0, 5);
    send_all(waiter, &rest);
    buf_close(&rest);
    turn();
    cr_assert_eq(started, 0, "it is not read from");
    close(holder);
    turn();
    /* The first is no request (key 0 is Produce, which this test does not serve). */
    cr_assert_eq(started, 2);
    cr_assert_eq(conns.paused, 0);
    end();
}

Test(conns, budget_is_given_back)
{
    begin();
    int fd = dial();
    send_part(fd, 100000, 50000);
    cr_assert_gt(conns.budget.used, 50000);
    ask_heartbeats(dial(), 1, 1);
    close(fd);
    turn();
    cr_assert_lt(conns.budget.used, 5000);
    conns_close_all(&conns);
    cr_assert_gt(conns.budget.used, 0, "a running request stays on the budget");
    answer(0);
    cr_assert_eq(conns.budget.used, 0);
    end();
}

Test(conns, connections_limit)
{
    limits.connections_max = 3;
    begin();
    int fds[4];
    for (int i = 0; i < 3; i++) {
        fds[i] = dial();
    }
    cr_assert_eq(conns.counters.limit_connections, 0);
    fds[3] = dial();
    cr_assert_eq(next_reply(fds[3]), -2);
    cr_assert_eq(conns.counters.limit_connections, 1);
    cr_assert_eq(conns.count, 3);
    close(fds[0]);
    turn();
    int again = dial();
    cr_assert_eq(next_reply(again), -1);
    end();
}

Test(conns, connections_per_address_limit)
{
    limits.connections_per_ip_max = 2;
    begin();
    int first = dial();
    dial();
    cr_assert_eq(conns.counters.limit_per_ip, 0);
    int third = dial();
    cr_assert_eq(next_reply(third), -2);
    cr_assert_eq(conns.counters.limit_per_ip, 1);
    close(first);
    turn();
    cr_assert_eq(next_reply(dial()), -1);
    end();
}

Test(conns, descriptors_limit)
{
    limits.descriptors_max = 0;
    begin();
    cr_assert_eq(next_reply(dial()), -2);
    cr_assert_eq(conns.counters.limit_descriptors, 1);
    end();
}

Test(conns, idle_limit)
{
    limits.idle_ms = 100;
    begin();
    int idle = dial();
    int half = dial();
    int busy = dial();
    send_part(half, 1000, 10);
    ask_heartbeats(busy, 1, 1);
    turn_for(40);
    cr_assert_eq(next_reply(idle), -1);
    turn_until_closed(idle);
    turn_until_closed(half);
    cr_assert_eq(next_reply(busy), -1, "a request is in progress");
    cr_assert_eq(conns.counters.limit_idle, 2);
    answer(0);
    turn_for(20);
    cr_assert_eq(next_reply(busy), 1);
    turn_until_closed(busy);
    end();
}

Test(conns, refusal_comes_after_earlier_replies)
{
    static const int16_t keys[] = {API_OffsetCommit, API_Heartbeat, API_OffsetCommit};
    begin();
    refused_key = API_Heartbeat;
    int fd = dial();
    ask(fd, 1, 3, keys);
    cr_assert_eq(started, 1);
    answer(0);
    turn();
    cr_assert_eq(next_reply(fd), 1);
    cr_assert_eq(next_reply(fd), -2);
    cr_assert_eq(started, 2, "nothing behind it is begun");
    cr_assert_eq(conns.count, 0);
    end();
}

Test(conns, requests_of_a_lost_connection)
{
    static const int16_t keys[] = {API_OffsetCommit, API_OffsetCommit, API_Heartbeat};
    begin();
    int fd = dial();
    ask(fd, 1, 3, keys);
    cr_assert_eq(started, 2);
    answer(1);
    close(fd);
    turn();
    cr_assert_eq(conns.count, 0);
    cr_assert_eq(gone, 1);
    cr_assert_eq(conns.requests.in_use, 1);
    answer(0);
    cr_assert_eq(conns.requests.in_use, 0);
    end();
}

/* A reader that is slower than its replies come: what the socket does not take stays in order,
 * within the limit, and nothing is begun meanwhile. */
Test(conns, slow_reader)
{
    enum { ASKED = 400 };
    limits.unsent_bytes_max = 4 * LARGE_BYTES;
    begin();
    answers_at_once = true;
    int fd = dial();
    int few = 200000;
    uv_os_fd_t other_end;
    cr_assert_eq(uv_fileno((uv_handle_t *)&only_conn()->tcp, &other_end), 0);
    cr_assert_eq(setsockopt(other_end, SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    int32_t seen = 0;
    struct buf bytes = BUF_EMPTY;
    while (bytes.len < (size_t)ASKED * 14) {
        put_request(&bytes, API_Metadata, 2, (int32_t)bytes.len / 14 + 1);
    }
    send_all(fd, &bytes);
    buf_close(&bytes);
    turn();
    size_t unsent = only_conn()->unsent;
    cr_assert_geq(unsent, limits.unsent_bytes_max, "the socket took it all");
    cr_assert_leq(unsent, limits.unsent_bytes_max + LARGE_BYTES + 64);
    size_t requests = conns.counters.requests;
    turn_for(5);
    cr_assert_eq(conns.counters.requests, requests);
    cr_assert_not(only_conn()->is_reading);
    for (int i = 0; i < 5000 && seen < ASKED; i++) {
        turn_for(1);
        for (int32_t id; (id = next_reply(fd)) >= 0;) {
            cr_assert_eq(id, ++seen);
        }
    }
    cr_assert_eq(seen, ASKED);
    cr_assert_eq(only_conn()->unsent, 0);
    cr_assert_eq(conns.budget.used, 0);
    cr_assert(only_conn()->is_reading);
    end();
}

/* Nothing is allocated for a request in steady use: request and buffer are those of before. */
Test(conns, memory_is_reused)
{
    begin();
    int fd = dial();
    struct request *first = NULL;
    struct outbuf *buffer = NULL;
    answers_at_once = true;
    for (int32_t i = 1; i <= 10; i++) {
        started = 0;
        ask_heartbeats(fd, i, 1);
        cr_assert_eq(next_reply(fd), i);
        if (i == 1) {
            first = conns.requests.first;
            buffer = conns.outbufs.first;
        }
        cr_assert_eq(conns.requests.first, first);
        cr_assert_eq(conns.requests.count, 1);
        cr_assert_eq(conns.outbufs.first, buffer);
        cr_assert_eq(conns.outbufs.count, 1);
        cr_assert_eq(inbox_bytes(&only_conn()->inbox), 0);
        cr_assert_null(only_conn()->outbox.filling);
    }
    end();
}
