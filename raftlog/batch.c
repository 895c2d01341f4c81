#include "raftlog/batch.h"

#include <lz4.h>
#include <string.h>

#include "raftlog/bytes.h"
#include "raftlog/crc32c.h"
#include "rpc/ensure.h"

enum { FLAG_LZ4 = 1, SUM_AT = 20, PAD = 8 };
static const uint32_t magic = 0x524c4231; /* "RLB1" */

static size_t padded(size_t len)
{
    return (len + PAD - 1) / PAD * PAD;
}

static uint32_t sum_of(struct span entry)
{
    uint32_t sum = crc32c(0, entry.data, SUM_AT);
    return crc32c(sum, entry.data + SUM_AT + 4, entry.len - SUM_AT - 4);
}

void batch_put(struct buf *body, uint64_t number, struct span data)
{
    buf_put_be64(body, number);
    buf_put_be32(body, (uint32_t)data.len);
    if (data.len > 0) {
        buf_append(body, data.data, data.len);
    }
}

/* Appends the body, compressed where that saves an eighth; returns its stored length. */
static size_t put_body(struct span body, struct buf *out, uint16_t *flags)
{
    *flags = 0;
    if (body.len >= BATCH_COMPRESS_BYTES_MIN) {
        size_t worth = body.len - body.len / 8;
        uint8_t *at = buf_reserve(out, worth);
        int len =
            LZ4_compress_default((const char *)body.data, (char *)at, (int)body.len, (int)worth);
        if (len > 0) {
            out->len += (size_t)len;
            *flags = FLAG_LZ4;
            return (size_t)len;
        }
    }
    if (body.len > 0) {
        buf_append(out, body.data, body.len);
    }
    return body.len;
}

void batch_seal(const struct batch_header *header, struct span body, struct buf *out)
{
    ensure(body.len <= BATCH_RAW_BYTES_MAX);
    size_t start = out->len;
    buf_put_be32(out, magic);
    buf_put_be16(out, BATCH_VERSION);
    buf_put_be16(out, 0);
    buf_put_be32(out, 0);
    buf_put_be32(out, (uint32_t)body.len);
    buf_put_be32(out, header->count);
    buf_put_be32(out, 0);
    buf_put_be64(out, header->origin);
    buf_put_be64(out, header->session);
    buf_put_be64(out, header->term);
    buf_put_be64(out, (uint64_t)header->stamp_ms);
    ensure(out->len - start == BATCH_HEADER_LEN);

    uint16_t flags = 0;
    size_t len = put_body(body, out, &flags);
    static const uint8_t zeros[PAD];
    buf_append(out, zeros, padded(len) - len);
    out->data[start + 7] = (uint8_t)flags;
    buf_set_be32(out, start + 8, (uint32_t)len);
    buf_set_be32(out, start + SUM_AT, sum_of(span_of(out->data + start, out->len - start)));
}

enum batch_error batch_check(struct span entry)
{
    if (entry.len < BATCH_HEADER_LEN || entry.len % PAD != 0 || bytes_be32(entry.data) != magic) {
        return BATCH_MALFORMED;
    }
    if (bytes_be32(entry.data + SUM_AT) != sum_of(entry)) {
        return BATCH_BAD_SUM;
    }
    uint16_t flags = bytes_be16(entry.data + 6);
    if (bytes_be16(entry.data + 4) != BATCH_VERSION || (flags & ~FLAG_LZ4) != 0) {
        return BATCH_NEWER;
    }
    size_t len = bytes_be32(entry.data + 8);
    size_t raw_len = bytes_be32(entry.data + 12);
    if (raw_len > BATCH_RAW_BYTES_MAX || entry.len - BATCH_HEADER_LEN != padded(len) ||
        ((flags & FLAG_LZ4) == 0 && len != raw_len)) {
        return BATCH_MALFORMED;
    }
    for (size_t i = BATCH_HEADER_LEN + len; i < entry.len; i++) {
        if (entry.data[i] != 0) {
            return BATCH_MALFORMED;
        }
    }
    return BATCH_OK;
}

static bool unpack(struct span stored, size_t raw_len, struct buf *scratch)
{
    scratch->len = 0;
    uint8_t *to = buf_reserve(scratch, raw_len);
    int n =
        LZ4_decompress_safe((const char *)stored.data, (char *)to, (int)stored.len, (int)raw_len);
    if (n < 0 || (size_t)n != raw_len) {
        return false;
    }
    scratch->len = raw_len;
    return true;
}

/* Whether the proposals fill the body exactly. */
static bool is_whole(struct span body, uint32_t count)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (body.len - at < BATCH_ITEM_LEN) {
            return false;
        }
        size_t len = bytes_be32(body.data + at + 8);
        at += BATCH_ITEM_LEN;
        if (body.len - at < len) {
            return false;
        }
        at += len;
    }
    return at == body.len;
}

enum batch_error batch_open(struct batch *batch, struct span entry, struct buf *scratch)
{
    enum batch_error error = batch_check(entry);
    if (error != BATCH_OK) {
        return error;
    }
    const uint8_t *at = entry.data;
    batch->header = (struct batch_header){.origin = bytes_be64(at + 24),
                                          .session = bytes_be64(at + 32),
                                          .term = bytes_be64(at + 40),
                                          .stamp_ms = (int64_t)bytes_be64(at + 48),
                                          .count = bytes_be32(at + 16)};
    batch->at = 0;
    batch->body = span_of(at + BATCH_HEADER_LEN, bytes_be32(at + 8));
    if ((bytes_be16(at + 6) & FLAG_LZ4) != 0) {
        if (!unpack(batch->body, bytes_be32(at + 12), scratch)) {
            return BATCH_BAD_BODY;
        }
        batch->body = buf_span(scratch);
    }
    return is_whole(batch->body, batch->header.count) ? BATCH_OK : BATCH_BAD_BODY;
}

bool batch_next(struct batch *batch, uint64_t *number, struct span *data)
{
    if (batch->at == batch->body.len) {
        return false;
    }
    const uint8_t *at = batch->body.data + batch->at;
    *number = bytes_be64(at);
    *data = span_of(at + BATCH_ITEM_LEN, bytes_be32(at + 8));
    batch->at += BATCH_ITEM_LEN + data->len;
    return true;
}

const char *batch_error_text(enum batch_error error)
{
    switch (error) {
        case BATCH_OK:
            return "ok";
        case BATCH_MALFORMED:
            return "malformed";
        case BATCH_BAD_SUM:
            return "bad checksum";
        case BATCH_BAD_BODY:
            return "bad body";
        case BATCH_NEWER:
            return "written by a newer release";
    }
    return "unknown";
}
