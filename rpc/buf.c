#include "rpc/buf.h"

#include <stdlib.h>

#include "rpc/ensure.h"

enum { CAP_MIN = 64 };

void buf_close(struct buf *buf)
{
    free(buf->data);
    *buf = BUF_EMPTY;
}

void buf_grow(struct buf *buf, size_t more)
{
    ensure(more < SIZE_MAX / 2 - buf->len);
    size_t cap = buf->cap < CAP_MIN ? CAP_MIN : buf->cap;
    while (cap <= buf->len + more) {
        cap *= 2;
    }
    uint8_t *data = realloc(buf->data, cap);
    ensure(data != NULL);
    buf->data = data;
    buf->cap = cap;
}

void buf_append(struct buf *buf, const void *data, size_t len)
{
    if (len == 0) {
        return;
    }
    memcpy(buf_reserve(buf, len), data, len);
    buf->len += len;
}

void buf_put_u8(struct buf *buf, uint8_t v)
{
    *buf_reserve(buf, 1) = v;
    buf->len += 1;
}

void buf_put_be16(struct buf *buf, uint16_t v)
{
    uint8_t *at = buf_reserve(buf, 2);
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
    buf->len += 2;
}

static void set_be32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 24);
    at[1] = (uint8_t)(v >> 16);
    at[2] = (uint8_t)(v >> 8);
    at[3] = (uint8_t)v;
}

void buf_put_be32(struct buf *buf, uint32_t v)
{
    set_be32(buf_reserve(buf, 4), v);
    buf->len += 4;
}

void buf_put_be64(struct buf *buf, uint64_t v)
{
    uint8_t *at = buf_reserve(buf, 8);
    set_be32(at, (uint32_t)(v >> 32));
    set_be32(at + 4, (uint32_t)v);
    buf->len += 8;
}

void buf_set_be32(struct buf *buf, size_t at, uint32_t v)
{
    ensure(buf->len >= 4 && at <= buf->len - 4);
    set_be32(buf->data + at, v);
}

void buf_put_uvarint(struct buf *buf, uint64_t v)
{
    uint8_t *at = buf_reserve(buf, 10);
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) {
        at[n++] = (uint8_t)(v | 0x80);
    }
    at[n++] = (uint8_t)v;
    buf->len += n;
}

void buf_put_varint(struct buf *buf, int64_t v)
{
    uint64_t sign = v < 0 ? UINT64_MAX : 0;
    buf_put_uvarint(buf, (uint64_t)v << 1 ^ sign);
}

void buf_put_span(struct buf *buf, struct span s)
{
    if (span_is_null(s)) {
        buf_put_uvarint(buf, 0);
        return;
    }
    buf_put_uvarint(buf, (uint64_t)s.len + 1);
    buf_append(buf, s.data, s.len);
}
