/* Connections: two endpoints, and in each direction a line of segments. A segment leaves the line
 * when it has arrived and the way back let the acknowledgement through.
 *
 *   connecting   SYN on its way; sent again after 1, 2, 4, ... s
 *   open         both ends know of each other
 *   broken       RST, or too long without an acknowledgement; the owner is told
 *
 * An endpoint without an owner is the kernel's: it still delivers what was sent, and answers RST to
 * what comes. One that has vanished (its machine lost power) does not even do that until the
 * machine is back. A connection is freed when nobody owns an end of it and no event is on its way.
 */
#include "tests/sim/world/tcp.h"

#include <string.h>

#include "rpc/ensure.h"

enum {
    RETRY_LEAST_US = 200 * WORLD_MS,
    RETRY_MOST_US = 3 * WORLD_SECOND,
    SYN_RETRY_US = WORLD_SECOND,
    SYN_TRIES = 7,
    KEEPALIVE_PROBES = 10, /* a second apart */
    FIRST_PORT = 32768
};
#define USER_TIMEOUT_US ((int64_t)900 * WORLD_SECOND)

static struct {
    struct connection *all;
    uint64_t next_number;
    uint16_t next_port[NETWORK_HOSTS];
} tcp;

void network_open(void)
{
    memset(&tcp, 0, sizeof tcp);
    links_open();
}

/* ---- Life of a connection ---- */

static void init_end(struct connection *connection, int at, int host, uint16_t port)
{
    struct endpoint *end = &connection->ends[at];
    end->connection = connection;
    end->peer = &connection->ends[1 - at];
    end->host = host;
    end->port = port;
    end->last = &end->first;
    end->retry_us = RETRY_LEAST_US;
    end->user_timeout_us = USER_TIMEOUT_US;
    end->heard_us = world_now_us();
}

static uint16_t take_port(int host)
{
    uint16_t port = (uint16_t)(FIRST_PORT + tcp.next_port[host]);
    tcp.next_port[host] = (uint16_t)((tcp.next_port[host] + 1) % (65535 - FIRST_PORT));
    return port;
}

struct connection *tcp_new_connection(int from, int to, uint16_t port)
{
    struct connection *connection = heap_world_calloc(sizeof *connection);
    connection->number = ++tcp.next_number;
    init_end(connection, 0, from, take_port(from));
    init_end(connection, 1, to, port);
    connection->next_all = tcp.all;
    connection->link_all = &tcp.all;
    if (connection->next_all != NULL) {
        connection->next_all->link_all = &connection->next_all;
    }
    tcp.all = connection;
    return connection;
}

void tcp_free_segments(struct endpoint *end)
{
    while (end->first != NULL) {
        struct segment *segment = end->first;
        end->first = segment->next;
        heap_world_free(segment);
    }
    end->next = NULL;
    end->last = &end->first;
    end->unsent = 0;
    end->is_waiting = false;
    world_cancel(end->event);
    end->event = 0;
}

static void free_connection(struct connection *connection)
{
    for (int i = 0; i < 2; i++) {
        tcp_free_segments(&connection->ends[i]);
        world_cancel(connection->ends[i].keepalive_event);
        world_cancel(connection->ends[i].reset_event);
        heap_world_free(connection->ends[i].received);
    }
    world_cancel(connection->syn_event);
    *connection->link_all = connection->next_all;
    if (connection->next_all != NULL) {
        connection->next_all->link_all = connection->link_all;
    }
    heap_world_free(connection);
}

/* Nobody holds it and nothing is under way. */
void tcp_maybe_free(struct connection *connection)
{
    const struct endpoint *ends = connection->ends;
    if (!ends[0].is_owned && !ends[1].is_owned && ends[0].first == NULL && ends[1].first == NULL &&
        connection->queued == NULL && connection->syn_event == 0 && ends[0].reset_event == 0 &&
        ends[1].reset_event == 0) {
        free_connection(connection);
    }
}

void network_close_all(void)
{
    while (tcp.all != NULL) {
        free_connection(tcp.all);
    }
    listener_free_all();
}

void tcp_tell(struct endpoint *end)
{
    if (end->is_owned && end->owner.changed != NULL) {
        end->owner.changed(end->owner.ctx, end);
    }
}

/* The owner learns of it; nothing of this end is delivered any more. */
void tcp_break(struct endpoint *end, int error)
{
    if (end->state == ENDPOINT_BROKEN) {
        return;
    }
    world_note(NOTE_BREAK, end->host, &error, sizeof error);
    if (end->state == ENDPOINT_OPEN) {
        world_trace(
            end->host <= world_nodes() ? end->host : 0, "connection %llu with host %d breaks: %s",
            (unsigned long long)end->connection->number, end->peer->host, uv_strerror(error));
    }
    end->state = ENDPOINT_BROKEN;
    end->error = error;
    tcp_free_segments(end);
    world_cancel(end->keepalive_event);
    end->keepalive_event = 0;
    tcp_tell(end);
}

/* ---- RST ---- */

static void on_reset(void *ctx, uint64_t what)
{
    struct endpoint *end = ctx;
    struct connection *connection = end->connection;
    (void)what;
    end->reset_event = 0;
    bool arrives = !network_is_cut(end->peer->host, end->host);
    if (arrives && !end->has_vanished) {
        bool was_connecting = end->state == ENDPOINT_CONNECTING;
        tcp_break(end, was_connecting ? UV_ECONNREFUSED : UV_ECONNRESET);
    }
    tcp_maybe_free(connection);
}

void tcp_send_reset(struct endpoint *to)
{
    if (to->reset_event == 0) {
        to->reset_event = world_after(link_latency_us(to->peer->host, to->host), on_reset, to, 0);
    }
}

/* ---- Segments ---- */

static void on_arrival(void *ctx, uint64_t what);

static void schedule(struct endpoint *end, int64_t at_us)
{
    world_cancel(end->event);
    end->event = world_at(at_us, on_arrival, end, 0);
}

/* Of the oldest one: has it been on its way for too long? */
static bool has_timed_out(const struct endpoint *end)
{
    return world_now_us() - end->first->sent_us >= end->user_timeout_us;
}

static void try_again(struct endpoint *end)
{
    link_count(false);
    if (end->has_vanished || has_timed_out(end)) {
        bool was_owned = end->is_owned;
        if (!end->has_vanished) {
            tcp_break(end, UV_ETIMEDOUT);
        }
        tcp_free_segments(end);
        if (!was_owned) {
            tcp_maybe_free(end->connection);
        }
        return;
    }
    int64_t at_us = world_now_us() + end->retry_us;
    int64_t end_us = end->first->sent_us + end->user_timeout_us;
    end->retry_us = end->retry_us * 2 < RETRY_MOST_US ? end->retry_us * 2 : RETRY_MOST_US;
    schedule(end, at_us < end_us ? at_us : end_us);
}

static void acknowledge(struct endpoint *end)
{
    while (end->first != end->next) {
        struct segment *segment = end->first;
        end->first = segment->next;
        end->unsent -= segment->len;
        heap_world_free(segment);
    }
    if (end->first == NULL) {
        end->last = &end->first;
    }
    end->heard_us = world_now_us();
    end->retry_us = RETRY_LEAST_US;
}

void tcp_put_received(struct endpoint *to, const struct segment *segment)
{
    if (to->received_at == to->received_end) {
        to->received_at = to->received_end = 0;
    }
    if (to->received_cap - to->received_end < segment->len) {
        size_t used = to->received_end - to->received_at;
        if (used > 0) {
            memmove(to->received, to->received + to->received_at, used);
        }
        to->received_at = 0;
        to->received_end = used;
        if (to->received_cap - used < segment->len) {
            to->received_cap = (used + segment->len) * 2;
            to->received = heap_world_realloc(to->received, to->received_cap);
        }
    }
    memcpy(to->received + to->received_end, segment->bytes, segment->len);
    to->received_end += segment->len;
}

/* It is for an end that nobody holds any more, or that knows nothing of it. */
static bool is_unwanted(const struct endpoint *to, const struct segment *segment)
{
    return to->has_vanished || to->state == ENDPOINT_BROKEN ||
           (!to->is_owned && to->connection->queued == NULL && !segment->is_fin);
}

static void take(struct endpoint *to, const struct segment *segment)
{
    world_note(NOTE_DELIVER, to->host, segment->bytes, segment->len);
    if (segment->is_fin) {
        to->has_fin = true;
    } else {
        tcp_put_received(to, segment);
    }
    to->heard_us = world_now_us();
}

void tcp_go_on(struct endpoint *end)
{
    if (end->next != NULL && end->event == 0 && !end->is_waiting) {
        int64_t at_us = end->next->arrives_us;
        schedule(end, at_us < world_now_us() ? world_now_us() : at_us);
    }
}

static void arrive(struct endpoint *end)
{
    struct endpoint *to = end->peer;
    struct segment *segment = end->next;
    if (link_is_held(end->host, to->host)) {
        end->is_waiting = true;
        return;
    }
    if (end->has_vanished && segment->was_lost) { /* nobody sends it again */
        tcp_free_segments(end);
        tcp_maybe_free(end->connection);
        return;
    }
    if (!link_passes(end->host, to->host)) {
        segment->was_lost = true;
        try_again(end);
        return;
    }
    link_count(true);
    if (is_unwanted(to, segment)) {
        bool is_over = end->has_vanished;
        if (!is_over) {
            tcp_send_reset(end);
        }
        tcp_free_segments(end);
        tcp_maybe_free(end->connection);
        return;
    }
    if (to->received_end - to->received_at >= TCP_RECEIVE_BYTES_MAX) {
        end->is_waiting = true; /* until it is read */
        return;
    }
    take(to, segment);
    end->next = segment->next;
    if (end->has_vanished || link_passes(to->host, end->host)) {
        acknowledge(end);
        tcp_tell(to);
        tcp_tell(end);
        tcp_go_on(end);
        tcp_maybe_free(end->connection);
    } else {
        tcp_tell(to);
        if (end->next != NULL) {
            tcp_go_on(end);
        } else {
            try_again(end);
        }
    }
}

static void on_arrival(void *ctx, uint64_t what)
{
    struct endpoint *end = ctx;
    (void)what;
    end->event = 0;
    if (end->next != NULL) {
        arrive(end);
    } else if (end->first != NULL) { /* it has arrived, but the way back was cut */
        if (link_passes(end->host, end->peer->host) && link_passes(end->peer->host, end->host)) {
            acknowledge(end);
            tcp_tell(end);
            tcp_maybe_free(end->connection);
        } else {
            try_again(end);
        }
    }
}

void tcp_send_segment(struct endpoint *end, const void *bytes, size_t len, bool is_fin)
{
    struct segment *segment = heap_world_realloc(NULL, sizeof *segment + len);
    *segment = (struct segment){.sent_us = world_now_us(), .len = len, .is_fin = is_fin};
    if (len > 0) {
        memcpy(segment->bytes, bytes, len);
    }
    int64_t at_us = world_now_us() +
                    (end->connection->is_local ? 0 : link_latency_us(end->host, end->peer->host));
    segment->arrives_us = at_us > end->last_arrival_us ? at_us : end->last_arrival_us;
    end->last_arrival_us = segment->arrives_us;
    *end->last = segment;
    end->last = &segment->next;
    end->unsent += len;
    if (end->next == NULL) {
        end->next = segment;
        if (end->state == ENDPOINT_OPEN) {
            world_cancel(end->event); /* another try of an acknowledgement: this one has it, too */
            end->event = 0;
            tcp_go_on(end);
        }
    }
}

/* ---- Connecting ---- */

static void on_syn(void *ctx, uint64_t what);

static void send_syn(struct connection *connection, int64_t wait_us)
{
    int64_t latency_us = link_latency_us(connection->ends[0].host, connection->ends[1].host);
    connection->syn_event = world_after(wait_us + latency_us, on_syn, connection, 0);
}

static void lose_syn(struct connection *connection)
{
    link_count(false);
    if (!connection->ends[0].is_owned) {
        tcp_maybe_free(connection);
    } else if (connection->tries == SYN_TRIES) {
        tcp_break(&connection->ends[0], UV_ETIMEDOUT);
    } else {
        send_syn(connection, (int64_t)SYN_RETRY_US << connection->tries++);
    }
}

/* Its machine is there, but the connection is none of its. */
static bool node_knows_nothing(const struct endpoint *end)
{
    return !network_is_cut(end->peer->host, end->host) &&
           (end->host > world_nodes() || (node_has_power(end->host) && !node_is_frozen(end->host)));
}

static void on_syn_ack(void *ctx, uint64_t what)
{
    struct connection *connection = ctx;
    struct endpoint *end = &connection->ends[0];
    (void)what;
    connection->syn_event = 0;
    if (link_is_held(connection->ends[1].host, end->host)) {
        connection->syn_event = world_after(10 * WORLD_MS, on_syn_ack, connection, 0);
        return;
    }
    if (end->has_vanished || end->state == ENDPOINT_BROKEN) {
        if (node_knows_nothing(end)) {
            tcp_send_reset(&connection->ends[1]);
        }
        tcp_maybe_free(connection);
        return;
    }
    if (!link_passes(connection->ends[1].host, end->host)) {
        link_count(false);
        if (!end->is_owned && end->first == NULL) {
            tcp_break(end, UV_ETIMEDOUT);
            tcp_maybe_free(connection);
        } else {
            connection->syn_event = world_after(SYN_RETRY_US, on_syn_ack, connection, 0);
        }
        return;
    }
    link_count(true);
    if (end->state == ENDPOINT_CONNECTING) {
        end->state = ENDPOINT_OPEN;
        end->heard_us = world_now_us();
        for (struct segment *segment = end->first; segment != NULL; segment = segment->next) {
            segment->sent_us = world_now_us();
        }
        end->last_arrival_us = world_now_us() + link_latency_us(end->host, end->peer->host);
        if (end->next != NULL) {
            end->next->arrives_us = end->last_arrival_us;
        }
        tcp_go_on(end);
        tcp_watch_keepalive(end);
        tcp_tell(end);
    }
    tcp_maybe_free(connection);
}

static void on_syn(void *ctx, uint64_t what)
{
    struct connection *connection = ctx;
    struct endpoint *to = &connection->ends[1];
    int from_host = connection->ends[0].host;
    (void)what;
    connection->syn_event = 0;
    if (link_is_held(from_host, to->host)) {
        connection->syn_event = world_after(10 * WORLD_MS, on_syn, connection, 0);
        return;
    }
    if (connection->ends[0].has_vanished || connection->ends[0].state == ENDPOINT_BROKEN) {
        tcp_maybe_free(connection);
        return;
    }
    if (!link_passes(from_host, to->host)) {
        lose_syn(connection);
        return;
    }
    struct listener *listener = listener_find(to->host, to->port);
    if (listener == NULL) {
        link_count(true);
        tcp_send_reset(&connection->ends[0]);
        return;
    }
    if (listener->waiting >= listener->backlog) {
        lose_syn(connection);
        return;
    }
    link_count(true);
    to->state = ENDPOINT_OPEN;
    to->heard_us = world_now_us();
    connection->queued = listener;
    connection->next_queued = NULL;
    *listener->last = connection;
    listener->last = &connection->next_queued;
    listener->waiting++;
    listener->owner.changed(listener->owner.ctx, to);
    connection->syn_event =
        world_after(link_latency_us(to->host, from_host), on_syn_ack, connection, 0);
}

struct endpoint *endpoint_connect(int from_host,
                                  int to_host,
                                  uint16_t port,
                                  struct endpoint_owner owner)
{
    struct connection *connection = tcp_new_connection(from_host, to_host, port);
    struct endpoint *end = &connection->ends[0];
    end->owner = owner;
    end->is_owned = true;
    uint64_t key[2] = {(uint64_t)to_host, port};
    world_note(NOTE_CONNECT, from_host, key, sizeof key);
    send_syn(connection, 0);
    return end;
}

/* ---- Keepalive ---- */

static void on_keepalive(void *ctx, uint64_t what)
{
    struct endpoint *end = ctx;
    (void)what;
    end->keepalive_event = 0;
    if (end->keepalive_us == 0 || !end->is_owned || end->state != ENDPOINT_OPEN) {
        return;
    }
    int64_t idle_us = world_now_us() - end->heard_us;
    int64_t wait_us = WORLD_SECOND;
    if (idle_us < end->keepalive_us) {
        wait_us = end->keepalive_us - idle_us;
    } else if (link_passes(end->host, end->peer->host) && link_passes(end->peer->host, end->host)) {
        if (end->peer->has_vanished || end->peer->state == ENDPOINT_BROKEN) {
            tcp_break(end, UV_ECONNRESET);
            return;
        }
        end->heard_us = world_now_us();
        wait_us = end->keepalive_us;
    } else if (idle_us >= end->user_timeout_us ||
               idle_us >= end->keepalive_us + (int64_t)KEEPALIVE_PROBES * WORLD_SECOND) {
        tcp_break(end, UV_ETIMEDOUT);
        return;
    }
    end->keepalive_event = world_after(wait_us, on_keepalive, end, 0);
}

void tcp_watch_keepalive(struct endpoint *end)
{
    if (end->keepalive_us > 0 && end->keepalive_event == 0 && end->state == ENDPOINT_OPEN &&
        !end->connection->is_local) {
        end->keepalive_event = world_after(end->keepalive_us, on_keepalive, end, 0);
    }
}

void endpoint_set_timeouts(struct endpoint *end, int64_t user_timeout_us, int keepalive_s)
{
    end->user_timeout_us = user_timeout_us > 0 ? user_timeout_us : USER_TIMEOUT_US;
    end->keepalive_us = (int64_t)keepalive_s * WORLD_SECOND;
    tcp_watch_keepalive(end);
}

struct connection *tcp_first(void)
{
    return tcp.all;
}
