#include "raftlog/log_snapshot.h"

#include <lz4.h>

#include "raftlog/bytes.h"
#include "raftlog/crc32c.h"
#include "rpc/ensure.h"

enum { SUM_AT = 52, FRAME_SUM_AT = 8 };
static const uint32_t magic = 0x524c5331; /* "RLS1" */

static uint32_t frame_sum(const uint8_t *frame, size_t stored_len)
{
    uint32_t sum = crc32c(0, frame, FRAME_SUM_AT);
    return crc32c(sum, frame + LOG_SNAPSHOT_FRAME_HEADER_LEN, stored_len);
}

static void put_frame(struct span raw, struct buf *out)
{
    size_t start = out->len;
    buf_put_be32(out, (uint32_t)raw.len);
    buf_put_be32(out, 0);
    buf_put_be32(out, 0);
    uint8_t *at = buf_reserve(out, raw.len);
    int len = raw.len < 2 ? 0
                          : LZ4_compress_default((const char *)raw.data, (char *)at, (int)raw.len,
                                                 (int)raw.len - 1);
    if (len > 0) {
        out->len += (size_t)len;
    } else {
        buf_append(out, raw.data, raw.len);
    }
    size_t stored_len = out->len - start - LOG_SNAPSHOT_FRAME_HEADER_LEN;
    buf_set_be32(out, start + 4, (uint32_t)stored_len);
    buf_set_be32(out, start + FRAME_SUM_AT, frame_sum(out->data + start, stored_len));
}

static void put_be64_at(struct buf *out, size_t at, uint64_t v)
{
    buf_set_be32(out, at, (uint32_t)(v >> 32));
    buf_set_be32(out, at + 4, (uint32_t)v);
}

void log_snapshot_encode(struct log_snapshot_header *header, struct span state, struct buf *out)
{
    size_t start = out->len;
    header->raw_len = state.len;
    buf_put_be32(out, magic);
    buf_put_be16(out, LOG_SNAPSHOT_VERSION);
    buf_put_be16(out, 0);
    buf_put_be64(out, header->index);
    buf_put_be64(out, (uint64_t)header->stamp_ms);
    buf_put_be64(out, header->raw_len);
    buf_put_be64(out, 0);
    buf_put_be64(out, header->state_hash);
    buf_put_be32(out, 0);
    buf_put_be32(out, 0);
    ensure(out->len - start == LOG_SNAPSHOT_HEADER_LEN);
    for (size_t at = 0; at < state.len;) {
        size_t n = state.len - at;
        n = n < LOG_SNAPSHOT_FRAME_RAW_MAX ? n : LOG_SNAPSHOT_FRAME_RAW_MAX;
        put_frame(span_of(state.data + at, n), out);
        at += n;
    }
    header->len = out->len - start;
    put_be64_at(out, start + 32, header->len);
    buf_set_be32(out, start + SUM_AT, crc32c(0, out->data + start, SUM_AT));
}

static bool read_header(const uint8_t *at, struct log_snapshot_header *header)
{
    *header = (struct log_snapshot_header){.index = bytes_be64(at + 8),
                                           .stamp_ms = (int64_t)bytes_be64(at + 16),
                                           .raw_len = bytes_be64(at + 24),
                                           .len = bytes_be64(at + 32),
                                           .state_hash = bytes_be64(at + 40)};
    return bytes_be32(at) == magic && bytes_be16(at + 4) == LOG_SNAPSHOT_VERSION &&
           bytes_be32(at + SUM_AT) == crc32c(0, at, SUM_AT) &&
           header->len >= LOG_SNAPSHOT_HEADER_LEN && header->len <= LOG_SNAPSHOT_BYTES_MAX;
}

/* Of the frame whose header is at [at]; false: impossible. */
static bool read_frame_header(const uint8_t *at, size_t *raw_len, size_t *stored_len)
{
    *raw_len = bytes_be32(at);
    *stored_len = bytes_be32(at + 4);
    return *raw_len > 0 && *raw_len <= LOG_SNAPSHOT_FRAME_RAW_MAX && *stored_len > 0 &&
           *stored_len <= *raw_len;
}

static bool unpack(const uint8_t *stored, size_t stored_len, size_t raw_len, struct buf *state)
{
    if (stored_len == raw_len) {
        buf_append(state, stored, stored_len);
        return true;
    }
    uint8_t *to = buf_reserve(state, raw_len);
    int n = LZ4_decompress_safe((const char *)stored, (char *)to, (int)stored_len, (int)raw_len);
    if (n < 0 || (size_t)n != raw_len) {
        return false;
    }
    state->len += raw_len;
    return true;
}

bool log_snapshot_decode(struct span snapshot,
                         struct log_snapshot_header *header,
                         struct buf *state)
{
    if (snapshot.len < LOG_SNAPSHOT_HEADER_LEN || !read_header(snapshot.data, header) ||
        header->len != snapshot.len) {
        return false;
    }
    size_t start = state->len;
    size_t at = LOG_SNAPSHOT_HEADER_LEN;
    while (at < snapshot.len) {
        const uint8_t *frame = snapshot.data + at;
        size_t raw_len = 0;
        size_t stored_len = 0;
        if (snapshot.len - at < LOG_SNAPSHOT_FRAME_HEADER_LEN ||
            !read_frame_header(frame, &raw_len, &stored_len) ||
            snapshot.len - at - LOG_SNAPSHOT_FRAME_HEADER_LEN < stored_len ||
            bytes_be32(frame + FRAME_SUM_AT) != frame_sum(frame, stored_len) ||
            !unpack(frame + LOG_SNAPSHOT_FRAME_HEADER_LEN, stored_len, raw_len, state)) {
            return false;
        }
        at += LOG_SNAPSHOT_FRAME_HEADER_LEN + stored_len;
    }
    return state->len - start == header->raw_len;
}

void log_snapshot_check_init(struct log_snapshot_check *check)
{
    *check = (struct log_snapshot_check){.pending = BUF_EMPTY};
}

void log_snapshot_check_close(struct log_snapshot_check *check)
{
    buf_close(&check->pending);
    *check = (struct log_snapshot_check){.pending = BUF_EMPTY};
}

/* How many bytes the header or frame at the start of pending takes in all, as far as is known. */
static bool wanted(const struct log_snapshot_check *check, size_t *len, size_t *raw_len)
{
    *raw_len = 0;
    if (!check->has_header) {
        *len = LOG_SNAPSHOT_HEADER_LEN;
        return true;
    }
    *len = LOG_SNAPSHOT_FRAME_HEADER_LEN;
    if (check->pending.len < LOG_SNAPSHOT_FRAME_HEADER_LEN) {
        return true;
    }
    size_t stored_len = 0;
    if (!read_frame_header(check->pending.data, raw_len, &stored_len)) {
        return false;
    }
    *len += stored_len;
    return true;
}

static bool check_pending(struct log_snapshot_check *check, size_t raw_len)
{
    const uint8_t *at = check->pending.data;
    size_t len = check->pending.len;
    if (!check->has_header) {
        check->has_header = read_header(at, &check->header);
        return check->has_header;
    }
    check->raw_seen += raw_len;
    return check->raw_seen <= check->header.raw_len &&
           bytes_be32(at + FRAME_SUM_AT) == frame_sum(at, len - LOG_SNAPSHOT_FRAME_HEADER_LEN);
}

bool log_snapshot_check_add(struct log_snapshot_check *check, struct span piece)
{
    while (piece.len > 0) {
        if (log_snapshot_check_is_done(check)) {
            return false; /* bytes behind the end */
        }
        size_t len = 0;
        size_t raw_len = 0;
        if (!wanted(check, &len, &raw_len)) {
            return false;
        }
        size_t n = len - check->pending.len;
        n = n < piece.len ? n : piece.len;
        buf_append(&check->pending, piece.data, n);
        piece = span_of(piece.data + n, piece.len - n);
        check->seen += n;
        if (!wanted(check, &len, &raw_len)) {
            return false;
        }
        if (check->pending.len == len) {
            if (!check_pending(check, raw_len)) {
                return false;
            }
            check->pending.len = 0;
        }
    }
    return !check->has_header || check->seen <= check->header.len;
}

bool log_snapshot_check_is_done(const struct log_snapshot_check *check)
{
    return check->has_header && check->seen == check->header.len && check->pending.len == 0 &&
           check->raw_seen == check->header.raw_len;
}
