/* Any bytes as any message: what decodes must encode, to bytes that decode to the same values.
 *
 * Input: api key, version, 0 for the request or 1 for the response, then the body. Keys 254 and 255
 * are the messages embedded in JoinGroup and SyncGroup. */
#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/value.h"

enum { HEAD = 3, ARENA_BYTES = 4 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct kafka_schema *choose(uint8_t key, uint8_t direction)
{
    if (key == 255) {
        return consumer_protocol_subscription_schema();
    }
    if (key == 254) {
        return consumer_protocol_assignment_schema();
    }
    const struct api *api = api_find(key);
    if (api == NULL) {
        return NULL;
    }
    return (direction & 1) == 0 ? api->request() : api->response();
}

static bool is_same(const struct kafka_schema *schema, const uint8_t *a, const uint8_t *b);

static bool is_same_items(const struct kafka_field *f, const uint8_t *a, const uint8_t *b)
{
    int32_t count = value_get_count(f, a);
    if (count != value_get_count(f, b)) {
        return false;
    }
    const uint8_t *one = value_pointer(f, a);
    const uint8_t *other = value_pointer(f, b);
    size_t size = f->kind == KIND_array ? f->element()->size : value_size(f->item_kind);
    for (int32_t i = 0; i < count; i++, one += size, other += size) {
        bool same;
        if (f->kind == KIND_array) {
            same = is_same(f->element(), one, other);
        } else if (value_is_span(f->item_kind)) {
            same = span_equal(*(const struct span *)(const void *)one,
                              *(const struct span *)(const void *)other);
        } else {
            same = memcmp(one, other, size) == 0;
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

static bool is_same_field(const struct kafka_field *f, const uint8_t *a, const uint8_t *b)
{
    switch (f->kind) {
        case KIND_array:
        case KIND_list:
            return is_same_items(f, a, b);
        case KIND_nested:
            return is_same(f->element(), a + f->offset, b + f->offset);
        case KIND_optional: {
            const uint8_t *one = value_pointer(f, a);
            const uint8_t *other = value_pointer(f, b);
            return one == NULL || other == NULL ? one == other : is_same(f->element(), one, other);
        }
        case KIND_string:
        case KIND_bytes:
        case KIND_records:
            return span_equal(*(const struct span *)(const void *)(a + f->offset),
                              *(const struct span *)(const void *)(b + f->offset));
        default:
            return memcmp(a + f->offset, b + f->offset, value_size(f->kind)) == 0;
    }
}

/* In every field, those that the version lacks included. */
static bool is_same(const struct kafka_schema *schema, const uint8_t *a, const uint8_t *b)
{
    for (unsigned i = 0; i < schema->field_count; i++) {
        if (!is_same_field(&schema->fields[i], a, b)) {
            return false;
        }
    }
    return true;
}

static void check_round_trip(const struct kafka_schema *schema,
                             int version,
                             const void *message,
                             struct arena *arena)
{
    struct buf bytes = BUF_EMPTY;
    codec_encode(schema, version, message, &bytes);
    struct reader r = reader_of(buf_span(&bytes));
    void *again = arena_alloc(arena, schema->size);
    enum codec_error error = codec_decode(schema, version, &r, arena, again);
    /* The second copy of the arrays may be one too many for the arena. */
    if (error != CODEC_LIMIT) {
        ensure(error == CODEC_OK);
        ensure(reader_left(&r) == 0);
        ensure(is_same(schema, message, again));
    }
    buf_close(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) {
        return 0;
    }
    const struct kafka_schema *schema = choose(data[0], data[2]);
    if (schema == NULL) {
        return 0;
    }
    int version = data[1];
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct reader r = reader_of(span_of(data + HEAD, size - HEAD));
    void *message = arena_alloc(&arena, schema->size);
    enum codec_error error = codec_decode(schema, version, &r, &arena, message);
    ensure((error == CODEC_UNSUPPORTED_VERSION) ==
           (version < schema->min_version || version > schema->max_version));
    if (error == CODEC_OK) {
        check_round_trip(schema, version, message, &arena);
    }
    arena_close(&arena);
    return 0;
}
