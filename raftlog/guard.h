/* The guard: a safety layer above a struct raft_io of libraft 0.15.0 that closes the library's
 * known faults by interposing on its public function pointers. The library itself is unchanged.
 *
 * Order of calls: raft_init(), guard_attach(), raft_start(), guard_poll(). The guard is found
 * through raft->data, which is then its own.
 *
 * Each rule can be switched off, for the tests that show the fault it closes. The faults
 * (S1, L2, ...) are those of docs/INVARIANTS.md. */
#ifndef RAFTLOG_GUARD_H
#define RAFTLOG_GUARD_H

#include <raft.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpc/build.h"

enum guard_rule {
    GUARD_BARRIER = 0x001,    /* G1: append a barrier at step-up, retried until raft takes it */
    GUARD_OWN_TERM = 0x002,   /* G2: leader: no positive acks before an own-term entry is durable */
    GUARD_CLAMP_SYNC = 0x004, /* G3: clamp the ack of an AppendEntries to what it verified */
    GUARD_CLAMP_ASYNC = 0x008,  /* G3: and acks sent later, from disk callbacks */
    GUARD_CLAMP_SNAP = 0x010,   /* G3: and the "have all entries" ack of an InstallSnapshot */
    GUARD_REAL_TERM = 0x020,    /* G4: tell the real term when refusing a pre-vote */
    GUARD_ONE_VOTE = 0x040,     /* G5: drop a vote request if this term's vote is given */
    GUARD_FAIL_STOP = 0x080,    /* G6: any I/O error, RAFT_UNAVAILABLE, truncate in a snapshot */
    GUARD_NOBODY = 0x100,       /* G7: never send to "no leader" */
    GUARD_REJOIN = 0x200,       /* G8: a node whose disk was lost gives no vote until caught up */
    GUARD_COMPACTED = 0x400,    /* G9: skip what we have compacted in an old AppendEntries */
    GUARD_VALIDATED = 0x7ff,    /* the rules above, as validated by simulation */
    GUARD_ONE_TRUNCATE = 0x800, /* G11: nothing is written while the log is being truncated */
    GUARD_CHUNK = 0x1000,       /* G10: cut long AppendEntries; commit no further than they reach */
    GUARD_HOLD_ACKS = 0x2000,   /* G2: hold back early acks until then, instead of dropping them */
    GUARD_KNOWN_SNAP = 0x4000,  /* G3: a snapshot whose last entry we have confirms our log to it */
    GUARD_ALL = 0x7fff
};

/* How often a rule did something. */
enum guard_count {
    GUARD_CLAMPED,
    GUARD_CLAMPED_LATE,
    GUARD_CLAMPED_SNAPSHOT,
    GUARD_EARLY_ACK,
    GUARD_TOLD_REAL_TERM,
    GUARD_SECOND_VOTE,
    GUARD_TO_NOBODY,
    GUARD_NO_VOTE,
    GUARD_BARRIER_RETRY,
    GUARD_SKIPPED,
    GUARD_CHUNKED,
    GUARD_HASTENED,
    GUARD_COUNTS
};

enum {
    /* Ticks (so that time in which the process was stopped does not count) after which a write, or
     * a snapshot, that has not completed counts as one that never will. */
    GUARD_APPEND_TICKS_MAX = 600,
    GUARD_SNAPSHOT_TICKS_MAX = 12000,
    GUARD_TRUNCATE_TICKS_MAX = 60, /* once what was written before is done */
    /* One AppendEntries ends with the entry that makes it this large, or with this many. */
    GUARD_CHUNK_BYTES_MAX = 4 << 20,
    GUARD_CHUNK_ENTRIES_MAX = 1024,
    GUARD_HASTE_PART = 3,    /* of an election timeout: between two nodes that stand early */
    GUARD_HELD_ACKS_MAX = 32 /* the latest of so many nodes; of others they are dropped */
};

/* Called on the loop's thread, out of the library's depths: they must not call the library. */
struct guard_events {
    /* Must not return where GUARD_FAIL_STOP is on: what is queued behind a failed write must not
     * land. */
    void (*fatal)(void *ctx, const char *what);
    /* Must durably note that this disk may vote, before it returns. */
    void (*rejoined)(void *ctx);
    void (*stepped_up)(void *ctx, raft_term term);
    /* The barrier has committed: everything of earlier terms is applied. */
    void (*serving)(void *ctx, raft_term term);
    void (*stepped_down)(void *ctx);
    /* 0: nobody known. */
    void (*leader)(void *ctx, raft_id id);
    /* L8: must durably note that the log is going to be truncated at [index] before it returns.
     * Non-zero: that failed. NULL: it is not noted. */
    int (*truncating)(void *ctx, raft_index index);
    /* G11: whether the log on disk has ended before [index] since it was truncated there, durably:
     * 1, 0 (not yet), or negative: it cannot be told. NULL: it has when truncate() returns. */
    int (*truncated)(void *ctx, raft_index index);
    /* Must durably note the term and the vote in it (0: none) before it returns, which is before
     * the library writes them. Non-zero: that failed. NULL: they are not noted. */
    int (*ballot)(void *ctx, raft_term term, raft_id vote);
};

/* An acknowledgement that came before it may be counted. */
struct guard_held_ack {
    raft_id from;
    struct raft_append_entries_result ack;
};

struct guard {
    struct raft *raft;
    struct raft_io *io;
    struct raft_io original; /* the function pointers as they were */
    const struct guard_events *events;
    void *ctx;
    unsigned rules;
    bool is_closing;            /* the library is shutting down: errors are expected */
    bool is_rejoining;          /* G8: not a voter yet */
    unsigned chunk_entries_max; /* G10; tests lower it */
    bool hold_votes;            /* no votes for now (set and cleared by the owner) */
    raft_io_tick_cb tick;
    raft_io_recv_cb recv;
    const struct raft_message *handling; /* the message being handled, or NULL */
    bool is_handling_cut;                /* it may have been cut (G10) when it was sent */
    raft_term verified_term;             /* in this term ... */
    raft_index verified;                 /* ... its leader has confirmed our log up to here (G3) */
    struct guard_held_ack held[GUARD_HELD_ACKS_MAX];
    unsigned held_count;
    raft_term ready_term;        /* an own entry of this term is durable (G2) */
    raft_term barrier_term;      /* a barrier was accepted in this term (G1) ... */
    raft_term serving_term;      /* ... and has been committed */
    raft_term leading_term;      /* stepped_up() was told for it and stepped_down() not yet; or 0 */
    raft_id leader_id;           /* as told last */
    raft_term ballot_term;       /* written last; 0: none since the start */
    raft_index rejoin_target;    /* 0 until known (G8) */
    unsigned puts;               /* snapshot writes in progress (G6) ... */
    unsigned installs;           /* ... and those of them that replace the log */
    unsigned appends;            /* log writes in progress */
    unsigned truncates_pending;  /* truncations whose following append has not completed ... */
    unsigned truncates_alone;    /* ... or has not even been submitted */
    raft_index truncating;       /* G11: where, until that is seen on the disk; else 0 */
    struct guard_write *waiting; /* G11: writes that wait for it, in order */
    unsigned truncate_ticks;     /* since nothing but the truncation was in progress */
    unsigned append_ticks;       /* since the oldest write was begun or one completed */
    unsigned put_ticks;
#if ROSTER_BUG == 2
    struct append *lazy; /* not on the disk yet */
#endif
    unsigned long long counts[GUARD_COUNTS];
};

/* Takes over [io] of [raft], which must be initialised and not started. All must outlive it. */
void guard_attach(struct guard *guard,
                  struct raft *raft,
                  struct raft_io *io,
                  unsigned rules,
                  bool is_rejoining,
                  const struct guard_events *events,
                  void *ctx);

/* Looks for edges (step-up, step-down, leader, end of a rejoin). The guard does so by itself after
 * everything that raft does; for calls into raft that do not go through it (raft_start()). */
void guard_poll(struct guard *guard);

/* Tells a step-down that the library has made but the guard not seen yet: to be called where
 * committed entries come out of the library, in the middle of one of its functions. */
void guard_poll_step_down(struct guard *guard);

/* Writes what had to wait (G11). At the end of each turn of the loop, not out of the library's
 * depths; the guard does so with each tick, too. */
void guard_turn(struct guard *guard);

/* Whether the library is in the middle of replacing what is on the disk. Closed then, it frees what
 * a thread of the pool still works with, so it must not be. */
bool guard_is_rewriting(const struct guard *guard);

/* The process that leads, as far as this node knows, has ended for certain: [id]'s connections
 * broke and its port refuses new ones. A follower then gives its vote to others and soon stands for
 * election itself, where the library would wait one to two election timeouts. The moment of an
 * election is free in Raft; were the leader alive after all, the other nodes refuse the pre-vote.
 */
void guard_leader_died(struct guard *guard, raft_id id);

/* Leader, and the barrier of this leadership has been committed. */
bool guard_is_serving(const struct guard *guard);

#endif
