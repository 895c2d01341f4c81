/* The sockets where clients connect: one or more per listener of the configuration (a host name may
 * have several addresses).
 *
 * Where open files run out libuv gives up a spare descriptor to accept and close what waits, so
 * nothing spins; conns.h refuses connections before it comes to that. */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "server/config.h"
#include "server/conns.h"

enum { LISTENER_SOCKETS_MAX = 64 };

struct listener_socket {
    uv_tcp_t tcp;
    struct conns *conns;
    struct span name;
};

struct listeners {
    struct listener_socket sockets[LISTENER_SOCKETS_MAX];
    size_t count;
};

/* Binds and listens. False: [message] says which listener failed, why, and what to do. [config]
 * must outlive the connections. */
bool listener_open_all(struct listeners *listeners,
                       uv_loop_t *loop,
                       const struct config *config,
                       struct conns *conns,
                       char *message,
                       size_t message_len);
void listener_close_all(struct listeners *listeners);

#endif
