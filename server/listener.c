#include "server/listener.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "rpc/ensure.h"
#include "server/log.h"

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener_socket *socket = stream->data;
    struct conns *conns = socket->conns;
    if (status < 0) {
        conns->counters.accept_failed++;
        log_limited(&conns->rates.accept_failed, LOG_LEVEL_ERROR,
                    "accept_failed listener=%.*s error=\"%s\"", (int)socket->name.len,
                    (const char *)socket->name.data, uv_strerror(status));
        return;
    }
    conns_accept(conns, stream, socket->name);
}

/* 0, or a libuv error; then the socket is closing and its place may not be used again. */
static int open_socket(struct listener_socket *socket,
                       uv_loop_t *loop,
                       const struct sockaddr *address,
                       int backlog)
{
    ensure(uv_tcp_init(loop, &socket->tcp) == 0);
    socket->tcp.data = socket;
    int failed = uv_tcp_bind(&socket->tcp, address, 0);
    if (failed == 0) {
        failed = uv_listen((uv_stream_t *)&socket->tcp, backlog, on_connection);
    }
    if (failed != 0) {
        uv_close((uv_handle_t *)&socket->tcp, NULL);
    }
    return failed;
}

static const char *advice(int failed)
{
    switch (failed) {
        case UV_EADDRINUSE:
            return "; another process has the port: end it or change listeners";
        case UV_EACCES:
            return "; ports below 1024 need the capability CAP_NET_BIND_SERVICE";
        case UV_EADDRNOTAVAIL:
            return "; the machine does not have this address: change listeners";
        default:
            return "";
    }
}

struct opening {
    struct listeners *listeners;
    uv_loop_t *loop;
    const struct config *config;
    struct conns *conns;
    char *message;
    size_t message_len;
};

static int open_address(struct opening *opening,
                        const struct endpoint_listener *spec,
                        const struct sockaddr *address)
{
    struct listeners *listeners = opening->listeners;
    if (listeners->count == LISTENER_SOCKETS_MAX) {
        return UV_EMFILE;
    }
    struct listener_socket *socket = &listeners->sockets[listeners->count++];
    socket->conns = opening->conns;
    socket->name = span_from_cstr(spec->name);
    return open_socket(socket, opening->loop, address, (int)opening->config->listen_backlog);
}

static bool fail(struct opening *opening, const struct endpoint_listener *spec, int failed)
{
    snprintf(opening->message, opening->message_len, "listener %s://%s:%u: %s%s", spec->name,
             spec->at.host, spec->at.port, uv_strerror(failed), advice(failed));
    return false;
}

/* IPv6's any-address takes IPv4, too; a machine without IPv6 has IPv4's alone. */
static bool open_any(struct opening *opening, const struct endpoint_listener *spec)
{
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    ensure(uv_ip6_addr("::", spec->at.port, &v6) == 0);
    ensure(uv_ip4_addr("0.0.0.0", spec->at.port, &v4) == 0);
    int failed = open_address(opening, spec, (const struct sockaddr *)&v6);
    if (failed == UV_EAFNOSUPPORT || failed == UV_EADDRNOTAVAIL || failed == UV_EINVAL) {
        failed = open_address(opening, spec, (const struct sockaddr *)&v4);
    }
    return failed == 0 || fail(opening, spec, failed);
}

static bool open_host(struct opening *opening, const struct endpoint_listener *spec)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found;
    char port[8];
    snprintf(port, sizeof port, "%u", spec->at.port);
    int failed = getaddrinfo(spec->at.host, port, &hints, &found);
    if (failed != 0) {
        snprintf(opening->message, opening->message_len, "listener %s: host %s is not known: %s",
                 spec->name, spec->at.host, gai_strerror(failed));
        return false;
    }
    for (const struct addrinfo *at = found; at != NULL && failed == 0; at = at->ai_next) {
        failed = open_address(opening, spec, at->ai_addr);
    }
    freeaddrinfo(found);
    return failed == 0 || fail(opening, spec, failed);
}

bool listener_open_all(struct listeners *listeners,
                       uv_loop_t *loop,
                       const struct config *config,
                       struct conns *conns,
                       char *message,
                       size_t message_len)
{
    struct opening opening = {listeners, loop, config, conns, message, message_len};
    listeners->count = 0;
    for (size_t i = 0; i < config->listeners_count; i++) {
        const struct endpoint_listener *spec = &config->listener[i];
        const struct endpoint_listener *told = &config->advertised[i];
        bool is_any = spec->at.host[0] == '\0';
        if (!(is_any ? open_any(&opening, spec) : open_host(&opening, spec))) {
            return false;
        }
        log_event(LOG_LEVEL_INFO, "listening listener=%s host=%s port=%u advertised=%s:%u",
                  spec->name, is_any ? "*" : spec->at.host, spec->at.port, told->at.host,
                  told->at.port);
    }
    return true;
}

void listener_close_all(struct listeners *listeners)
{
    for (size_t i = 0; i < listeners->count; i++) {
        uv_handle_t *handle = (uv_handle_t *)&listeners->sockets[i].tcp;
        if (!uv_is_closing(handle)) {
            uv_close(handle, NULL);
        }
    }
}
