/* Who listens, and who waits to be accepted. */
#include "tests/sim/world/tcp.h"

static struct listener *listeners;

struct listener *listener_find(int host, uint16_t port)
{
    struct listener *listener = listeners;
    while (listener != NULL && (listener->host != host || listener->port != port)) {
        listener = listener->next;
    }
    return listener;
}

struct listener *listener_new(int host, uint16_t port, int backlog, struct endpoint_owner owner)
{
    if (listener_find(host, port) != NULL) {
        return NULL;
    }
    struct listener *listener = heap_world_calloc(sizeof *listener);
    listener->host = host;
    listener->port = port;
    listener->backlog = backlog;
    listener->owner = owner;
    listener->last = &listener->first;
    listener->next = listeners;
    listeners = listener;
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
    struct listener **at = &listeners;
    while (*at != listener) {
        at = &(*at)->next;
    }
    *at = listener->next;
    heap_world_free(listener);
}

void listener_free_all(void)
{
    while (listeners != NULL) {
        struct listener *listener = listeners;
        listeners = listener->next;
        heap_world_free(listener);
    }
}
