#include "server/hint.h"

#include <string.h>

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    }
    return hash;
}

bool hint_is_due(struct hints *hints, int64_t now_ms, const char *event, struct span key)
{
    uint64_t subject = hash_bytes(0xcbf29ce484222325U, event, strlen(event) + 1);
    subject = hash_bytes(subject, key.data, key.len) | 1;
    /* A subject that takes another's place makes that one due again, which costs a line at most. */
    size_t at = (size_t)(subject ^ subject >> 20 ^ subject >> 40) % HINT_SUBJECTS;
    if (hints->recent[at].subject == subject && now_ms - hints->recent[at].at_ms < HINT_PERIOD_MS) {
        return false;
    }
    hints->recent[at].subject = subject;
    hints->recent[at].at_ms = now_ms;
    return true;
}

void hint_give(struct hints *hints,
               int64_t now_ms,
               const char *event,
               struct span key,
               const char *text)
{
    struct log_text shown;
    if (hint_is_due(hints, now_ms, event, key)) {
        log_limited(&hints->rate, LOG_LEVEL_WARN, "%s key=\"%s\" hint=\"%s\"", event,
                    log_text(&shown, key), text);
    }
}
