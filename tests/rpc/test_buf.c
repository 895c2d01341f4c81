/* The writer, and the reader against what it wrote. */
#include <criterion/criterion.h>

#include "leaks.h"
#include "rpc/buf.h"
#include "rpc/reader.h"

TestSuite(buf, .fini = leaks_abort);
TestSuite(varint, .fini = leaks_abort);
TestSuite(reader, .fini = leaks_abort);

static const uint64_t samples[] = {
    0,
    1,
    63,
    64,
    127,
    128,
    16383,
    16384,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

Test(buf, numbers_are_big_endian)
{
    struct buf buf = BUF_EMPTY;
    buf_put_u8(&buf, 0x01);
    buf_put_be16(&buf, 0x0203);
    buf_put_be32(&buf, 0x04050607);
    buf_put_be64(&buf, 0x08090a0b0c0d0e0f);
    cr_assert_eq(buf.len, 15);
    for (size_t i = 0; i < buf.len; i++) {
        cr_assert_eq(buf.data[i], i + 1);
    }
    buf_set_be32(&buf, 3, 0xfffefdfc);
    struct reader r = reader_of(buf_span(&buf));
    cr_assert_eq(reader_u8(&r), 1);
    cr_assert_eq(reader_be16(&r), 0x0203);
    cr_assert_eq(reader_be32(&r), 0xfffefdfc);
    cr_assert_eq(reader_be64(&r), 0x08090a0b0c0d0e0f);
    cr_assert_not(reader_is_failed(&r));
    cr_assert_eq(reader_left(&r), 0);
    buf_close(&buf);
    cr_assert_null(buf.data);
}

Test(buf, grows_and_keeps_what_it_has)
{
    struct buf buf = BUF_EMPTY;
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t byte = (uint8_t)(i * 7);
        buf_append(&buf, &byte, 1);
    }
    buf_append(&buf, NULL, 0);
    cr_assert_eq(buf.len, 100000);
    for (unsigned i = 0; i < 100000; i++) {
        cr_assert_eq(buf.data[i], (uint8_t)(i * 7));
    }
    buf_close(&buf);
}

Test(buf, reserve_is_never_null)
{
    struct buf buf = BUF_EMPTY;
    cr_assert_not_null(buf_reserve(&buf, 0));
    cr_assert_eq(buf.len, 0);
    buf_close(&buf);
}

Test(varint, known_bytes)
{
    struct buf buf = BUF_EMPTY;
    buf_put_uvarint(&buf, 300);
    buf_put_varint(&buf, -1);
    buf_put_varint(&buf, 1);
    buf_put_varint(&buf, INT64_MIN);
    cr_assert(span_equal(buf_span(&buf),
                         SPAN_LITERAL("\xac\x02\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    buf_close(&buf);
}

Test(varint, round_trip)
{
    struct buf buf = BUF_EMPTY;
    for (int i = 0; i < SAMPLES; i++) {
        buf_put_uvarint(&buf, samples[i]);
        buf_put_varint(&buf, (int64_t)samples[i]);
        buf_put_varint(&buf, -(int64_t)(samples[i] >> 1));
    }
    struct reader r = reader_of(buf_span(&buf));
    for (int i = 0; i < SAMPLES; i++) {
        cr_assert_eq(reader_uvarint(&r), samples[i]);
        cr_assert_eq(reader_varint(&r), (int64_t)samples[i]);
        cr_assert_eq(reader_varint(&r), -(int64_t)(samples[i] >> 1));
    }
    cr_assert_not(reader_is_failed(&r));
    cr_assert_eq(reader_left(&r), 0);
    buf_close(&buf);
}

static bool is_uvarint(struct span bytes, unsigned bits)
{
    struct reader r = reader_of(bytes);
    if (bits == 32) {
        reader_uvarint32(&r);
    } else {
        reader_uvarint(&r);
    }
    return !reader_is_failed(&r) && reader_left(&r) == 0;
}

Test(varint, overlong_and_too_large_fail)
{
    cr_assert(is_uvarint(SPAN_LITERAL("\x00"), 32));
    cr_assert_not(is_uvarint(SPAN_LITERAL("\x80\x00"), 32), "overlong zero");
    cr_assert_not(is_uvarint(SPAN_LITERAL("\xff\x80\x00"), 64), "overlong 127");
    cr_assert(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\x0f"), 32), "the largest of 32 bits");
    cr_assert_not(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\x1f"), 32), "33 bits");
    cr_assert(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\x1f"), 64));
    cr_assert_not(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\x8f\x01"), 32), "six bytes");
    cr_assert(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 64));
    cr_assert_not(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), 64));
    cr_assert_not(is_uvarint(SPAN_LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"), 64));
    cr_assert_not(is_uvarint(SPAN_LITERAL("\x80"), 64), "cut");
}

Test(reader, the_first_short_read_fails_all_that_follow)
{
    struct reader r = reader_of(SPAN_LITERAL("\x01\x02\x03"));
    cr_assert_eq(reader_be16(&r), 0x0102);
    cr_assert_eq(reader_be32(&r), 0);
    cr_assert(reader_is_failed(&r));
    cr_assert_eq(reader_left(&r), 0);
    cr_assert_eq(reader_u8(&r), 0);
    cr_assert_eq(reader_be64(&r), 0);
    cr_assert_eq(reader_varint(&r), 0);
    cr_assert_null(reader_take(&r, 0));
    cr_assert(span_is_null(reader_span(&r)));
    cr_assert_eq(reader_count(&r, 1), 0);
}

Test(reader, a_short_number_of_eight_bytes_gives_nothing_of_itself)
{
    struct reader r = reader_of(SPAN_LITERAL("\x01\x02\x03\x04\x05\x06\x07"));
    cr_assert_eq(reader_be64(&r), 0);
    cr_assert(reader_is_failed(&r));
}

Test(reader, nothing_is_readable_as_nothing)
{
    struct reader r = reader_of(SPAN_NULL);
    cr_assert_eq(reader_left(&r), 0);
    cr_assert_not_null(reader_take(&r, 0));
    cr_assert_not(reader_is_failed(&r));
    cr_assert_null(reader_take(&r, 1));
    cr_assert(reader_is_failed(&r));
}

Test(reader, spans_keep_null_and_empty_apart)
{
    struct buf buf = BUF_EMPTY;
    buf_put_span(&buf, SPAN_NULL);
    buf_put_span(&buf, SPAN_EMPTY);
    buf_put_span(&buf, SPAN_LITERAL("abc"));
    struct reader r = reader_of(buf_span(&buf));
    cr_assert(span_is_null(reader_span(&r)));
    cr_assert(span_equal(reader_span(&r), SPAN_EMPTY));
    cr_assert(span_equal(reader_span(&r), SPAN_LITERAL("abc")));
    cr_assert_not(reader_is_failed(&r));
    r = reader_of(span_of(buf.data, buf.len - 1));
    reader_span(&r);
    reader_span(&r);
    cr_assert(span_is_null(reader_span(&r)));
    cr_assert(reader_is_failed(&r));
    buf_close(&buf);
}

Test(reader, a_count_must_fit_what_remains)
{
    struct reader r =
        reader_of(SPAN_LITERAL("\x03"
                               "abcdef"));
    cr_assert_eq(reader_count(&r, 2), 3);
    r =
        reader_of(SPAN_LITERAL("\x04"
                               "abcdef"));
    cr_assert_eq(reader_count(&r, 2), 0);
    cr_assert(reader_is_failed(&r));
    r = reader_of(SPAN_LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    cr_assert_eq(reader_count(&r, 1), 0);
    cr_assert(reader_is_failed(&r));
}
