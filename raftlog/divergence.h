/* Compares state hashes of all nodes at the same index (R22). The indices compared follow from the
 * log alone: the first batch of each second by its stamp, so all nodes pick the same ones.
 *
 * Pure: no clock, no I/O. */
#ifndef RAFTLOG_DIVERGENCE_H
#define RAFTLOG_DIVERGENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "raftlog/peer_status.h"

enum { DIVERGENCE_KEPT = 64, DIVERGENCE_NODES_MAX = 32 };

/* One index: our hash, and those of the others that have told theirs. */
struct divergence_row {
    uint64_t index; /* 0: empty */
    uint64_t ours;
    size_t others_count;
    uint64_t other_ids[DIVERGENCE_NODES_MAX];
    uint64_t others[DIVERGENCE_NODES_MAX];
    bool is_alarmed;
};

struct divergence {
    struct divergence_row rows[DIVERGENCE_KEPT]; /* a ring */
    size_t next;
};

enum divergence_verdict {
    DIVERGENCE_NONE,
    DIVERGENCE_ALARM, /* somebody differs, and it is not clear who is wrong; told once per index */
    DIVERGENCE_ODD    /* two or more others agree with each other and not with us */
};

/* Whether a batch stamped [stamp_ms] behind one stamped [last_ms] is one to compare. */
bool divergence_is_checkpoint(int64_t last_ms, int64_t stamp_ms);

void divergence_note_ours(struct divergence *divergence, uint64_t index, uint64_t hash);

enum divergence_verdict divergence_note_other(struct divergence *divergence,
                                              uint64_t node_id,
                                              uint64_t index,
                                              uint64_t hash);

/* The latest ones, for a status message. */
void divergence_fill(const struct divergence *divergence, struct peer_status *status);

/* After a restored snapshot: earlier hashes are of another history. */
void divergence_clear(struct divergence *divergence);

#endif
