/* What raftlog tells its owner: log lines and the end. All parts of raftlog hold one. */
#ifndef RAFTLOG_REPORT_H
#define RAFTLOG_REPORT_H

#include <stdint.h>

#include "raftlog/raftlog.h"

enum { REPORT_LINE_MAX = 1024 };

struct report {
    const struct raftlog_events *events;
    void *ctx;
};

/* [format] gives an event name, then key=value pairs. */
void report_log(const struct report *report, enum raftlog_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What happened, where, and what to do. Ends the process. */
_Noreturn void report_fatal(const struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* At most one line per [interval_ms] of a kind that a peer or a stranger can provoke at will. */
struct report_limit {
    uint64_t next_ms;
    uint64_t suppressed; /* since the last one that was let through */
};

/* Whether a line may be written at [now_ms]; if so, [*suppressed] says how many were not. */
bool report_limit_allows(struct report_limit *limit,
                         uint64_t now_ms,
                         uint64_t interval_ms,
                         uint64_t *suppressed);

#endif
