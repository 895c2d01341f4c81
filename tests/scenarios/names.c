#include "tests/scenarios/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

static bool is_hex(uint8_t ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f');
}

static bool is_uuid(const uint8_t *text)
{
    for (int i = 0; i < NAMES_UUID_CHARS; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-' : !is_hex(text[i])) {
            return false;
        }
    }
    return true;
}

struct span names_expand(const struct names *names, struct span text, struct arena *arena)
{
    for (size_t i = 1; i + 1 < text.len; i++) {
        if (text.data[i - 1] != '-' || text.data[i] != '#') {
            continue;
        }
        char digits[16] = {0};
        memcpy(digits, text.data + i + 1,
               text.len - i - 1 < sizeof digits - 1 ? text.len - i - 1 : sizeof digits - 1);
        char *end = NULL;
        long number = strtol(digits, &end, 10);
        if (*end != 0 || number < 1 || number > names->members_count) {
            return text;
        }
        uint8_t *out = arena_alloc(arena, i + NAMES_UUID_CHARS);
        memcpy(out, text.data, i);
        memcpy(out + i, names->members[number - 1], NAMES_UUID_CHARS);
        return span_of(out, i + NAMES_UUID_CHARS);
    }
    return text;
}

static int member_number(struct names *names, const uint8_t *uuid)
{
    for (int i = 0; i < names->members_count; i++) {
        if (memcmp(names->members[i], uuid, NAMES_UUID_CHARS) == 0) {
            return i + 1;
        }
    }
    ensure(names->members_count < NAMES_MAX);
    memcpy(names->members[names->members_count], uuid, NAMES_UUID_CHARS);
    return ++names->members_count;
}

void names_shrink(struct names *names, struct span text, struct buf *out)
{
    for (size_t i = 0; i < text.len;) {
        if (i + NAMES_UUID_CHARS <= text.len && is_uuid(text.data + i)) {
            char number[16];
            int len = snprintf(number, sizeof number, "#%d", member_number(names, text.data + i));
            buf_append(out, number, (size_t)len);
            i += NAMES_UUID_CHARS;
        } else {
            buf_put_u8(out, text.data[i++]);
        }
    }
}

static int incarnations(const struct names *names, const char *name, int before)
{
    int count = 0;
    for (int i = 0; i < before; i++) {
        count += strcmp(names->topics[i].name, name) == 0;
    }
    return count;
}

void names_add_topic(struct names *names, struct span name, struct uuid uuid)
{
    for (int i = 0; i < names->topics_count; i++) {
        if (uuid_equal(names->topics[i].uuid, uuid)) {
            return;
        }
    }
    ensure(names->topics_count < NAMES_MAX && name.len < sizeof names->topics[0].name);
    memset(names->topics[names->topics_count].name, 0, sizeof names->topics[0].name);
    memcpy(names->topics[names->topics_count].name, name.data, name.len);
    names->topics[names->topics_count++].uuid = uuid;
}

static void format_topic(const struct names *names, int at, char *text, size_t size)
{
    int incarnation = 1 + incarnations(names, names->topics[at].name, at);
    if (incarnation == 1) {
        snprintf(text, size, "@%s", names->topics[at].name);
    } else {
        snprintf(text, size, "@%s.%d", names->topics[at].name, incarnation);
    }
}

bool names_topic(const struct names *names, struct span text, struct uuid *uuid)
{
    if (span_equal(text, SPAN_LITERAL("@none"))) {
        memset(uuid->bytes, 0x77, sizeof uuid->bytes);
        return true;
    }
    for (int i = 0; i < names->topics_count; i++) {
        char name[300];
        format_topic(names, i, name, sizeof name);
        if (span_equal(text, span_from_cstr(name))) {
            *uuid = names->topics[i].uuid;
            return true;
        }
    }
    return false;
}

void names_print_topic(const struct names *names, struct uuid uuid, struct buf *out)
{
    char name[300] = "@?";
    struct uuid none;
    names_topic(names, SPAN_LITERAL("@none"), &none);
    if (uuid_is_zero(uuid)) {
        snprintf(name, sizeof name, "@0");
    } else if (uuid_equal(uuid, none)) {
        snprintf(name, sizeof name, "@none");
    }
    for (int i = 0; i < names->topics_count; i++) {
        if (uuid_equal(names->topics[i].uuid, uuid)) {
            format_topic(names, i, name, sizeof name);
        }
    }
    buf_append(out, name, strlen(name));
}
