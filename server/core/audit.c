#include "server/core/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/internal.h"

enum { LINE_BYTES = 512 };

struct audit *audit_new(struct coordinator *c, void *decision)
{
    struct audit *audit = calloc(1, sizeof *audit);
    ensure(audit != NULL);
    audit->effects = &c->effects;
    audit->decision = decision;
    return audit;
}

void audit_free(struct audit *audit)
{
    for (int32_t i = 0; i < audit->count; i++) {
        free(audit->lines[i]);
    }
    free(audit->lines);
    free(audit);
}

void audit_add(struct audit *audit, const struct call *call, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ensure(len >= 0);
    if ((size_t)len < sizeof line) {
        snprintf(line + len, sizeof line - (size_t)len, " client=%s host=%s",
                 effect_text(audit->effects, call->client_id),
                 effect_text(audit->effects, call->client_host));
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

static void give_up(struct coordinator *c, struct proposal *proposal, int16_t error, bool is_void)
{
    struct audit *audit = proposal->data;
    (void)c;
    (void)error;
    audit->is_void = audit->is_void || is_void;
}

static void drop(void *data)
{
    struct audit *audit = data;
    for (int32_t i = 0; i < audit->count && !audit->is_void; i++) {
        effects_log(audit->effects, EFFECT_INFO, "%s outcome=unknown", audit->lines[i]);
    }
    audit_free(audit);
}

void audit_propose(struct coordinator *c,
                   struct audit *audit,
                   struct call *call,
                   struct buf *records,
                   proposal_fn *done)
{
    if (records->len > LIMIT_PROPOSAL_BYTES) {
        c->counters.limit_proposal_bytes++;
        buf_close(records);
        audit_free(audit);
        reply_error(c, call, KAFKA_INVALID_REQUEST);
        return;
    }
    struct proposal *proposal = proposal_make(c, call, records, done);
    proposal->data = audit;
    proposal->give_up = give_up;
    proposal->drop = drop;
}

void audit_log(const struct audit *audit, const struct verdict *verdicts, int count)
{
    ensure(count == audit->count);
    for (int32_t i = 0; i < count; i++) {
        if (verdicts[i].error == 0) {
            effects_log(audit->effects, EFFECT_INFO, "%s", audit->lines[i]);
        }
    }
}
