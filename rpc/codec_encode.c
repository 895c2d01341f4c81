/* Structs to bytes. What is encoded is ours, so what it may not be is an ensure(). */
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/limits.h"
#include "rpc/value.h"

struct encoder {
    struct buf *buf;
    int version;
    bool is_flexible;
};

static void encode_fields(struct encoder *e, const struct kafka_schema *schema, const uint8_t *in);

/* [n] is -1 for null. */
static void put_length(struct encoder *e, const struct kafka_field *f, bool is_short, int64_t n)
{
    if (n < 0 && e->version < f->nullable_since) {
        n = 0;
    }
    if (e->is_flexible) {
        buf_put_uvarint(e->buf, (uint64_t)(n + 1));
    } else if (is_short) {
        buf_put_be16(e->buf, (uint16_t)n);
    } else {
        buf_put_be32(e->buf, (uint32_t)n);
    }
}

static void encode_span(struct encoder *e,
                        const struct kafka_field *f,
                        enum kafka_kind kind,
                        const struct span *in)
{
    ensure(in->len <= (kind == KIND_string ? RPC_STRING_BYTES_MAX : INT32_MAX));
    put_length(e, f, kind == KIND_string, span_is_null(*in) ? -1 : (int64_t)in->len);
    buf_append(e->buf, in->data, in->len);
}

static void encode_simple(struct encoder *e,
                          const struct kafka_field *f,
                          enum kafka_kind kind,
                          const uint8_t *in)
{
    const void *at = in;
    switch (kind) {
        case KIND_bool:
            buf_put_u8(e->buf, *(const bool *)at ? 1 : 0);
            break;
        case KIND_i8:
            buf_put_u8(e->buf, *in);
            break;
        case KIND_i16:
        case KIND_u16:
            buf_put_be16(e->buf, *(const uint16_t *)at);
            break;
        case KIND_i32:
            buf_put_be32(e->buf, *(const uint32_t *)at);
            break;
        case KIND_i64:
            buf_put_be64(e->buf, *(const uint64_t *)at);
            break;
        case KIND_uvarint:
            buf_put_uvarint(e->buf, *(const uint64_t *)at);
            break;
        case KIND_varint:
            buf_put_varint(e->buf, *(const int64_t *)at);
            break;
        case KIND_uuid:
            buf_append(e->buf, in, sizeof(struct uuid));
            break;
        case KIND_string:
        case KIND_bytes:
        case KIND_records:
            encode_span(e, f, kind, at);
            break;
        default:
            ensure(value_size(kind) > 0); /* not a kind for lists: a table is wrong */
            break;
    }
}

/* Puts the count and returns it, 0 for null. */
static int32_t encode_count(struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    int32_t n = value_get_count(f, in);
    ensure(n >= -1 && (n <= 0 || value_pointer(f, in) != NULL));
    put_length(e, f, false, n);
    return n < 0 ? 0 : n;
}

static void encode_array(struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    const struct kafka_schema *element = f->element();
    const uint8_t *item = value_pointer(f, in);
    for (int32_t n = encode_count(e, f, in); n > 0; n--) {
        encode_fields(e, element, item);
        item += element->size;
    }
}

static void encode_list(struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    static const struct kafka_field item_field = {.nullable_since = INT8_MAX};
    enum kafka_kind kind = f->item_kind;
    const uint8_t *item = value_pointer(f, in);
    for (int32_t n = encode_count(e, f, in); n > 0; n--) {
        encode_simple(e, &item_field, kind, item);
        item += value_size(kind);
    }
}

static void encode_optional(struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    const uint8_t *part = value_pointer(f, in);
    ensure(part != NULL || e->version >= f->nullable_since);
    buf_put_u8(e->buf, (uint8_t)(part == NULL ? -1 : 1));
    if (part != NULL) {
        encode_fields(e, f->element(), part);
    }
}

static void encode_value(struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    switch (f->kind) {
        case KIND_array:
            encode_array(e, f, in);
            break;
        case KIND_list:
            encode_list(e, f, in);
            break;
        case KIND_nested:
            encode_fields(e, f->element(), in + f->offset);
            break;
        case KIND_optional:
            encode_optional(e, f, in);
            break;
        default:
            encode_simple(e, f, f->kind, in + f->offset);
            break;
    }
}

/* The size stands before the value but is known only after it, so the value is moved. */
static void encode_tagged(struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    struct buf *buf = e->buf;
    buf_put_uvarint(buf, (uint64_t)f->tag);
    size_t value_at = buf->len;
    encode_value(e, f, in);
    size_t size_at = buf->len;
    buf_put_uvarint(buf, size_at - value_at);

    uint8_t size[10];
    size_t size_len = buf->len - size_at;
    memcpy(size, buf->data + size_at, size_len);
    memmove(buf->data + value_at + size_len, buf->data + value_at, size_at - value_at);
    memcpy(buf->data + value_at, size, size_len);
}

/* A tagged field that has its default is not written. */
static bool is_written(const struct encoder *e, const struct kafka_field *f, const uint8_t *in)
{
    return value_is_on_wire(f, e->version) && !value_is_initial(f, in);
}

static void encode_fields(struct encoder *e, const struct kafka_schema *schema, const uint8_t *in)
{
    const struct kafka_field *f = schema->fields;
    const struct kafka_field *end = f + schema->field_count;
    for (; f < end && f->tag < 0; f++) {
        if (value_is_on_wire(f, e->version)) {
            encode_value(e, f, in);
        }
    }
    if (!e->is_flexible) {
        return;
    }
    uint64_t count = 0;
    for (const struct kafka_field *tagged = f; tagged < end; tagged++) {
        count += is_written(e, tagged, in);
    }
    buf_put_uvarint(e->buf, count);
    for (; f < end; f++) {
        if (is_written(e, f, in)) {
            encode_tagged(e, f, in);
        }
    }
}

void codec_encode(const struct kafka_schema *schema, int version, const void *in, struct buf *buf)
{
    ensure(version >= schema->min_version && version <= schema->max_version);
    struct encoder e = {
        .buf = buf,
        .version = version,
        .is_flexible = version >= schema->flexible_since,
    };
    encode_fields(&e, schema, in);
}

void codec_set_defaults(const struct kafka_schema *schema, void *out)
{
    for (unsigned i = 0; i < schema->field_count; i++) {
        value_set_initial(&schema->fields[i], out);
    }
}
