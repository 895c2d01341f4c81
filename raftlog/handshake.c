#include "raftlog/handshake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "raftlog/bytes.h"
#include "rpc/ensure.h"

enum { READ_BYTES = 4096, LENGTH_LEN = 4 };

struct handshake {
    uv_timer_t timer;
    uv_tcp_t *tcp;
    enum hello_role role;
    uint64_t peer_id; /* whom a dialer wants */
    const struct handshake_self *self;
    handshake_cb done;
    void *ctx;
    struct hello_opening ours;
    struct hello_opening theirs;
    struct hello_transcript transcript;
    bool has_opening; /* theirs has arrived */
    bool is_over;
    struct buf in;
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void free_handshake(uv_handle_t *timer)
{
    struct handshake *handshake = timer->data;
    buf_close(&handshake->in);
    buf_close(&handshake->transcript.message);
    free(handshake);
}

static void finish(struct handshake *handshake, struct handshake_result *result)
{
    if (handshake->is_over) {
        return;
    }
    handshake->is_over = true;
    uv_read_stop((uv_stream_t *)handshake->tcp);
    bool is_good = result->verdict == HELLO_OK && result->error == 0;
    if (is_good) {
        result->tcp = handshake->tcp;
    } else {
        uv_close((uv_handle_t *)handshake->tcp, free_handle);
    }
    handshake->tcp = NULL;
    if (handshake->done != NULL) {
        handshake->done(handshake->ctx, result);
    }
    uv_close((uv_handle_t *)&handshake->timer, free_handshake);
}

static void fail(struct handshake *handshake, enum hello_verdict verdict)
{
    finish(handshake, &(struct handshake_result){.verdict = verdict});
}

static void fail_io(struct handshake *handshake, int error)
{
    finish(handshake, &(struct handshake_result){.error = error});
}

void handshake_cancel(struct handshake *handshake)
{
    handshake->done = NULL;
    fail_io(handshake, UV_ECANCELED);
}

static void on_timeout(uv_timer_t *timer)
{
    fail_io(timer->data, UV_ETIMEDOUT);
}

struct write {
    uv_write_t request;
    struct buf bytes;
};

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* a failed write shows as a failed read */
    struct write *write = (struct write *)request;
    buf_close(&write->bytes);
    free(write);
}

/* Takes over [bytes]. */
static void send_bytes(struct handshake *handshake, struct buf bytes)
{
    struct write *write = malloc(sizeof *write);
    ensure(write != NULL);
    write->bytes = bytes;
    uv_buf_t buf = uv_buf_init((char *)bytes.data, (unsigned)bytes.len);
    int rv = uv_write(&write->request, (uv_stream_t *)handshake->tcp, &buf, 1, on_written);
    if (rv != 0) {
        on_written(&write->request, rv);
    }
}

static void send_opening(struct handshake *handshake)
{
    uint8_t *mine = handshake->role == HELLO_DIALER ? handshake->transcript.dialer
                                                    : handshake->transcript.acceptor;
    hello_encode_opening(&handshake->ours, mine);
    struct buf bytes = BUF_EMPTY;
    buf_append(&bytes, mine, HELLO_OPENING_LEN);
    send_bytes(handshake, bytes);
}

static void send_message(struct handshake *handshake, uint64_t peer_id, enum hello_verdict verdict)
{
    struct hello hello = {.node_id = 0};
    if (verdict == HELLO_OK) {
        handshake->self->describe(handshake->self->ctx, peer_id, &hello);
        hello.peer_id = peer_id;
    }
    struct buf bytes = BUF_EMPTY;
    hello_encode(handshake->role, handshake->self->secret, &handshake->transcript, verdict, &hello,
                 &bytes);
    if (handshake->role == HELLO_DIALER) {
        buf_append(&handshake->transcript.message, bytes.data + LENGTH_LEN, bytes.len - LENGTH_LEN);
    }
    send_bytes(handshake, bytes);
}

static void take_opening(struct handshake *handshake)
{
    bool is_dialer = handshake->role == HELLO_DIALER;
    uint8_t *at = is_dialer ? handshake->transcript.acceptor : handshake->transcript.dialer;
    memcpy(at, handshake->in.data, HELLO_OPENING_LEN);
    enum hello_verdict verdict = hello_decode_opening(at, &handshake->theirs);
    if (verdict == HELLO_OK && is_dialer && handshake->theirs.purpose != handshake->ours.purpose) {
        verdict = HELLO_MALFORMED;
    }
    if (verdict != HELLO_OK) {
        fail(handshake, verdict);
        return;
    }
    handshake->has_opening = true;
    if (is_dialer) {
        send_message(handshake, handshake->peer_id, HELLO_OK);
    } else {
        handshake->ours.purpose = handshake->theirs.purpose;
        send_opening(handshake);
    }
}

/* Our own verdict on the other side's fields. */
static enum hello_verdict judge(const struct handshake *handshake, const struct hello *hello)
{
    enum hello_verdict verdict = handshake->self->judge(handshake->self->ctx, hello);
    if (verdict == HELLO_OK && handshake->role == HELLO_DIALER &&
        hello->node_id != handshake->peer_id) {
        verdict = HELLO_WRONG_NODE;
    }
    return verdict;
}

static void take_message(struct handshake *handshake, size_t len)
{
    enum hello_role sender = handshake->role == HELLO_DIALER ? HELLO_ACCEPTOR : HELLO_DIALER;
    struct span message = span_of(handshake->in.data + LENGTH_LEN, len);
    struct handshake_result result = {.purpose = handshake->theirs.purpose};
    enum hello_verdict said = HELLO_OK;
    result.verdict = hello_decode(sender, handshake->self->secret, &handshake->transcript, message,
                                  &result.peer, &said);
    if (result.verdict == HELLO_OK && said != HELLO_OK) {
        result.verdict = said;
        result.is_theirs = true;
    } else if (result.verdict == HELLO_OK) {
        result.verdict = judge(handshake, &result.peer);
        if (handshake->role == HELLO_ACCEPTOR) {
            buf_append(&handshake->transcript.message, message.data, message.len);
            send_message(handshake, result.peer.node_id, result.verdict);
        }
    }
    size_t end = LENGTH_LEN + len;
    result.leftover = span_of(handshake->in.data + end, handshake->in.len - end);
    finish(handshake, &result);
}

/* Goes as far as the bytes that are there allow. */
static void advance(struct handshake *handshake)
{
    if (!handshake->has_opening) {
        if (handshake->in.len < HELLO_OPENING_LEN) {
            return;
        }
        take_opening(handshake);
        if (handshake->is_over) {
            return;
        }
        handshake->in.len -= HELLO_OPENING_LEN;
        memmove(handshake->in.data, handshake->in.data + HELLO_OPENING_LEN, handshake->in.len);
    }
    if (handshake->in.len < LENGTH_LEN) {
        return;
    }
    size_t len = bytes_be32(handshake->in.data);
    if (len > HELLO_MESSAGE_MAX) {
        fail(handshake, HELLO_MALFORMED);
    } else if (handshake->in.len - LENGTH_LEN >= len) {
        take_message(handshake, len);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct handshake *handshake = handle->data;
    *buf = uv_buf_init((char *)buf_reserve(&handshake->in, READ_BYTES), READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    struct handshake *handshake = stream->data;
    if (n < 0) {
        fail_io(handshake, (int)n);
        return;
    }
    handshake->in.len += (size_t)n;
    advance(handshake);
}

struct handshake *handshake_start(uv_tcp_t *tcp,
                                  enum hello_role role,
                                  enum hello_purpose purpose,
                                  uint64_t peer_id,
                                  const struct handshake_self *self,
                                  handshake_cb done,
                                  void *ctx)
{
    struct handshake *handshake = calloc(1, sizeof *handshake);
    ensure(handshake != NULL);
    *handshake = (struct handshake){.tcp = tcp,
                                    .role = role,
                                    .peer_id = peer_id,
                                    .self = self,
                                    .done = done,
                                    .ctx = ctx,
                                    .ours = {.version = HELLO_VERSION, .purpose = purpose}};
    ensure(getrandom(handshake->ours.nonce, HELLO_NONCE_LEN, 0) == HELLO_NONCE_LEN);
    ensure(uv_timer_init(tcp->loop, &handshake->timer) == 0);
    handshake->timer.data = handshake;
    tcp->data = handshake;
    uint64_t timeout_ms = HANDSHAKE_TIMEOUT_MS;
    if (uv_read_start((uv_stream_t *)tcp, on_alloc, on_read) != 0) {
        timeout_ms = 0; /* fails at the next turn */
    }
    uv_timer_start(&handshake->timer, on_timeout, timeout_ms, 0);
    if (role == HELLO_DIALER) {
        send_opening(handshake);
    }
    return handshake;
}
