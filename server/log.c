#include "server/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/clock.h"

/* A pipe that can be written to takes PIECE_BYTES without waiting (pipe(7): PIPE_BUF). */
enum { LINE_BYTES = 8192, PIECE_BYTES = 4096 };

static enum log_level lowest = LOG_LEVEL_INFO;
static uint32_t lost;   /* lines since the last one that was written */
static bool is_cut_off; /* a part of the last of them was written */

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

static bool is_writable(void)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLOUT) != 0;
}

/* False: it could not be written, or not all of it. */
static bool put_bytes(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && is_writable()) {
        size_t piece = len - at < PIECE_BYTES ? len - at : PIECE_BYTES;
        ssize_t written = write(STDERR_FILENO, bytes + at, piece);
        if (written <= 0) {
            break;
        }
        at += (size_t)written;
    }
    is_cut_off = at == 0 ? is_cut_off : at < len;
    return at == len;
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
    line[0] = '\n';
    size_t start = is_cut_off ? 0 : 1;
    size_t len = 1 + put_head(line + 1, room - 1, level);
    int more = vsnprintf(line + len, room - len, format, arguments);
    len = more < 0 ? len : len + (size_t)more;
    if (len >= room) {
        len = room - 1 + (size_t)snprintf(line + room - 1, 16, "...");
    }
    if (suppressed > 0) {
        len += (size_t)snprintf(line + len, sizeof line - len, " suppressed=%u", suppressed);
    }
    if (lost > 0) {
        len += (size_t)snprintf(line + len, sizeof line - len, " lost=%u", lost);
    }
    line[len++] = '\n';
    lost = put_bytes(line + start, len - start) ? 0 : lost + 1;
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

static void write_plain(enum log_level level, uint32_t suppressed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void write_plain(enum log_level level, uint32_t suppressed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(level, suppressed, format, arguments);
    va_end(arguments);
}

void log_passed(enum log_level level, uint32_t suppressed, const char *line)
{
    if (level >= lowest) {
        write_plain(level, suppressed, "%s", line);
    }
}

bool log_rate_pass(struct log_rate *rate, uint32_t lines_max, int64_t now_ms, uint32_t *suppressed)
{
    *suppressed = 0;
    if (rate->lines == 0 || now_ms - rate->window_ms >= LOG_RATE_WINDOW_MS) {
        rate->window_ms = now_ms;
        rate->lines = 0;
    }
    if (rate->lines >= lines_max) {
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
    if (level < lowest || !log_rate_pass(rate, LOG_RATE_LINES, clock_monotonic_ms(), &suppressed)) {
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
