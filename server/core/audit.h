/* Lines for the log about what an operator asked for, kept until it is known whether it happened:
 * offsets, groups and topics disappear only with a line that says why and by whom. An audit lives
 * on the heap, since the call may be answered by its deadline before its proposal is decided.
 *
 *   handler: audit_new(), audit_add() once per record, audit_propose()
 *   done:    audit_log(), answer the call if it is still there, audit_free() */
#ifndef SERVER_CORE_AUDIT_H
#define SERVER_CORE_AUDIT_H

#include "server/core/call.h"
#include "server/core/proposal.h"

struct audit {
    char **lines; /* one per record */
    int32_t count;
    int32_t cap;
    void *decision; /* the handler's, in the call's arena: only while proposal->call is there */
};

struct audit *audit_new(void *decision);
void audit_free(void *audit);

/* The line of the next record; " client=… host=…" is put behind it. */
void audit_add(struct coordinator *c,
               struct audit *audit,
               const struct call *call,
               const char *format,
               ...) __attribute__((format(printf, 4, 5)));

/* Proposes [records] with the audit as the proposal's data; INVALID_REQUEST where they are too many
 * for one entry. Takes over both. The records may be empty: the answer is a read then. */
void audit_propose(struct coordinator *c,
                   struct audit *audit,
                   struct call *call,
                   struct buf *records,
                   proposal_fn *done);

/* Logs the lines of the records that took effect. */
void audit_log(struct coordinator *c,
               const struct audit *audit,
               const struct verdict *verdicts,
               int count);

#endif
