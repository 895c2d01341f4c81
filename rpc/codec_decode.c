/* Bytes to structs. Nothing here trusts the bytes: each count and length is held against what
 * remains before anything is allocated or looped over. */
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/limits.h"
#include "rpc/value.h"

struct decoder {
    struct reader *reader;
    struct arena *arena;
    int version;
    bool is_flexible;
    size_t elements_left;
    enum codec_error error;
};

static void decode_fields(struct decoder *d, const struct kafka_schema *schema, uint8_t *out);

const char *codec_error_name(enum codec_error error)
{
    switch (error) {
        case CODEC_OK:
            return "ok";
        case CODEC_UNKNOWN_API:
            return "unknown-api";
        case CODEC_UNSUPPORTED_VERSION:
            return "unsupported-version";
        case CODEC_MALFORMED:
            return "malformed";
        case CODEC_LIMIT:
            return "limit";
    }
    return "?";
}

static void fail(struct decoder *d, enum codec_error error)
{
    if (d->error == CODEC_OK) {
        d->error = error;
    }
    reader_fail(d->reader);
}

static bool is_failed(const struct decoder *d)
{
    return reader_is_failed(d->reader) || d->error != CODEC_OK;
}

/* -1 is null and allowed only where the version allows it; else at least 0. */
static int64_t read_length(struct decoder *d, const struct kafka_field *f, bool is_short)
{
    int64_t n;
    if (d->is_flexible) {
        n = (int64_t)reader_uvarint32(d->reader) - 1;
    } else if (is_short) {
        n = (int16_t)reader_be16(d->reader);
    } else {
        n = (int32_t)reader_be32(d->reader);
    }
    if (n < -1 || (n == -1 && d->version < f->nullable_since)) {
        fail(d, CODEC_MALFORMED);
        return 0;
    }
    return n;
}

static void decode_span(struct decoder *d,
                        const struct kafka_field *f,
                        enum kafka_kind kind,
                        struct span *out)
{
    int64_t n = read_length(d, f, kind == KIND_string);
    if (n > RPC_STRING_BYTES_MAX && kind == KIND_string) {
        fail(d, CODEC_LIMIT);
        return;
    }
    if (n >= 0) {
        const uint8_t *bytes = reader_take(d->reader, (size_t)n);
        *out = bytes == NULL ? SPAN_NULL : span_of(bytes, (size_t)n);
    } else {
        *out = SPAN_NULL;
    }
}

static void decode_uuid(struct decoder *d, uint8_t *out)
{
    const uint8_t *bytes = reader_take(d->reader, sizeof(struct uuid));
    if (bytes != NULL) {
        memcpy(out, bytes, sizeof(struct uuid));
    }
}

/* A value of the kinds that a list may have. */
static void decode_simple(struct decoder *d,
                          const struct kafka_field *f,
                          enum kafka_kind kind,
                          uint8_t *out)
{
    void *at = out;
    switch (kind) {
        case KIND_bool:
            *(bool *)at = reader_u8(d->reader) != 0;
            break;
        case KIND_i8:
            *(int8_t *)at = (int8_t)reader_u8(d->reader);
            break;
        case KIND_i16:
        case KIND_u16:
            *(uint16_t *)at = reader_be16(d->reader);
            break;
        case KIND_i32:
            *(uint32_t *)at = reader_be32(d->reader);
            break;
        case KIND_i64:
            *(uint64_t *)at = reader_be64(d->reader);
            break;
        case KIND_uvarint:
            *(uint64_t *)at = reader_uvarint(d->reader);
            break;
        case KIND_varint:
            *(int64_t *)at = reader_varint(d->reader);
            break;
        case KIND_uuid:
            decode_uuid(d, out);
            break;
        case KIND_string:
        case KIND_bytes:
        case KIND_records:
            decode_span(d, f, kind, at);
            break;
        default:
            ensure(value_size(kind) > 0); /* not a kind for lists: a table is wrong */
            break;
    }
}

/* Sets the count and returns the memory of the items; NULL for none, null or failure. */
static uint8_t *decode_count(struct decoder *d,
                             const struct kafka_field *f,
                             uint8_t *out,
                             size_t bytes_min,
                             size_t item_size)
{
    int64_t n = read_length(d, f, false);
    *value_count(f, out) = n < 0 ? -1 : 0;
    if (n <= 0) {
        return NULL;
    }
    if ((uint64_t)n > reader_left(d->reader) / bytes_min) {
        fail(d, CODEC_MALFORMED);
        return NULL;
    }
    uint8_t *items = NULL;
    if ((uint64_t)n <= d->elements_left) {
        items = arena_try_alloc(d->arena, (size_t)n * item_size);
    }
    if (items == NULL) {
        fail(d, CODEC_LIMIT);
        return NULL;
    }
    d->elements_left -= (size_t)n;
    *value_count(f, out) = (int32_t)n;
    *(void **)(void *)(out + f->offset) = items;
    return items;
}

static void decode_array(struct decoder *d, const struct kafka_field *f, uint8_t *out)
{
    const struct kafka_schema *element = f->element();
    uint8_t *item = decode_count(d, f, out, 1, element->size);
    if (item == NULL) {
        return;
    }
    for (int32_t n = *value_count(f, out); n > 0 && !is_failed(d); n--) {
        decode_fields(d, element, item);
        item += element->size;
    }
}

static void decode_list(struct decoder *d, const struct kafka_field *f, uint8_t *out)
{
    /* Items of a list are never null: the list's own nullability is not theirs. */
    static const struct kafka_field item_field = {.nullable_since = INT8_MAX};
    enum kafka_kind kind = f->item_kind;
    size_t size = value_size(kind);
    size_t bytes_min = size;
    if (value_is_varint(kind)) {
        bytes_min = 1;
    } else if (value_is_span(kind)) {
        bytes_min = d->is_flexible ? 1 : 2;
    }
    uint8_t *item = decode_count(d, f, out, bytes_min, size);
    if (item == NULL) {
        return;
    }
    for (int32_t n = *value_count(f, out); n > 0 && !is_failed(d); n--) {
        decode_simple(d, &item_field, kind, item);
        item += size;
    }
}

/* A struct that may be null has a byte before it: negative for null. */
static void decode_optional(struct decoder *d, const struct kafka_field *f, uint8_t *out)
{
    void **at = (void **)(void *)(out + f->offset);
    *at = NULL;
    if ((int8_t)reader_u8(d->reader) < 0) {
        if (d->version < f->nullable_since) {
            fail(d, CODEC_MALFORMED);
        }
        return;
    }
    const struct kafka_schema *element = f->element();
    uint8_t *part = arena_try_alloc(d->arena, element->size);
    if (part == NULL) {
        fail(d, CODEC_LIMIT);
        return;
    }
    decode_fields(d, element, part);
    *at = part;
}

static void decode_value(struct decoder *d, const struct kafka_field *f, uint8_t *out)
{
    switch (f->kind) {
        case KIND_array:
            decode_array(d, f, out);
            break;
        case KIND_list:
            decode_list(d, f, out);
            break;
        case KIND_nested:
            decode_fields(d, f->element(), out + f->offset);
            break;
        case KIND_optional:
            decode_optional(d, f, out);
            break;
        default:
            decode_simple(d, f, f->kind, out + f->offset);
            break;
    }
}

/* One field of the tagged section: its bytes must be exactly the value. */
static void decode_tagged(struct decoder *d,
                          const struct kafka_field *f,
                          struct span bytes,
                          uint8_t *out)
{
    struct reader *whole = d->reader;
    struct reader part = reader_of(bytes);
    d->reader = &part;
    decode_value(d, f, out);
    d->reader = whole;
    if (reader_is_failed(&part) || reader_left(&part) > 0) {
        fail(d, CODEC_MALFORMED);
    }
}

/* Tags must ascend (KIP-482), so each occurs once; those that this build does not know are left
 * out. [f] to [end] are the fields of the section. */
static void decode_tagged_section(struct decoder *d,
                                  const struct kafka_field *f,
                                  const struct kafka_field *end,
                                  uint8_t *out)
{
    uint32_t count = reader_uvarint32(d->reader);
    if (count > RPC_TAGGED_FIELDS_MAX) {
        fail(d, CODEC_LIMIT);
        return;
    }
    int64_t last = -1;
    for (; count > 0 && !is_failed(d); count--) {
        uint32_t tag = reader_uvarint32(d->reader);
        uint32_t size = reader_uvarint32(d->reader);
        const uint8_t *bytes = reader_take(d->reader, size);
        if (bytes == NULL || tag <= last) {
            fail(d, CODEC_MALFORMED);
            return;
        }
        last = tag;
        while (f < end && f->tag < last) {
            f++;
        }
        if (f < end && f->tag == last && value_is_on_wire(f, d->version)) {
            decode_tagged(d, f, span_of(bytes, size), out);
        }
    }
}

static void decode_fields(struct decoder *d, const struct kafka_schema *schema, uint8_t *out)
{
    const struct kafka_field *f = schema->fields;
    const struct kafka_field *end = f + schema->field_count;
    for (; f < end && f->tag < 0; f++) {
        if (value_is_on_wire(f, d->version)) {
            decode_value(d, f, out);
        } else {
            value_set_initial(f, out);
        }
        if (is_failed(d)) {
            return;
        }
    }
    for (const struct kafka_field *tagged = f; tagged < end; tagged++) {
        value_set_initial(tagged, out);
    }
    if (d->is_flexible) {
        decode_tagged_section(d, f, end, out);
    }
}

enum codec_error codec_decode(const struct kafka_schema *schema,
                              int version,
                              struct reader *reader,
                              struct arena *arena,
                              void *out)
{
    if (version < schema->min_version || version > schema->max_version) {
        return CODEC_UNSUPPORTED_VERSION;
    }
    struct decoder d = {
        .reader = reader,
        .arena = arena,
        .version = version,
        .is_flexible = version >= schema->flexible_since,
        .elements_left = RPC_ELEMENTS_MAX,
    };
    decode_fields(&d, schema, out);
    if (reader_is_failed(reader) && d.error == CODEC_OK) {
        d.error = CODEC_MALFORMED;
    }
    return d.error;
}
