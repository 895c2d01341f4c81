/* The bytes of an independent implementation, for every message, version and direction. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "dump.h"
#include "golden.h"
#include "leaks.h"
#include "rpc/codec.h"
#include "rpc/value.h"

TestSuite(golden, .fini = leaks_abort);

/* Whole, so that a buffer's end is the sanitizer's end as well. */
static uint8_t *exact_copy(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    return copy;
}

static void check_entry(const struct golden *g, struct arena *arena)
{
    void *message = arena_alloc(arena, g->schema->size);
    struct reader r = reader_of(buf_span(&g->bytes));
    enum codec_error error = codec_decode(g->schema, g->version, &r, arena, message);
    cr_assert_eq(error, CODEC_OK, "%s v%d %s: %s", g->name, g->version, g->variant,
                 codec_error_name(error));
    cr_assert_eq(reader_left(&r), 0, "%s v%d %s: %zu bytes left", g->name, g->version, g->variant,
                 reader_left(&r));

    struct buf again = BUF_EMPTY;
    codec_encode(g->schema, g->version, message, &again);
    buf_reserve(&again, 1); /* an empty message's bytes are none, not null */
    cr_expect(span_equal(buf_span(&again), buf_span(&g->bytes)), "%s v%d %s: encodes differently",
              g->name, g->version, g->variant);

    struct buf text = BUF_EMPTY;
    dump_struct(g->schema, g->version, message, &text);
    cr_expect(span_equal(buf_span(&text), buf_span(&g->text)), "%s v%d %s:\n  %.*s\nis not\n  %.*s",
              g->name, g->version, g->variant, (int)text.len, (const char *)text.data,
              (int)g->text.len, (const char *)g->text.data);
    buf_close(&text);
    buf_close(&again);
}

Test(golden, decodes_to_the_values_and_encodes_to_the_bytes)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct golden_cursor *cursor = golden_open();
    struct golden entry = {0};
    while (golden_next(cursor, &entry)) {
        check_entry(&entry, &arena);
        arena_reset(&arena, SIZE_MAX);
    }
    golden_close(cursor, &entry);
    arena_close(&arena);
}

static bool has_fields(const struct kafka_schema *schema, int version)
{
    for (unsigned i = 0; i < schema->field_count; i++) {
        if (value_is_on_wire(&schema->fields[i], version)) {
            return true;
        }
    }
    return false;
}

Test(golden, covers_every_version_of_every_message)
{
    enum { MESSAGES = 64, VERSIONS = 32 };
    int found[MESSAGES][VERSIONS] = {0};
    struct golden_cursor *cursor = golden_open();
    struct golden entry = {0};
    while (golden_next(cursor, &entry)) {
        unsigned i = 0;
        while (golden_message(i) != entry.schema) {
            i++;
        }
        found[i][entry.version]++;
    }
    golden_close(cursor, &entry);
    const struct kafka_schema *schema;
    for (unsigned i = 0; (schema = golden_message(i)) != NULL; i++) {
        for (int v = schema->min_version; v <= schema->max_version; v++) {
            int least = has_fields(schema, v) ? 2 : 1; /* defaults and full */
            cr_assert_geq(found[i][v], least, "%s v%d: %d", schema->name, v, found[i][v]);
        }
    }
}

Test(golden, every_truncation_is_malformed)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct golden_cursor *cursor = golden_open();
    struct golden entry = {0};
    while (golden_next(cursor, &entry)) {
        for (size_t cut = 0; cut < entry.bytes.len; cut++) {
            uint8_t *bytes = exact_copy(entry.bytes.data, cut);
            struct reader r = reader_of(span_of(bytes, cut));
            void *message = arena_alloc(&arena, entry.schema->size);
            cr_assert_eq(codec_decode(entry.schema, entry.version, &r, &arena, message),
                         CODEC_MALFORMED, "%s v%d %s cut at %zu", entry.name, entry.version,
                         entry.variant, cut);
            arena_reset(&arena, SIZE_MAX);
            free(bytes);
        }
    }
    golden_close(cursor, &entry);
    arena_close(&arena);
}

/* Bytes behind a message are the reader's, not an error: some clients send them. */
Test(golden, trailing_bytes_are_left_alone)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct golden_cursor *cursor = golden_open();
    struct golden entry = {0};
    while (golden_next(cursor, &entry)) {
        buf_append(&entry.bytes, "\xff\xff\xff", 3);
        struct reader r = reader_of(buf_span(&entry.bytes));
        void *message = arena_alloc(&arena, entry.schema->size);
        cr_assert_eq(codec_decode(entry.schema, entry.version, &r, &arena, message), CODEC_OK);
        cr_assert_eq(reader_left(&r), 3);
        arena_reset(&arena, SIZE_MAX);
    }
    golden_close(cursor, &entry);
    arena_close(&arena);
}
