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
static inline const uint8_t *reader_take(struct reader *r, size_t n)
{
    if (__builtin_expect(r->failed || n > reader_left(r), 0)) {
        reader_fail(r);
        return NULL;
    }
    const uint8_t *p = r->at;
    r->at += n;
    return p;
}

uint8_t reader_u8(struct reader *r);
uint16_t reader_be16(struct reader *r);
uint32_t reader_be32(struct reader *r);
uint64_t reader_be64(struct reader *r);

/* LEB128 of at most [bits]: behind the functions that follow. */
uint64_t reader_leb128_long(struct reader *r, unsigned bits);

static inline uint64_t reader_leb128(struct reader *r, unsigned bits)
{
    /* One byte: nearly all lengths on the wire, and most numbers in records. */
    if (__builtin_expect(r->at < r->end && *r->at < 0x80, 1)) {
        return *r->at++;
    }
    return reader_leb128_long(r, bits);
}

/* The counterparts of buf_put_uvarint() and the others; overlong forms and values that do not
 * fit fail. */
static inline uint64_t reader_uvarint(struct reader *r)
{
    return reader_leb128(r, 64);
}

static inline uint32_t reader_uvarint32(struct reader *r)
{
    return (uint32_t)reader_leb128(r, 32);
}

int64_t reader_varint(struct reader *r);
struct span reader_span(struct reader *r);

/* A count of elements that take at least [min_bytes] (>= 1) each: fails if the rest cannot hold
 * that many, so that no count alone makes a caller allocate. */
size_t reader_count(struct reader *r, size_t min_bytes);

#endif
