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

/* guard_disk.c */
void guard_disk_attach(struct guard *guard);
void guard_disk_tick(struct guard *guard);
#if ROSTER_BUG == 2
void guard_disk_tell_early(struct guard *guard);
#endif

#endif
