#include "tests/load/link.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "rpc/frame.h"

enum { READ_BYTES = 256 * 1024, FRAME_BYTES_MAX = 100 << 20, CLIENT_ID_BYTES = 12 };

/* A request on the link, in the order of the wire. */
struct pending {
    struct pending *next;
    const struct api *api;
    int16_t version;
    int32_t correlation_id;
    uint64_t sent_ns;
    uint64_t due_ms; /* UINT64_MAX: no timeout */
    link_done *done; /* NULL: nobody waits any more */
    void *ctx;
};

struct link {
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_connect_t connect;
    struct sockaddr_in address;
    uint64_t opened_ns;
    struct pending *first;
    struct pending **last;
    struct buf input; /* the beginning of a frame that is not complete */
    bool is_up;
    bool is_lingering;
    bool is_given_up;
    uint64_t patience_ends_ms; /* while lingering */
    int closing;               /* handles whose close callback is due */
};

static char read_bytes[READ_BYTES];
static struct pending *free_pending;
static struct buf output;
static struct arena arena;
static int32_t next_correlation_id;
static struct link_debts debts;
static uint64_t patience_ms = 30000;

struct link_debts link_debts(void)
{
    return debts;
}

void link_set_patience_ms(uint64_t ms)
{
    patience_ms = ms;
}

static void arm(struct link *link);
static void on_timer(uv_timer_t *timer);

/* ---- Pending requests ---- */

static struct pending *add_pending(struct link *link)
{
    struct pending *pending = free_pending;
    if (pending != NULL) {
        free_pending = pending->next;
    } else {
        pending = malloc(sizeof *pending);
        ensure(pending != NULL);
    }
    *pending = (struct pending){0};
    *link->last = pending;
    link->last = &pending->next;
    return pending;
}

static struct pending *take_pending(struct link *link)
{
    struct pending *pending = link->first;
    if (pending != NULL) {
        link->first = pending->next;
        if (link->first == NULL) {
            link->last = &link->first;
        }
        debts.open -= link->is_lingering;
    }
    return pending;
}

static void put_back(struct pending *pending)
{
    pending->next = free_pending;
    free_pending = pending;
}

static void end_pending(struct pending *pending, enum link_end end, const void *response)
{
    struct link_outcome outcome = {end, response, pending->sent_ns};
    link_done *done = pending->done;
    void *ctx = pending->ctx;
    pending->done = NULL;
    if (done != NULL) {
        done(ctx, &outcome);
    }
}

static uint64_t count_pending(const struct link *link)
{
    uint64_t count = 0;
    for (const struct pending *p = link->first; p != NULL; p = p->next) {
        count++;
    }
    return count;
}

/* ---- The end of a link ---- */

static void end_all(struct link *link)
{
    for (struct pending *p; (p = take_pending(link)) != NULL;) {
        end_pending(p, LINK_CLOSED, NULL);
        put_back(p);
    }
}

static void on_close(uv_handle_t *handle)
{
    struct link *link = handle->data;
    if (--link->closing > 0) {
        return;
    }
    end_all(link);
    buf_close(&link->input);
    free(link);
}

static void free_link(struct link *link)
{
    if (link->closing > 0) {
        return;
    }
    link->closing = 2;
    uv_close((uv_handle_t *)&link->timer, on_close);
    if (!link->is_up || uv_tcp_close_reset(&link->tcp, on_close) != 0) {
        uv_close((uv_handle_t *)&link->tcp, on_close);
    }
}

/* The connection is gone: everything on it ends. The owner may give the link up meanwhile. */
static void lose(struct link *link)
{
    if (!link->is_up) {
        return;
    }
    link->is_up = false;
    uv_read_stop((uv_stream_t *)&link->tcp);
    uv_timer_stop(&link->timer);
    end_all(link);
    if (link->is_given_up) {
        free_link(link);
    }
}

static void forget_owners(struct link *link)
{
    for (struct pending *p = link->first; p != NULL; p = p->next) {
        p->done = NULL;
    }
}

void link_close(struct link *link)
{
    ensure(!link->is_given_up);
    link->is_given_up = true;
    forget_owners(link);
    free_link(link);
}

void link_retire(struct link *link)
{
    ensure(!link->is_given_up);
    link->is_given_up = true;
    if (!link->is_up || link->first == NULL) {
        free_link(link);
        return;
    }
    link->is_lingering = true;
    link->patience_ends_ms = uv_now(link->timer.loop) + patience_ms;
    debts.open += count_pending(link);
    arm(link);
}

void link_linger(struct link *link)
{
    forget_owners(link);
    link_retire(link);
}

/* ---- Timeouts ---- */

static void arm(struct link *link)
{
    uint64_t due_ms = link->is_lingering ? link->patience_ends_ms : UINT64_MAX;
    for (const struct pending *p = link->first; p != NULL; p = p->next) {
        if (p->done != NULL && p->due_ms < due_ms) {
            due_ms = p->due_ms;
        }
    }
    uint64_t now_ms = uv_now(link->timer.loop);
    if (due_ms != UINT64_MAX) {
        uv_timer_start(&link->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
    }
}

/* The due requests' owners are told; the requests stay, since their replies still come first. */
static void on_timer(uv_timer_t *timer)
{
    struct link *link = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    if (!link->is_up) {
        end_all(link);
        return;
    }
    if (link->is_lingering && link->patience_ends_ms <= now_ms) {
        debts.unanswered += count_pending(link);
        free_link(link);
        return;
    }
    for (struct pending *p = link->first; p != NULL; p = p->next) {
        if (p->done != NULL && p->due_ms <= now_ms) {
            end_pending(p, LINK_TIMEOUT, NULL);
        }
    }
    if (link->closing == 0) {
        arm(link);
    }
}

/* ---- Replies ---- */

/* False: these bytes are no reply to the request that is first. */
static bool take_reply(struct link *link, struct span content)
{
    struct pending *pending = link->first;
    if (pending == NULL) {
        return false;
    }
    struct reader reader = reader_of(content);
    const struct kafka_schema *schema = pending->api->response();
    bool matches = (int32_t)reader_be32(&reader) == pending->correlation_id;
    if (matches && api_is_flexible(pending->api, pending->version)) {
        matches = reader_u8(&reader) == 0; /* no tagged fields */
    }
    void *response = arena_alloc(&arena, schema->size);
    matches =
        matches && codec_decode(schema, pending->version, &reader, &arena, response) == CODEC_OK;
    if (matches) {
        take_pending(link);
        end_pending(pending, LINK_REPLY, response);
        put_back(pending);
    }
    arena_reset(&arena, SIZE_MAX);
    return matches;
}

/* Bytes used, or -1: not a stream of replies. */
static long take_frames(struct link *link, struct span bytes)
{
    size_t at = 0;
    for (;;) {
        struct frame frame;
        struct span rest = span_of(bytes.data + at, bytes.len - at);
        enum frame_status status = frame_parse(rest, FRAME_BYTES_MAX, &frame);
        if (status == FRAME_INCOMPLETE) {
            return (long)at;
        }
        if (status == FRAME_INVALID || !take_reply(link, frame.content)) {
            return -1;
        }
        at += FRAME_PREFIX_BYTES + frame.size;
        if (link->closing > 0) {
            return (long)at;
        }
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(read_bytes, sizeof read_bytes);
}

static void take_bytes(struct link *link, struct span bytes)
{
    bool partial = link->input.len > 0;
    if (partial) {
        buf_append(&link->input, bytes.data, bytes.len);
        bytes = buf_span(&link->input);
    }
    long used = take_frames(link, bytes);
    if (used < 0) {
        lose(link);
        return;
    }
    size_t rest = bytes.len - (size_t)used;
    if (partial) {
        memmove(link->input.data, link->input.data + used, rest);
        link->input.len = rest;
    } else if (rest > 0) {
        buf_append(&link->input, bytes.data + used, rest);
    }
    if (link->is_lingering && link->first == NULL) {
        free_link(link);
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct link *link = stream->data;
    if (count < 0) {
        lose(link);
    } else if (count > 0) {
        take_bytes(link, span_of(buf->base, (size_t)count));
    }
}

/* ---- Requests ---- */

static void on_write(uv_write_t *write, int status)
{
    (void)status; /* a broken connection shows at reading */
    free(write);
}

static void write_all(struct link *link, const uint8_t *data, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)data, (unsigned)len);
    int sent = uv_try_write((uv_stream_t *)&link->tcp, &buf, 1);
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done == len) {
        return;
    }
    uv_write_t *write = malloc(sizeof *write + len - done);
    ensure(write != NULL);
    memcpy(write + 1, data + done, len - done);
    buf = uv_buf_init((char *)(write + 1), (unsigned)(len - done));
    if (uv_write(write, (uv_stream_t *)&link->tcp, &buf, 1, on_write) != 0) {
        free(write);
    }
}

static void encode(const struct pending *pending, const void *body)
{
    static const char client_id[CLIENT_ID_BYTES] = "load-client1";
    output.len = 0;
    buf_put_be32(&output, 0);
    buf_put_be16(&output, (uint16_t)pending->api->key);
    buf_put_be16(&output, (uint16_t)pending->version);
    buf_put_be32(&output, (uint32_t)pending->correlation_id);
    buf_put_be16(&output, sizeof client_id);
    buf_append(&output, client_id, sizeof client_id);
    if (api_is_flexible(pending->api, pending->version)) {
        buf_put_u8(&output, 0);
    }
    codec_encode(pending->api->request(), pending->version, body, &output);
    buf_set_be32(&output, 0, (uint32_t)(output.len - FRAME_PREFIX_BYTES));
}

void link_send(struct link *link, const struct link_request *request)
{
    ensure(!link->is_given_up);
    struct pending *pending = add_pending(link);
    pending->api = api_find(request->api_key);
    ensure(pending->api != NULL);
    pending->version = request->version;
    pending->correlation_id = next_correlation_id;
    next_correlation_id = next_correlation_id == INT32_MAX ? 0 : next_correlation_id + 1;
    pending->sent_ns = uv_hrtime();
    pending->due_ms = UINT64_MAX;
    pending->done = request->done;
    pending->ctx = request->ctx;
    if (!link->is_up) {
        /* Told from the loop, so that nobody is called back from inside link_send(). */
        uv_timer_start(&link->timer, on_timer, 0, 0);
        return;
    }
    if (request->timeout_ms > 0) {
        uv_update_time(link->timer.loop);
        pending->due_ms = uv_now(link->timer.loop) + request->timeout_ms;
        arm(link);
    }
    encode(pending, request->body);
    write_all(link, output.data, output.len);
}

static void on_connect(uv_connect_t *connect, int status)
{
    struct link *link = connect->data;
    if (status == UV_ECANCELED) {
        return; /* given up meanwhile */
    }
    if (status != 0) {
        lose(link);
    }
}

struct link *link_open(uv_loop_t *loop, const struct sockaddr_in *address)
{
    struct link *link = calloc(1, sizeof *link);
    ensure(link != NULL);
    link->address = *address;
    link->opened_ns = uv_hrtime();
    link->last = &link->first;
    link->is_up = true;
    uv_timer_init(loop, &link->timer);
    uv_tcp_init(loop, &link->tcp);
    link->timer.data = link;
    link->tcp.data = link;
    link->connect.data = link;
    if (arena.limit == 0) {
        arena_init(&arena, SIZE_MAX);
    }
    uv_tcp_nodelay(&link->tcp, 1);
    int error =
        uv_tcp_connect(&link->connect, &link->tcp, (const struct sockaddr *)address, on_connect);
    if (error == 0) {
        error = uv_read_start((uv_stream_t *)&link->tcp, on_alloc, on_read);
    }
    ensure(error == 0);
    return link;
}

bool link_is_up(const struct link *link)
{
    return link->is_up;
}

uint64_t link_opened_ns(const struct link *link)
{
    return link->opened_ns;
}

const struct sockaddr_in *link_address(const struct link *link)
{
    return &link->address;
}
