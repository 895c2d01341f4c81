/* Helpful log lines that a client's behaviour causes: one per subject and minute, so that a client
 * in a loop cannot fill the log. */
#ifndef SERVER_HINT_H
#define SERVER_HINT_H

#include <stdint.h>

#include "rpc/span.h"
#include "server/log.h"

enum { HINT_SUBJECTS = 256, HINT_PERIOD_MS = 60000 };

struct hints {
    struct {
        uint64_t subject; /* a hash; 0: free */
        int64_t at_ms;
    } recent[HINT_SUBJECTS];
    struct log_rate rate; /* of all together */
};

/* [key]: the subject, such as a topic's name. */
void hint_give(struct hints *hints,
               int64_t now_ms,
               const char *event,
               struct span key,
               const char *text);

/* Whether the subject's turn has come; counts as given. */
bool hint_is_due(struct hints *hints, int64_t now_ms, const char *event, struct span key);

#endif
