#include "raftlog/peer_link.h"

#include <stdlib.h>

#include "raftlog/bytes.h"
#include "rpc/ensure.h"

enum { READ_BYTES = 4096, LENGTH_LEN = 4 };

static void on_closed(uv_handle_t *handle)
{
    struct peer_link *link = handle->data;
    link->ended(link);
    buf_close(&link->in);
    free(link->tcp);
    free(link);
}

void peer_link_stop(struct peer_link *link)
{
    if (!link->is_over) {
        link->is_over = true;
        uv_close((uv_handle_t *)link->tcp, on_closed);
    }
}

/* Takes every whole message from the buffer. */
static void take_messages(struct peer_link *link)
{
    size_t at = 0;
    while (!link->is_over && link->in.len - at >= LENGTH_LEN) {
        size_t len = bytes_be32(link->in.data + at);
        if (len > PEER_STATUS_LEN_MAX) {
            peer_link_stop(link);
            return;
        }
        if (link->in.len - at - LENGTH_LEN < len) {
            break;
        }
        struct peer_status status;
        if (!peer_status_decode(span_of(link->in.data + at + LENGTH_LEN, len), &status)) {
            peer_link_stop(link);
            return;
        }
        at += LENGTH_LEN + len;
        link->received(link, &status);
    }
    if (!link->is_over && at > 0) {
        link->in.len -= at;
        memmove(link->in.data, link->in.data + at, link->in.len);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct peer_link *link = handle->data;
    *buf = uv_buf_init((char *)buf_reserve(&link->in, READ_BYTES), READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    struct peer_link *link = stream->data;
    if (link->is_over) {
        return;
    }
    if (n < 0) {
        peer_link_stop(link);
        return;
    }
    link->in.len += (size_t)n;
    take_messages(link);
}

struct write {
    uv_write_t request;
    struct peer_link *link;
    struct buf bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct write *write = (struct write *)request;
    if (status != 0) {
        peer_link_stop(write->link);
    }
    buf_close(&write->bytes);
    free(write);
}

void peer_link_send(struct peer_link *link, const struct peer_status *status)
{
    if (link->is_over) {
        return;
    }
    if (uv_stream_get_write_queue_size((uv_stream_t *)link->tcp) > PEER_LINK_BEHIND_BYTES_MAX) {
        peer_link_stop(link);
        return;
    }
    struct write *write = calloc(1, sizeof *write);
    ensure(write != NULL);
    write->link = link;
    peer_status_encode(status, &write->bytes);
    uv_buf_t buf = uv_buf_init((char *)write->bytes.data, (unsigned)write->bytes.len);
    int rv = uv_write(&write->request, (uv_stream_t *)link->tcp, &buf, 1, on_written);
    if (rv != 0) {
        on_written(&write->request, rv);
    }
}

struct peer_link *peer_link_start(uv_tcp_t *tcp,
                                  uint64_t node_id,
                                  struct span leftover,
                                  void (*received)(struct peer_link *, const struct peer_status *),
                                  void (*ended)(struct peer_link *),
                                  void *owner)
{
    struct peer_link *link = calloc(1, sizeof *link);
    ensure(link != NULL);
    *link = (struct peer_link){.tcp = tcp,
                               .node_id = node_id,
                               .received = received,
                               .ended = ended,
                               .owner = owner,
                               .in = BUF_EMPTY};
    tcp->data = link;
    buf_append(&link->in, leftover.data, leftover.len); /* is taken with what is read next */
    if (uv_read_start((uv_stream_t *)tcp, on_alloc, on_read) != 0) {
        peer_link_stop(link);
    }
    return link;
}
