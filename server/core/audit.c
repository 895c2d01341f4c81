#include "server/core/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/internal.h"

enum { LINE_BYTES = 512 };

struct audit *audit_new(void *decision)
{
    struct audit *audit = calloc(1, sizeof *audit);
    ensure(audit != NULL);
    audit->decision = decision;
    return audit;
}

void audit_free(void *data)
{
    struct audit *audit = data;
    for (int32_t i = 0; i < audit->count; i++) {
        free(audit->lines[i]);
    }
    free(audit->lines);
    free(audit);
}

void audit_add(struct coordinator *c,
               struct audit *audit,
               const struct call *call,
               const char *format,
               ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ensure(len >= 0);
    if ((size_t)len < sizeof line) {
        snprintf(line + len, sizeof line - (size_t)len, " client=%s host=%s",
                 effect_text(&c->effects, call->client_id),
                 effect_text(&c->effects, call->client_host));
    }
    if (audit->count == audit->cap) {
        audit->cap = audit->cap == 0 ? 8 : 2 * audit->cap;
        audit->lines = realloc(audit->lines, sizeof *audit->lines * (size_t)audit->cap);
        ensure(audit->lines != NULL);
    }
    char *copy = strdup(line);
    ensure(copy != NULL);
    audit->lines[audit->count++] = copy;
}

void audit_propose(struct coordinator *c,
                   struct audit *audit,
                   struct call *call,
                   struct buf *records,
                   proposal_fn *done)
{
    if (records->len > LIMIT_PROPOSAL_BYTES) {
        buf_close(records);
        audit_free(audit);
        reply_error(c, call, KAFKA_INVALID_REQUEST);
        return;
    }
    struct proposal *proposal = proposal_make(c, call, records, done);
    proposal->data = audit;
    proposal->drop = audit_free;
}

void audit_log(struct coordinator *c,
               const struct audit *audit,
               const struct verdict *verdicts,
               int count)
{
    ensure(count == audit->count);
    for (int32_t i = 0; i < count; i++) {
        if (verdicts[i].error == 0) {
            effects_log(&c->effects, EFFECT_INFO, "%s", audit->lines[i]);
        }
    }
}
