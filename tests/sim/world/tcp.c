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
#include <errno.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

enum {
    SEND_BYTES_MAX = 256 * 1024,
    RECEIVE_BYTES_MAX = 256 * 1024,
    SEGMENT_BYTES_MAX = 16 * 1024,
    RETRY_LEAST_US = 200 * WORLD_MS,
    RETRY_MOST_US = 3 * WORLD_SECOND,
    SYN_RETRY_US = WORLD_SECOND,
    SYN_TRIES = 7,
    KEEPALIVE_PROBES = 10, /* a second apart */
    FIRST_PORT = 32768
};
#define USER_TIMEOUT_US ((int64_t)900 * WORLD_SECOND)

struct segment {
    struct segment *next;
    int64_t sent_us;
    int64_t arrives_us;
    size_t len;
    bool is_fin;
    bool was_lost; /* at least once */
    uint8_t bytes[];
};

struct connection;

struct endpoint {
    struct connection *connection;
    struct endpoint *peer;
    struct endpoint_owner owner;
    int host;
    uint16_t port;
    enum endpoint_state state;
    int error;
    bool is_owned; /* a process or client holds it */
    bool has_vanished;
    bool is_closed; /* by its owner: it sends no more */
    int64_t user_timeout_us;
    int64_t keepalive_us;
    uint64_t keepalive_event;
    uint64_t reset_event; /* an RST is on its way to it */
    int64_t heard_us;

    /* What it has received and nobody has read. */
    uint8_t *received;
    size_t received_at, received_end, received_cap;
    bool has_fin;

    /* What it has sent. */
    struct segment *first; /* not acknowledged */
    struct segment *next;  /* has not arrived */
    struct segment **last;
    size_t unsent; /* bytes not acknowledged */
    int64_t last_arrival_us;
    int64_t retry_us;
    uint64_t event;  /* the arrival of [next], or another try of an acknowledgement */
    bool is_waiting; /* for a held link, or for room */
};

struct connection {
    struct connection *next_all, **link_all;
    uint64_t number;
    struct endpoint ends[2]; /* 0 connected to 1 */
    struct listener *queued; /* ends[1] waits there to be accepted */
    struct connection *next_queued;
    int tries; /* of SYN */
    uint64_t syn_event;
    bool is_local;
};

struct listener {
    struct listener *next;
    int host;
    uint16_t port;
    int backlog, waiting;
    struct connection *first, **last;
    struct endpoint_owner owner;
};

static struct {
    struct connection *all;
    struct listener *listeners;
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

static struct connection *new_connection(int from, int to, uint16_t port)
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

static void free_segments(struct endpoint *end)
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
        free_segments(&connection->ends[i]);
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
static void maybe_free(struct connection *connection)
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
    while (tcp.listeners != NULL) {
        struct listener *listener = tcp.listeners;
        tcp.listeners = listener->next;
        heap_world_free(listener);
    }
}

static void tell(struct endpoint *end)
{
    if (end->is_owned && end->owner.changed != NULL) {
        end->owner.changed(end->owner.ctx, end);
    }
}

/* The owner learns of it; nothing of this end is delivered any more. */
static void break_end(struct endpoint *end, int error)
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
    free_segments(end);
    world_cancel(end->keepalive_event);
    end->keepalive_event = 0;
    tell(end);
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
        break_end(end, was_connecting ? UV_ECONNREFUSED : UV_ECONNRESET);
    }
    maybe_free(connection);
}

static void send_reset(struct endpoint *to)
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
            break_end(end, UV_ETIMEDOUT);
        }
        free_segments(end);
        if (!was_owned) {
            maybe_free(end->connection);
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

static void put_received(struct endpoint *to, const struct segment *segment)
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
        put_received(to, segment);
    }
    to->heard_us = world_now_us();
}

static void go_on(struct endpoint *end)
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
        free_segments(end);
        maybe_free(end->connection);
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
            send_reset(end);
        }
        free_segments(end);
        maybe_free(end->connection);
        return;
    }
    if (to->received_end - to->received_at >= RECEIVE_BYTES_MAX) {
        end->is_waiting = true; /* until it is read */
        return;
    }
    take(to, segment);
    end->next = segment->next;
    if (end->has_vanished || link_passes(to->host, end->host)) {
        acknowledge(end);
        tell(to);
        tell(end);
        go_on(end);
        maybe_free(end->connection);
    } else {
        tell(to);
        if (end->next != NULL) {
            go_on(end);
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
            tell(end);
            maybe_free(end->connection);
        } else {
            try_again(end);
        }
    }
}

static void send_segment(struct endpoint *end, const void *bytes, size_t len, bool is_fin)
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
            go_on(end);
        }
    }
}

/* ---- Local pairs ---- */

void endpoint_pair(struct endpoint *ends[2])
{
    int host = node_current();
    struct connection *connection = new_connection(host, host, 0);
    connection->is_local = true;
    for (int i = 0; i < 2; i++) {
        ends[i] = &connection->ends[i];
        ends[i]->state = ENDPOINT_OPEN;
        ends[i]->is_owned = true;
    }
}

static size_t send_local(struct endpoint *end, const void *bytes, size_t len)
{
    struct endpoint *to = end->peer;
    size_t used = to->received_end - to->received_at;
    size_t room = RECEIVE_BYTES_MAX > used ? RECEIVE_BYTES_MAX - used : 0;
    len = len < room ? len : room;
    for (size_t at = 0; at < len;) {
        size_t n = len - at < SEGMENT_BYTES_MAX ? len - at : SEGMENT_BYTES_MAX;
        char memory[sizeof(struct segment) + SEGMENT_BYTES_MAX]
            __attribute__((aligned(sizeof(void *))));
        struct segment *segment = (struct segment *)(void *)memory;
        segment->len = n;
        memcpy(segment->bytes, (const char *)bytes + at, n);
        put_received(to, segment);
        at += n;
    }
    if (len > 0) {
        tell(to);
    }
    return len;
}

/* ---- Connecting ---- */

static struct listener *find_listener(int host, uint16_t port)
{
    struct listener *listener = tcp.listeners;
    while (listener != NULL && (listener->host != host || listener->port != port)) {
        listener = listener->next;
    }
    return listener;
}

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
        maybe_free(connection);
    } else if (connection->tries == SYN_TRIES) {
        break_end(&connection->ends[0], UV_ETIMEDOUT);
    } else {
        send_syn(connection, (int64_t)SYN_RETRY_US << connection->tries++);
    }
}

static void watch_keepalive(struct endpoint *end);

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
            send_reset(&connection->ends[1]);
        }
        maybe_free(connection);
        return;
    }
    if (!link_passes(connection->ends[1].host, end->host)) {
        link_count(false);
        if (!end->is_owned && end->first == NULL) {
            break_end(end, UV_ETIMEDOUT);
            maybe_free(connection);
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
        go_on(end);
        watch_keepalive(end);
        tell(end);
    }
    maybe_free(connection);
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
        maybe_free(connection);
        return;
    }
    if (!link_passes(from_host, to->host)) {
        lose_syn(connection);
        return;
    }
    struct listener *listener = find_listener(to->host, to->port);
    if (listener == NULL) {
        link_count(true);
        send_reset(&connection->ends[0]);
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
    struct connection *connection = new_connection(from_host, to_host, port);
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
            break_end(end, UV_ECONNRESET);
            return;
        }
        end->heard_us = world_now_us();
        wait_us = end->keepalive_us;
    } else if (idle_us >= end->user_timeout_us ||
               idle_us >= end->keepalive_us + (int64_t)KEEPALIVE_PROBES * WORLD_SECOND) {
        break_end(end, UV_ETIMEDOUT);
        return;
    }
    end->keepalive_event = world_after(wait_us, on_keepalive, end, 0);
}

static void watch_keepalive(struct endpoint *end)
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
    watch_keepalive(end);
}

/* ---- What owners do ---- */

void endpoint_own(struct endpoint *end, struct endpoint_owner owner)
{
    end->owner = owner;
    end->is_owned = true;
}

enum endpoint_state endpoint_state(const struct endpoint *end)
{
    return end->state;
}

int endpoint_error(const struct endpoint *end)
{
    return end->error;
}

size_t endpoint_unsent(const struct endpoint *end)
{
    return end->unsent;
}

size_t endpoint_send(struct endpoint *end, const void *bytes, size_t len)
{
    if (end->state == ENDPOINT_BROKEN || end->is_closed) {
        return 0;
    }
    if (end->connection->is_local) {
        return end->peer->is_owned ? send_local(end, bytes, len) : len;
    }
    size_t room = end->unsent < SEND_BYTES_MAX ? SEND_BYTES_MAX - end->unsent : 0;
    len = len < room ? len : room;
    for (size_t at = 0; at < len;) {
        size_t n = len - at < SEGMENT_BYTES_MAX ? len - at : SEGMENT_BYTES_MAX;
        send_segment(end, (const char *)bytes + at, n, false);
        at += n;
    }
    return len;
}

bool endpoint_has_bytes(const struct endpoint *end)
{
    return end->received_end > end->received_at;
}

bool endpoint_is_finished(const struct endpoint *end)
{
    return end->has_fin && !endpoint_has_bytes(end);
}

size_t endpoint_receive(struct endpoint *end, void *bytes, size_t len)
{
    size_t there = end->received_end - end->received_at;
    len = len < there ? len : there;
    if (len > 1 && chance_in(world_chance(WORLD_CHANCE_NETWORK), link_splitting())) {
        len = (size_t)chance_between(world_chance(WORLD_CHANCE_NETWORK), 1, (int64_t)len);
    }
    if (len > 0) {
        memcpy(bytes, end->received + end->received_at, len);
        end->received_at += len;
    }
    struct endpoint *from = end->peer;
    if (end->connection->is_local) {
        if (there >= RECEIVE_BYTES_MAX / 2) {
            tell(from);
        }
    } else if (from->is_waiting && !link_is_held(from->host, end->host)) {
        from->is_waiting = false;
        go_on(from);
    }
    return len;
}

static void disown(struct endpoint *end)
{
    end->is_owned = false;
    end->owner = (struct endpoint_owner){NULL, NULL};
    world_cancel(end->keepalive_event);
    end->keepalive_event = 0;
}

static void close_local(struct endpoint *end)
{
    end->peer->has_fin = true;
    disown(end);
    tell(end->peer);
    maybe_free(end->connection);
}

void endpoint_close(struct endpoint *end)
{
    if (end->connection->is_local) {
        close_local(end);
        return;
    }
    bool has_unread = endpoint_has_bytes(end);
    if (end->state == ENDPOINT_OPEN && has_unread) {
        endpoint_reset(end);
        return;
    }
    if (end->state == ENDPOINT_OPEN && !end->is_closed) {
        end->is_closed = true;
        send_segment(end, NULL, 0, true);
    } else if (end->state == ENDPOINT_CONNECTING) {
        end->state = ENDPOINT_BROKEN;
        free_segments(end);
    }
    disown(end);
    maybe_free(end->connection);
}

void endpoint_reset(struct endpoint *end)
{
    free_segments(end);
    bool was_open = end->state == ENDPOINT_OPEN;
    end->state = ENDPOINT_BROKEN;
    disown(end);
    if (was_open && end->peer->state != ENDPOINT_BROKEN) {
        send_reset(end->peer);
    }
    maybe_free(end->connection);
}

void endpoint_vanish(struct endpoint *end)
{
    if (end->connection->is_local) {
        close_local(end);
        return;
    }
    end->has_vanished = true;
    disown(end);
    maybe_free(end->connection);
}

int endpoint_far_host(const struct endpoint *end)
{
    return end->peer->host;
}

uint16_t endpoint_far_port(const struct endpoint *end)
{
    return end->peer->port;
}

uint64_t endpoint_number(const struct endpoint *end)
{
    return end->connection->number;
}

/* ---- Listening ---- */

struct listener *listener_new(int host, uint16_t port, int backlog, struct endpoint_owner owner)
{
    if (find_listener(host, port) != NULL) {
        return NULL;
    }
    struct listener *listener = heap_world_calloc(sizeof *listener);
    listener->host = host;
    listener->port = port;
    listener->backlog = backlog;
    listener->owner = owner;
    listener->last = &listener->first;
    listener->next = tcp.listeners;
    tcp.listeners = listener;
    return listener;
}

bool listener_has_waiting(const struct listener *listener)
{
    return listener->waiting > 0;
}

struct endpoint *listener_accept(struct listener *listener)
{
    struct connection *connection = listener->first;
    if (connection == NULL) {
        return NULL;
    }
    listener->first = connection->next_queued;
    if (listener->first == NULL) {
        listener->last = &listener->first;
    }
    listener->waiting--;
    connection->queued = NULL;
    connection->ends[1].is_owned = true; /* the caller says by whom */
    return &connection->ends[1];
}

void listener_close(struct listener *listener, bool has_power)
{
    struct endpoint *end;
    while ((end = listener_accept(listener)) != NULL) {
        if (has_power) {
            endpoint_reset(end);
        } else {
            endpoint_vanish(end);
        }
    }
    struct listener **at = &tcp.listeners;
    while (*at != listener) {
        at = &(*at)->next;
    }
    *at = listener->next;
    heap_world_free(listener);
}

/* ---- What the nemesis does to connections ---- */

void tcp_released(int from, int to)
{
    for (struct connection *connection = tcp.all; connection != NULL;
         connection = connection->next_all) {
        for (int i = 0; i < 2; i++) {
            struct endpoint *end = &connection->ends[i];
            if (end->is_waiting && end->host == from && end->peer->host == to) {
                end->is_waiting = false;
                go_on(end);
            }
        }
    }
}

static bool is_between(const struct connection *connection, int a, int b)
{
    int x = connection->ends[0].host;
    int y = connection->ends[1].host;
    return ((a == 0 || x == a) && (b == 0 || y == b)) || ((a == 0 || y == a) && (b == 0 || x == b));
}

unsigned network_break(int a, int b)
{
    unsigned count = 0;
    struct connection *next = NULL;
    for (struct connection *connection = tcp.all; connection != NULL; connection = next) {
        next = connection->next_all;
        struct endpoint *ends = connection->ends;
        if (connection->is_local || !is_between(connection, a, b) ||
            ends[1].state != ENDPOINT_OPEN || ends[0].state != ENDPOINT_OPEN) {
            continue;
        }
        count++;
        for (int i = 0; i < 2; i++) {
            break_end(&ends[i], UV_ECONNRESET);
        }
    }
    world_trace(0, "RST on %u connections between %d and %d", count, a, b);
    return count;
}
