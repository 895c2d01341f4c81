/* A connection's requests from the frame to the reply's turn. */
#include <string.h>

#include "rpc/build.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/frame.h"
#include "server/conn.h"

/* The request is over and in no list. */
static void give_back(struct conns *conns, struct conn *conn, struct request *request)
{
    if (conn != NULL) {
        conn_give_bytes(conn, request->charged);
    } else {
        budget_give(&conns->budget, request->charged);
    }
    request->charged = 0;
    request_give(&conns->requests, request);
}

void conn_charge(struct request *request)
{
    size_t bytes = request_bytes(request);
    ensure(bytes >= request->charged);
    conn_take_bytes(request->conn, bytes - request->charged);
    request->charged = bytes;
}

void conn_push(struct conn *conn, struct request *request)
{
    request->conn = conn;
    request->conns = conn->conns;
    *conn->last = request;
    conn->last = &request->next;
    conn->pending++;
    conn->conns->counters.requests++;
    if (conn->todo == NULL) {
        conn->todo = request;
    }
    conn_charge(request);
}

/* The first request is over; its reply, if it has one, is in the outbox. */
static void pop(struct conn *conn)
{
    struct request *request = conn->first;
    ensure(request != conn->todo);
    conn->first = request->next;
    if (conn->first == NULL) {
        conn->last = &conn->first;
    }
    conn->pending--;
    give_back(conn->conns, conn, request);
}

/* Replies that waited for those before them. */
static void send_done(struct conn *conn)
{
    struct conns *conns = conn->conns;
    while (conn->first != NULL && conn->first->state == REQUEST_DONE) {
        if (conn->first->is_refused) {
            conn_end(conn);
            return;
        }
        struct outbuf *reply = conn->first->reply;
        if (reply != NULL) {
            buf_append(outbox_buf(&conn->outbox, &conns->outbufs), reply->bytes.data,
                       reply->bytes.len);
            conn->first->reply = NULL;
            outbox_pool_give(&conns->outbufs, reply);
        }
        pop(conn);
    }
    conn_mark_dirty(conn);
}

static void encode(const struct request *request, const void *response, struct buf *out)
{
    size_t start =
        frame_begin_response(out, request->api, request->call.api_version, request->correlation_id);
    codec_encode(request->api->response(), request->call.api_version, response, out);
    frame_end_response(out, start);
}

/* What is in the outbox, or will be, counts from now on. */
static void add_unsent(struct conn *conn, size_t bytes)
{
    conn->unsent += bytes;
    conn_take_bytes(conn, bytes);
}

/* Encodes into a buffer of its own, for later. */
static void keep_reply(struct request *request, const void *response)
{
    struct conns *conns = request->conns;
    request->reply = outbox_pool_take(&conns->outbufs);
    encode(request, response, &request->reply->bytes);
    add_unsent(request->conn, request->reply->bytes.len);
}

/* The connection may go on, but not from here: its owner may be in the middle of something. */
static void after_reply(struct conn *conn)
{
    conn_mark_dirty(conn);
    if (!conn->is_pumping && (conn->todo != NULL || !conn->is_reading)) {
        conn_mark_ready(conn);
    }
}

/* Far over the budget a large reply is not kept: its connection ends. Here others may be in the
 * middle of their work, so it does at the end of the turn, but the memory is given back at once. */
static void crowd_out(struct conn *conn, size_t bytes)
{
    struct conns *conns = conn->conns;
    if (bytes > BUDGET_ALLOWANCE_BYTES && budget_is_far_over(&conns->budget)) {
        size_t dropped = outbox_drop(&conn->outbox, &conns->outbufs);
        conn->unsent -= dropped;
        conn_give_bytes(conn, dropped);
        conn->is_crowded = true;
    }
}

void conn_reply(struct request *request, const void *response)
{
    struct conn *conn = request->conn;
    ensure(request->state == REQUEST_RUNNING);
    if (conn == NULL) {
        give_back(request->conns, NULL, request);
        return;
    }
    if (conn->first != request) {
        keep_reply(request, response);
        request->state = REQUEST_DONE;
#if ROSTER_BUG == 2122 /* whoever is ready first leaves first */
        struct buf *early = outbox_buf(&conn->outbox, &conn->conns->outbufs);
        buf_append(early, request->reply->bytes.data, request->reply->bytes.len);
        outbox_pool_give(&conn->conns->outbufs, request->reply);
        request->reply = NULL;
        conn_mark_dirty(conn);
#endif
        return;
    }
    struct buf *out = outbox_buf(&conn->outbox, &conn->conns->outbufs);
    size_t before = out->len;
    encode(request, response, out);
    size_t bytes = out->len - before;
    add_unsent(conn, bytes);
    crowd_out(conn, bytes);
    pop(conn);
    send_done(conn);
    after_reply(conn);
}

void conn_skip(struct request *request)
{
    struct conn *conn = request->conn;
    ensure(request->state == REQUEST_RUNNING);
    if (conn == NULL) {
        give_back(request->conns, NULL, request);
        return;
    }
    request->state = REQUEST_DONE;
    send_done(conn);
    after_reply(conn);
}

void conn_refuse(struct request *request)
{
    struct conn *conn = request->conn;
    ensure(conn != NULL && request->state == REQUEST_RUNNING);
    request->state = REQUEST_DONE;
    request->is_refused = true;
    conn->is_refusing = true;
    send_done(conn); /* a commit does not wait for the commits before it, but its end does */
}

/* Thousands of idle consumers have a Fetch held each: it keeps its reply and no more. */
static void shrink(struct request *request)
{
    struct buf *reply = &request->reply->bytes;
    struct buf exact = BUF_EMPTY;
    buf_append(&exact, reply->data, reply->len);
    buf_close(reply);
    *reply = exact;
    conn_give_bytes(request->conn, request->charged);
    request->charged = 0;
    arena_reset(&request->arena, 0);
    buf_close(&request->frame);
}

void conn_hold(struct request *request, const void *response, int32_t hold_ms)
{
    struct conn *conn = request->conn;
    struct conns *conns = request->conns;
    ensure(conn != NULL && conn->first == request);
    keep_reply(request, response);
    request->state = REQUEST_HELD;
    deadline_set(&conns->holds, &request->hold, (int64_t)uv_now(conns->loop) + hold_ms);
    if (request->next != NULL || conns->is_stopping) {
        conn_release(request);
    } else {
        shrink(request);
    }
}

void conn_release(struct request *request)
{
    struct conn *conn = request->conn;
    ensure(request->state == REQUEST_HELD && conn->first == request);
    deadline_clear(&conn->conns->holds, &request->hold);
    request->state = REQUEST_DONE;
    send_done(conn);
    after_reply(conn);
}

/* R12: commits do not wait for each other; all else waits for what is before it. */
static bool may_start(struct conn *conn)
{
    const struct request *next = conn->todo;
    if (next == NULL || conn->is_closed || conn->is_ending || conn->is_crowded ||
        conn->is_refusing || conn->unsent >= conn->conns->limits.unsent_bytes_max) {
        return false;
    }
#if ROSTER_BUG == 2121 /* nothing waits for what is before it */
    return true;
#endif
    return conn->first == next || (request_peek_key(conn->first) == API_OffsetCommit &&
                                   request_peek_key(next) == API_OffsetCommit);
}

void conn_pump(struct conn *conn)
{
    struct conns *conns = conn->conns;
    if (conn->is_pumping) {
        return;
    }
    conn->is_pumping = true;
    if (conn->todo != NULL && conn->first->state == REQUEST_HELD) {
        conn_release(conn->first);
    }
    while (may_start(conn)) {
        struct request *request = conn->todo;
        conn->todo = request->next;
        request->state = REQUEST_RUNNING;
        conns->events.request(conns->events_ctx, request);
        if (budget_is_far_over(&conns->budget)) {
            conns_shed(conns); /* which may close this very connection */
        }
    }
    conn->is_pumping = false;
}

void conn_drop_requests(struct conn *conn)
{
    struct conns *conns = conn->conns;
    struct request *request = conn->first;
    conn->first = NULL;
    conn->last = &conn->first;
    conn->todo = NULL;
    conn->pending = 0;
    while (request != NULL) {
        struct request *next = request->next;
        bool is_running = request->state == REQUEST_RUNNING;
        if (request->state == REQUEST_HELD) {
            deadline_clear(&conns->holds, &request->hold);
        }
        if (request->reply != NULL) {
            conn->unsent -= request->reply->bytes.len;
            conn_give_bytes(conn, request->reply->bytes.len);
            outbox_pool_give(&conns->outbufs, request->reply);
            request->reply = NULL;
        }
        request->next = NULL;
        if (is_running) {
            /* It stays on the budget, but no longer on this connection's account. */
            conn->charged -= request->charged;
            request->conn = NULL;
            conns->events.gone(conns->events_ctx, request);
        } else {
            give_back(conns, conn, request);
        }
        request = next;
    }
}
