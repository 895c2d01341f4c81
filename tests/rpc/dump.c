#include "dump.h"

#include <inttypes.h>
#include <stdio.h>

#include "rpc/ensure.h"
#include "rpc/value.h"

enum { FIELDS_MAX = 64 };

static void put(struct buf *text, const char *s)
{
    buf_append(text, s, strlen(s));
}

static void put_hex(struct buf *text, const uint8_t *bytes, size_t len)
{
    put(text, "0x");
    for (size_t i = 0; i < len; i++) {
        char pair[3];
        snprintf(pair, sizeof pair, "%02x", bytes[i]);
        put(text, pair);
    }
}

static void dump_simple(enum kafka_kind kind, const uint8_t *at, struct buf *text)
{
    const struct span *span = (const struct span *)(const void *)at;
    if (kind == KIND_uuid) {
        put_hex(text, at, sizeof(struct uuid));
    } else if (kind == KIND_string && span_is_null(*span)) {
        put(text, "null");
    } else if (kind == KIND_string) {
        put(text, "\"");
        buf_append(text, span->data, span->len);
        put(text, "\"");
    } else if (value_is_span(kind)) {
        put_hex(text, span->data, span->len);
    } else if (kind == KIND_bool) {
        put(text, value_load(kind, at) != 0 ? "true" : "false");
    } else {
        char number[32];
        snprintf(number, sizeof number, "%" PRId64, value_load(kind, at));
        put(text, number);
    }
}

static void dump_items(const struct kafka_field *f,
                       int version,
                       const uint8_t *in,
                       struct buf *text)
{
    const struct kafka_schema *element = f->kind == KIND_array ? f->element() : NULL;
    size_t size = element != NULL ? element->size : value_size(f->item_kind);
    const uint8_t *item = value_pointer(f, in);
    put(text, "[");
    for (int32_t i = 0; i < value_get_count(f, in); i++) {
        put(text, i > 0 ? " " : "");
        if (element != NULL) {
            dump_struct(element, version, item, text);
        } else {
            dump_simple(f->item_kind, item, text);
        }
        item += size;
    }
    put(text, "]");
}

static void dump_field(const struct kafka_field *f,
                       int version,
                       const uint8_t *in,
                       struct buf *text)
{
    put(text, f->name);
    put(text, "=");
    switch (f->kind) {
        case KIND_array:
        case KIND_list:
            dump_items(f, version, in, text);
            break;
        case KIND_nested:
            dump_struct(f->element(), version, in + f->offset, text);
            break;
        case KIND_optional:
            if (value_pointer(f, in) == NULL) {
                put(text, "null");
            } else {
                dump_struct(f->element(), version, value_pointer(f, in), text);
            }
            break;
        default:
            dump_simple(f->kind, in + f->offset, text);
            break;
    }
}

void dump_struct(const struct kafka_schema *schema, int version, const void *in, struct buf *text)
{
    const struct kafka_field *sorted[FIELDS_MAX];
    ensure(schema->field_count <= FIELDS_MAX);
    size_t n = 0;
    for (unsigned i = 0; i < schema->field_count; i++) {
        const struct kafka_field *f = &schema->fields[i];
        if (!value_is_on_wire(f, version)) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && strcmp(sorted[at - 1]->name, f->name) > 0; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = f;
    }
    put(text, "{");
    for (size_t i = 0; i < n; i++) {
        put(text, i > 0 ? " " : "");
        dump_field(sorted[i], version, in, text);
    }
    put(text, "}");
}
