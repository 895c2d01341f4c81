#include "server/core/effect.h"

#include <stdarg.h>
#include <stdio.h>

#include "rpc/ensure.h"

enum {
    KEPT_BYTES = 1 << 20, /* of the arena, between turns */
    TEXT_BYTES_MAX = 128  /* of a client's text in a line */
};

void effects_init(struct effects *effects)
{
    effects->first = NULL;
    effects->last = &effects->first;
    arena_init(&effects->arena, SIZE_MAX);
}

void effects_close(struct effects *effects)
{
    arena_close(&effects->arena);
}

static struct effect *push(struct effects *effects, enum effect_kind kind)
{
    struct effect *effect = arena_alloc(&effects->arena, sizeof *effect);
    effect->kind = kind;
    *effects->last = effect;
    effects->last = &effect->next;
    return effect;
}

void effects_reply(struct effects *effects, struct call *call, const void *response)
{
    struct effect *effect = push(effects, EFFECT_REPLY);
    effect->call = call;
    effect->response = response;
}

void effects_propose(struct effects *effects, uint64_t number, struct span records)
{
    struct effect *effect = push(effects, EFFECT_PROPOSE);
    effect->number = number;
    effect->records = arena_copy(&effects->arena, records);
}

void effects_log(struct effects *effects, enum effect_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    ensure(len >= 0);
    char *line = arena_alloc(&effects->arena, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(line, (size_t)len + 1, format, args);
    va_end(args);
    struct effect *effect = push(effects, EFFECT_LOG);
    effect->level = level;
    effect->line = line;
}

bool effects_cancel(struct effects *effects, uint64_t number)
{
    for (struct effect **link = &effects->first; *link != NULL; link = &(*link)->next) {
        if ((*link)->kind == EFFECT_PROPOSE && (*link)->number == number) {
            *link = (*link)->next;
            if (*link == NULL) {
                effects->last = link;
            }
            return true;
        }
    }
    return false;
}

struct effect *effects_next(struct effects *effects)
{
    struct effect *effect = effects->first;
    if (effect != NULL) {
        effects->first = effect->next;
        if (effects->first == NULL) {
            effects->last = &effects->first;
        }
    }
    return effect;
}

void effects_reset(struct effects *effects)
{
    ensure(effects->first == NULL);
    arena_reset(&effects->arena, KEPT_BYTES);
}

const char *effect_text(struct effects *effects, struct span text)
{
    size_t len = text.len < TEXT_BYTES_MAX ? text.len : TEXT_BYTES_MAX;
    char *out = arena_alloc(&effects->arena, 4 * len + 3);
    char *at = out;
    bool is_quoted = len == 0;
    for (size_t i = 0; i < len; i++) {
        is_quoted = is_quoted || text.data[i] == ' ' || text.data[i] == '=';
    }
    if (is_quoted) {
        *at++ = '"';
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = text.data[i];
        if (byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\') {
            *at++ = (char)byte;
        } else {
            static const char digits[] = "0123456789abcdef";
            *at++ = '\\';
            *at++ = 'x';
            *at++ = digits[byte >> 4];
            *at++ = digits[byte & 15];
        }
    }
    if (is_quoted) {
        *at++ = '"';
    }
    *at = '\0';
    return out;
}
