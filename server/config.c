#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

const struct config_row config_rows[] = {
#define SECTION(title) {.section = (title)},
#define INT(field_, key_, initial_, min_, max_, help_) \
    {.key = (key_),                                    \
     .help = (help_),                                  \
     .initial = (initial_),                            \
     .min = (min_),                                    \
     .max = (max_),                                    \
     .offset = offsetof(struct config, field_)},
#define TEXT(field_, key_, initial_, help_) \
    {.key = (key_), .help = (help_), .text = (initial_), .offset = offsetof(struct config, field_)},
#include "server/config.def"
#undef SECTION
#undef INT
#undef TEXT
};
const size_t config_rows_count = sizeof config_rows / sizeof config_rows[0];

static int64_t *number_field(struct config *config, const struct config_row *row)
{
    return (int64_t *)(void *)((char *)config + row->offset);
}

static char **text_field(struct config *config, const struct config_row *row)
{
    return (char **)(void *)((char *)config + row->offset);
}

static char *copy_text(struct span text)
{
    char *copy = malloc(text.len + 1);
    ensure(copy != NULL);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return copy;
}

void config_init(struct config *config)
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < config_rows_count; i++) {
        const struct config_row *row = &config_rows[i];
        if (row->section != NULL) {
            continue;
        }
        if (row->text != NULL) {
            *text_field(config, row) = copy_text(span_from_cstr(row->text));
        } else {
            *number_field(config, row) = row->initial;
        }
    }
}

void config_close(struct config *config)
{
    for (size_t i = 0; i < config_rows_count; i++) {
        if (config_rows[i].text != NULL) {
            free(*text_field(config, &config_rows[i]));
            *text_field(config, &config_rows[i]) = NULL;
        }
    }
    memset(config->secret, 0, sizeof config->secret);
}

void config_error(struct buf *errors, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    size_t used = len < 0 ? 0 : (size_t)len;
    used = used < sizeof line - 1 ? used : sizeof line - 2;
    line[used++] = '\n';
    buf_append(errors, line, used);
}

static const struct config_row *find_row(struct span key)
{
    for (size_t i = 0; i < config_rows_count; i++) {
        if (config_rows[i].key != NULL && span_equal(key, span_from_cstr(config_rows[i].key))) {
            return &config_rows[i];
        }
    }
    return NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein: letters to insert, remove or change. */
static size_t edit_distance(struct span a, struct span b)
{
    size_t row[65];
    size_t width = sizeof row / sizeof row[0] - 1;
    if (a.len > width || b.len > width) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t changed = diagonal + (tolower(a.data[i - 1]) != tolower(b.data[j - 1]));
            diagonal = row[j];
            row[j] = least(changed, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.len];
}

const char *config_nearest(struct span key)
{
    const char *nearest = NULL;
    size_t best = least(key.len / 3 + 1, 6);
    for (size_t i = 0; i < config_rows_count; i++) {
        if (config_rows[i].key == NULL) {
            continue;
        }
        size_t distance = edit_distance(key, span_from_cstr(config_rows[i].key));
        if (distance < best || (distance == best && nearest == NULL)) {
            best = distance;
            nearest = config_rows[i].key;
        }
    }
    return nearest;
}

static bool parse_number(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && !isspace((unsigned char)text[0]);
}

bool config_set(struct config *config,
                struct span key,
                struct span value,
                const char *where,
                struct buf *errors)
{
    const struct config_row *row = find_row(key);
    if (row == NULL) {
        const char *nearest = config_nearest(key);
        config_error(errors, "%s: unknown key \"%.*s\"%s%s%s", where, (int)least(key.len, 100),
                     (const char *)key.data, nearest == NULL ? "" : "; did you mean ",
                     nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
        return false;
    }
    if (value.len > CONFIG_VALUE_BYTES || memchr(value.data, '\0', value.len) != NULL) {
        config_error(errors, "%s: the value of %s is longer than %d bytes or holds a zero byte",
                     where, row->key, CONFIG_VALUE_BYTES);
        return false;
    }
    char *text = copy_text(value);
    if (row->text != NULL) {
        free(*text_field(config, row));
        *text_field(config, row) = text;
        return true;
    }
    int64_t number;
    bool is_number = parse_number(text, &number);
    if (!is_number) {
        config_error(errors, "%s: %s=%.60s: not a whole number", where, row->key, text);
    } else if (number < row->min || number > row->max) {
        config_error(errors, "%s: %s=%.60s: must be from %lld to %lld", where, row->key, text,
                     (long long)row->min, (long long)row->max);
        is_number = false;
    } else {
        *number_field(config, row) = number;
    }
    free(text);
    return is_number;
}

struct coordinator_limits config_limits(const struct config *c)
{
    return (struct coordinator_limits){
        .initial_rebalance_delay_ms = (int32_t)c->initial_rebalance_delay_ms,
        .session_timeout_min_ms = (int32_t)c->session_timeout_min_ms,
        .session_timeout_max_ms = (int32_t)c->session_timeout_max_ms,
        .group_size_max = (int32_t)c->group_size_max,
        .offset_metadata_bytes_max = (int32_t)c->offset_metadata_bytes_max,
        .offsets_retention_ms = c->offsets_retention_minutes * 60000,
        .offsets_check_interval_ms = c->offsets_check_interval_ms,
        .groups_max = (int32_t)c->groups_max,
        .topics_max = (int32_t)c->topics_max,
        .partitions_max = c->partitions_max,
        .offsets_max = c->offsets_max,
        .member_metadata_bytes_max = (int32_t)c->member_metadata_bytes_max,
        .group_metadata_bytes_max = c->group_metadata_bytes_max,
        .election_timeout_ms = (int32_t)c->election_timeout_ms,
    };
}
