/* The faults of networks, tried on a server that echoes and on a client that looks what comes. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/node.h"
#include "tests/sim/world/parts.h"
#include "tests/sim/world/trials.h"

enum { PORT = 7, READ_BYTES = 4096, NODE = 1, CLIENT = 0, LONG_BYTES = 3 << 20 };

/* ---- The server ---- */

static bool server_reads;

struct echo {
    uv_write_t write;
    uv_buf_t buf;
};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(malloc(READ_BYTES), READ_BYTES);
}

static void on_written(uv_write_t *write, int status)
{
    struct echo *echo = (struct echo *)write;
    (void)status;
    free(echo->buf.base);
    free(echo);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    if (got <= 0) {
        free(buf->base);
        if (got < 0) {
            uv_close((uv_handle_t *)stream, on_closed);
        }
        return;
    }
    struct echo *echo = malloc(sizeof *echo);
    ensure(echo != NULL);
    echo->buf = uv_buf_init(buf->base, (unsigned)got);
    ensure(uv_write(&echo->write, stream, &echo->buf, 1, on_written) == 0);
}

static void on_connection(uv_stream_t *server, int status)
{
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    ensure(status == 0 && tcp != NULL);
    ensure(uv_tcp_init(server->loop, tcp) == 0);
    ensure(uv_accept(server, (uv_stream_t *)tcp) == 0);
    if (server_reads) {
        ensure(uv_read_start((uv_stream_t *)tcp, on_alloc, on_read) == 0);
    }
}

static void serve(void *process)
{
    uv_loop_t *loop = malloc(sizeof *loop);
    uv_tcp_t *server = malloc(sizeof *server);
    struct sockaddr_in address;
    (void)process;
    ensure(loop != NULL && server != NULL && uv_loop_init(loop) == 0);
    uv_ip4_addr("0.0.0.0", PORT, &address);
    uv_tcp_init(loop, server);
    uv_tcp_bind(server, (const struct sockaddr *)&address, 0);
    uv_listen((uv_stream_t *)server, 16, on_connection);
    uv_run(loop, UV_RUN_DEFAULT);
    process_quit(NODE_EXITED, 0);
}

/* ---- The client ---- */

struct visit {
    struct network_conn *conn;
    bool is_open, is_closed;
    enum network_closing closing;
    size_t sent, received;
    bool is_wrong; /* other bytes than those that were sent */
    unsigned pieces;
};

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 31 + (at >> 9));
}

static void on_opened(void *ctx, struct network_conn *conn)
{
    struct visit *visit = ctx;
    (void)conn;
    visit->is_open = true;
}

static void on_bytes(void *ctx, struct network_conn *conn, const uint8_t *bytes, size_t len)
{
    struct visit *visit = ctx;
    (void)conn;
    for (size_t i = 0; i < len; i++) {
        visit->is_wrong = visit->is_wrong || bytes[i] != byte_at(visit->received + i);
    }
    visit->received += len;
    visit->pieces++;
}

static void on_over(void *ctx, struct network_conn *conn, enum network_closing closing)
{
    struct visit *visit = ctx;
    (void)conn;
    visit->is_closed = true;
    visit->closing = closing;
}

static const struct network_events events = {on_opened, on_bytes, on_over};

static void go_on_for(int64_t ms)
{
    world_run_until(world_now_us() + ms * WORLD_MS);
}

static void begin_visit(struct visit *visit)
{
    *visit = (struct visit){.is_open = false};
    visit->conn = network_connect(CLIENT, "n1", PORT, 5 * WORLD_SECOND, &events, visit);
}

static void say(struct visit *visit, size_t len)
{
    uint8_t *bytes = malloc(len);
    ensure(bytes != NULL);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = byte_at(visit->sent + i);
    }
    visit->sent += len;
    network_write(visit->conn, bytes, len);
    free(bytes);
}

static void end_visit(struct visit *visit)
{
    if (!visit->is_closed) {
        network_close(visit->conn);
    }
    go_on_for(100);
}

#define MUST(condition)                                      \
    do {                                                     \
        if (!(condition)) {                                  \
            world_fail("%s, line %d", #condition, __LINE__); \
        }                                                    \
    } while (false)

static void start(bool reads)
{
    node_kill(NODE);
    server_reads = reads;
    MUST(node_start(NODE, serve));
    go_on_for(10);
}

/* ---- Trials ---- */

static void try_whole_links(void)
{
    struct visit visit;
    begin_visit(&visit);
    say(&visit, LONG_BYTES);
    go_on_for(5000);
    MUST(visit.is_open && !visit.is_wrong && visit.received == LONG_BYTES);
    MUST(network_unsent(visit.conn) == 0 && visit.pieces > 100);
    end_visit(&visit);
}

static void try_loss(void)
{
    struct visit visit;
    struct network_link link = {.least_us = 100,
                                .most_us = 20000,
                                .tail_per_mille = 50,
                                .tail_us = 100000,
                                .loss_per_mille = 200};
    network_set_link(0, 0, &link);
    uint64_t lost = network_lost();
    begin_visit(&visit);
    say(&visit, LONG_BYTES / 8);
    go_on_for(300000);
    MUST(!visit.is_wrong && visit.received == LONG_BYTES / 8 && network_lost() > lost);
    end_visit(&visit);
    network_heal(true);
}

static void try_cuts(void)
{
    struct visit visit;
    int host = network_client_host(CLIENT);
    begin_visit(&visit);
    go_on_for(10);
    for (int direction = 0; direction < 2; direction++) {
        size_t before = visit.received;
        network_cut(direction == 0 ? host : NODE, direction == 0 ? NODE : host, true);
        say(&visit, 100);
        go_on_for(2000);
        MUST(visit.received == before && !visit.is_closed);
        network_heal(false);
        go_on_for(4000);
        MUST(visit.received == before + 100 && !visit.is_wrong);
    }
    network_hold(host, NODE, true);
    say(&visit, 50);
    go_on_for(1000);
    MUST(visit.received == 200);
    network_hold(host, NODE, false);
    go_on_for(10);
    MUST(visit.received == 250);
    end_visit(&visit);
    network_cut(host, NODE, true);
    begin_visit(&visit);
    go_on_for(6000);
    MUST(visit.is_closed && visit.closing == NETWORK_TIMEOUT);
    network_heal(false);
}

/* The bytes of an old connection arrive after a new one was made. */
static void try_old_bytes(void)
{
    struct visit old;
    struct visit new;
    int host = network_client_host(CLIENT);
    begin_visit(&old);
    go_on_for(10);
    network_hold(NODE, host, true);
    say(&old, 10);
    go_on_for(10);
    network_hold(NODE, host, false);
    network_cut(NODE, host, true);
    go_on_for(1);
    network_heal(false);
    begin_visit(&new);
    go_on_for(50);
    MUST(new.is_open);
    go_on_for(5000);
    MUST(old.received == 10 && !old.is_wrong);
    end_visit(&old);
    end_visit(&new);
}

static void try_ends_of_processes(void)
{
    struct visit visit;
    begin_visit(&visit);
    go_on_for(10);
    node_kill(NODE);
    go_on_for(10);
    MUST(visit.is_closed && visit.closing == NETWORK_FINISHED);
    begin_visit(&visit);
    go_on_for(10);
    MUST(visit.is_closed && visit.closing == NETWORK_REFUSED);
    start(false);
    begin_visit(&visit);
    go_on_for(10);
    say(&visit, 10);
    go_on_for(10);
    node_kill(NODE); /* with unread bytes */
    go_on_for(10);
    MUST(visit.is_closed && visit.closing == NETWORK_BROKEN);
    start(true);
}

static void try_ends_of_machines(void)
{
    struct visit visit;
    begin_visit(&visit);
    go_on_for(10);
    node_lose_power(NODE);
    go_on_for(5000);
    MUST(!visit.is_closed); /* half open */
    say(&visit, 10);
    go_on_for(1000);
    MUST(!visit.is_closed);
    start(true);
    go_on_for(4000); /* the next try of its bytes */
    MUST(visit.is_closed && visit.closing == NETWORK_BROKEN);
}

static void try_stops(void)
{
    struct visit visit;
    node_stop(NODE);
    begin_visit(&visit);
    go_on_for(10);
    MUST(visit.is_open); /* the kernel accepts */
    say(&visit, 10);
    go_on_for(1000);
    MUST(visit.received == 0);
    node_continue(NODE);
    go_on_for(10);
    MUST(visit.received == 10);
    node_freeze(NODE, true);
    int64_t frozen_ms = node_monotonic_ms(NODE);
    say(&visit, 10);
    go_on_for(3000);
    MUST(visit.received == 10 && node_monotonic_ms(NODE) == frozen_ms);
    node_thaw(NODE);
    go_on_for(4000);
    MUST(visit.received == 20);
    network_break(NODE, 0);
    go_on_for(10);
    MUST(visit.is_closed && visit.closing == NETWORK_BROKEN);
}

static void try_slow_readers(void)
{
    struct visit visit;
    start(false);
    begin_visit(&visit);
    say(&visit, LONG_BYTES);
    go_on_for(1000);
    MUST(network_unsent(visit.conn) > LONG_BYTES / 2 && !visit.is_closed);
    network_reset(visit.conn);
    start(true);
    begin_visit(&visit);
    network_pause(visit.conn, true);
    say(&visit, LONG_BYTES);
    go_on_for(1000);
    MUST(visit.received == 0);
    network_pause(visit.conn, false);
    go_on_for(5000);
    MUST(visit.received == LONG_BYTES && !visit.is_wrong);
    end_visit(&visit);
}

static int nodes_of(const struct play_setting *setting)
{
    (void)setting;
    return NODE;
}

static void run(const struct play_setting *setting)
{
    (void)setting;
    start(true);
    try_whole_links();
    try_loss();
    try_cuts();
    try_old_bytes();
    try_ends_of_processes();
    try_ends_of_machines();
    try_stops();
    try_slow_readers();
}

const struct play play_network = {.name = "network",
                                  .help = "the faults of networks, tried",
                                  .nodes = nodes_of,
                                  .run = run};
