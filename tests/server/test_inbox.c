#include <criterion/criterion.h>

#include "server/inbox.h"

enum { SIZE_MAX_HERE = 1000 };

static struct inbox inbox;
static struct buf frame;

static void set_up(void)
{
    inbox_init(&inbox);
    frame = BUF_EMPTY;
}

static void tear_down(void)
{
    inbox_close(&inbox);
    buf_close(&frame);
}

TestSuite(inbox, .init = set_up, .fini = tear_down);

/* Appends a frame whose content is [size] bytes of [fill]. */
static void put_frame(struct buf *out, uint32_t size, char fill)
{
    buf_put_be32(out, size);
    for (uint32_t i = 0; i < size; i++) {
        buf_put_u8(out, (uint8_t)fill);
    }
}

static enum frame_status next(struct span *chunk)
{
    frame.len = 0;
    return inbox_next(&inbox, chunk, SIZE_MAX_HERE, &frame);
}

static void assert_frame(uint32_t size, char fill)
{
    struct buf expected = BUF_EMPTY;
    put_frame(&expected, size, fill);
    cr_assert(span_equal(buf_span(&frame), buf_span(&expected)));
    buf_close(&expected);
}

Test(inbox, whole_frames_leave_nothing_behind)
{
    struct buf sent = BUF_EMPTY;
    put_frame(&sent, 3, 'a');
    put_frame(&sent, 1, 'b');
    struct span chunk = buf_span(&sent);
    cr_assert_eq(next(&chunk), FRAME_COMPLETE);
    assert_frame(3, 'a');
    cr_assert_eq(next(&chunk), FRAME_COMPLETE);
    assert_frame(1, 'b');
    cr_assert_eq(chunk.len, 0);
    cr_assert_eq(inbox_bytes(&inbox), 0);
    buf_close(&sent);
}

/* Three frames in chunks of every length. */
Test(inbox, any_split)
{
    static const uint32_t sizes[] = {5, 300, 1};
    struct buf sent = BUF_EMPTY;
    for (size_t i = 0; i < 3; i++) {
        put_frame(&sent, sizes[i], (char)('a' + i));
    }
    for (size_t step = 1; step <= sent.len; step++) {
        size_t found = 0;
        for (size_t at = 0; at < sent.len; at += step) {
            size_t len = step < sent.len - at ? step : sent.len - at;
            struct span chunk = span_of(sent.data + at, len);
            while (chunk.len > 0 && next(&chunk) == FRAME_COMPLETE) {
                assert_frame(sizes[found], (char)('a' + found));
                found++;
            }
        }
        cr_assert_eq(found, 3, "step %zu", step);
        cr_assert(inbox_is_empty(&inbox));
    }
    buf_close(&sent);
}

Test(inbox, kept_frames_come_before_the_chunk)
{
    struct buf sent = BUF_EMPTY;
    put_frame(&sent, 4, 'a');
    put_frame(&sent, 5, 'b');
    put_frame(&sent, 6, 'c');
    struct span rest = span_of(sent.data, 8 + 5);
    inbox_keep(&inbox, rest);
    struct span chunk = span_of(sent.data + rest.len, sent.len - rest.len);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(next(&chunk), FRAME_COMPLETE);
        assert_frame(4 + i, (char)('a' + i));
    }
    cr_assert_eq(next(&chunk), FRAME_INCOMPLETE);
    cr_assert(inbox_is_empty(&inbox));
    buf_close(&sent);
}

Test(inbox, size_limit)
{
    uint8_t good[] = {0, 0, 0x03, 0xe8};
    uint8_t more[] = {0, 0, 0x03, 0xe9};
    uint8_t none[] = {0, 0, 0, 0};
    uint8_t less[] = {0xff, 0xff, 0xff, 0xff};
    uint8_t huge[] = {0x7f, 0xff, 0xff, 0xff};
    struct span chunk = span_of(good, 4);
    cr_assert_eq(next(&chunk), FRAME_INCOMPLETE);
    inbox_close(&inbox);
    uint8_t *const bad[] = {more, none, less, huge};
    for (size_t i = 0; i < 4; i++) {
        chunk = span_of(bad[i], 4);
        cr_assert_eq(next(&chunk), FRAME_INVALID);
        /* The prefix in two pieces. */
        chunk = span_of(bad[i], 3);
        cr_assert_eq(next(&chunk), FRAME_INCOMPLETE);
        chunk = span_of(bad[i] + 3, 1);
        cr_assert_eq(next(&chunk), FRAME_INVALID);
        inbox_close(&inbox);
    }
}

/* Memory grows with what arrives, not with what is claimed. */
Test(inbox, a_claim_costs_nothing)
{
    uint8_t claim[] = {0x06, 0x40, 0, 0};
    struct span chunk = span_of(claim, 4);
    cr_assert_eq(inbox_next(&inbox, &chunk, 100 << 20, &frame), FRAME_INCOMPLETE);
    cr_assert_leq(inbox_bytes(&inbox), 64);
    uint8_t bytes[1000] = {0};
    chunk = span_of(bytes, sizeof bytes);
    cr_assert_eq(inbox_next(&inbox, &chunk, 100 << 20, &frame), FRAME_INCOMPLETE);
    cr_assert_leq(inbox_bytes(&inbox), 2048);
}
