#include "jepsen/logdump/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "rpc/ensure.h"
#include "rpc/value.h"

struct printer {
    struct buf *out;
    int version;
    json_name_fn *name;
    void *ctx;
};

void json_print(struct buf *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ensure(n >= 0 && (size_t)n < sizeof text);
    buf_append(out, text, (size_t)n);
}

/* The length of the UTF-8 sequence at [at], 0: it is none. */
static size_t sequence_len(const uint8_t *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (len <= 1) {
        return len;
    }
    if (len > left || at[0] > 0xf4) {
        return 0;
    }
    uint32_t code = at[0] & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3fU);
    }
    bool is_good = code >= least[len] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return is_good ? len : 0;
}

static bool is_utf8(struct span text)
{
    for (size_t at = 0; at < text.len;) {
        size_t len = sequence_len(text.data + at, text.len - at);
        if (len == 0) {
            return false;
        }
        at += len;
    }
    return true;
}

static void put_hex(struct buf *out, struct span bytes)
{
    static const char digits[] = "0123456789abcdef";
    buf_put_u8(out, '"');
    for (size_t i = 0; i < bytes.len; i++) {
        buf_put_u8(out, (uint8_t)digits[bytes.data[i] >> 4]);
        buf_put_u8(out, (uint8_t)digits[bytes.data[i] & 15]);
    }
    buf_put_u8(out, '"');
}

void json_string(struct buf *out, struct span text)
{
    if (span_is_null(text)) {
        json_print(out, "null");
        return;
    }
    if (!is_utf8(text)) {
        json_print(out, "{\"hex\":");
        put_hex(out, text);
        json_print(out, "}");
        return;
    }
    buf_put_u8(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c < 0x20 || c == 0x7f) {
            json_print(out, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') {
                buf_put_u8(out, '\\');
            }
            buf_put_u8(out, c);
        }
    }
    buf_put_u8(out, '"');
}

static void put_scalar(struct printer *p, enum kafka_kind kind, const uint8_t *at)
{
    char text[UUID_TEXT_LEN + 1];
    const struct span *span = (const void *)at;
    switch (kind) {
        case KIND_bool:
            json_print(p->out, *(const bool *)(const void *)at ? "true" : "false");
            break;
        case KIND_uvarint:
            json_print(p->out, "%" PRIu64, (uint64_t)value_load(kind, at));
            break;
        case KIND_uuid:
            uuid_format(*(const struct uuid *)(const void *)at, text);
            json_print(p->out, "\"%s\"", text);
            break;
        case KIND_string:
            json_string(p->out, *span);
            break;
        case KIND_bytes:
        case KIND_records:
            if (span_is_null(*span)) {
                json_print(p->out, "null");
            } else {
                put_hex(p->out, *span);
            }
            break;
        default:
            json_print(p->out, "%" PRId64, value_load(kind, at));
            break;
    }
}

bool json_is_id(const struct kafka_field *field)
{
    static const char *const names[] = {"group", "topic", "member", "members", "old", "leader"};
    bool is_number = field->kind == KIND_uvarint ||
                     (field->kind == KIND_list && field->item_kind == KIND_uvarint);
    for (size_t i = 0; is_number && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], field->name) == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t id_at(const uint8_t *at)
{
    return (uint64_t)value_load(KIND_uvarint, at);
}

static void put_names(struct printer *p, const struct kafka_field *f, const uint8_t *in)
{
    json_print(p->out, ",\"%s_name\":", f->name);
    if (f->kind == KIND_uvarint) {
        json_string(p->out, p->name(p->ctx, f->name, id_at(in + f->offset)));
        return;
    }
    const uint8_t *item = value_pointer(f, in);
    buf_put_u8(p->out, '[');
    for (int32_t i = 0; i < value_get_count(f, in); i++, item += value_size(KIND_uvarint)) {
        json_print(p->out, i == 0 ? "" : ",");
        json_string(p->out, p->name(p->ctx, f->name, id_at(item)));
    }
    buf_put_u8(p->out, ']');
}

static void put_struct(struct printer *p, const struct kafka_schema *schema, const uint8_t *in);

static void put_items(struct printer *p, const struct kafka_field *f, const uint8_t *in)
{
    const struct kafka_schema *element = f->kind == KIND_array ? f->element() : NULL;
    size_t size = element != NULL ? element->size : value_size(f->item_kind);
    const uint8_t *item = value_pointer(f, in);
    int32_t count = value_get_count(f, in);
    if (count < 0) {
        json_print(p->out, "null");
        return;
    }
    buf_put_u8(p->out, '[');
    for (int32_t i = 0; i < count; i++, item += size) {
        json_print(p->out, i == 0 ? "" : ",");
        if (element != NULL) {
            put_struct(p, element, item);
        } else {
            put_scalar(p, f->item_kind, item);
        }
    }
    buf_put_u8(p->out, ']');
}

static void put_value(struct printer *p, const struct kafka_field *f, const uint8_t *in)
{
    const uint8_t *part;
    switch (f->kind) {
        case KIND_array:
        case KIND_list:
            put_items(p, f, in);
            break;
        case KIND_nested:
            put_struct(p, f->element(), in + f->offset);
            break;
        case KIND_optional:
            part = value_pointer(f, in);
            if (part == NULL) {
                json_print(p->out, "null");
            } else {
                put_struct(p, f->element(), part);
            }
            break;
        default:
            put_scalar(p, f->kind, in + f->offset);
            break;
    }
}

static void put_struct(struct printer *p, const struct kafka_schema *schema, const uint8_t *in)
{
    bool is_first = true;
    buf_put_u8(p->out, '{');
    for (unsigned i = 0; i < schema->field_count; i++) {
        const struct kafka_field *f = &schema->fields[i];
        if (!value_is_on_wire(f, p->version)) {
            continue;
        }
        json_print(p->out, "%s\"%s\":", is_first ? "" : ",", f->name);
        put_value(p, f, in);
        if (json_is_id(f)) {
            put_names(p, f, in);
        }
        is_first = false;
    }
    buf_put_u8(p->out, '}');
}

void json_struct(struct buf *out,
                 const struct kafka_schema *schema,
                 int version,
                 const void *in,
                 json_name_fn *name,
                 void *ctx)
{
    struct printer p = {.out = out, .version = version, .name = name, .ctx = ctx};
    put_struct(&p, schema, in);
}

void json_visit_ids(const struct kafka_schema *schema,
                    const void *in,
                    void (*fn)(void *ctx, const char *field, uint64_t id),
                    void *ctx)
{
    for (unsigned i = 0; i < schema->field_count; i++) {
        const struct kafka_field *f = &schema->fields[i];
        bool is_many = f->kind == KIND_array || f->kind == KIND_list;
        const struct kafka_schema *element = f->kind == KIND_array ? f->element() : NULL;
        const uint8_t *at = is_many ? value_pointer(f, in) : (const uint8_t *)in + f->offset;
        int32_t count = is_many ? value_get_count(f, in) : 1;
        for (int32_t n = 0; n < count; n++) {
            if (element != NULL) {
                json_visit_ids(element, at, fn, ctx);
                at += element->size;
            } else if (json_is_id(f)) {
                fn(ctx, f->name, id_at(at));
                at += value_size(KIND_uvarint);
            }
        }
    }
}
