#include "rpc/reader.h"

#include "rpc/ensure.h"

struct reader reader_of(struct span bytes)
{
    static const uint8_t nothing[1];
    const uint8_t *at = bytes.data == NULL ? nothing : bytes.data;
    return (struct reader){.at = at, .end = at + bytes.len};
}

void reader_fail(struct reader *r)
{
    r->failed = true;
    r->at = r->end;
}

uint8_t reader_u8(struct reader *r)
{
    const uint8_t *p = reader_take(r, 1);
    return p == NULL ? 0 : p[0];
}

uint16_t reader_be16(struct reader *r)
{
    const uint8_t *p = reader_take(r, 2);
    return (uint16_t)(p == NULL ? 0 : p[0] << 8 | p[1]);
}

uint32_t reader_be32(struct reader *r)
{
    const uint8_t *p = reader_take(r, 4);
    return p == NULL ? 0 : (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

uint64_t reader_be64(struct reader *r)
{
    uint64_t high = reader_be32(r);
    uint64_t low = reader_be32(r);
    return r->failed ? 0 : high << 32 | low;
}

uint64_t reader_leb128_long(struct reader *r, unsigned bits)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
        uint8_t byte = reader_u8(r);
        bool is_last = (byte & 0x80) == 0;
        uint64_t part = byte & 0x7f;
        bool does_overflow = bits - shift < 7 && part >> (bits - shift) != 0;
        bool is_overlong = is_last && part == 0 && shift > 0;
        if (r->failed || does_overflow || is_overlong) {
            break;
        }
        v |= part << shift;
        if (is_last) {
            return v;
        }
    }
    reader_fail(r);
    return 0;
}

int64_t reader_varint(struct reader *r)
{
    uint64_t v = reader_leb128(r, 64);
    return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

struct span reader_span(struct reader *r)
{
    uint64_t n = reader_uvarint(r);
    if (r->failed || n == 0) {
        return SPAN_NULL;
    }
    if (n - 1 > reader_left(r)) {
        reader_fail(r);
        return SPAN_NULL;
    }
    return span_of(reader_take(r, (size_t)(n - 1)), (size_t)(n - 1));
}

size_t reader_count(struct reader *r, size_t min_bytes)
{
    ensure(min_bytes >= 1);
    uint64_t n = reader_uvarint(r);
    if (n > reader_left(r) / min_bytes) {
        reader_fail(r);
        return 0;
    }
    return (size_t)n;
}
