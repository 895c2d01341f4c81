/* Lines for the log about what an operator asked for, kept until it is known whether it happened:
 * offsets, groups and topics disappear only with a line that says why and by whom. An audit lives
 * on the heap, since the call may be answered by its deadline before its proposal is decided.
 *
 *   handler: audit_new(), audit_add() once per record, audit_propose()
 *   done:    audit_log(), answer the call if it is still there, audit_free()
 *
 * Where leadership is lost first, nobody here will know: the lines are logged with
 * outcome=unknown. */
#ifndef SERVER_CORE_AUDIT_H
#define SERVER_CORE_AUDIT_H

#include "server/core/call.h"
#include "server/core/effect.h"
#include "server/core/proposal.h"

struct audit {
    char **lines; /* one per record */
    int32_t count;
    int32_t cap;
    struct effects *effects;
    bool is_void;   /* the log refused the proposal */
    void *decision; /* the handler's, in the call's arena: only while proposal->call is there */
};

struct audit *audit_new(struct coordinator *c, void *decision);
void audit_free(struct audit *audit);

/* The line of the next record; " client=… host=…" is put behind it. */
void audit_add(struct audit *audit, const struct call *call, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Proposes [records] with the audit as the proposal's data; INVALID_REQUEST where they are too many
 * for one entry. Takes over both. The records may be empty: the answer is a read then. */
void audit_propose(struct coordinator *c,
                   struct audit *audit,
                   struct call *call,
                   struct buf *records,
                   proposal_fn *done);

/* Logs the lines of the records that took effect. */
void audit_log(const struct audit *audit, const struct verdict *verdicts, int count);

#endif
