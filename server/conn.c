/* A connection's life and its reading side; conn_pipeline.c has what happens to requests. */
#include "server/conn.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/build.h"
#include "rpc/ensure.h"

enum { KEEPALIVE_SECONDS = 60 };

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    ensure(!conn->is_ready && !conn->is_dirty);
    free(conn);
}

struct conn *conn_accept(struct conns *conns, uv_stream_t *server, struct span listener)
{
    struct conn *conn = calloc(1, sizeof *conn);
    ensure(conn != NULL);
    ensure(uv_tcp_init(conns->loop, &conn->tcp) == 0);
    conn->tcp.data = conn;
    conn->conns = conns;
    conn->listener = listener;
    conn->last = &conn->first;
    conn->active_ms = (int64_t)uv_now(conns->loop);
    inbox_init(&conn->inbox);
    outbox_init(&conn->outbox);
    struct sockaddr_storage from;
    int len = sizeof from;
    if (uv_accept(server, (uv_stream_t *)&conn->tcp) != 0 ||
        uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&from, &len) != 0) {
        uv_close((uv_handle_t *)&conn->tcp, on_closed);
        return NULL;
    }
    conn->address = address_of((struct sockaddr *)&from);
    address_format(&conn->address, conn->client_host);
    conn->client_host_len = (uint8_t)strlen(conn->client_host);
    conn->next = conns->first;
    conn->link = &conns->first;
    if (conn->next != NULL) {
        conn->next->link = &conn->next;
    }
    conns->first = conn;
    conns->count++;
    addresses_add(&conns->addresses, &conn->address);
    return conn;
}

void conn_close(struct conn *conn)
{
    if (conn->is_closed) {
        return;
    }
    struct conns *conns = conn->conns;
    conn->is_closed = true;
    conns->counters.closed++;
    *conn->link = conn->next;
    if (conn->next != NULL) {
        conn->next->link = conn->link;
    }
    conns->count--;
    conns->paused -= conn->is_paused ? 1 : 0;
    addresses_remove(&conns->addresses, &conn->address);
    conn_drop_requests(conn);
    inbox_close(&conn->inbox);
    outbox_close(&conn->outbox, &conns->outbufs);
    budget_give(&conns->budget, conn->charged);
    conn->charged = 0;
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

void conn_take_bytes(struct conn *conn, size_t bytes)
{
    conn->charged += bytes;
    budget_take(&conn->conns->budget, bytes);
}

void conn_give_bytes(struct conn *conn, size_t bytes)
{
    ensure(bytes <= conn->charged);
    conn->charged -= bytes;
    budget_give(&conn->conns->budget, bytes);
}

void conn_mark_ready(struct conn *conn)
{
    if (!conn->is_ready && !conn->is_closed) {
        conn->is_ready = true;
        conn->next_ready = conn->conns->ready;
        conn->conns->ready = conn;
    }
}

void conn_mark_dirty(struct conn *conn)
{
    if (!conn->is_dirty && !conn->is_closed) {
        conn->is_dirty = true;
        conn->next_dirty = conn->conns->dirty;
        conn->conns->dirty = conn;
    }
}

/* Stops or allows reading by the budget. */
static bool is_paused(struct conn *conn)
{
    struct conns *conns = conn->conns;
    bool pause = budget_is_over(&conns->budget) && conn->charged > BUDGET_ALLOWANCE_BYTES;
    if (pause && !conn->is_paused) {
        conns->paused++;
        conns->counters.limit_budget_paused++;
        log_limited(&conns->rates.limit_budget_paused, LOG_LEVEL_WARN,
                    "limit key=queued.max.bytes effect=not-read client=%s holds=%zu used=%zu",
                    conn->client_host, conn->charged, conns->budget.used);
    } else if (!pause && conn->is_paused) {
        conns->paused--;
    }
    conn->is_paused = pause;
    return pause;
}

bool conn_may_read(struct conn *conn)
{
    struct conns *conns = conn->conns;
    if (conn->is_closed || conn->is_ending || conn->is_crowded || is_paused(conn)) {
        return false;
    }
    size_t pending = conn->pending;
#if ROSTER_BUG == 2123 /* reads ahead as much as there is */
    pending = 0;
#endif
    return pending < conns->limits.pipeline_max && conn->unsent < conns->limits.unsent_bytes_max;
}

static void close_oversized(struct conn *conn, int32_t claim)
{
    struct conns *conns = conn->conns;
    conns->counters.limit_request_bytes++;
    log_limited(&conns->rates.limit_request_bytes, LOG_LEVEL_WARN,
                "limit key=socket.request.max.bytes effect=closed client=%s claimed=%d",
                conn->client_host, claim);
    conn_close(conn);
}

/* The length prefix that frame_parse() refused: in the inbox if it began there. */
static int32_t claimed(const struct conn *conn, struct span chunk)
{
    struct span from = inbox_is_empty(&conn->inbox)
                           ? chunk
                           : span_of(conn->inbox.kept.data + conn->inbox.at,
                                     conn->inbox.kept.len - conn->inbox.at);
    struct reader r = reader_of(from);
    return (int32_t)reader_be32(&r);
}

/* Takes as many requests as may be taken out of what was kept and [chunk], and runs them. */
static void consume(struct conn *conn, struct span chunk)
{
    struct conns *conns = conn->conns;
    while (conn_may_read(conn) && !(chunk.len == 0 && inbox_is_empty(&conn->inbox))) {
        struct request *request = request_take(&conns->requests);
        enum frame_status status =
            inbox_next(&conn->inbox, &chunk, conns->limits.request_bytes_max, &request->frame);
        if (status != FRAME_COMPLETE) {
            request_give(&conns->requests, request);
        }
        if (status == FRAME_INVALID) {
            close_oversized(conn, claimed(conn, chunk));
            return;
        }
        if (status == FRAME_INCOMPLETE) {
            break;
        }
        conn_push(conn, request);
        conn_pump(conn);
    }
    if (conn->is_closed || conn->is_ending) {
        return;
    }
    inbox_keep(&conn->inbox, chunk);
    size_t bytes = inbox_bytes(&conn->inbox);
    if (bytes != conn->inbox_charged) {
        conn_give_bytes(conn, conn->inbox_charged);
        conn_take_bytes(conn, bytes);
        conn->inbox_charged = bytes;
    }
    if (budget_is_far_over(&conns->budget)) {
        conns_shed(conns);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct conn *conn = handle->data;
    *out = (uv_buf_t){.base = (char *)conn->conns->read_buffer, .len = CONNS_READ_BYTES};
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

/* It may not read; why? is_paused() counts its own case. */
static void count_stop(const struct conn *conn)
{
    struct conns *conns = conn->conns;
    if (conn->is_ending || conn->is_crowded || conn->is_paused) {
        return;
    }
    if (conn->unsent >= conns->limits.unsent_bytes_max) {
        conns->counters.limit_unsent++;
        log_limited(&conns->rates.limit_unsent, LOG_LEVEL_INFO,
                    "limit key=connection.max.unsent.bytes effect=not-read client=%s unsent=%zu",
                    conn->client_host, conn->unsent);
    } else {
        conns->counters.limit_pipeline++;
        log_limited(&conns->rates.limit_pipeline, LOG_LEVEL_INFO,
                    "limit key=connection.max.pipelined.requests effect=not-read client=%s",
                    conn->client_host);
    }
}

static void set_reading(struct conn *conn)
{
    if (conn->is_closed) {
        return;
    }
    bool may = conn_may_read(conn);
    if (may && !conn->is_reading) {
        conn->is_reading = uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) == 0;
        if (!conn->is_reading) {
            conn_close(conn);
        }
    } else if (!may && conn->is_reading) {
        count_stop(conn);
        uv_read_stop((uv_stream_t *)&conn->tcp);
        conn->is_reading = false;
    }
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct conn *conn = stream->data;
    if (got < 0) {
        conn_close(conn);
        return;
    }
    if (got == 0 || conn->is_closed) {
        return;
    }
    conn->active_ms = (int64_t)uv_now(conn->conns->loop);
    consume(conn, span_of(buffer->base, (size_t)got));
    set_reading(conn);
}

void conn_start(struct conn *conn)
{
    /* Neither is worth a connection if it fails. */
    uv_tcp_nodelay(&conn->tcp, 1);
    uv_tcp_keepalive(&conn->tcp, 1, KEEPALIVE_SECONDS);
    set_reading(conn);
}

void conn_resume(struct conn *conn)
{
    conn_pump(conn);
    if (!conn->is_closed && !inbox_is_empty(&conn->inbox)) {
        consume(conn, SPAN_EMPTY);
    }
    set_reading(conn);
}

void conn_end(struct conn *conn)
{
    if (conn->is_closed || conn->is_ending) {
        return;
    }
    conn->is_ending = true;
    conn_drop_requests(conn);
    conn_give_bytes(conn, conn->inbox_charged);
    conn->inbox_charged = 0;
    inbox_close(&conn->inbox);
    set_reading(conn);
    conn_mark_dirty(conn); /* conn_flush() closes it */
}

static void on_written(uv_write_t *write, int status)
{
    struct conn *conn = write->data;
    struct conns *conns = conn->conns;
    if (conn->is_closed) {
        outbox_pool_give(&conns->outbufs, outbox_of_write(write));
        return;
    }
    size_t left = outbox_written(&conn->outbox, &conns->outbufs);
    conn->unsent -= left;
    conn_give_bytes(conn, left);
    conn->active_ms = (int64_t)uv_now(conns->loop);
    if (status < 0) {
        conn_close(conn);
        return;
    }
    conn_mark_dirty(conn);
}

static void close_crowded(struct conn *conn)
{
    struct conns *conns = conn->conns;
    conns->counters.limit_budget_closed++;
    log_limited(&conns->rates.limit_budget_closed, LOG_LEVEL_WARN,
                "limit key=queued.max.bytes effect=closed client=%s used=%zu", conn->client_host,
                conns->budget.used);
    conn_close(conn);
}

void conn_flush(struct conn *conn)
{
    if (conn->is_crowded) {
        close_crowded(conn);
        return;
    }
    ssize_t sent =
        outbox_flush(&conn->outbox, &conn->conns->outbufs, (uv_stream_t *)&conn->tcp, on_written);
    if (sent < 0) {
        conn_close(conn);
        return;
    }
    if (sent > 0) {
        conn->unsent -= (size_t)sent;
        conn_give_bytes(conn, (size_t)sent);
        conn->active_ms = (int64_t)uv_now(conn->conns->loop);
    }
    if (conn->is_ending && outbox_is_empty(&conn->outbox)) {
        conn_close(conn);
    } else if (conn->todo != NULL || !conn->is_reading) {
        conn_mark_ready(conn);
    }
}
