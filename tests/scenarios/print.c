#include "tests/scenarios/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "rpc/reader.h"
#include "rpc/value.h"
#include "server/core/record.h"
#include "tests/scenarios/fields.h"

enum { LINE_CHARS = 110, HEX_BYTES = 32, RUN_CHARS = 12 };

/* What one call of print_struct() carries along. */
struct printer {
    struct buf *out;
    struct names *names;
    int version;
    bool is_wide; /* elements of the outermost arrays on lines of their own */
};

void print_format(struct buf *out, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ensure(len >= 0);
    buf_append(out, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
}

/* ---- Text and bytes ---- */

static bool is_plain(struct span text)
{
    if (text.len == 0 || span_equal(text, SPAN_LITERAL("null"))) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] >= 127 || strchr("\"\\[]{}()=", text.data[i])) {
            return false;
        }
    }
    return true;
}

/* "x*4097" for a long run of one character. */
static bool print_run(struct buf *out, struct span text)
{
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] != text.data[0]) {
            return false;
        }
    }
    if (text.len < RUN_CHARS || !is_plain(span_of(text.data, 1))) {
        return false;
    }
    print_format(out, "%c*%zu", text.data[0], text.len);
    return true;
}

static void print_text(const struct printer *p, struct span text)
{
    struct buf shrunk = BUF_EMPTY;
    if (span_is_null(text)) {
        print_format(p->out, "null");
    } else if (!print_run(p->out, text)) {
        names_shrink(p->names, text, &shrunk);
        struct span s = shrunk.data == NULL ? SPAN_EMPTY : buf_span(&shrunk);
        bool is_quoted = !is_plain(s);
        print_format(p->out, is_quoted ? "\"" : "");
        for (size_t i = 0; i < s.len; i++) {
            bool is_escaped = s.data[i] == '"' || s.data[i] == '\\';
            print_format(p->out,
                         s.data[i] < ' ' || s.data[i] >= 127 ? "\\x%02x"
                         : is_escaped                        ? "\\%c"
                                                             : "%c",
                         s.data[i]);
        }
        print_format(p->out, is_quoted ? "\"" : "");
    }
    buf_close(&shrunk);
}

/* A subscription as parse.c writes it. */
static bool print_subscription(struct buf *out, struct span bytes)
{
    struct reader r = reader_of(bytes);
    struct buf text = BUF_EMPTY;
    bool ok = reader_be16(&r) == 0;
    uint32_t count = reader_be32(&r);
    print_format(&text, "sub(");
    for (uint32_t i = 0; ok && i < count && !reader_is_failed(&r); i++) {
        uint16_t len = reader_be16(&r);
        const uint8_t *name = reader_take(&r, len);
        if (name != NULL) {
            print_format(&text, "%s%.*s", i == 0 ? "" : " ", len, (const char *)name);
        }
    }
    ok = ok && reader_be32(&r) == UINT32_MAX && !reader_is_failed(&r) && reader_left(&r) == 0;
    if (ok) {
        buf_append(out, text.data, text.len);
        print_format(out, ")");
    }
    buf_close(&text);
    return ok;
}

static void print_bytes(const struct printer *p, struct span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.data[i] >= ' ' && bytes.data[i] < 127) {
            continue;
        }
        if (print_subscription(p->out, bytes)) {
            return;
        }
        print_format(p->out, "0x");
        for (size_t k = 0; k < bytes.len && k < HEX_BYTES; k++) {
            print_format(p->out, "%02x", bytes.data[k]);
        }
        if (bytes.len > HEX_BYTES) {
            print_format(p->out, "...(%zu)", bytes.len);
        }
        return;
    }
    print_text(p, bytes);
}

/* ---- Values by their rows ---- */

static void print_fields(const struct printer *p,
                         const struct kafka_schema *schema,
                         const uint8_t *value,
                         bool is_element,
                         int depth);

static void print_scalar(const struct printer *p, enum kafka_kind kind, const uint8_t *at)
{
    switch (kind) {
        case KIND_bool:
            print_format(p->out, "%s", value_load(kind, at) != 0 ? "true" : "false");
            break;
        case KIND_uuid:
            names_print_topic(p->names, *(const struct uuid *)(const void *)at, p->out);
            break;
        case KIND_string:
            print_text(p, *(const struct span *)(const void *)at);
            break;
        case KIND_bytes:
        case KIND_records:
            print_bytes(p, *(const struct span *)(const void *)at);
            break;
        default:
            print_format(p->out, "%" PRId64, value_load(kind, at));
    }
}

static void print_list(const struct printer *p, const struct kafka_field *f, const uint8_t *value)
{
    const uint8_t *items = value_pointer(f, value);
    int32_t count = value_get_count(f, value);
    print_format(p->out, "[");
    for (int32_t i = 0; i < count; i++) {
        print_format(p->out, i == 0 ? "" : " ");
        print_scalar(p, f->item_kind, items + (size_t)i * value_size(f->item_kind));
    }
    print_format(p->out, "]");
}

/* Digits in front, which neighbours may count up: "{3 error=0}" after "{2 error=0}". */
static size_t leading_number(struct span text, int64_t *number)
{
    size_t len = 0;
    *number = 0;
    while (len < text.len && len < 9 && text.data[len] >= '0' && text.data[len] <= '9') {
        *number = 10 * *number + (text.data[len++] - '0');
    }
    return len;
}

static bool is_next(struct span before, struct span text)
{
    int64_t a;
    int64_t b;
    size_t a_len = leading_number(before, &a);
    size_t b_len = leading_number(text, &b);
    return a_len > 0 && b_len > 0 && b == a + 1 &&
           span_equal(span_of(before.data + a_len, before.len - a_len),
                      span_of(text.data + b_len, text.len - b_len));
}

static void print_array(const struct printer *p,
                        const struct kafka_field *f,
                        const uint8_t *value,
                        int depth)
{
    const uint8_t *items = value_pointer(f, value);
    const struct kafka_schema *element = f->element();
    int32_t count = value_get_count(f, value);
    bool is_wide = p->is_wide && depth == 0 && count > 0;
    struct buf before = BUF_EMPTY; /* the element in front */
    int32_t run = 0;               /* elements that count up since the first of them */
    print_format(p->out, "[");
    for (int32_t i = 0; i <= count; i++) {
        struct buf text = BUF_EMPTY;
        struct printer inner = *p;
        inner.out = &text;
        if (i < count) {
            print_fields(&inner, element, items + (size_t)i * element->size, true, depth + 1);
        }
        bool goes_on = i > 0 && i < count && is_next(buf_span(&before), buf_span(&text));
        if (!goes_on && run > 0) {
            print_format(p->out, run > 1 ? " ... {" : " {");
            buf_append(p->out, before.data, before.len);
            print_format(p->out, "}");
        }
        run = goes_on ? run + 1 : 0;
        if (!goes_on && i < count) {
            print_format(p->out, is_wide ? "\n    {" : i == 0 ? "{" : " {");
            buf_append(p->out, text.data, text.len);
            print_format(p->out, "}");
        }
        buf_close(&before);
        before = text;
    }
    buf_close(&before);
    print_format(p->out, is_wide ? "\n  ]" : "]");
}

static bool is_shown(const struct kafka_field *f, int version, const uint8_t *value)
{
    if (!value_is_on_wire(f, version) || (f->tag >= 0 && value_is_initial(f, value))) {
        return false;
    }
    if (strcmp(f->name, "authorized_operations") == 0 && value_is_initial(f, value)) {
        return false;
    }
    if (strcmp(f->name, "throttle_time_ms") == 0 && value_load(f->kind, value + f->offset) == 0) {
        return false;
    }
    switch ((enum kafka_kind)f->kind) {
        case KIND_string:
        case KIND_bytes:
        case KIND_records:
            return !span_is_null(*(const struct span *)(const void *)(value + f->offset));
        case KIND_array:
        case KIND_list:
            return value_get_count(f, value) >= 0;
        case KIND_optional:
            return value_pointer(f, value) != NULL;
        default:
            return true;
    }
}

/* The first field of an element is what names it; error codes and flags are never that. */
static bool goes_without_name(const struct kafka_field *f, bool is_first)
{
    return is_first && strcmp(f->name, "error_code") != 0 && f->kind != KIND_array &&
           f->kind != KIND_list && f->kind != KIND_bool;
}

static void print_fields(const struct printer *p,
                         const struct kafka_schema *schema,
                         const uint8_t *value,
                         bool is_element,
                         int depth)
{
    bool is_first = true; /* of those that the version has */
    bool is_empty = true; /* nothing is printed yet */
    for (int i = 0; i < schema->field_count; i++) {
        const struct kafka_field *f = &schema->fields[i];
        if (!is_shown(f, p->version, value)) {
            is_first = is_first && !value_is_on_wire(f, p->version);
            continue;
        }
        if (!is_element || !is_empty) {
            print_format(p->out, " ");
        }
        is_empty = false;
        if (!is_element || !goes_without_name(f, is_first)) {
            print_format(p->out, "%s=", field_short_name(f->name));
        }
        if (f->kind == KIND_array) {
            print_array(p, f, value, depth);
        } else if (f->kind == KIND_list) {
            print_list(p, f, value);
        } else {
            ensure(f->kind != KIND_nested && f->kind != KIND_optional);
            print_scalar(p, f->kind, value + f->offset);
        }
        is_first = false;
    }
}

void print_struct(struct buf *out,
                  struct names *names,
                  const struct kafka_schema *schema,
                  int version,
                  const void *value)
{
    size_t start = out->len;
    struct printer p = {.out = out, .names = names, .version = version};
    print_fields(&p, schema, value, false, 0);
    if (out->len - start > LINE_CHARS) {
        out->len = start;
        p.is_wide = true;
        print_fields(&p, schema, value, false, 0);
    }
}

/* ---- Records ---- */

static const struct kafka_schema *record_schema(enum record_type type, const char **name)
{
    switch (type) {
#define RECORD(name_, type_, number_, version_) \
    case number_:                               \
        *name = &#name_[strlen("record_")];     \
        return name_##_schema();
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/records.def"
#undef RECORD
#undef STRUCT
#undef FIELD
#undef ARRAY
#undef LIST
#undef END
        case RECORD_TYPES_END:
            break;
    }
    return NULL;
}

void print_records(struct buf *out, struct names *names, const char *prefix, struct span records)
{
    struct reader reader = reader_of(records);
    struct record record;
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    if (records.len == 0) {
        print_format(out, "%s + (nothing)\n", prefix);
    }
    while (record_read(&reader, &arena, &record) == 1) {
        const char *name = NULL;
        const struct kafka_schema *schema = record_schema(record.type, &name);
        ensure(schema != NULL);
        print_format(out, "%s + %s", prefix, name);
        print_struct(out, names, schema, record.version, record.body);
        print_format(out, "\n");
    }
    arena_close(&arena);
}
