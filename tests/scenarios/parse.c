#include "tests/scenarios/parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/value.h"
#include "tests/scenarios/fields.h"

void parse_fail(struct parser *p, const char *format, ...)
{
    if (p->error[0] != 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(p->error, sizeof p->error, format, args);
    va_end(args);
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t') {
        p->at++;
    }
}

static size_t word_len(const char *at)
{
    return strcspn(at, " \t\"[]{}()=");
}

struct span parse_peek(struct parser *p)
{
    skip_blanks(p);
    size_t len = word_len(p->at);
    return len == 0 ? SPAN_NULL : span_of(p->at, len);
}

struct span parse_word(struct parser *p)
{
    struct span word = parse_peek(p);
    p->at += word.len;
    return word;
}

bool parse_prefix(struct parser *p, const char *prefix)
{
    skip_blanks(p);
    size_t len = strlen(prefix);
    if (strncmp(p->at, prefix, len) != 0) {
        return false;
    }
    p->at += len;
    return true;
}

bool parse_is_number(struct span word, int64_t *number)
{
    char text[32] = {0};
    char *end = NULL;
    if (word.len == 0 || word.len >= sizeof text) {
        return false;
    }
    memcpy(text, word.data, word.len);
    int64_t value = strtoll(text, &end, 10);
    if (*end != 0) {
        return false;
    }
    *number = value;
    return true;
}

static bool is_end(struct parser *p)
{
    skip_blanks(p);
    return *p->at == 0;
}

static bool take(struct parser *p, char ch)
{
    skip_blanks(p);
    if (*p->at != ch) {
        return false;
    }
    p->at++;
    return true;
}

/* ---- Text and bytes ---- */

static struct span parse_quoted(struct parser *p)
{
    struct buf out = BUF_EMPTY;
    while (*p->at != 0 && *p->at != '"') {
        if (*p->at == '\\' && p->at[1] == 'x' && isxdigit((unsigned char)p->at[2]) &&
            isxdigit((unsigned char)p->at[3])) {
            char hex[3] = {p->at[2], p->at[3], 0};
            buf_put_u8(&out, (uint8_t)strtoul(hex, NULL, 16));
            p->at += 4;
            continue;
        }
        if (*p->at == '\\' && p->at[1] != 0) {
            p->at++;
        }
        buf_put_u8(&out, (uint8_t)*p->at++);
    }
    if (!take(p, '"')) {
        parse_fail(p, "a quote is missing");
    }
    struct span text = out.len == 0 ? SPAN_EMPTY : arena_copy(p->arena, buf_span(&out));
    buf_close(&out);
    return text;
}

/* sub(t u): ConsumerProtocolSubscription v0 without user data. */
static struct span parse_subscription(struct parser *p)
{
    struct buf names = BUF_EMPTY;
    struct buf out = BUF_EMPTY;
    uint32_t count = 0;
    while (!take(p, ')')) {
        struct span name = parse_word(p);
        if (span_is_null(name)) {
            parse_fail(p, "sub( needs names and a )");
            break;
        }
        buf_put_be16(&names, (uint16_t)name.len);
        buf_append(&names, name.data, name.len);
        count++;
    }
    buf_put_be16(&out, 0);
    buf_put_be32(&out, count);
    buf_append(&out, names.data, names.len);
    buf_put_be32(&out, UINT32_MAX);
    struct span bytes = arena_copy(p->arena, buf_span(&out));
    buf_close(&names);
    buf_close(&out);
    return bytes;
}

static struct span parse_repeated(struct parser *p, struct span word)
{
    const uint8_t *star = memchr(word.data, '*', word.len);
    int64_t times = 0;
    if (star == NULL || star == word.data ||
        !parse_is_number(span_of(star + 1, (size_t)(word.data + word.len - star - 1)), &times) ||
        times < 0) {
        return names_expand(p->names, word, p->arena);
    }
    size_t len = (size_t)(star - word.data);
    uint8_t *out = arena_alloc(p->arena, len * (size_t)times);
    for (int64_t i = 0; i < times; i++) {
        memcpy(out + len * (size_t)i, word.data, len);
    }
    return span_of(out, len * (size_t)times);
}

struct span parse_text(struct parser *p)
{
    if (take(p, '"')) {
        return parse_quoted(p);
    }
    struct span word = parse_word(p);
    if (span_is_null(word)) {
        parse_fail(p, "a value is missing before '%.20s'", p->at);
        return SPAN_EMPTY;
    }
    if (span_equal(word, SPAN_LITERAL("null"))) {
        return SPAN_NULL;
    }
    if (span_equal(word, SPAN_LITERAL("sub")) && *p->at == '(') {
        p->at++;
        return parse_subscription(p);
    }
    return parse_repeated(p, word);
}

/* ---- Values ---- */

static void parse_scalar(struct parser *p, enum kafka_kind kind, uint8_t *at)
{
    int64_t number = 0;
    if (value_is_span(kind)) {
        struct span text = parse_text(p);
        memcpy(at, &text, sizeof text);
        return;
    }
    struct span word = parse_word(p);
    if (kind == KIND_uuid) {
        struct uuid uuid = {{0}};
        if (!span_equal(word, SPAN_LITERAL("@0")) && !names_topic(p->names, word, &uuid)) {
            parse_fail(p, "no topic id is called %.*s", (int)word.len, (const char *)word.data);
        }
        memcpy(at, &uuid, sizeof uuid);
        return;
    }
    if (kind == KIND_bool) {
        number = span_equal(word, SPAN_LITERAL("true"));
    } else if (!parse_is_number(word, &number)) {
        parse_fail(p, "no number before '%.20s'", p->at);
    }
    value_store(kind, at, number);
}

static void parse_fields(struct parser *p, const struct kafka_schema *schema, uint8_t *out);

/* Where the element that begins behind [at] ends: its }, or NULL. */
static const char *find_close(const char *at)
{
    int depth = 1;
    bool is_quoted = false;
    for (; *at != 0; at++) {
        if (*at == '"') {
            is_quoted = !is_quoted;
        } else if (!is_quoted && *at == '{') {
            depth++;
        } else if (!is_quoted && *at == '}' && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* The text up to [end], with % replaced by a number; -1: as it is. */
static char *substitute(struct parser *p, const char *from, const char *end, int64_t number)
{
    struct buf out = BUF_EMPTY;
    for (; from < end; from++) {
        char digits[24];
        int len = *from == '%' && number >= 0
                      ? snprintf(digits, sizeof digits, "%lld", (long long)number)
                      : 0;
        buf_append(&out, len > 0 ? digits : from, len > 0 ? (size_t)len : 1);
    }
    buf_put_u8(&out, 0);
    char *text = arena_alloc(p->arena, out.len);
    memcpy(text, out.data, out.len);
    buf_close(&out);
    return text;
}

/* {…} once, or {…}*N: N times, where % is 0 to N-1. Behind the opening brace. */
static void parse_elements(struct parser *p,
                           const struct kafka_schema *element,
                           struct buf *items,
                           int32_t *count)
{
    const char *start = p->at;
    const char *end = find_close(start);
    int64_t times = 1;
    bool is_repeated = false;
    if (end == NULL) {
        parse_fail(p, "} is missing behind '%.20s'", start);
        return;
    }
    p->at = end + 1;
    if (*p->at == '*') {
        p->at++;
        is_repeated = parse_is_number(parse_word(p), &times);
    }
    const char *behind = p->at;
    for (int64_t i = 0; i < times && p->error[0] == 0; i++) {
        uint8_t *item = arena_alloc(p->arena, element->size);
        codec_set_defaults(element, item);
        p->at = substitute(p, start, end, is_repeated ? i : -1);
        parse_fields(p, element, item);
        buf_append(items, item, element->size);
        (*count)++;
    }
    p->at = behind;
}

static void parse_items(struct parser *p, const struct kafka_field *f, uint8_t *out)
{
    const struct kafka_schema *element = f->kind == KIND_array ? f->element() : NULL;
    struct buf items = BUF_EMPTY;
    int32_t count = 0;
    while (p->error[0] == 0 && !take(p, ']')) {
        if (element == NULL) {
            uint8_t item[sizeof(struct span)];
            parse_scalar(p, f->item_kind, item);
            buf_append(&items, item, value_size(f->item_kind));
            count++;
        } else if (take(p, '{')) {
            parse_elements(p, element, &items, &count);
        } else {
            parse_fail(p, "{ or ] is missing before '%.20s'", p->at);
        }
    }
    struct span copy = arena_copy(p->arena, count == 0 ? SPAN_EMPTY : buf_span(&items));
    memcpy(out + f->offset, &copy.data, sizeof copy.data);
    *value_count(f, out) = count;
    buf_close(&items);
}

static void parse_value(struct parser *p, const struct kafka_field *f, uint8_t *out)
{
    if (f->kind != KIND_array && f->kind != KIND_list) {
        ensure(f->kind != KIND_nested && f->kind != KIND_optional);
        parse_scalar(p, f->kind, out + f->offset);
    } else if (take(p, '[')) {
        parse_items(p, f, out);
    } else if (span_equal(parse_word(p), SPAN_LITERAL("null"))) {
        *value_count(f, out) = -1;
    } else {
        parse_fail(p, "[ is missing before '%.20s'", p->at);
    }
}

static const struct kafka_field *find_field(const struct parser *p,
                                            const struct kafka_schema *schema,
                                            struct span name)
{
    for (int i = 0; i < schema->field_count; i++) {
        const struct kafka_field *f = &schema->fields[i];
        if (value_is_on_wire(f, p->version) &&
            (span_equal(name, span_from_cstr(f->name)) ||
             span_equal(name, span_from_cstr(field_short_name(f->name))))) {
            return f;
        }
    }
    return NULL;
}

/* The next field in order that the version has. */
static const struct kafka_field *next_field(const struct parser *p,
                                            const struct kafka_schema *schema,
                                            int *at)
{
    while (*at < schema->field_count) {
        const struct kafka_field *f = &schema->fields[(*at)++];
        if (value_is_on_wire(f, p->version)) {
            return f;
        }
    }
    return NULL;
}

/* Up to the end of the text. */
static void parse_fields(struct parser *p, const struct kafka_schema *schema, uint8_t *out)
{
    int place = 0;
    while (p->error[0] == 0 && !is_end(p)) {
        const struct kafka_field *f = NULL;
        size_t len = word_len(p->at);
        if (len > 0 && p->at[len] == '=') {
            f = find_field(p, schema, span_of(p->at, len));
            if (f == NULL) {
                parse_fail(p, "%s v%d has no field %.*s", schema->name, p->version, (int)len,
                           p->at);
                return;
            }
            p->at += len + 1;
        } else {
            f = next_field(p, schema, &place);
            if (f == NULL) {
                parse_fail(p, "%s v%d has fewer fields", schema->name, p->version);
                return;
            }
        }
        parse_value(p, f, out);
    }
}

void parse_struct(struct parser *p, const struct kafka_schema *schema, void *out)
{
    parse_fields(p, schema, out);
}
