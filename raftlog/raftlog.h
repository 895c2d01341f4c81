/* The replicated log: proposals in, the same committed proposals out on every node, in one order.
 *
 * It stands on canonical/raft (the only code that includes <raft.h> is in this folder) and closes
 * the library's faults from outside (guard.h), carries its messages over connections of our own
 * (transport.h) and packs all that queued into one entry, with one submission in flight (batch.h).
 * It knows nothing of groups: what it carries is opaque.
 *
 * Threads: everything happens on the loop's thread, but for encode() of a frozen state, which runs
 * in libuv's pool.
 *
 * Crash-only: a failed write, a library that gave up, a watchdog that fired: raftlog calls fatal()
 * from inside the failing callback, and fatal() must not return (the process ends at once and is
 * started again; writes queued behind a failed one must not land). */
#ifndef RAFTLOG_RAFTLOG_H
#define RAFTLOG_RAFTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "rpc/buf.h"
#include "rpc/span.h"

struct raftlog;

enum raftlog_level { RAFTLOG_DEBUG, RAFTLOG_INFO, RAFTLOG_WARN, RAFTLOG_ERROR };

/* One of the static voters. Peers are named by host name and resolved again at each connect. */
struct raftlog_peer {
    uint64_t id; /* 1..INT32_MAX, stable for ever */
    const char *host;
    uint16_t port;
};

struct raftlog_options {
    uv_loop_t *loop;
    const char *dir; /* owned by raftlog alone; created if its parent exists */
    const char *cluster_id;
    uint64_t node_id;                 /* must be among the peers */
    const struct raftlog_peer *peers; /* all voters, this node included, equal on all nodes */
    size_t peers_count;
    const char *bind_host; /* where peers connect to; NULL: any address. If it is one address,
                            * connections to peers are made from it too */
    struct span secret;    /* shared by the peers; proves a hello in both directions */
    struct span card;      /* opaque bytes about this node that each peer is told (peer_card) */

    unsigned election_timeout_ms; /* 300 */
    unsigned heartbeat_ms;        /* 50 */

    size_t proposal_bytes_max;       /* one proposal; 1 MiB */
    size_t batch_bytes_max;          /* one entry holds proposals up to this, or a single one */
    size_t queue_bytes_max;          /* proposals that wait; beyond it propose() says FULL */
    size_t snapshot_threshold_bytes; /* log bytes after which a snapshot is taken */
    size_t snapshot_trailing_bytes;  /* log bytes kept behind a snapshot for slow peers */
    uint64_t free_bytes_min;         /* less free space: leadership is handed away, no proposals */
};

/* A committed proposal. */
struct raftlog_entry {
    uint64_t
        index;     /* of its batch, counted by us from 1, equal on all nodes, never the library's */
    uint64_t term; /* in which its leader submitted it */
    uint64_t number; /* as given to raftlog_propose(): (term, number) is unique */
    int64_t
        stamp_ms; /* the leader's wall clock at submission, never less than the entry's before */
    bool own;     /* proposed by this process (then term and number match a parked call) */
    struct span data; /* borrowed for the time of the call */
};

/* What raftlog asks of its owner and tells it. All are called on the loop's thread except encode().
 * None may call back into raftlog_close(); raftlog_propose() is allowed in every one but encode()
 * and fatal(): a proposal made in any of them joins the next submission. */
struct raftlog_events {
    /* A committed proposal. Must be total and deterministic. */
    void (*apply)(void *ctx, const struct raftlog_entry *entry);
    /* The last proposal of a batch was applied: a good time to send replies. */
    void (*batch_end)(void *ctx, uint64_t index);

    /* This node won an election; its barrier is on the way. No proposal is accepted yet. */
    void (*winning)(void *ctx, uint64_t term);
    /* The barrier committed, so all of the log is applied: serve. */
    void (*elected)(void *ctx, uint64_t term);
    /* After winning() or elected(): not the leader any more. A process that stood still may go on
     * for a moment as the leader that it was; what it proposes then is not applied as its own.
     * Every proposal that was not applied by now has an unknown outcome; none of them will be
     * reported as own again. */
    void (*deposed)(void *ctx);
    /* Who leads, as far as this node knows; 0: nobody known. Also told on the leader itself. */
    void (*leader)(void *ctx, uint64_t node_id);

    /* A peer's card, at each new connection with it. */
    void (*peer_card)(void *ctx, uint64_t node_id, struct span card);

    /* The snapshot: freeze() takes a version of the state that stays as it is while apply() goes
     * on; encode() appends it to [out] in the pool; release() gives it back, always, also after a
     * failure. restore() replaces the whole state; non-zero: these bytes are not a snapshot. */
    void *(*freeze)(void *ctx);
    void (*encode)(void *frozen, struct buf *out);
    void (*release)(void *ctx, void *frozen);
    int (*restore)(void *ctx, struct span snapshot);
    /* A digest of the state after the batch that was applied last; nodes compare it (at equal
     * index) while running, and the odd one stops. */
    uint64_t (*state_hash)(void *ctx);

    /* [line]: an event name, then key=value pairs. */
    void (*log)(void *ctx, enum raftlog_level level, const char *line);
    /* What happened, where, and what to do. Does not return. */
    void (*fatal)(void *ctx, const char *message);
};

enum raftlog_error {
    RAFTLOG_OK = 0,
    RAFTLOG_NOT_LEADER = -1, /* not elected (yet), or handing leadership away */
    RAFTLOG_FULL = -2,       /* queue_bytes_max, or the disk is nearly full */
    RAFTLOG_TOO_LARGE = -3,  /* proposal_bytes_max */
    RAFTLOG_OPEN_FAILED = -4 /* raftlog_open(): see its message */
};

/* Opens the directory and starts. On failure [*log] is NULL and [message] (of [message_len] bytes)
 * says what, where and what to do. SIGPIPE is ignored from now on, process-wide. [events] and all
 * that [options] points to must outlive the log.
 */
enum raftlog_error raftlog_open(struct raftlog **log,
                                const struct raftlog_options *options,
                                const struct raftlog_events *events,
                                void *ctx,
                                char *message,
                                size_t message_len);

/* Ends all and calls [closed] once; it does not hand leadership over (raftlog_transfer() does). */
void raftlog_close(struct raftlog *log, void (*closed)(void *ctx));

/* Queues a proposal; the bytes are copied. Once no submission is in flight and a turn of the loop
 * has brought no more (after a millisecond in any case), all that is queued becomes the next one.
 * [data] may be empty: such a proposal is a read's marker, and its apply() proves that this node
 * led when it was submitted, after the call. [number] must differ from all others of this term. */
enum raftlog_error raftlog_propose(struct raftlog *log, uint64_t number, struct span data);

/* Hands leadership to the peer that is most up to date. [done] is called once: true if another
 * node leads now, false if it did not work within [timeout_ms] or this node does not lead. */
void raftlog_transfer(struct raftlog *log,
                      unsigned timeout_ms,
                      void (*done)(void *ctx, bool transferred),
                      void *ctx);

/* Whether this node may expire things by its wall clock: a majority's clocks are known and agree
 * to within 60 s (R19). */
bool raftlog_clock_is_trusted(const struct raftlog *log);

/* The wall clock for a new batch: monotonic, and never far ahead of the majority's median. */
int64_t raftlog_stamp_ms(struct raftlog *log);

struct raftlog_stats {
    uint64_t term;
    uint64_t leader_id;
    uint64_t applied_index; /* ours, of batches */
    uint64_t log_bytes;     /* since the last snapshot */
    uint64_t batches_submitted;
    uint64_t proposals_submitted;
    uint64_t snapshots_taken;
    uint64_t snapshots_installed;
    uint64_t elections_won;
    uint64_t peers_refused; /* connections turned away on the peer port */
    uint64_t queue_bytes;
    bool rejoining; /* R18: no vote until caught up */
};
void raftlog_stats(const struct raftlog *log, struct raftlog_stats *stats);

#endif
