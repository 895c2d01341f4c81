/* What guard.c and guard_disk.c share. */
#ifndef RAFTLOG_GUARD_PARTS_H
#define RAFTLOG_GUARD_PARTS_H

#include "raftlog/guard.h"
#include "rpc/build.h"

static inline struct guard *guard_of(const struct raft_io *io)
{
    const struct raft *raft = io->data;
    return raft->data;
}

static inline bool guard_has(const struct guard *guard, unsigned rule)
{
    return (guard->rules & rule) != 0;
}

/* Ends the process (G6) unless the rule is off or the library is shutting down. */
void guard_stop(struct guard *guard, const char *what);

/* Notes how far [message], an AppendEntries that was accepted, confirms our log (G3, G8). */
void guard_verify(struct guard *guard, const struct raft_append_entries *message);

/* guard_acks.c: false: this acknowledgement must not be counted (yet). */
bool guard_acks_admit(struct guard *guard, const struct raft_message *message);
/* An entry of this leader's own term is durable: what was held back is counted now. */
void guard_acks_release(struct guard *guard);

/* guard_order.c: writes that must wait for others (G11). */
enum guard_write_kind { GUARD_APPEND, GUARD_TRUNCATE, GUARD_PUT };
struct guard_write {
    enum guard_write_kind kind;
    /* Of the library, as it asked for it. */
    union {
        struct {
            struct raft_io_append *request;
            const struct raft_entry *entries; /* alive until the callback */
            unsigned n;
            raft_io_append_cb cb;
            raft_term term; /* in which this node, as the leader, asked for it; else 0 */
        } append;
        raft_index truncate;
        struct {
            unsigned trailing;
            struct raft_io_snapshot_put *request;
            const struct raft_snapshot *snapshot; /* alive until the callback */
            raft_io_snapshot_put_cb cb;
        } put;
    };
    struct guard_write *next;
};
/* Does it now, or keeps a copy and does it later; a write that fails then ends the process. */
int guard_order(struct guard *guard, const struct guard_write *write);

/* guard_disk.c */
int guard_disk_write(struct guard *guard, const struct guard_write *write);
void guard_disk_attach(struct guard *guard);
void guard_disk_tick(struct guard *guard);
#if ROSTER_BUG == 2
void guard_disk_tell_early(struct guard *guard);
#endif

#endif
