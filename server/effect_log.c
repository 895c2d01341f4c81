#include "server/effect_log.h"

#include <string.h>

#include "rpc/ensure.h"

void effect_log_init(struct effect_log *log)
{
    memset(log, 0, sizeof *log);
}

static enum log_level level_of(enum effect_level level)
{
    switch (level) {
        case EFFECT_DEBUG:
            return LOG_LEVEL_DEBUG;
        case EFFECT_INFO:
            return LOG_LEVEL_INFO;
        case EFFECT_WARN:
            return LOG_LEVEL_WARN;
        case EFFECT_ERROR:
            break;
    }
    return LOG_LEVEL_ERROR;
}

static bool is_named(const char *line, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(line, name, len) == 0;
}

/* Such a line is the only trace of what it names. */
static bool is_about_a_loss(const char *line, size_t len)
{
    static const char *const names[] = {"offsets_deleted", "offsets_expired", "group_deleted",
                                        "topic_deleted"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is_named(line, len, names[i])) {
            return true;
        }
    }
    return false;
}

static struct log_rate *rate_of(struct effect_log *log, const char *line, size_t len)
{
    for (size_t i = 0; i < log->count; i++) {
        if (is_named(line, len, log->events[i].name)) {
            return &log->events[i].rate;
        }
    }
    /* Names are the program's own: there are no more of them. */
    ensure(log->count < EFFECT_LOG_EVENTS && len < EFFECT_LOG_NAME_BYTES);
    memcpy(log->events[log->count].name, line, len);
    return &log->events[log->count++].rate;
}

bool effect_log_pass(struct effect_log *log,
                     int64_t now_ms,
                     const struct effect *effect,
                     uint32_t *suppressed)
{
    size_t len = strcspn(effect->line, " ");
    *suppressed = 0;
    if (is_about_a_loss(effect->line, len)) {
        return true;
    }
    bool is_warning = effect->level >= EFFECT_WARN;
    return log_rate_pass(rate_of(log, effect->line, len),
                         is_warning ? (uint32_t)LOG_RATE_LINES : (uint32_t)EFFECT_LOG_NOTICES,
                         now_ms, suppressed);
}

void effect_log_write(struct effect_log *log, int64_t now_ms, const struct effect *effect)
{
    uint32_t suppressed;
    enum log_level level = level_of(effect->level);
    if (log_has_level(level) && effect_log_pass(log, now_ms, effect, &suppressed)) {
        log_passed(level, suppressed, effect->line);
    }
}
