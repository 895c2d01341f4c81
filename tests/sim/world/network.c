/* Connections of simulated clients. What happens to them is told from an event of its own, so that
 * a client may do anything in it. */
#include "tests/sim/world/network.h"

#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

enum { READ_BYTES = 16384, DEFAULT_TIMEOUT_S = 120 };

struct waiting_bytes {
    struct waiting_bytes *next;
    size_t len, at;
    uint8_t bytes[];
};

struct network_conn {
    struct endpoint *endpoint; /* NULL: there is no such host */
    struct network_events events;
    void *ctx;
    struct waiting_bytes *first, **last; /* no room in the endpoint yet */
    size_t waiting;
    uint64_t look_event, timeout_event;
    bool is_open;
    bool is_paused;
    bool is_gone;   /* for its owner */
    bool is_in_use; /* further up the stack */
};

const char *network_closing_text(enum network_closing closing)
{
    static const char *const texts[] = {"refused", "timeout", "finished", "broken"};
    return texts[closing];
}

static void free_conn(struct network_conn *conn)
{
    while (conn->first != NULL) {
        struct waiting_bytes *bytes = conn->first;
        conn->first = bytes->next;
        heap_world_free(bytes);
    }
    world_cancel(conn->look_event);
    world_cancel(conn->timeout_event);
    heap_world_free(conn);
}

static void let_go(struct network_conn *conn)
{
    conn->is_gone = true;
    if (!conn->is_in_use) {
        free_conn(conn);
    }
}

static void end_with(struct network_conn *conn, enum network_closing closing)
{
    if (conn->endpoint != NULL) {
        endpoint_close(conn->endpoint);
        conn->endpoint = NULL;
    }
    conn->is_gone = true;
    conn->events.closed(conn->ctx, conn, closing);
}

static void send_waiting(struct network_conn *conn)
{
    while (conn->first != NULL) {
        struct waiting_bytes *bytes = conn->first;
        size_t sent =
            endpoint_send(conn->endpoint, bytes->bytes + bytes->at, bytes->len - bytes->at);
        bytes->at += sent;
        conn->waiting -= sent;
        if (bytes->at < bytes->len) {
            return;
        }
        conn->first = bytes->next;
        if (conn->first == NULL) {
            conn->last = &conn->first;
        }
        heap_world_free(bytes);
    }
}

static enum network_closing closing_of(int error)
{
    switch (error) {
        case UV_ECONNREFUSED:
            return NETWORK_REFUSED;
        case UV_ETIMEDOUT:
            return NETWORK_TIMEOUT;
        default:
            return NETWORK_BROKEN;
    }
}

static void look(struct network_conn *conn)
{
    struct endpoint *endpoint = conn->endpoint;
    if (endpoint_state(endpoint) == ENDPOINT_CONNECTING) {
        return;
    }
    if (!conn->is_open && endpoint_state(endpoint) == ENDPOINT_OPEN) {
        conn->is_open = true;
        world_cancel(conn->timeout_event);
        conn->timeout_event = 0;
        conn->events.opened(conn->ctx, conn);
    }
    if (!conn->is_gone && endpoint_state(endpoint) == ENDPOINT_OPEN) {
        send_waiting(conn);
    }
    uint8_t bytes[READ_BYTES];
    while (!conn->is_gone && !conn->is_paused && endpoint_has_bytes(endpoint)) {
        size_t got = endpoint_receive(endpoint, bytes, sizeof bytes);
        conn->events.bytes(conn->ctx, conn, bytes, got);
    }
    if (conn->is_gone) {
        return;
    }
    if (endpoint_state(endpoint) == ENDPOINT_BROKEN) {
        end_with(conn, closing_of(endpoint_error(endpoint)));
    } else if (endpoint_is_finished(endpoint)) {
        end_with(conn, NETWORK_FINISHED);
    }
}

static void on_look(void *ctx, uint64_t what)
{
    struct network_conn *conn = ctx;
    (void)what;
    conn->look_event = 0;
    conn->is_in_use = true;
    if (conn->endpoint == NULL) {
        end_with(conn, NETWORK_REFUSED);
    } else {
        look(conn);
    }
    conn->is_in_use = false;
    if (conn->is_gone) {
        free_conn(conn);
    }
}

static void look_soon(struct network_conn *conn)
{
    if (conn->look_event == 0) {
        conn->look_event = world_after(0, on_look, conn, 0);
    }
}

static void on_changed(void *ctx, struct endpoint *endpoint)
{
    (void)endpoint;
    look_soon(ctx);
}

static void on_timeout(void *ctx, uint64_t what)
{
    struct network_conn *conn = ctx;
    (void)what;
    conn->timeout_event = 0;
    conn->is_in_use = true;
    end_with(conn, NETWORK_TIMEOUT);
    free_conn(conn);
}

struct network_conn *network_connect(int client,
                                     const char *host,
                                     uint16_t port,
                                     int64_t timeout_us,
                                     const struct network_events *events,
                                     void *ctx)
{
    ensure(client >= 0 && client < WORLD_CLIENTS_MAX);
    struct network_conn *conn = heap_world_calloc(sizeof *conn);
    conn->events = *events;
    conn->ctx = ctx;
    conn->last = &conn->first;
    int to = node_host_of(host);
    if (to == 0) {
        look_soon(conn);
        return conn;
    }
    conn->endpoint = endpoint_connect(network_client_host(client), to, port,
                                      (struct endpoint_owner){on_changed, conn});
    conn->timeout_event =
        world_after(timeout_us > 0 ? timeout_us : (int64_t)DEFAULT_TIMEOUT_S * WORLD_SECOND,
                    on_timeout, conn, 0);
    return conn;
}

void network_write(struct network_conn *conn, const void *bytes, size_t len)
{
    ensure(!conn->is_gone);
    if (conn->endpoint == NULL || len == 0) {
        return;
    }
    size_t sent = conn->first == NULL ? endpoint_send(conn->endpoint, bytes, len) : 0;
    if (sent < len) {
        size_t left = len - sent;
        struct waiting_bytes *waiting = heap_world_calloc(sizeof *waiting + left);
        waiting->len = left;
        memcpy(waiting->bytes, (const char *)bytes + sent, left);
        *conn->last = waiting;
        conn->last = &waiting->next;
        conn->waiting += left;
    }
}

size_t network_unsent(const struct network_conn *conn)
{
    return conn->waiting + (conn->endpoint == NULL ? 0 : endpoint_unsent(conn->endpoint));
}

void network_pause(struct network_conn *conn, bool is_paused)
{
    conn->is_paused = is_paused;
    if (!is_paused) {
        look_soon(conn);
    }
}

void network_close(struct network_conn *conn)
{
    ensure(!conn->is_gone);
    if (conn->endpoint != NULL) {
        endpoint_close(conn->endpoint);
        conn->endpoint = NULL;
    }
    let_go(conn);
}

void network_reset(struct network_conn *conn)
{
    ensure(!conn->is_gone);
    if (conn->endpoint != NULL) {
        endpoint_reset(conn->endpoint);
        conn->endpoint = NULL;
    }
    let_go(conn);
}
