#include "raftlog/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void report_log(const struct report *report, enum raftlog_level level, const char *format, ...)
{
    char line[REPORT_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    report->events->log(report->ctx, level, line);
}

void report_fatal(const struct report *report, const char *format, ...)
{
    char line[REPORT_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    report->events->fatal(report->ctx, line);
    abort(); /* the contract says that fatal() does not return */
}

bool report_limit_allows(struct report_limit *limit,
                         uint64_t now_ms,
                         uint64_t interval_ms,
                         uint64_t *suppressed)
{
    if (now_ms < limit->next_ms) {
        limit->suppressed++;
        return false;
    }
    *suppressed = limit->suppressed;
    limit->suppressed = 0;
    limit->next_ms = now_ms + interval_ms;
    return true;
}
