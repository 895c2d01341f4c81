#include "server/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/clock.h"

enum { LINE_BYTES = 8192 };

static enum log_level lowest = LOG_LEVEL_INFO;

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *const level_marks[] = {"DEBUG", "INFO", "WARN", "ERROR"};

void log_set_level(enum log_level level)
{
    lowest = level;
}

bool log_has_level(enum log_level level)
{
    return level >= lowest;
}

bool log_parse_level(const char *name, enum log_level *level)
{
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

static size_t put_head(char *line, size_t size, enum log_level level)
{
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t len = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &utc);
    int more =
        snprintf(line + len, size - len, ".%03dZ %s ", (int)(now_ms % 1000), level_marks[level]);
    return len + (size_t)more;
}

static void write_line(enum log_level level,
                       uint32_t suppressed,
                       const char *format,
                       va_list arguments) __attribute__((format(printf, 3, 0)));

static void write_line(enum log_level level,
                       uint32_t suppressed,
                       const char *format,
                       va_list arguments)
{
    char line[LINE_BYTES];
    size_t room = sizeof line - 64; /* for what follows the text */
    size_t len = put_head(line, room, level);
    int more = vsnprintf(line + len, room - len, format, arguments);
    len = more < 0 ? len : len + (size_t)more;
    if (len >= room) {
        len = room - 1 + (size_t)snprintf(line + room - 1, 16, "...");
    }
    if (suppressed > 0) {
        len += (size_t)snprintf(line + len, sizeof line - len, " suppressed=%u", suppressed);
    }
    line[len++] = '\n';
    /* Nobody is left to be told of a failure here. */
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written;
}

void log_event(enum log_level level, const char *format, ...)
{
    if (level < lowest) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_line(level, 0, format, arguments);
    va_end(arguments);
}

bool log_rate_pass(struct log_rate *rate, int64_t now_ms, uint32_t *suppressed)
{
    *suppressed = 0;
    if (rate->lines == 0 || now_ms - rate->window_ms >= LOG_RATE_WINDOW_MS) {
        rate->window_ms = now_ms;
        rate->lines = 0;
    }
    if (rate->lines >= LOG_RATE_LINES) {
        rate->suppressed++;
        return false;
    }
    rate->lines++;
    *suppressed = rate->suppressed;
    rate->suppressed = 0;
    return true;
}

void log_limited(struct log_rate *rate, enum log_level level, const char *format, ...)
{
    uint32_t suppressed;
    if (level < lowest || !log_rate_pass(rate, clock_monotonic_ms(), &suppressed)) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_line(level, suppressed, format, arguments);
    va_end(arguments);
}

const char *log_text(struct log_text *text, struct span from)
{
    size_t at = 0;
    size_t len = from.len > 64 ? 64 : from.len;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = from.data[i];
        if (c > ' ' && c < 127 && c != '"' && c != '\\') {
            text->bytes[at++] = (char)c;
        } else {
            at += (size_t)snprintf(text->bytes + at, sizeof text->bytes - at, "\\x%02x", c);
        }
    }
    memcpy(text->bytes + at, from.len > len ? "..." : "", from.len > len ? 4 : 1);
    return text->bytes;
}
