#include <criterion/criterion.h>

#include "leaks.h"
#include "rpc/errors.h"
#include "rpc/frame.h"
#include "rpc/limits.h"

TestSuite(frame, .fini = leaks_abort);
TestSuite(header, .fini = leaks_abort);
TestSuite(response, .fini = leaks_abort);
TestSuite(api, .fini = leaks_abort);

Test(frame, tells_what_is_missing)
{
    static const uint8_t bytes[] = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0};
    struct frame frame;
    for (size_t n = 0; n < 7; n++) {
        cr_assert_eq(frame_parse(span_of(bytes, n), 100, &frame), FRAME_INCOMPLETE);
        cr_assert_eq(frame.missing, (n < 4 ? 4 : 7) - n, "at %zu", n);
        cr_assert_eq(frame.size, n < 4 ? 0 : 3);
    }
    for (size_t n = 7; n <= sizeof bytes; n++) {
        cr_assert_eq(frame_parse(span_of(bytes, n), 100, &frame), FRAME_COMPLETE);
        cr_assert(span_equal(frame.content, SPAN_LITERAL("abc")));
    }
    cr_assert_eq(frame_parse(SPAN_NULL, 100, &frame), FRAME_INCOMPLETE);
    cr_assert_eq(frame.missing, 4);
}

static enum frame_status status_of(uint32_t size, size_t size_max)
{
    struct buf buf = BUF_EMPTY;
    struct frame frame;
    buf_put_be32(&buf, size);
    enum frame_status status = frame_parse(buf_span(&buf), size_max, &frame);
    buf_close(&buf);
    return status;
}

Test(frame, size_limit_at_n_and_n_plus_1)
{
    cr_assert_eq(status_of(1000, 1000), FRAME_INCOMPLETE);
    cr_assert_eq(status_of(1001, 1000), FRAME_INVALID);
    cr_assert_eq(status_of(RPC_FRAME_BYTES_DEFAULT, RPC_FRAME_BYTES_DEFAULT), FRAME_INCOMPLETE);
    cr_assert_eq(status_of(RPC_FRAME_BYTES_DEFAULT + 1, RPC_FRAME_BYTES_DEFAULT), FRAME_INVALID);
    cr_assert_eq(status_of(0, 1000), FRAME_INVALID);
    cr_assert_eq(status_of(0x80000000, SIZE_MAX), FRAME_INVALID);
    cr_assert_eq(status_of(0xffffffff, SIZE_MAX), FRAME_INVALID);
    cr_assert_eq(status_of(0x7fffffff, SIZE_MAX), FRAME_INCOMPLETE);
}

struct parsed {
    struct request_header header;
    const struct api *api;
    enum codec_error error;
    size_t left;
};

static struct parsed parse(struct span bytes)
{
    struct parsed p;
    struct reader r = reader_of(bytes);
    p.error = frame_read_header(&r, &p.header, &p.api);
    p.left = reader_left(&r);
    return p;
}

Test(header, classic)
{
    struct parsed p =
        parse(SPAN_LITERAL("\x00\x0c\x00\x03\x00\x00\x00\x07\x00\x02"
                           "me"
                           "body"));
    cr_assert_eq(p.error, CODEC_OK);
    cr_assert_eq(p.api->key, API_Heartbeat);
    cr_assert_eq(p.header.api_key, 12);
    cr_assert_eq(p.header.api_version, 3);
    cr_assert_eq(p.header.correlation_id, 7);
    cr_assert(span_equal(p.header.client_id, SPAN_LITERAL("me")));
    cr_assert_eq(p.left, 4);
}

Test(header, flexible_has_a_classic_client_id_and_a_tagged_section)
{
    struct parsed p =
        parse(SPAN_LITERAL("\x00\x0c\x00\x04\xff\xff\xff\xff\x00\x02"
                           "me"
                           "\x01\x05\x02zz"
                           "body"));
    cr_assert_eq(p.error, CODEC_OK);
    cr_assert_eq(p.header.correlation_id, -1);
    cr_assert(span_equal(p.header.client_id, SPAN_LITERAL("me")));
    cr_assert_eq(p.left, 4);
}

Test(header, null_client_is_empty)
{
    struct parsed p = parse(SPAN_LITERAL("\x00\x0c\x00\x00\x00\x00\x00\x01\xff\xff"));
    cr_assert_eq(p.error, CODEC_OK);
    cr_assert(span_equal(p.header.client_id, SPAN_EMPTY));
}

Test(header, malformed)
{
    struct span good =
        SPAN_LITERAL("\x00\x0c\x00\x04\x00\x00\x00\x01\x00\x02me\x02\x01\x01z\x02\x00");
    cr_assert_eq(parse(good).error, CODEC_OK);
    for (size_t cut = 0; cut < good.len; cut++) {
        cr_assert_eq(parse(span_of(good.data, cut)).error, CODEC_MALFORMED, "cut at %zu", cut);
    }
    cr_assert_eq(parse(SPAN_LITERAL("\x00\x0c\x00\x04\x00\x00\x00\x01\xff\xfe\x00")).error,
                 CODEC_MALFORMED, "a length of -2");
    cr_assert_eq(
        parse(SPAN_LITERAL("\x00\x0c\x00\x04\x00\x00\x00\x01\xff\xff\x02\x02\x00\x01\x00")).error,
        CODEC_MALFORMED, "descending tags");
}

Test(header, tagged_fields_limit_at_n_and_n_plus_1)
{
    for (unsigned more = 0; more <= 1; more++) {
        unsigned count = RPC_TAGGED_FIELDS_MAX + more;
        struct buf buf = BUF_EMPTY;
        buf_append(&buf, "\x00\x0c\x00\x04\x00\x00\x00\x01\xff\xff", 10);
        buf_put_uvarint(&buf, count);
        for (unsigned tag = 0; tag < count; tag++) {
            buf_put_uvarint(&buf, tag);
            buf_put_uvarint(&buf, 0);
        }
        cr_assert_eq(parse(buf_span(&buf)).error, more ? CODEC_LIMIT : CODEC_OK);
        buf_close(&buf);
    }
}

Test(header, unknown_api_and_version_are_told_apart)
{
    struct parsed p = parse(SPAN_LITERAL("\x7f\xff\x00\x00\x00\x00\x00\x01\xff\xff"));
    cr_assert_eq(p.error, CODEC_UNKNOWN_API);
    cr_assert_null(p.api);
    p = parse(SPAN_LITERAL("\xff\xff\x00\x00\x00\x00\x00\x01\xff\xff"));
    cr_assert_eq(p.error, CODEC_UNKNOWN_API);
    p = parse(SPAN_LITERAL("\x00\x08\x00\x00\x00\x00\x00\x01\xff\xff"));
    cr_assert_eq(p.error, CODEC_UNSUPPORTED_VERSION, "OffsetCommit 0");
    p = parse(SPAN_LITERAL("\x00\x08\x00\x0b\x00\x00\x00\x01\xff\xff"));
    cr_assert_eq(p.error, CODEC_UNSUPPORTED_VERSION, "OffsetCommit 11");
    p = parse(SPAN_LITERAL("\x00\x08\xff\xff\x00\x00\x00\x01\xff\xff"));
    cr_assert_eq(p.error, CODEC_UNSUPPORTED_VERSION, "OffsetCommit -1");
}

/* A client that is newer than we are must learn what to fall back to, whatever its header holds. */
Test(header, api_versions_of_the_future_can_be_answered)
{
    struct parsed p =
        parse(SPAN_LITERAL("\x00\x12\x7f\xff\x00\x00\x00\x2a\x00\x02"
                           "me"
                           "?"));
    cr_assert_eq(p.error, CODEC_UNSUPPORTED_VERSION);
    cr_assert_eq(p.api->key, API_ApiVersions);
    cr_assert_eq(p.header.correlation_id, 42);
    cr_assert(span_equal(p.header.client_id, SPAN_LITERAL("me")));
    p = parse(SPAN_LITERAL("\x00\x12\x7f\xff\x00\x00\x00\x2a"));
    cr_assert_eq(p.error, CODEC_UNSUPPORTED_VERSION);
    cr_assert_eq(p.header.correlation_id, 42);
}

static void check_response(int key, int version, struct span expected)
{
    struct buf buf = BUF_EMPTY;
    buf_append(&buf, "before", 6);
    size_t start = frame_begin_response(&buf, api_find(key), version, 0x01020304);
    buf_append(&buf, "body", 4);
    frame_end_response(&buf, start);
    cr_assert_eq(start, 6);
    cr_assert(span_equal(span_of(buf.data + start, buf.len - start), expected), "key %d v%d", key,
              version);
    buf_close(&buf);
}

Test(response, header_and_length)
{
    check_response(API_Heartbeat, 3,
                   SPAN_LITERAL("\0\0\0\x08\x01\x02\x03\x04"
                                "body"));
    check_response(API_Heartbeat, 4,
                   SPAN_LITERAL("\0\0\0\x09\x01\x02\x03\x04\0"
                                "body"));
    check_response(API_ApiVersions, 0,
                   SPAN_LITERAL("\0\0\0\x08\x01\x02\x03\x04"
                                "body"));
    check_response(API_ApiVersions, 4,
                   SPAN_LITERAL("\0\0\0\x08\x01\x02\x03\x04"
                                "body"));
}

Test(api, the_table_agrees_with_the_messages)
{
    int last = -1;
    int count = 0;
    for (const struct api *api = NULL; (api = api_next(api)) != NULL; count++) {
        cr_assert_gt(api->key, last);
        last = api->key;
        cr_assert_eq(api_find(api->key), api);
        const struct kafka_schema *both[] = {api->request(), api->response()};
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(both[i]->min_version, api->min_version);
            cr_assert_eq(both[i]->max_version, api->max_version);
            cr_assert_eq(both[i]->flexible_since, api->flexible_since);
        }
    }
    cr_assert_eq(count, 24);
    cr_assert_null(api_find(-1));
    cr_assert_null(api_find(4));
    cr_assert_null(api_find(61));
    cr_assert_null(api_find(INT16_MAX));
}

Test(errors, names)
{
    for (int code = -1; code <= 136; code++) {
        cr_assert_str_neq(kafka_error_name(code), "UNLISTED", "%d", code);
    }
    cr_assert_str_eq(kafka_error_name(-2), "UNLISTED");
    cr_assert_str_eq(kafka_error_name(0), "NONE");
    cr_assert_str_eq(kafka_error_name(-1), "UNKNOWN_SERVER_ERROR");
    cr_assert_str_eq(kafka_error_name(KAFKA_MEMBER_ID_REQUIRED), "MEMBER_ID_REQUIRED");
    cr_assert_eq(KAFKA_MEMBER_ID_REQUIRED, 79);
    cr_assert_str_eq(kafka_error_name(136), "CONTROLLER_ID_NOT_REGISTERED");
    cr_assert_str_eq(kafka_error_name(137), "UNLISTED");
}
