/* What two nodes tell each other once a second over their control connection.
 *
 *   u32 length, u8 kind, u64 question number, u64 term, u64 last index, u64 remembered,
 *   u64 applied index (ours), i64 wall clock ms, u8 standing, u8 disk is low, u8 count,
 *   count x (u64 index (ours), u64 state hash)
 *
 * All numbers are big-endian. Pure: no clock, no I/O. */
#ifndef RAFTLOG_PEER_STATUS_H
#define RAFTLOG_PEER_STATUS_H

#include "raftlog/hello.h"

enum {
    PEER_STATUS_CHECKPOINTS_MAX = 16,
    PEER_STATUS_FIXED_LEN = 52, /* behind the length */
    PEER_STATUS_LEN_MAX = PEER_STATUS_FIXED_LEN + 16 * PEER_STATUS_CHECKPOINTS_MAX
};

enum peer_status_kind { PEER_STATUS_QUESTION = 1, PEER_STATUS_ANSWER = 2 };

struct peer_status_checkpoint {
    uint64_t index;
    uint64_t hash;
};

struct peer_status {
    enum peer_status_kind kind;
    uint64_t number; /* of the question; an answer repeats it */
    uint64_t term;
    uint64_t last_index;
    uint64_t remembered; /* as in struct hello */
    uint64_t applied_index;
    int64_t wall_ms;
    enum hello_standing standing;
    bool is_disk_low; /* it does not want to lead */
    uint8_t checkpoints_count;
    struct peer_status_checkpoint checkpoints[PEER_STATUS_CHECKPOINTS_MAX];
};

/* Appends it, length included. */
void peer_status_encode(const struct peer_status *status, struct buf *out);

/* [message]: behind its length. False: malformed. */
bool peer_status_decode(struct span message, struct peer_status *status);

#endif
