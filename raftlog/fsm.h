/* The library's state machine: unpacks committed entries for the owner, counts batches, takes and
 * restores snapshots, and says when the log has grown so much that one is due. */
#ifndef RAFTLOG_FSM_H
#define RAFTLOG_FSM_H

#include <raft.h>

#include "raftlog/batch.h"
#include "raftlog/divergence.h"
#include "raftlog/guard.h"
#include "raftlog/log_snapshot.h"
#include "raftlog/report.h"

/* What an entry costs in memory beyond its bytes. */
enum { FSM_ENTRY_OVERHEAD = 160 };

/* The sizes of the latest entries, as many as make up the bytes to be kept behind a snapshot. */
struct fsm_trail {
    uint32_t *sizes; /* a ring of [cap], a power of two */
    size_t cap;
    size_t first;
    size_t count;
    uint64_t bytes;
};

/* A snapshot in the making. */
struct fsm_job {
    bool is_running;
    bool is_too_large;
    void *frozen;
    struct log_snapshot_header header;
    struct buf out;
};

struct fsm {
    struct raft_fsm raft;
    struct raft *library;
    struct guard *guard;
    const struct report *report;
    uint64_t node_id;
    size_t threshold_bytes;
    size_t trailing_bytes;
    bool is_started;                   /* raft_start() has returned */
    char failure[REPORT_LINE_MAX / 2]; /* why a restore before that failed */

    uint64_t session;   /* of this leadership; 0: this node does not lead */
    uint64_t index;     /* batches applied, ours */
    int64_t stamp_ms;   /* of the last one */
    uint64_t log_bytes; /* of the batches since the last snapshot */
    uint64_t snapshots_taken;
    uint64_t snapshots_installed;
    struct fsm_trail trail;
    struct fsm_job job;
    struct buf scratch; /* for unpacking */
    struct divergence divergence;
};

/* library, guard, report, node_id and the sizes must be set, all else zero. Before raft_init(). */
void fsm_init(struct fsm *fsm);

/* After raft_init(). */
void fsm_set_thresholds(struct fsm *fsm);
void fsm_close(struct fsm *fsm);

#endif
