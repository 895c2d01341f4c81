/* The coordinator's lines (EFFECT_LOG) on their way to the log: no client can flood it.
 *
 *   a warning: something was refused, which costs a client nothing   LOG_RATE_LINES per window
 *   a notice: something happened, and cost an entry of the log        EFFECT_LOG_NOTICES per window
 *   what is gone for good, or may be: offsets, groups, topics         all of them
 *
 * Each event name has a rate of its own; the next line that is written says how many of its name
 * were not. Counters count on. */
#ifndef SERVER_EFFECT_LOG_H
#define SERVER_EFFECT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "server/core/effect.h"
#include "server/log.h"

enum { EFFECT_LOG_NOTICES = 1000, EFFECT_LOG_EVENTS = 64, EFFECT_LOG_NAME_BYTES = 32 };

struct effect_log {
    struct {
        char name[EFFECT_LOG_NAME_BYTES];
        struct log_rate rate;
    } events[EFFECT_LOG_EVENTS];
    size_t count;
};

void effect_log_init(struct effect_log *log);

/* Writes the line, or not. */
void effect_log_write(struct effect_log *log, int64_t now_ms, const struct effect *effect);

/* The decision of effect_log_write() alone. */
bool effect_log_pass(struct effect_log *log,
                     int64_t now_ms,
                     const struct effect *effect,
                     uint32_t *suppressed);

#endif
