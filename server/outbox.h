/* Replies on their way to a socket: gathered over a turn of the loop, then one write.
 *
 * The buffers come from a pool, so that a connection owns none while it is idle, and none is
 * allocated in steady use. What the socket does not take at once goes to libuv with its buffer;
 * meanwhile the next one is filled. */
#ifndef SERVER_OUTBOX_H
#define SERVER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "rpc/buf.h"

struct outbuf {
    struct buf bytes;
    struct outbuf *next; /* in the pool */
    size_t left;         /* bytes that libuv was given */
    uv_write_t write;
};

enum {
    OUTBOX_POOL_BUFFERS = 256,       /* kept for reuse */
    OUTBOX_POOL_BUFFER_BYTES = 16384 /* a larger one is freed */
};

struct outbox_pool {
    struct outbuf *first;
    size_t count;
};

void outbox_pool_init(struct outbox_pool *pool);
void outbox_pool_close(struct outbox_pool *pool);
struct outbuf *outbox_pool_take(struct outbox_pool *pool);
void outbox_pool_give(struct outbox_pool *pool, struct outbuf *buffer); /* NULL is fine */

struct outbox {
    struct outbuf *filling; /* NULL: nothing waits */
    struct outbuf *writing; /* NULL: libuv has nothing of ours */
};

void outbox_init(struct outbox *outbox);
/* Gives back what is filled; what libuv has comes back by its callback. */
void outbox_close(struct outbox *outbox, struct outbox_pool *pool);

/* Gives back what is filled, and says how many bytes that were. */
size_t outbox_drop(struct outbox *outbox, struct outbox_pool *pool);

/* Where the next reply is to be appended. */
struct buf *outbox_buf(struct outbox *outbox, struct outbox_pool *pool);

static inline bool outbox_is_empty(const struct outbox *outbox)
{
    return outbox->filling == NULL && outbox->writing == NULL;
}

/* Writes what was filled, unless a write is in progress. Returns the bytes that the socket took;
 * negative: the connection is broken. [written] is called when what it did not take at once has
 * left or failed; outbox_written() must then be called, or, if the outbox is closed, the buffer be
 * given back. write->data is the stream's data. */
ssize_t outbox_flush(struct outbox *outbox,
                     struct outbox_pool *pool,
                     uv_stream_t *stream,
                     uv_write_cb written);

/* Returns how many bytes the write was about. */
size_t outbox_written(struct outbox *outbox, struct outbox_pool *pool);

/* The buffer of a write request. */
struct outbuf *outbox_of_write(uv_write_t *write);

#endif
