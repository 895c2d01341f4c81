/* A cursor over bytes that are not trusted. Every read checks what remains; the first short or
 * malformed read makes the reader failed, after which each further read returns zero values. So a
 * parser reads a whole structure and asks reader_is_failed() once, before it acts on it. */
#ifndef RPC_READER_H
#define RPC_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

struct reader reader_of(struct span bytes);

static inline bool reader_is_failed(const struct reader *r)
{
    return r->failed;
}

static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

void reader_fail(struct reader *r);

/* [n] bytes, or NULL. */
const uint8_t *reader_take(struct reader *r, size_t n);

uint8_t reader_u8(struct reader *r);
uint16_t reader_be16(struct reader *r);
uint32_t reader_be32(struct reader *r);
uint64_t reader_be64(struct reader *r);

/* The counterparts of buf_put_uvarint() and the others; overlong forms and values that do not
 * fit fail. */
uint64_t reader_uvarint(struct reader *r);
uint32_t reader_uvarint32(struct reader *r);
int64_t reader_varint(struct reader *r);
struct span reader_span(struct reader *r);

/* A count of elements that take at least [min_bytes] (>= 1) each: fails if the rest cannot hold
 * that many, so that no count alone makes a caller allocate. */
size_t reader_count(struct reader *r, size_t min_bytes);

#endif
