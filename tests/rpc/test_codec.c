/* What the interpreter takes and refuses, on rows of its own: rows.def. */
#include <criterion/criterion.h>
#include <signal.h>

#include "dump.h"
#include "golden.h"
#include "leaks.h"
#include "rows.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/limits.h"
#include "rpc/value.h"

static struct arena arena;

static void open_arena(void)
{
    arena_init(&arena, RPC_CALL_ARENA_BYTES);
}

static void close_arena(void)
{
    arena_close(&arena);
    leaks_abort();
}

TestSuite(codec, .init = open_arena, .fini = close_arena);

/* The parts of an encoded message of rows.def, in wire order. */
enum part { FIXED, TEXT, BLOB, PARTS, WORDS, NUMBERS, CODES, INSIDE, MAYBE, TAGS, PART_COUNT };

/* The least message of a version, but with [bytes] as the part [replaced]. */
static void build(struct buf *buf, int version, enum part replaced, struct span bytes)
{
    const struct span none = {0};
    const struct span classic[PART_COUNT] = {
        SPAN_LITERAL("\x01\x02\x00\x03"),
        SPAN_LITERAL("\0\0"),
        SPAN_LITERAL("\0\0\0\0"),
        SPAN_LITERAL("\0\0\0\0"),
        SPAN_LITERAL("\0\0\0\0"),
        SPAN_LITERAL("\0\0\0\0"),
        none,
        SPAN_LITERAL("\x00\x05\0\0"),
        none,
        none,
    };
    const struct span flexible[PART_COUNT] = {
        SPAN_LITERAL("\x01\x02\x00\x03"),
        SPAN_LITERAL("\x01"),
        SPAN_LITERAL("\x01"),
        SPAN_LITERAL("\x01"),
        SPAN_LITERAL("\x01"),
        SPAN_LITERAL("\x01"),
        none,
        SPAN_LITERAL("\x00\x05\x01\x00"),
        none,
        SPAN_LITERAL("\x00"),
    };
    buf->len = 0;
    for (enum part part = FIXED; part < PART_COUNT; part++) {
        struct span as_usual = version == 0 ? classic[part] : flexible[part];
        if (version == 2 && part == FIXED) {
            as_usual = SPAN_LITERAL(
                "\x01\x02\x00\x03"
                "12345678"
                "0123456789abcdef"
                "\x04\x05");
        } else if (version == 2 && part == CODES) {
            as_usual = SPAN_LITERAL("\x01");
        } else if (version == 1 && part == MAYBE) {
            as_usual = SPAN_LITERAL("\x01\x00\x06\x01\x00");
        } else if (version == 2 && part == MAYBE) {
            as_usual = SPAN_LITERAL("\xff");
        }
        struct span put = part == replaced ? bytes : as_usual;
        buf_append(buf, put.data, put.len);
    }
}

static enum codec_error decode(int version, struct span bytes, struct rows *out)
{
    struct reader r = reader_of(bytes);
    return codec_decode(rows_schema(), version, &r, &arena, out);
}

/* With one part of the least message replaced. */
static enum codec_error decode_with(int version, enum part part, struct span bytes)
{
    struct buf buf = BUF_EMPTY;
    struct rows out;
    build(&buf, version, part, bytes);
    enum codec_error error = decode(version, buf_span(&buf), &out);
    buf_close(&buf);
    return error;
}

#define MUST(error_, version_, part_, literal_) \
    cr_expect_eq(decode_with(version_, part_, SPAN_LITERAL(literal_)), (error_))

Test(codec, the_least_message_of_each_version)
{
    for (int version = 0; version <= 2; version++) {
        struct buf buf = BUF_EMPTY;
        struct rows out;
        build(&buf, version, PART_COUNT, SPAN_NULL);
        cr_assert_eq(decode(version, buf_span(&buf), &out), CODEC_OK, "v%d", version);
        cr_assert(out.flag);
        cr_assert_eq(out.tiny, 2);
        cr_assert_eq(out.port, 3);
        cr_assert_eq(out.inside.number, 5);
        struct buf again = BUF_EMPTY;
        codec_encode(rows_schema(), version, &out, &again);
        cr_assert(span_equal(buf_span(&buf), buf_span(&again)), "v%d", version);
        buf_close(&again);
        buf_close(&buf);
    }
}

Test(codec, fields_that_a_version_lacks_have_their_defaults)
{
    struct buf buf = BUF_EMPTY;
    struct rows out;
    for (int version = 0; version <= 1; version++) {
        build(&buf, version, PART_COUNT, SPAN_NULL);
        memset(&out, 0xa5, sizeof out);
        cr_assert_eq(decode(version, buf_span(&buf), &out), CODEC_OK);
        cr_assert_eq(out.big, INT64_MIN);
        cr_assert(uuid_is_zero(out.id));
        cr_assert_eq(out.small, 0);
        cr_assert_eq(out.codes_count, 0);
        cr_assert_eq(out.maybe == NULL, version == 0);
        cr_assert_eq(out.tagged_number, 60000);
        cr_assert(span_is_null(out.tagged_text));
        cr_assert_eq(out.tagged_parts_count, 0);
        cr_assert_eq(out.tagged_place.x, -1);
    }
    buf_close(&buf);
}

Test(codec, set_defaults)
{
    struct rows out;
    memset(&out, 0xa5, sizeof out);
    codec_set_defaults(rows_schema(), &out);
    cr_assert(out.flag);
    cr_assert_eq(out.tiny, 0);
    cr_assert_eq(out.big, INT64_MIN);
    cr_assert(span_is_null(out.text));
    cr_assert(span_equal(out.blob, SPAN_EMPTY));
    cr_assert_eq(out.parts_count, -1);
    cr_assert_eq(out.words_count, 0);
    cr_assert_null(out.words);
    cr_assert_eq(out.inside.number, 7);
    cr_assert(span_equal(out.inside.text, SPAN_EMPTY));
    cr_assert_null(out.maybe);
    cr_assert_eq(out.tagged_number, 60000);
    cr_assert_eq(out.tagged_place.x, -1);
}

/* SPAN_LITERAL() as the initializer of something static. */
#define STATIC_SPAN(text_)                             \
    {                                                  \
        (const uint8_t *)("" text_), sizeof(text_) - 1 \
    }

static struct rows_part two_parts[] = {{-2, STATIC_SPAN("two")}, {3, STATIC_SPAN("")}};
static struct span two_words[] = {STATIC_SPAN("hello"), STATIC_SPAN("")};
static int32_t two_numbers[] = {INT32_MIN, 5};
static uint64_t two_codes[] = {UINT64_MAX, 1};

static struct rows full_rows(void)
{
    return (struct rows){
        .flag = true,
        .tiny = -7,
        .port = 65535,
        .big = -5,
        .id = {{1, 2, 3}},
        .small = (uint64_t)1 << 63,
        .swing = INT64_MIN,
        .text = SPAN_LITERAL("text"),
        .blob = SPAN_LITERAL("\0blob"),
        .parts = two_parts,
        .parts_count = 2,
        .words = two_words,
        .words_count = 2,
        .numbers = two_numbers,
        .numbers_count = 2,
        .codes = two_codes,
        .codes_count = 2,
        .inside = {9, SPAN_LITERAL("in")},
        .maybe = two_parts,
        .tagged_number = 1,
        .tagged_text = SPAN_EMPTY,
        .tagged_parts = two_parts,
        .tagged_parts_count = 2,
        .tagged_place = {4},
    };
}

Test(codec, every_kind_round_trips_and_no_truncation_passes)
{
    struct rows in = full_rows();
    struct rows out;
    for (int version = 0; version <= 2; version++) {
        struct buf bytes = BUF_EMPTY;
        struct buf sent = BUF_EMPTY;
        struct buf got = BUF_EMPTY;
        codec_encode(rows_schema(), version, &in, &bytes);
        cr_assert_eq(decode(version, buf_span(&bytes), &out), CODEC_OK);
        dump_struct(rows_schema(), version, &in, &sent);
        dump_struct(rows_schema(), version, &out, &got);
        cr_assert(span_equal(buf_span(&sent), buf_span(&got)), "v%d: %.*s", version, (int)got.len,
                  (const char *)got.data);
        for (size_t cut = 0; cut < bytes.len; cut++) {
            cr_assert_eq(decode(version, span_of(bytes.data, cut), &out), CODEC_MALFORMED,
                         "v%d cut at %zu", version, cut);
        }
        buf_close(&bytes);
        buf_close(&sent);
        buf_close(&got);
    }
}

Test(codec, a_long_tagged_value_gets_a_long_size)
{
    static uint8_t letters[20000];
    memset(letters, 'x', sizeof letters);
    static const size_t lengths[] = {125, 126, 127, 128, 16380, 16381, 16382, 16383, 20000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct rows in = full_rows();
        struct rows out;
        in.tagged_text = span_of(letters, lengths[i]);
        struct buf bytes = BUF_EMPTY;
        codec_encode(rows_schema(), 2, &in, &bytes);
        cr_assert_eq(decode(2, buf_span(&bytes), &out), CODEC_OK, "%zu", lengths[i]);
        cr_assert(span_equal(out.tagged_text, in.tagged_text));
        cr_assert_eq(out.tagged_place.x, 4);
        buf_close(&bytes);
    }
}

Test(codec, null_only_where_the_version_allows_it)
{
    MUST(CODEC_MALFORMED, 0, TEXT, "\xff\xff");
    MUST(CODEC_MALFORMED, 0, BLOB, "\xff\xff\xff\xff");
    MUST(CODEC_MALFORMED, 0, PARTS, "\xff\xff\xff\xff");
    MUST(CODEC_MALFORMED, 0, WORDS, "\xff\xff\xff\xff");
    MUST(CODEC_MALFORMED, 1, TEXT, "\x00");
    MUST(CODEC_MALFORMED, 1, BLOB, "\x00");
    MUST(CODEC_MALFORMED, 1, PARTS, "\x00");
    MUST(CODEC_MALFORMED, 1, WORDS, "\x00");
    MUST(CODEC_OK, 2, TEXT, "\x00");
    MUST(CODEC_OK, 2, BLOB, "\x00");
    MUST(CODEC_OK, 2, PARTS, "\x00");
    MUST(CODEC_OK, 2, WORDS, "\x00");
    MUST(CODEC_MALFORMED, 2, NUMBERS, "\x00");
    MUST(CODEC_MALFORMED, 2, WORDS, "\x02\x00"); /* an item */
    MUST(CODEC_MALFORMED, 2, INSIDE, "\x00\x05\x00\x00");
}

Test(codec, null_is_written_as_empty_where_the_version_has_no_null)
{
    struct rows in;
    codec_set_defaults(rows_schema(), &in);
    in.blob = SPAN_NULL;
    in.words_count = -1;
    in.numbers_count = -1;
    in.inside.text = SPAN_NULL;
    in.maybe = two_parts;
    for (int version = 0; version <= 2; version++) {
        struct buf bytes = BUF_EMPTY;
        struct rows out;
        codec_encode(rows_schema(), version, &in, &bytes);
        cr_assert_eq(decode(version, buf_span(&bytes), &out), CODEC_OK);
        cr_assert_eq(span_is_null(out.text), version == 2);
        cr_assert_eq(span_is_null(out.blob), version == 2);
        cr_assert_eq(out.parts_count, version == 2 ? -1 : 0);
        cr_assert_eq(out.words_count, version == 2 ? -1 : 0);
        cr_assert_eq(out.numbers_count, 0);
        cr_assert(span_equal(out.inside.text, SPAN_EMPTY));
        buf_close(&bytes);
    }
}

Test(codec, lengths_below_null_and_beyond_the_rest)
{
    MUST(CODEC_MALFORMED, 0, TEXT, "\xff\xfe");
    MUST(CODEC_MALFORMED, 0, TEXT, "\x80\x00");
    MUST(CODEC_MALFORMED, 0, BLOB, "\xff\xff\xff\xfe");
    MUST(CODEC_MALFORMED, 0, PARTS, "\x80\x00\x00\x00");
    MUST(CODEC_MALFORMED, 0, BLOB, "\x7f\xff\xff\xff");
    MUST(CODEC_MALFORMED, 0, PARTS, "\x7f\xff\xff\xff");
    MUST(CODEC_MALFORMED, 0, WORDS, "\x00\x00\x00\x7f");
    MUST(CODEC_MALFORMED, 0, NUMBERS, "\x00\x00\x00\x02");
    MUST(CODEC_MALFORMED, 1, BLOB, "\xff\xff\xff\xff\x0f");
    MUST(CODEC_MALFORMED, 1, PARTS, "\xff\xff\xff\xff\x0f");
    MUST(CODEC_MALFORMED, 1, PARTS, "\xff\xff\xff\xff\x1f"); /* 33 bits */
    MUST(CODEC_MALFORMED, 1, TEXT, "\x81\x00");              /* overlong */
}

/* Refused by the count alone, before memory is taken for it. */
Test(codec, a_count_beyond_the_rest_takes_no_memory)
{
    struct arena fresh;
    arena_init(&fresh, RPC_CALL_ARENA_BYTES);
    struct buf buf = BUF_EMPTY;
    struct rows out;
    build(&buf, 0, PARTS, SPAN_LITERAL("\x00\x00\xff\xff"));
    struct reader r = reader_of(buf_span(&buf));
    cr_assert_eq(codec_decode(rows_schema(), 0, &r, &fresh, &out), CODEC_MALFORMED);
    cr_assert_eq(fresh.held, 0);
    buf_close(&buf);
    arena_close(&fresh);
}

Test(codec, any_byte_but_zero_is_true)
{
    struct buf buf = BUF_EMPTY;
    struct rows out;
    build(&buf, 0, FIXED, SPAN_LITERAL("\xff\x80\xff\xff"));
    cr_assert_eq(decode(0, buf_span(&buf), &out), CODEC_OK);
    cr_assert(out.flag);
    cr_assert_eq(out.tiny, -128);
    cr_assert_eq(out.port, 65535);
    build(&buf, 0, FIXED, SPAN_LITERAL("\x00\x7f\x00\x00"));
    cr_assert_eq(decode(0, buf_span(&buf), &out), CODEC_OK);
    cr_assert_not(out.flag);
    buf_close(&buf);
}

Test(codec, optional_structs)
{
    struct buf buf = BUF_EMPTY;
    struct rows out;
    build(&buf, 2, MAYBE, SPAN_LITERAL("\x01\x00\x2a\x02z\x00"));
    cr_assert_eq(decode(2, buf_span(&buf), &out), CODEC_OK);
    cr_assert_not_null(out.maybe);
    cr_assert_eq(out.maybe->number, 42);
    cr_assert(span_equal(out.maybe->text, SPAN_LITERAL("z")));
    MUST(CODEC_MALFORMED, 2, MAYBE, "\x01\x00\x2a\x00\x00"); /* null inside */
    MUST(CODEC_OK, 2, MAYBE, "\xff");
    MUST(CODEC_OK, 2, MAYBE, "\x80"); /* any negative number, as Kafka reads it */
    MUST(CODEC_OK, 1, MAYBE, "\x01\x00\x2a\x02z\x00");
    MUST(CODEC_MALFORMED, 1, MAYBE, "\xff"); /* not yet */

    struct arena small;
    arena_init(&small, sizeof(struct rows_part) - 1);
    build(&buf, 2, MAYBE, SPAN_LITERAL("\x01\x00\x2a\x02z\x00"));
    struct reader r = reader_of(buf_span(&buf));
    cr_assert_eq(codec_decode(rows_schema(), 2, &r, &small, &out), CODEC_LIMIT);
    arena_close(&small);
    buf_close(&buf);
}

Test(codec, unknown_tagged_fields_are_skipped)
{
    struct buf buf = BUF_EMPTY;
    struct rows out;
    build(&buf, 2, TAGS,
          SPAN_LITERAL("\x04"
                       "\x00\x04\x00\x00\x00\x07"
                       "\x01\x03zzz"
                       "\x02\x02\x01"
                       "y\x63\x00"));
    cr_assert_eq(decode(2, buf_span(&buf), &out), CODEC_MALFORMED, "the text's length is 0");
    build(&buf, 2, TAGS,
          SPAN_LITERAL("\x04"
                       "\x00\x04\x00\x00\x00\x07"
                       "\x01\x03zzz"
                       "\x02\x02\x02y"
                       "\x63\x00"));
    cr_assert_eq(decode(2, buf_span(&buf), &out), CODEC_OK);
    cr_assert_eq(out.tagged_number, 7);
    cr_assert(span_equal(out.tagged_text, SPAN_LITERAL("y")));
    /* A tag of a later version is as unknown as any. */
    build(&buf, 1, TAGS, SPAN_LITERAL("\x01\x00\x04\x00\x00\x00\x07"));
    cr_assert_eq(decode(1, buf_span(&buf), &out), CODEC_OK);
    cr_assert_eq(out.tagged_number, 60000);
    buf_close(&buf);
    MUST(CODEC_OK, 1, INSIDE, "\x00\x05\x01\x01\xff\xff\xff\xff\x0f\x01!");
}

Test(codec, tagged_sections_that_are_refused)
{
    MUST(CODEC_MALFORMED, 1, TAGS, "\x02\x05\x00\x05\x00"); /* twice */
    MUST(CODEC_MALFORMED, 1, TAGS, "\x02\x06\x00\x05\x00"); /* descending */
    MUST(CODEC_MALFORMED, 2, TAGS, "\x02\x00\x04\x00\x00\x00\x07\x00\x04\x00\x00\x00\x08");
    MUST(CODEC_MALFORMED, 1, TAGS, "\x01\x05\x01"); /* longer than the rest */
    MUST(CODEC_MALFORMED, 1, TAGS, "\x01\x05\xff\xff\xff\xff\x0f");
    MUST(CODEC_MALFORMED, 2, TAGS, "\x01\x00\x03\x00\x00\x07");         /* shorter than the value */
    MUST(CODEC_MALFORMED, 2, TAGS, "\x01\x00\x05\x00\x00\x00\x07\x00"); /* longer */
    MUST(CODEC_MALFORMED, 2, TAGS, "\x01\x02\x02\x05zzzz"); /* the value longer than its size */
    MUST(CODEC_MALFORMED, 2, TAGS, "\x01\x03\x01\x00");     /* null where it may not be */
    MUST(CODEC_MALFORMED, 1, TAGS, "");
}

static enum codec_error decode_tags(unsigned count)
{
    struct buf tags = BUF_EMPTY;
    buf_put_uvarint(&tags, count);
    for (unsigned i = 0; i < count; i++) {
        buf_put_uvarint(&tags, 1000 + i);
        buf_put_uvarint(&tags, 0);
    }
    enum codec_error error = decode_with(1, TAGS, buf_span(&tags));
    buf_close(&tags);
    return error;
}

Test(codec, tagged_fields_limit_at_n_and_n_plus_1)
{
    cr_assert_eq(decode_tags(RPC_TAGGED_FIELDS_MAX), CODEC_OK);
    cr_assert_eq(decode_tags(RPC_TAGGED_FIELDS_MAX + 1), CODEC_LIMIT);
}

static enum codec_error decode_sized(enum part part, size_t len)
{
    struct buf bytes = BUF_EMPTY;
    buf_put_uvarint(&bytes, len + 1);
    memset(buf_reserve(&bytes, len), 'x', len);
    bytes.len += len;
    enum codec_error error = decode_with(1, part, buf_span(&bytes));
    buf_close(&bytes);
    return error;
}

Test(codec, string_limit_at_n_and_n_plus_1)
{
    cr_assert_eq(decode_sized(TEXT, RPC_STRING_BYTES_MAX), CODEC_OK);
    cr_assert_eq(decode_sized(TEXT, RPC_STRING_BYTES_MAX + 1), CODEC_LIMIT);
    cr_assert_eq(decode_sized(BLOB, RPC_STRING_BYTES_MAX + 1), CODEC_OK, "bytes are no string");
}

/* [words] strings and [numbers] numbers in one message. */
static enum codec_error decode_counted(size_t words, size_t numbers, struct arena *from)
{
    struct buf buf = BUF_EMPTY;
    struct rows out;
    buf_append(&buf, "\x01\x02\x00\x03\x01\x01\x01", 7);
    buf_put_uvarint(&buf, words + 1);
    memset(buf_reserve(&buf, words), 1, words);
    buf.len += words;
    buf_put_uvarint(&buf, numbers + 1);
    memset(buf_reserve(&buf, numbers * 4), 1, numbers * 4);
    buf.len += numbers * 4;
    buf_append(&buf,
               "\x00\x05\x01\x00"
               "\x01\x00\x06\x01\x00"
               "\x00",
               10);
    struct reader r = reader_of(buf_span(&buf));
    enum codec_error error = codec_decode(rows_schema(), 1, &r, from, &out);
    buf_close(&buf);
    return error;
}

Test(codec, elements_limit_at_n_and_n_plus_1)
{
    cr_assert_eq(decode_counted(RPC_ELEMENTS_MAX, 0, &arena), CODEC_OK);
    arena_reset(&arena, SIZE_MAX);
    cr_assert_eq(decode_counted(RPC_ELEMENTS_MAX + 1, 0, &arena), CODEC_LIMIT);
    arena_reset(&arena, SIZE_MAX);
    cr_assert_eq(decode_counted(RPC_ELEMENTS_MAX - 5, 5, &arena), CODEC_OK);
    arena_reset(&arena, SIZE_MAX);
    cr_assert_eq(decode_counted(RPC_ELEMENTS_MAX - 5, 6, &arena), CODEC_LIMIT);
}

Test(codec, arena_limit_at_n_and_n_plus_1)
{
    struct arena small;
    /* The words, and the optional part of the message, rounded up to the arena's alignment. */
    arena_init(&small, 100 * sizeof(struct span) + (sizeof(struct rows_part) + 15) / 16 * 16);
    cr_assert_eq(decode_counted(100, 0, &small), CODEC_OK);
    arena_reset(&small, 0);
    cr_assert_eq(decode_counted(101, 0, &small), CODEC_LIMIT);
    arena_close(&small);
}

Test(codec, versions_outside_the_schema)
{
    struct rows out;
    cr_assert_eq(decode(-1, SPAN_LITERAL("\0\0\0\0"), &out), CODEC_UNSUPPORTED_VERSION);
    cr_assert_eq(decode(3, SPAN_LITERAL("\0\0\0\0"), &out), CODEC_UNSUPPORTED_VERSION);
}

Test(codec, a_heartbeat_takes_nothing_from_the_heap)
{
    struct buf buf = BUF_EMPTY;
    buf_reserve(&buf, 256);
    uint8_t *before = buf.data;
    for (int version = 0; version <= 4; version++) {
        struct heartbeat_request request = {
            .group_id = SPAN_LITERAL("group"), .generation_id = 3, .member_id = SPAN_LITERAL("me")};
        struct heartbeat_request got;
        struct heartbeat_response response = {.error_code = 27};
        buf.len = 0;
        codec_encode(heartbeat_request_schema(), version, &request, &buf);
        struct reader r = reader_of(buf_span(&buf));
        cr_assert_eq(codec_decode(heartbeat_request_schema(), version, &r, &arena, &got), CODEC_OK);
        buf.len = 0;
        codec_encode(heartbeat_response_schema(), version, &response, &buf);
    }
    cr_assert_eq(buf.data, before);
    cr_assert_eq(arena.held, 0);
    buf_close(&buf);
}

/* Version 0 is the prefix of all: what kafka-go writes as version 1 without its last array. */
Test(codec, the_prefix_of_a_subscription)
{
    struct span bytes = SPAN_LITERAL(
        "\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff"
        "whatever");
    struct reader r = reader_of(bytes);
    struct consumer_protocol_subscription out;
    cr_assert_eq(codec_decode(consumer_protocol_subscription_schema(), 0, &r, &arena, &out),
                 CODEC_OK);
    cr_assert_eq(out.topics_count, 1);
    cr_assert(span_equal(out.topics[0], SPAN_LITERAL("t")));
    cr_assert(span_is_null(out.user_data));
    cr_assert_eq(reader_left(&r), 8);
}

Test(codec, errors_have_names)
{
    static const char *const names[] = {"ok", "unknown-api", "unsupported-version", "malformed",
                                        "limit"};
    for (int i = CODEC_OK; i <= CODEC_LIMIT; i++) {
        cr_assert_str_eq(codec_error_name((enum codec_error)i), names[i]);
    }
}

/* What only a bug of ours can ask for ends the process. */
Test(codec, a_string_too_long_to_encode_aborts, .signal = SIGABRT)
{
    static uint8_t letters[RPC_STRING_BYTES_MAX + 1];
    struct heartbeat_request request = {.group_id = span_of(letters, sizeof letters)};
    struct buf buf = BUF_EMPTY;
    codec_encode(heartbeat_request_schema(), 4, &request, &buf);
}

Test(codec, a_version_that_is_not_served_aborts_the_encoder, .signal = SIGABRT)
{
    struct heartbeat_request request = {.generation_id = 1};
    struct buf buf = BUF_EMPTY;
    codec_encode(heartbeat_request_schema(), 5, &request, &buf);
}

/* What the interpreter takes for granted of rows. */
static void check_schema(const struct kafka_schema *schema)
{
    int last_tag = -1;
    cr_assert_gt(schema->field_count, 0);
    for (unsigned i = 0; i < schema->field_count; i++) {
        const struct kafka_field *f = &schema->fields[i];
        cr_assert_leq(f->since, f->until, "%s.%s", schema->name, f->name);
        cr_assert_geq(f->tag, last_tag < 0 ? -1 : last_tag + 1, "%s.%s: tags ascend, last",
                      schema->name, f->name);
        last_tag = f->tag;
        bool has_parts =
            f->kind == KIND_array || f->kind == KIND_nested || f->kind == KIND_optional;
        cr_assert_eq(f->element != NULL, has_parts, "%s.%s", schema->name, f->name);
        for (unsigned j = 0; j < i; j++) {
            cr_assert_str_neq(schema->fields[j].name, f->name, "%s", schema->name);
        }
        if (has_parts) {
            check_schema(f->element());
        }
    }
}

Test(schema, rows_are_in_order)
{
    const struct kafka_schema *schema;
    for (unsigned i = 0; (schema = golden_message(i)) != NULL; i++) {
        check_schema(schema);
    }
    check_schema(rows_schema());
}
