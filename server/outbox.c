#include "server/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

void outbox_pool_init(struct outbox_pool *pool)
{
    *pool = (struct outbox_pool){NULL, 0};
}

static void free_buffer(struct outbuf *buffer)
{
    buf_close(&buffer->bytes);
    free(buffer);
}

void outbox_pool_close(struct outbox_pool *pool)
{
    while (pool->first != NULL) {
        struct outbuf *buffer = pool->first;
        pool->first = buffer->next;
        free_buffer(buffer);
    }
    pool->count = 0;
}

struct outbuf *outbox_pool_take(struct outbox_pool *pool)
{
    struct outbuf *buffer = pool->first;
    if (buffer != NULL) {
        pool->first = buffer->next;
        pool->count--;
        return buffer;
    }
    buffer = malloc(sizeof *buffer);
    ensure(buffer != NULL);
    buffer->bytes = BUF_EMPTY;
    return buffer;
}

void outbox_pool_give(struct outbox_pool *pool, struct outbuf *buffer)
{
    if (buffer == NULL) {
        return;
    }
    if (pool->count >= OUTBOX_POOL_BUFFERS || buffer->bytes.cap > OUTBOX_POOL_BUFFER_BYTES) {
        free_buffer(buffer);
        return;
    }
    buffer->bytes.len = 0;
    buffer->next = pool->first;
    pool->first = buffer;
    pool->count++;
}

void outbox_init(struct outbox *outbox)
{
    *outbox = (struct outbox){NULL, NULL};
}

void outbox_close(struct outbox *outbox, struct outbox_pool *pool)
{
    outbox_pool_give(pool, outbox->filling);
    outbox_init(outbox);
}

size_t outbox_drop(struct outbox *outbox, struct outbox_pool *pool)
{
    size_t len = outbox->filling == NULL ? 0 : outbox->filling->bytes.len;
    outbox_pool_give(pool, outbox->filling);
    outbox->filling = NULL;
    return len;
}

struct buf *outbox_buf(struct outbox *outbox, struct outbox_pool *pool)
{
    if (outbox->filling == NULL) {
        outbox->filling = outbox_pool_take(pool);
    }
    return &outbox->filling->bytes;
}

ssize_t outbox_flush(struct outbox *outbox,
                     struct outbox_pool *pool,
                     uv_stream_t *stream,
                     uv_write_cb written)
{
    struct outbuf *buffer = outbox->filling;
    if (buffer == NULL || outbox->writing != NULL) {
        return 0;
    }
    size_t len = buffer->bytes.len;
    uv_buf_t bytes = {.base = (char *)buffer->bytes.data, .len = len};
    int taken = uv_try_write(stream, &bytes, 1);
    if (taken < 0 && taken != UV_EAGAIN) {
        return taken;
    }
    size_t done = taken < 0 ? 0 : (size_t)taken;
    outbox->filling = NULL;
    if (done == len) {
        outbox_pool_give(pool, buffer);
        return (ssize_t)done;
    }
    bytes.base += done;
    bytes.len -= done;
    outbox->writing = buffer;
    buffer->left = bytes.len;
    buffer->write.data = stream->data;
    int failed = uv_write(&buffer->write, stream, &bytes, 1, written);
    if (failed != 0) {
        outbox->writing = NULL;
        outbox_pool_give(pool, buffer);
        return failed;
    }
    return (ssize_t)done;
}

size_t outbox_written(struct outbox *outbox, struct outbox_pool *pool)
{
    ensure(outbox->writing != NULL);
    size_t left = outbox->writing->left;
    outbox_pool_give(pool, outbox->writing);
    outbox->writing = NULL;
    return left;
}

struct outbuf *outbox_of_write(uv_write_t *write)
{
    return (struct outbuf *)(void *)((char *)write - offsetof(struct outbuf, write));
}
