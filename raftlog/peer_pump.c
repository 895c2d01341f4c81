#include "raftlog/peer_pump.h"

#include <raft.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raftlog/peer_socket.h"
#include "rpc/ensure.h"

struct peer_pump {
    uv_pipe_t near;
    uv_tcp_t *tcp;
    uint64_t peer_id;
    struct peer_frame_reader reader;
    peer_pump_ended_cb ended;
    void *ctx;
    const char *reason;
    enum peer_frame_error error;
    bool is_over;
    bool is_reading;
    char bytes[PEER_PUMP_READ_BYTES];
};

struct write {
    uv_write_t request;
    struct peer_pump *pump;
    struct buf bytes;
};

static void on_near_closed(uv_handle_t *handle)
{
    struct peer_pump *pump = handle->data;
    pump->ended(pump->ctx, pump->peer_id, pump->error, pump->reason);
    peer_frame_reader_close(&pump->reader);
    free(pump);
}

void peer_pump_stop(struct peer_pump *pump, const char *reason)
{
    if (pump->is_over) {
        return;
    }
    pump->is_over = true;
    pump->reason = reason;
    peer_socket_close(pump->tcp);
    uv_close((uv_handle_t *)&pump->near, on_near_closed);
}

static void start_reading(struct peer_pump *pump);

static void on_written(uv_write_t *request, int status)
{
    struct write *write = (struct write *)request;
    struct peer_pump *pump = write->pump;
    buf_close(&write->bytes);
    free(write);
    if (pump->is_over) {
        return;
    }
    if (status != 0) {
        peer_pump_stop(pump, uv_strerror(status));
    } else if (!pump->is_reading && uv_stream_get_write_queue_size((uv_stream_t *)&pump->near) <=
                                        PEER_PUMP_BEHIND_BYTES_MAX / 2) {
        start_reading(pump);
    }
}

/* Takes over [bytes]. */
static void pass_on(struct peer_pump *pump, struct buf bytes)
{
    struct write *write = malloc(sizeof *write);
    ensure(write != NULL);
    *write = (struct write){.pump = pump, .bytes = bytes};
    uv_buf_t buf = uv_buf_init((char *)bytes.data, (unsigned)bytes.len);
    int rv = uv_write(&write->request, (uv_stream_t *)&pump->near, &buf, 1, on_written);
    if (rv != 0) {
        on_written(&write->request, rv);
        return;
    }
    if (uv_stream_get_write_queue_size((uv_stream_t *)&pump->near) > PEER_PUMP_BEHIND_BYTES_MAX) {
        pump->is_reading = false;
        uv_read_stop((uv_stream_t *)pump->tcp);
    }
}

static void feed(struct peer_pump *pump, struct span in)
{
    struct buf out = BUF_EMPTY;
    pump->error = peer_frame_feed(&pump->reader, in, &out);
    if (pump->error != PEER_FRAME_OK) {
        buf_close(&out);
        peer_pump_stop(pump, peer_frame_error_text(pump->error));
    } else if (out.len > 0) {
        pass_on(pump, out);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct peer_pump *pump = handle->data;
    *buf = uv_buf_init(pump->bytes, sizeof pump->bytes);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct peer_pump *pump = stream->data;
    if (pump->is_over) {
        return;
    }
    if (n < 0) {
        peer_pump_stop(pump, uv_strerror((int)n));
    } else if (n > 0) {
        feed(pump, span_of(buf->base, (size_t)n));
    }
}

/* The library never writes here: only the end of its interest can come. */
static void on_near_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    struct peer_pump *pump = stream->data;
    if (n < 0 && !pump->is_over) {
        peer_pump_stop(pump, "the library closed it");
    }
}

static void start_reading(struct peer_pump *pump)
{
    pump->is_reading = true;
    int rv = uv_read_start((uv_stream_t *)pump->tcp, on_alloc, on_read);
    if (rv != 0) {
        peer_pump_stop(pump, uv_strerror(rv));
    }
}

static uv_stream_t *open_far(uv_loop_t *loop, int fd)
{
    uv_pipe_t *far = raft_malloc(sizeof *far);
    ensure(far != NULL);
    ensure(uv_pipe_init(loop, far, 0) == 0);
    ensure(uv_pipe_open(far, fd) == 0);
    return (uv_stream_t *)far;
}

struct peer_pump *peer_pump_start(uv_tcp_t *tcp,
                                  uint64_t peer_id,
                                  struct span configuration,
                                  struct span leftover,
                                  uv_stream_t **far,
                                  peer_pump_ended_cb ended,
                                  void *ctx)
{
    uv_os_sock_t fds[2];
    if (uv_socketpair(SOCK_STREAM, 0, fds, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE) != 0) {
        peer_socket_close(tcp);
        return NULL;
    }
    struct peer_pump *pump = calloc(1, sizeof *pump);
    ensure(pump != NULL);
    pump->tcp = tcp;
    pump->peer_id = peer_id;
    pump->ended = ended;
    pump->ctx = ctx;
    peer_frame_reader_init(&pump->reader, peer_id, configuration);
    ensure(uv_pipe_init(tcp->loop, &pump->near, 0) == 0);
    ensure(uv_pipe_open(&pump->near, fds[0]) == 0);
    pump->near.data = pump;
    tcp->data = pump;
    *far = open_far(tcp->loop, fds[1]);
    uv_read_start((uv_stream_t *)&pump->near, on_alloc, on_near_read);
    start_reading(pump);
    if (leftover.len > 0 && !pump->is_over) {
        feed(pump, leftover);
    }
    return pump;
}
