/* One end of a connection, as its owner sees it. */
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/tcp.h"

enum { SEND_BYTES_MAX = 256 * 1024 };

/* ---- Local pairs ---- */

void endpoint_pair(struct endpoint *ends[2])
{
    int host = node_current();
    struct connection *connection = tcp_new_connection(host, host, 0);
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
    size_t room = TCP_RECEIVE_BYTES_MAX > used ? TCP_RECEIVE_BYTES_MAX - used : 0;
    len = len < room ? len : room;
    for (size_t at = 0; at < len;) {
        size_t n = len - at < TCP_SEGMENT_BYTES_MAX ? len - at : TCP_SEGMENT_BYTES_MAX;
        char memory[sizeof(struct segment) + TCP_SEGMENT_BYTES_MAX]
            __attribute__((aligned(sizeof(void *))));
        struct segment *segment = (struct segment *)(void *)memory;
        segment->len = n;
        memcpy(segment->bytes, (const char *)bytes + at, n);
        tcp_put_received(to, segment);
        at += n;
    }
    if (len > 0) {
        tcp_tell(to);
    }
    return len;
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
        size_t n = len - at < TCP_SEGMENT_BYTES_MAX ? len - at : TCP_SEGMENT_BYTES_MAX;
        tcp_send_segment(end, (const char *)bytes + at, n, false);
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
        if (there >= TCP_RECEIVE_BYTES_MAX / 2) {
            tcp_tell(from);
        }
    } else if (from->is_waiting && !link_is_held(from->host, end->host)) {
        from->is_waiting = false;
        tcp_go_on(from);
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
    tcp_tell(end->peer);
    tcp_maybe_free(end->connection);
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
        tcp_send_segment(end, NULL, 0, true);
    } else if (end->state == ENDPOINT_CONNECTING) {
        end->state = ENDPOINT_BROKEN;
        tcp_free_segments(end);
    }
    disown(end);
    tcp_maybe_free(end->connection);
}

void endpoint_reset(struct endpoint *end)
{
    tcp_free_segments(end);
    bool was_open = end->state == ENDPOINT_OPEN;
    end->state = ENDPOINT_BROKEN;
    disown(end);
    if (was_open && end->peer->state != ENDPOINT_BROKEN) {
        tcp_send_reset(end->peer);
    }
    tcp_maybe_free(end->connection);
}

void endpoint_vanish(struct endpoint *end)
{
    if (end->connection->is_local) {
        close_local(end);
        return;
    }
    end->has_vanished = true;
    disown(end);
    tcp_maybe_free(end->connection);
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
