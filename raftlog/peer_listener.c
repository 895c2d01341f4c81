#include "raftlog/peer_listener.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "raftlog/peer_socket.h"
#include "rpc/ensure.h"

struct peer_listener_pending {
    struct peer_listener_pending *next;
    struct peer_listener *listener;
    struct handshake *handshake;
    char from[INET6_ADDRSTRLEN + 8];
};

static void unlink_pending(struct peer_listener_pending *pending)
{
    struct peer_listener *listener = pending->listener;
    struct peer_listener_pending **at = &listener->pending;
    while (*at != pending) {
        at = &(*at)->next;
    }
    *at = pending->next;
    listener->pending_count--;
}

static void on_shaken(void *ctx, const struct handshake_result *result)
{
    struct peer_listener_pending *pending = ctx;
    struct peer_listener *listener = pending->listener;
    unlink_pending(pending);
    if (result->tcp != NULL) {
        listener->accepted(listener->ctx, result);
    } else {
        listener->refused(listener->ctx, pending->from, result);
    }
    free(pending);
}

static void drop_oldest(struct peer_listener *listener)
{
    struct peer_listener_pending *oldest = listener->pending;
    while (oldest->next != NULL) {
        oldest = oldest->next;
    }
    unlink_pending(oldest);
    handshake_cancel(oldest->handshake);
    listener->refused(listener->ctx, oldest->from,
                      &(struct handshake_result){.error = UV_ECONNABORTED});
    free(oldest);
}

static void describe_source(const uv_tcp_t *tcp, char *text, size_t len)
{
    struct sockaddr_storage address;
    int address_len = sizeof address;
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&address, &address_len) == 0) {
        if (address.ss_family == AF_INET6) {
            const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
            uv_ip6_name(v6, host, sizeof host);
            port = ntohs(v6->sin6_port);
        } else {
            const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
            uv_ip4_name(v4, host, sizeof host);
            port = ntohs(v4->sin_port);
        }
    }
    snprintf(text, len, "%s:%u", host, port);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct peer_listener *listener = server->data;
    if (status != 0) {
        return; /* out of descriptors, say: libuv has closed the connection and goes on */
    }
    uv_tcp_t *tcp = peer_socket_new(server->loop);
    if (uv_accept(server, (uv_stream_t *)tcp) != 0) {
        peer_socket_close(tcp);
        return;
    }
    peer_socket_tune(tcp);
    if (listener->pending_count == PEER_LISTENER_PENDING_MAX) {
        drop_oldest(listener);
    }
    struct peer_listener_pending *pending = calloc(1, sizeof *pending);
    ensure(pending != NULL);
    pending->listener = listener;
    describe_source(tcp, pending->from, sizeof pending->from);
    pending->next = listener->pending;
    listener->pending = pending;
    listener->pending_count++;
    pending->handshake =
        handshake_start(tcp, HELLO_ACCEPTOR, HELLO_RAFT, 0, listener->self, on_shaken, pending);
}

static int bind_any(uv_tcp_t *tcp, uint16_t port)
{
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    uv_ip6_addr("::", port, &v6);
    int rv = uv_tcp_bind(tcp, (const struct sockaddr *)&v6, 0);
    if (rv == UV_EAFNOSUPPORT || rv == UV_EADDRNOTAVAIL) {
        uv_ip4_addr("0.0.0.0", port, &v4);
        rv = uv_tcp_bind(tcp, (const struct sockaddr *)&v4, 0);
    }
    return rv;
}

static int bind_host(uv_tcp_t *tcp, const char *host, uint16_t port)
{
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    uv_getaddrinfo_t resolve;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
    int rv = uv_getaddrinfo(tcp->loop, &resolve, NULL, host, service, &hints);
    if (rv != 0) {
        return rv;
    }
    rv = uv_tcp_bind(tcp, resolve.addrinfo->ai_addr, 0);
    uv_freeaddrinfo(resolve.addrinfo);
    return rv;
}

static void forget(uv_handle_t *handle)
{
    (void)handle;
}

int peer_listener_open(struct peer_listener *listener,
                       uv_loop_t *loop,
                       const char *host,
                       uint16_t port)
{
    ensure(uv_tcp_init(loop, &listener->tcp) == 0);
    listener->tcp.data = listener;
    int rv = host == NULL ? bind_any(&listener->tcp, port) : bind_host(&listener->tcp, host, port);
    if (rv == 0) {
        rv = uv_listen((uv_stream_t *)&listener->tcp, PEER_LISTENER_BACKLOG, on_connection);
    }
    if (rv != 0) {
        uv_close((uv_handle_t *)&listener->tcp, forget);
        return rv;
    }
    listener->is_open = true;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct peer_listener *listener = handle->data;
    listener->closed(listener->ctx);
}

void peer_listener_close(struct peer_listener *listener, void (*closed)(void *ctx))
{
    while (listener->pending != NULL) {
        struct peer_listener_pending *pending = listener->pending;
        unlink_pending(pending);
        handshake_cancel(pending->handshake);
        free(pending);
    }
    listener->closed = closed;
    if (!listener->is_open) {
        closed(listener->ctx);
        return;
    }
    listener->is_open = false;
    uv_close((uv_handle_t *)&listener->tcp, on_closed);
}
