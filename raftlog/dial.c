#include "raftlog/dial.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "raftlog/peer_socket.h"
#include "rpc/ensure.h"

struct dial {
    uv_timer_t timer;
    uv_getaddrinfo_t resolve;
    uv_connect_t connect;
    struct dial_target target;
    enum hello_purpose purpose;
    const struct handshake_self *self;
    handshake_cb done;
    void *ctx;
    struct addrinfo *addresses; /* all */
    struct addrinfo *next;      /* to be tried */
    uv_tcp_t *tcp;              /* being connected */
    struct handshake *handshake;
    int error; /* of the last address */
    bool is_resolving;
    bool is_connecting;
    bool is_over;
    bool timer_closed;
};

/* Everything that libuv may still touch must have come back. */
static void maybe_free(struct dial *dial)
{
    if (dial->timer_closed && !dial->is_resolving && !dial->is_connecting) {
        if (dial->addresses != NULL) {
            uv_freeaddrinfo(dial->addresses);
        }
        free(dial);
    }
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct dial *dial = timer->data;
    dial->timer_closed = true;
    maybe_free(dial);
}

static void finish(struct dial *dial, const struct handshake_result *result)
{
    if (dial->is_over) {
        return;
    }
    dial->is_over = true;
    if (dial->tcp != NULL) {
        peer_socket_close(dial->tcp);
        dial->tcp = NULL;
    }
    dial->done(dial->ctx, result);
    uv_close((uv_handle_t *)&dial->timer, on_timer_closed);
}

static void fail(struct dial *dial, int error)
{
    finish(dial, &(struct handshake_result){.error = error});
}

static void on_shaken(void *ctx, const struct handshake_result *result)
{
    struct dial *dial = ctx;
    dial->handshake = NULL;
    finish(dial, result);
}

static void try_next(struct dial *dial);

static void on_connected(uv_connect_t *connect, int status)
{
    struct dial *dial = connect->data;
    dial->is_connecting = false;
    if (dial->is_over) {
        maybe_free(dial);
        return;
    }
    uv_timer_stop(&dial->timer);
    if (status != 0) {
        dial->error = status;
        if (dial->tcp != NULL) {
            peer_socket_close(dial->tcp);
            dial->tcp = NULL;
        }
        try_next(dial);
        return;
    }
    uv_tcp_t *tcp = dial->tcp;
    dial->tcp = NULL;
    peer_socket_tune(tcp);
    dial->handshake = handshake_start(tcp, HELLO_DIALER, dial->purpose, dial->target.node_id,
                                      dial->self, on_shaken, dial);
}

/* The connect request then ends with UV_ECANCELED, and the next address is tried. */
static void on_connect_timeout(uv_timer_t *timer)
{
    struct dial *dial = timer->data;
    if (dial->tcp != NULL) {
        peer_socket_close(dial->tcp);
        dial->tcp = NULL;
    }
}

/* Binds to the configured local address, if it is of the same family. */
static int bind_local(const struct dial *dial, int family)
{
    if (dial->target.bind_host == NULL) {
        return 0;
    }
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (uv_ip4_addr(dial->target.bind_host, 0, &v4) == 0) {
        bool is_any = v4.sin_addr.s_addr == INADDR_ANY;
        return is_any || family != AF_INET
                   ? 0
                   : uv_tcp_bind(dial->tcp, (const struct sockaddr *)&v4, 0);
    }
    if (uv_ip6_addr(dial->target.bind_host, 0, &v6) == 0) {
        bool is_any = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
        return is_any || family != AF_INET6
                   ? 0
                   : uv_tcp_bind(dial->tcp, (const struct sockaddr *)&v6, 0);
    }
    return 0; /* a host name: the listener resolves it, the way out is the kernel's choice */
}

static void try_next(struct dial *dial)
{
    struct addrinfo *address = dial->next;
    if (address == NULL) {
        fail(dial, dial->error != 0 ? dial->error : UV_EAI_NONAME);
        return;
    }
    dial->next = address->ai_next;
    dial->tcp = peer_socket_new(dial->timer.loop);
    dial->connect.data = dial;
    int rv = bind_local(dial, address->ai_family);
    if (rv == 0) {
        rv = uv_tcp_connect(&dial->connect, dial->tcp, address->ai_addr, on_connected);
    }
    if (rv != 0) {
        dial->error = rv;
        peer_socket_close(dial->tcp);
        dial->tcp = NULL;
        try_next(dial);
        return;
    }
    dial->is_connecting = true;
    uv_timer_start(&dial->timer, on_connect_timeout, DIAL_CONNECT_TIMEOUT_MS, 0);
}

static void on_resolved(uv_getaddrinfo_t *resolve, int status, struct addrinfo *addresses)
{
    struct dial *dial = resolve->data;
    dial->is_resolving = false;
    dial->addresses = addresses;
    if (dial->is_over) {
        maybe_free(dial);
        return;
    }
    if (status != 0) {
        fail(dial, status);
        return;
    }
    dial->next = addresses;
    try_next(dial);
}

static void on_not_started(uv_timer_t *timer)
{
    struct dial *dial = timer->data;
    fail(dial, dial->error);
}

struct dial *dial_start(uv_loop_t *loop,
                        const struct dial_target *target,
                        enum hello_purpose purpose,
                        const struct handshake_self *self,
                        handshake_cb done,
                        void *ctx)
{
    struct dial *dial = calloc(1, sizeof *dial);
    ensure(dial != NULL);
    dial->target = *target;
    dial->purpose = purpose;
    dial->self = self;
    dial->done = done;
    dial->ctx = ctx;
    ensure(uv_timer_init(loop, &dial->timer) == 0);
    dial->timer.data = dial;
    dial->resolve.data = dial;
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)target->port);
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    dial->error = uv_getaddrinfo(loop, &dial->resolve, on_resolved, target->host, port, &hints);
    if (dial->error != 0) {
        uv_timer_start(&dial->timer, on_not_started, 0, 0);
    } else {
        dial->is_resolving = true;
    }
    return dial;
}

void dial_cancel(struct dial *dial)
{
    if (dial->handshake != NULL) {
        handshake_cancel(dial->handshake);
        dial->handshake = NULL;
    }
    fail(dial, UV_ECANCELED);
}
