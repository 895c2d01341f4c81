/* Writes messages as the library does, for the tests of what checks them. */
#ifndef TESTS_RAFTLOG_FRAME_BYTES_H
#define TESTS_RAFTLOG_FRAME_BYTES_H

#include "rpc/buf.h"

static inline void put_le(struct buf *out, uint64_t v, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        buf_put_u8(out, (uint8_t)(v >> 8 * i));
    }
}

static inline void put_numbers(struct buf *out, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_le(out, numbers[i], 8);
    }
}

static inline void put_preamble(struct buf *out, uint64_t type, uint64_t header_len)
{
    put_le(out, type, 8);
    put_le(out, header_len, 8);
}

/* An entry's head in an AppendEntries. */
static inline void put_entry_head(struct buf *out, uint64_t term, uint8_t type, uint32_t len)
{
    put_le(out, term, 8);
    put_le(out, type, 1);
    put_le(out, 0xaaaaaa, 3); /* what the library leaves unset */
    put_le(out, len, 4);
}

#endif
