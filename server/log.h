/* The log: one line per event on stderr.
 *
 *   2026-11-30T18:15:02.123Z INFO listening name=PLAINTEXT address=0.0.0.0:9092
 *
 * An event name, then key=value pairs, stable from release to release. A line that cannot be
 * written at once (a full disk, a closed pipe, a pipe whose reader is stuck) is lost and nothing
 * else happens: a node does not stand still for its log. The next line says how many were lost. */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/span.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* Lower levels are not written; the start value is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
bool log_has_level(enum log_level level);
/* "debug", "info", "warn", "error"; false: none of them. */
bool log_parse_level(const char *name, enum log_level *level);

/* [format] gives the event name and the pairs, without a newline. */
void log_event(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For events that a client can cause at will: of each rate the first LOG_RATE_LINES in
 * LOG_RATE_WINDOW_MS are written; the next one after them says how many were not. */
enum { LOG_RATE_LINES = 5, LOG_RATE_WINDOW_MS = 10000 };

struct log_rate {
    int64_t window_ms; /* when it began */
    uint32_t lines;
    uint32_t suppressed;
};

void log_limited(struct log_rate *rate, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The decision of log_limited() alone, for [lines_max] in a window. [*suppressed]: how many were
 * held back before this one. */
bool log_rate_pass(struct log_rate *rate, uint32_t lines_max, int64_t now_ms, uint32_t *suppressed);

/* A line that has passed log_rate_pass(). */
void log_passed(enum log_level level, uint32_t suppressed, const char *line);

/* A client's text for a line: printable ASCII but quotes and blanks, anything else as \xNN, cut
 * after 64 bytes. Returns text->bytes. */
struct log_text {
    char bytes[64 * 4 + 4];
};
const char *log_text(struct log_text *text, struct span from);

#endif
