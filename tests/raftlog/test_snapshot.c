/* Snapshots on disk and on the way to a peer. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "raftlog/log_snapshot.h"
#include "tests/rpc/leaks.h"

TestSuite(snapshot, .fini = leaks_abort);

enum { MIB = 1 << 20 };

static struct buf state_of(size_t len)
{
    struct buf state = BUF_EMPTY;
    uint32_t x = 1;
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        buf_put_u8(&state, i % 3 == 0 ? (uint8_t)(x >> 24) : 'a');
    }
    return state;
}

static struct buf encoded(const struct buf *state)
{
    struct log_snapshot_header header = {.index = 42, .stamp_ms = -5, .state_hash = 99};
    struct buf out = BUF_EMPTY;
    log_snapshot_encode(&header, buf_span(state), &out);
    return out;
}

static bool decodes(struct span snapshot, struct log_snapshot_header *header, struct buf *state)
{
    state->len = 0;
    return log_snapshot_decode(snapshot, header, state);
}

static bool passes_in_pieces(struct span snapshot, size_t piece)
{
    struct log_snapshot_check check;
    log_snapshot_check_init(&check);
    bool is_good = true;
    for (size_t at = 0; is_good && at < snapshot.len; at += piece) {
        size_t n = snapshot.len - at < piece ? snapshot.len - at : piece;
        is_good = log_snapshot_check_add(&check, span_of(snapshot.data + at, n));
    }
    is_good = is_good && log_snapshot_check_is_done(&check);
    log_snapshot_check_close(&check);
    return is_good;
}

Test(snapshot, round_trip_at_frame_limits)
{
    const size_t sizes[] = {0, 1, 2, 1000, MIB - 1, MIB, MIB + 1, 2 * MIB + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf state = state_of(sizes[i]);
        struct buf out = encoded(&state);
        struct buf back = BUF_EMPTY;
        struct log_snapshot_header header;
        cr_assert(decodes(buf_span(&out), &header, &back), "%zu bytes", sizes[i]);
        cr_assert_eq(header.index, 42);
        cr_assert_eq(header.stamp_ms, -5);
        cr_assert_eq(header.state_hash, 99);
        cr_assert_eq(header.raw_len, sizes[i]);
        cr_assert_eq(header.len, out.len);
        cr_assert_eq(back.len, state.len);
        cr_assert(back.len == 0 || memcmp(back.data, state.data, back.len) == 0);
        cr_assert(passes_in_pieces(buf_span(&out), out.len));
        cr_assert(passes_in_pieces(buf_span(&out), 4093));
        buf_close(&state);
        buf_close(&out);
        buf_close(&back);
    }
}

Test(snapshot, passes_byte_by_byte)
{
    struct buf state = state_of(3000);
    struct buf out = encoded(&state);
    cr_assert(passes_in_pieces(buf_span(&out), 1));
    buf_close(&state);
    buf_close(&out);
}

Test(snapshot, every_flipped_bit_is_refused)
{
    struct buf state = state_of(700);
    struct buf out = encoded(&state);
    struct buf back = BUF_EMPTY;
    struct log_snapshot_header header;
    for (size_t bit = 0; bit < out.len * 8; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_not(decodes(buf_span(&out), &header, &back), "bit %zu", bit);
        cr_assert_not(passes_in_pieces(buf_span(&out), 64), "bit %zu", bit);
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert(decodes(buf_span(&out), &header, &back));
    buf_close(&state);
    buf_close(&out);
    buf_close(&back);
}

Test(snapshot, every_other_length_is_refused)
{
    struct buf state = state_of(700);
    struct buf out = encoded(&state);
    struct buf back = BUF_EMPTY;
    struct log_snapshot_header header;
    size_t whole = out.len;
    buf_put_u8(&out, 0);
    for (size_t len = 0; len <= out.len; len++) {
        struct span cut = span_of(out.data, len);
        cr_assert_eq(decodes(cut, &header, &back), len == whole);
        cr_assert_eq(passes_in_pieces(cut, 100), len == whole);
    }
    buf_close(&state);
    buf_close(&out);
    buf_close(&back);
}
