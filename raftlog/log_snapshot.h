/* A snapshot as it lies on disk and goes to a peer.
 *
 *    0  u32 magic "RLS1"          24  u64 raw length of the state
 *    4  u16 version (1)           32  u64 length of all, this header included
 *    6  u16 0                     40  u64 state hash
 *    8  u64 index (ours)          48  u32 0
 *   16  i64 last stamp, ms        52  u32 CRC-32C of the bytes before it
 *   56  frames
 *
 * Frame: u32 raw length, u32 stored length, u32 CRC-32C of these eight bytes and the stored ones,
 * the stored bytes: LZ4 if shorter than raw, else as they are. Each is checked by itself, so that
 * a receiver stops at the first bad one. All numbers are big-endian.
 *
 * The library's own compression is switched off: its uncompressed form has no checksum at all and
 * its compressed one would compress ours again.
 *
 * Pure: no clock, no I/O. */
#ifndef RAFTLOG_LOG_SNAPSHOT_H
#define RAFTLOG_LOG_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"

enum {
    LOG_SNAPSHOT_HEADER_LEN = 56,
    LOG_SNAPSHOT_FRAME_HEADER_LEN = 12,
    LOG_SNAPSHOT_FRAME_RAW_MAX = 1 << 20,
    LOG_SNAPSHOT_VERSION = 1
};

/* The library cannot read a larger file; it is also what a receiver may be asked to hold. */
#define LOG_SNAPSHOT_BYTES_MAX ((uint64_t)2047 << 20)

struct log_snapshot_header {
    uint64_t index;
    int64_t stamp_ms;
    uint64_t state_hash;
    uint64_t raw_len;
    uint64_t len;
};

/* Appends the snapshot to [out]; raw_len and len of [header] are filled in. */
void log_snapshot_encode(struct log_snapshot_header *header, struct span state, struct buf *out);

/* Appends the state to [state]. False: not a whole, unharmed snapshot of a version we know. */
bool log_snapshot_decode(struct span snapshot,
                         struct log_snapshot_header *header,
                         struct buf *state);

/* Checks a snapshot piece by piece, as it arrives. */
struct log_snapshot_check {
    struct buf pending; /* an incomplete header or frame */
    uint64_t seen;
    uint64_t raw_seen;
    struct log_snapshot_header header; /* valid once has_header */
    bool has_header;
};
void log_snapshot_check_init(struct log_snapshot_check *check);
void log_snapshot_check_close(struct log_snapshot_check *check);

/* False: bad bytes. */
bool log_snapshot_check_add(struct log_snapshot_check *check, struct span piece);

/* All has arrived and was good. */
bool log_snapshot_check_is_done(const struct log_snapshot_check *check);

#endif
