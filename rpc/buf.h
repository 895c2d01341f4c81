/* Owned bytes that grow: the one writer of wire replies, records, batches and snapshots. */
#ifndef RPC_BUF_H
#define RPC_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

struct buf {
    uint8_t *data;
    size_t len;
    size_t cap;
};

#define BUF_EMPTY ((struct buf){NULL, 0, 0})

void buf_close(struct buf *buf);

/* Makes room for more than [more] bytes behind len; buf_reserve() is the way to call it. */
void buf_grow(struct buf *buf, size_t more);

/* Room for [more] bytes behind len; returns where they start, never NULL. Aborts where memory
 * ends. */
static inline uint8_t *buf_reserve(struct buf *buf, size_t more)
{
    if (__builtin_expect(more >= buf->cap - buf->len, 0)) {
        buf_grow(buf, more);
    }
    return buf->data + buf->len;
}

void buf_append(struct buf *buf, const void *data, size_t len);

/* Big-endian, as everywhere on Kafka's wire. */
void buf_put_u8(struct buf *buf, uint8_t v);
void buf_put_be16(struct buf *buf, uint16_t v);
void buf_put_be32(struct buf *buf, uint32_t v);
void buf_put_be64(struct buf *buf, uint64_t v);
void buf_set_be32(struct buf *buf, size_t at, uint32_t v);

/* LEB128, at most 10 bytes; the zig-zag form for numbers that may be negative. */
void buf_put_uvarint(struct buf *buf, uint64_t v);
void buf_put_varint(struct buf *buf, int64_t v);

/* uvarint(len + 1) and the bytes; 0 is null: the form of all strings in our own records. */
void buf_put_span(struct buf *buf, struct span s);

static inline struct span buf_span(const struct buf *buf)
{
    return (struct span){buf->data, buf->len};
}

#endif
