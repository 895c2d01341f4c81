/* libuv's TCP sockets and pipes above endpoints (stream.c of libuv 1.44). */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

enum { READS_PER_TURN = 32, SUGGESTED_BYTES = 65536 };

static struct socket *socket_of(const uv_stream_t *stream)
{
    return stream->u.reserved[0];
}

static struct loop *loop_of(const struct socket *socket)
{
    return &socket->process->loop;
}

void socket_ready(struct socket *socket)
{
    struct loop *loop = loop_of(socket);
    if (!socket->is_ready && socket->stream != NULL && !socket->process->is_gone) {
        socket->is_ready = true;
        socket->next_ready = NULL;
        *loop->ready_last = socket;
        loop->ready_last = &socket->next_ready;
        loop_wake(socket->process);
    }
}

static void set_pending(struct socket *socket)
{
    struct loop *loop = loop_of(socket);
    if (!socket->is_pending) {
        socket->is_pending = true;
        socket->next_pending = NULL;
        *loop->pending_last = socket;
        loop->pending_last = &socket->next_pending;
    }
}

static void on_changed(void *ctx, struct endpoint *endpoint)
{
    (void)endpoint;
    socket_ready(ctx);
}

static struct socket *new_socket(void)
{
    struct socket *socket = heap_world_calloc(sizeof *socket);
    struct process *process = process_current();
    socket->process = process;
    socket->fd = -1;
    socket->next = process->sockets;
    socket->link = &process->sockets;
    if (socket->next != NULL) {
        socket->next->link = &socket->next;
    }
    process->sockets = socket;
    return socket;
}

static void free_socket(struct socket *socket)
{
    *socket->link = socket->next;
    if (socket->next != NULL) {
        socket->next->link = socket->link;
    }
    heap_world_free(socket);
}

static void set_endpoint(struct socket *socket, struct endpoint *endpoint)
{
    socket->endpoint = endpoint;
    endpoint_own(endpoint, (struct endpoint_owner){on_changed, socket});
    endpoint_set_timeouts(endpoint, socket->user_timeout_us, socket->keepalive_s);
}

static void take_descriptor(struct socket *socket)
{
    if (socket->fd < 0) {
        socket->fd = descriptor_new(socket->process, DESCRIPTOR_SOCKET);
        socket->process->descriptors[socket->fd].socket = socket;
    }
}

static void init_stream(uv_loop_t *uv, uv_stream_t *stream, uv_handle_type type)
{
    loop_handle_init(uv, (uv_handle_t *)stream, type);
    stream->write_queue_size = 0;
    stream->alloc_cb = NULL;
    stream->read_cb = NULL;
    stream->connection_cb = NULL;
    stream->u.reserved[0] = NULL;
}

static void attach(uv_stream_t *stream, struct socket *socket)
{
    socket->stream = stream;
    stream->u.reserved[0] = socket;
}

int uv_tcp_init(uv_loop_t *uv, uv_tcp_t *tcp)
{
    init_stream(uv, (uv_stream_t *)tcp, UV_TCP);
    attach((uv_stream_t *)tcp, new_socket());
    return 0;
}

int uv_pipe_init(uv_loop_t *uv, uv_pipe_t *pipe, int ipc)
{
    ensure(ipc == 0);
    init_stream(uv, (uv_stream_t *)pipe, UV_NAMED_PIPE);
    return 0;
}

int uv_socketpair(int type, int protocol, uv_os_sock_t fds[2], int flags0, int flags1)
{
    struct endpoint *ends[2];
    ensure(type == SOCK_STREAM && protocol == 0 && flags0 == flags1);
    process_step();
    endpoint_pair(ends);
    for (int i = 0; i < 2; i++) {
        struct socket *socket = new_socket();
        set_endpoint(socket, ends[i]);
        take_descriptor(socket);
        fds[i] = socket->fd;
    }
    return 0;
}

int uv_pipe_open(uv_pipe_t *pipe, uv_file fd)
{
    struct descriptor *descriptor = descriptor_get(fd);
    ensure(descriptor != NULL && descriptor->kind == DESCRIPTOR_SOCKET);
    attach((uv_stream_t *)pipe, descriptor->socket);
    return 0;
}

/* ---- Addresses: 10.0.0.<node>, and 10.0.1.<client> ---- */

static void address_of_host(int host, uint16_t port, struct sockaddr_in *address)
{
    uint32_t ip = host <= WORLD_NODES_MAX ? 0x0a000000U + (uint32_t)host
                                          : 0x0a000100U + (uint32_t)(host - WORLD_NODES_MAX);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_port = htons(port);
    address->sin_addr.s_addr = htonl(ip);
}

int uv_tcp_bind(uv_tcp_t *tcp, const struct sockaddr *address, unsigned flags)
{
    struct socket *socket = socket_of((uv_stream_t *)tcp);
    (void)flags;
    take_descriptor(socket);
    if (address->sa_family == AF_INET6) {
        socket->port = ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    } else {
        socket->port = ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    }
    return 0;
}

int uv_listen(uv_stream_t *stream, int backlog, uv_connection_cb cb)
{
    struct socket *socket = socket_of(stream);
    process_step();
    socket->listener = listener_new(socket->process->node, socket->port, backlog,
                                    (struct endpoint_owner){on_changed, socket});
    if (socket->listener == NULL) {
        return UV_EADDRINUSE;
    }
    stream->connection_cb = cb;
    loop_handle_start((uv_handle_t *)stream);
    return 0;
}

int uv_accept(uv_stream_t *server, uv_stream_t *client)
{
    process_step();
    struct endpoint *endpoint = listener_accept(socket_of(server)->listener);
    if (endpoint == NULL) {
        return UV_EAGAIN;
    }
    struct socket *socket = socket_of(client);
    socket_of(server)->has_accepted = true;
    set_endpoint(socket, endpoint);
    take_descriptor(socket);
    return 0;
}

int uv_tcp_getpeername(const uv_tcp_t *tcp, struct sockaddr *name, int *len)
{
    const struct socket *socket = socket_of((const uv_stream_t *)tcp);
    if (socket->endpoint == NULL || endpoint_state(socket->endpoint) != ENDPOINT_OPEN) {
        return UV_ENOTCONN;
    }
    struct sockaddr_in address;
    address_of_host(endpoint_far_host(socket->endpoint), endpoint_far_port(socket->endpoint),
                    &address);
    ensure(*len >= (int)sizeof address);
    memcpy(name, &address, sizeof address);
    *len = sizeof address;
    return 0;
}

int uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd)
{
    const struct socket *socket = socket_of((const uv_stream_t *)handle);
    if (socket == NULL || socket->fd < 0) {
        return UV_EBADF;
    }
    *fd = socket->fd;
    return 0;
}

int uv_tcp_nodelay(uv_tcp_t *tcp, int is_on)
{
    (void)tcp;
    (void)is_on;
    return 0;
}

int uv_tcp_keepalive(uv_tcp_t *tcp, int is_on, unsigned delay_s)
{
    struct socket *socket = socket_of((uv_stream_t *)tcp);
    socket->keepalive_s = is_on ? (int)delay_s : 0;
    if (socket->endpoint != NULL) {
        endpoint_set_timeouts(socket->endpoint, socket->user_timeout_us, socket->keepalive_s);
    }
    return 0;
}

int uv_tcp_connect(uv_connect_t *request,
                   uv_tcp_t *tcp,
                   const struct sockaddr *address,
                   uv_connect_cb cb)
{
    struct socket *socket = socket_of((uv_stream_t *)tcp);
    struct sockaddr_in to;
    process_step();
    ensure(address->sa_family == AF_INET && socket->connect == NULL);
    memcpy(&to, address, sizeof to);
    request->cb = cb;
    request->handle = (uv_stream_t *)tcp;
    request->type = UV_CONNECT;
    socket->connect = request;
    take_descriptor(socket);
    set_endpoint(socket,
                 endpoint_connect(socket->process->node, (int)(ntohl(to.sin_addr.s_addr) & 0xff),
                                  ntohs(to.sin_port), (struct endpoint_owner){on_changed, socket}));
    loop_of(socket)->active++;
    return 0;
}

/* ---- Reading ---- */

static bool is_reading(const uv_stream_t *stream)
{
    return (stream->flags & HANDLE_READING) != 0;
}

static bool is_readable(const struct socket *socket)
{
    return socket->endpoint != NULL &&
           (endpoint_has_bytes(socket->endpoint) || endpoint_is_finished(socket->endpoint) ||
            endpoint_state(socket->endpoint) == ENDPOINT_BROKEN);
}

int uv_read_start(uv_stream_t *stream, uv_alloc_cb alloc, uv_read_cb read)
{
    struct socket *socket = socket_of(stream);
    if (uv_is_closing((uv_handle_t *)stream) || socket->endpoint == NULL) {
        return uv_is_closing((uv_handle_t *)stream) ? UV_EINVAL : UV_ENOTCONN;
    }
    stream->flags |= HANDLE_READING;
    stream->alloc_cb = alloc;
    stream->read_cb = read;
    loop_handle_start((uv_handle_t *)stream);
    if (is_readable(socket)) {
        socket_ready(socket);
    }
    return 0;
}

int uv_read_stop(uv_stream_t *stream)
{
    if (is_reading(stream)) {
        stream->flags &= ~(unsigned)HANDLE_READING;
        if (stream->connection_cb == NULL) {
            loop_handle_stop((uv_handle_t *)stream);
        }
    }
    return 0;
}

/* One read; false: that was all for now. */
static bool read_once(struct socket *socket, uv_stream_t *stream)
{
    struct endpoint *endpoint = socket->endpoint;
    uv_buf_t buf = uv_buf_init(NULL, 0);
    stream->alloc_cb((uv_handle_t *)stream, SUGGESTED_BYTES, &buf);
    if (buf.base == NULL || buf.len == 0) {
        stream->read_cb(stream, UV_ENOBUFS, &buf);
        return false;
    }
    process_step();
    size_t got = endpoint_receive(endpoint, buf.base, buf.len);
    if (got > 0) {
        size_t room = buf.len;
        stream->read_cb(stream, (ssize_t)got, &buf);
        return got == room;
    }
    if (endpoint_state(endpoint) == ENDPOINT_BROKEN || endpoint_is_finished(endpoint)) {
        int error = endpoint_state(endpoint) == ENDPOINT_BROKEN ? endpoint_error(endpoint) : UV_EOF;
        uv_read_stop(stream);
        stream->read_cb(stream, error, &buf);
        return false;
    }
    stream->read_cb(stream, 0, &buf);
    return false;
}

static void read_some(struct socket *socket)
{
    uv_stream_t *stream = socket->stream;
    int count = READS_PER_TURN;
    while (count-- > 0 && is_reading(stream) && is_readable(socket) && read_once(socket, stream)) {
    }
}

/* ---- Writing ---- */

static uv_write_t *next_of(const uv_write_t *write)
{
    return write->queue[0];
}

static void append(uv_write_t **first, uv_write_t **last, uv_write_t *write)
{
    write->queue[0] = NULL;
    if (*first == NULL) {
        *first = write;
    } else {
        (*last)->queue[0] = write;
    }
    *last = write;
}

static void finish_write(struct socket *socket, int error)
{
    uv_write_t *write = socket->writes_first;
    socket->writes_first = next_of(write);
    write->error = error;
    for (unsigned i = write->write_index; i < write->nbufs; i++) {
        socket->stream->write_queue_size -= write->bufs[i].len;
    }
    if (write->bufs != write->bufsml) {
        free(write->bufs);
    }
    write->bufs = NULL;
    append(&socket->done_first, &socket->done_last, write);
}

static int sending_error(const struct socket *socket)
{
    if (socket->endpoint == NULL) {
        return UV_EBADF;
    }
    return endpoint_state(socket->endpoint) == ENDPOINT_BROKEN ? UV_EPIPE : 0;
}

/* Sends as much as there is room for. */
static void write_some(struct socket *socket)
{
    while (socket->writes_first != NULL) {
        uv_write_t *write = socket->writes_first;
        int error = sending_error(socket);
        if (error != 0) {
            finish_write(socket, error);
            continue;
        }
        if (write->write_index == write->nbufs) {
            finish_write(socket, 0);
            continue;
        }
        uv_buf_t *buf = &write->bufs[write->write_index];
        size_t sent = endpoint_send(socket->endpoint, buf->base, buf->len);
        buf->base += sent;
        buf->len -= sent;
        socket->stream->write_queue_size -= sent;
        if (buf->len > 0) {
            break;
        }
        write->write_index++;
    }
    if (socket->done_first != NULL) {
        set_pending(socket);
    }
}

static void call_back_writes(struct socket *socket)
{
    uv_write_t *write = socket->done_first;
    socket->done_first = NULL;
    while (write != NULL) {
        uv_write_t *next = next_of(write);
        loop_of(socket)->active--;
        if (write->cb != NULL) {
            write->cb(write, write->error);
        }
        write = next;
    }
}

int uv_write(uv_write_t *write,
             uv_stream_t *stream,
             const uv_buf_t bufs[],
             unsigned count,
             uv_write_cb cb)
{
    struct socket *socket = socket_of(stream);
    if (socket->endpoint == NULL) {
        return UV_EBADF;
    }
    process_step();
    write->type = UV_WRITE;
    write->cb = cb;
    write->handle = stream;
    write->error = 0;
    write->write_index = 0;
    write->nbufs = count;
    write->bufs = write->bufsml;
    if (count > sizeof write->bufsml / sizeof write->bufsml[0]) {
        write->bufs = malloc(count * sizeof *write->bufs);
        ensure(write->bufs != NULL);
    }
    memcpy(write->bufs, bufs, count * sizeof *bufs);
    for (unsigned i = 0; i < count; i++) {
        stream->write_queue_size += bufs[i].len;
    }
    loop_of(socket)->active++;
    bool is_first = socket->writes_first == NULL;
    append(&socket->writes_first, &socket->writes_last, write);
    if (is_first && socket->connect == NULL) {
        write_some(socket);
    }
    return 0;
}

int uv_try_write(uv_stream_t *stream, const uv_buf_t bufs[], unsigned count)
{
    struct socket *socket = socket_of(stream);
    ensure(count == 1);
    if (socket->connect != NULL || socket->writes_first != NULL) {
        return UV_EAGAIN;
    }
    process_step();
    int error = sending_error(socket);
    if (error != 0) {
        return error;
    }
    size_t sent = endpoint_send(socket->endpoint, bufs[0].base, bufs[0].len);
    return sent == 0 && bufs[0].len > 0 ? UV_EAGAIN : (int)sent;
}

size_t uv_stream_get_write_queue_size(const uv_stream_t *stream)
{
    return stream->write_queue_size;
}

/* ---- Events ---- */

/* False: it is closed by now. */
static bool tell_connected(struct socket *socket, int status)
{
    uv_connect_t *request = socket->connect;
    socket->connect = NULL;
    loop_of(socket)->active--;
    request->cb(request, status);
    return socket->stream != NULL && !uv_is_closing((uv_handle_t *)socket->stream);
}

static void accept_some(struct socket *socket)
{
    uv_stream_t *stream = socket->stream;
    do {
        socket->has_accepted = false;
        stream->connection_cb(stream, 0);
    } while (socket->has_accepted && !uv_is_closing((uv_handle_t *)stream) &&
             listener_has_waiting(socket->listener));
}

void socket_io(struct socket *socket)
{
    if (socket->stream == NULL || uv_is_closing((uv_handle_t *)socket->stream)) {
        return;
    }
    if (socket->listener != NULL) {
        if (listener_has_waiting(socket->listener)) {
            accept_some(socket);
        }
        return;
    }
    if (socket->connect != NULL) {
        enum endpoint_state state = endpoint_state(socket->endpoint);
        if (state == ENDPOINT_CONNECTING) {
            return;
        }
        int status = state == ENDPOINT_OPEN ? 0 : endpoint_error(socket->endpoint);
        if (!tell_connected(socket, status)) {
            return;
        }
    }
    read_some(socket);
    if (uv_is_closing((uv_handle_t *)socket->stream)) {
        return;
    }
    write_some(socket);
    call_back_writes(socket);
    if (!uv_is_closing((uv_handle_t *)socket->stream) && is_reading(socket->stream) &&
        is_readable(socket)) {
        socket_ready(socket);
    }
}

void socket_run_pending(struct socket *socket)
{
    if (socket->stream != NULL && !uv_is_closing((uv_handle_t *)socket->stream)) {
        call_back_writes(socket);
    }
}

/* ---- Closing ---- */

static void unlink_from_loop(struct socket *socket)
{
    struct loop *loop = loop_of(socket);
    if (socket->is_ready) {
        struct socket **at = &loop->ready_first;
        while (*at != socket) {
            at = &(*at)->next_ready;
        }
        *at = socket->next_ready;
        if (*at == NULL) {
            loop->ready_last = at;
        }
    }
    if (socket->is_pending) {
        struct socket **at = &loop->pending_first;
        while (*at != socket) {
            at = &(*at)->next_pending;
        }
        *at = socket->next_pending;
        if (*at == NULL) {
            loop->pending_last = at;
        }
    }
}

void socket_close(uv_stream_t *stream)
{
    struct socket *socket = socket_of(stream);
    uv_read_stop(stream);
    loop_handle_stop((uv_handle_t *)stream);
    if (socket == NULL) {
        return;
    }
    if (socket->endpoint != NULL) {
        endpoint_close(socket->endpoint);
        socket->endpoint = NULL;
    }
    if (socket->listener != NULL) {
        listener_close(socket->listener, true);
        socket->listener = NULL;
    }
    if (socket->fd >= 0) {
        socket->process->descriptors[socket->fd].kind = DESCRIPTOR_FREE;
    }
}

void socket_finish_close(uv_stream_t *stream)
{
    struct socket *socket = socket_of(stream);
    if (socket == NULL) {
        return;
    }
    if (socket->connect != NULL) {
        tell_connected(socket, UV_ECANCELED);
    }
    while (socket->writes_first != NULL) {
        finish_write(socket, UV_ECANCELED);
    }
    call_back_writes(socket);
    stream->u.reserved[0] = NULL;
    unlink_from_loop(socket);
    free_socket(socket);
}

void socket_drop(struct socket *socket, bool has_power)
{
    if (socket->endpoint != NULL && has_power) {
        endpoint_close(socket->endpoint);
    } else if (socket->endpoint != NULL) {
        endpoint_vanish(socket->endpoint);
    }
    if (socket->listener != NULL) {
        listener_close(socket->listener, has_power);
    }
    free_socket(socket);
}

uv_buf_t uv_buf_init(char *base, unsigned len)
{
    return (uv_buf_t){.base = base, .len = len};
}

/* The one option that rosterd sets by itself. */
int __wrap_setsockopt(int fd, int level, int option, const void *value, unsigned len);
int __wrap_setsockopt(int fd, int level, int option, const void *value, unsigned len)
{
    struct descriptor *descriptor = descriptor_get(fd);
    unsigned timeout_ms;
    ensure(descriptor != NULL && descriptor->kind == DESCRIPTOR_SOCKET);
    ensure(level == IPPROTO_TCP && option == 18 && len == sizeof timeout_ms); /* TCP_USER_TIMEOUT */
    memcpy(&timeout_ms, value, sizeof timeout_ms);
    struct socket *socket = descriptor->socket;
    socket->user_timeout_us = (int64_t)timeout_ms * WORLD_MS;
    if (socket->endpoint != NULL) {
        endpoint_set_timeouts(socket->endpoint, socket->user_timeout_us, socket->keepalive_s);
    }
    return 0;
}
