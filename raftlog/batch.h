/* One entry of the log: everything that was queued when it was submitted, packed.
 *
 *    0  u32 magic "RLB1"          24  u64 origin: node id of the submitter
 *    4  u16 version (1)           32  u64 session: of its leadership, random
 *    6  u16 flags (1: LZ4)        40  u64 term in which it was submitted
 *    8  u32 length of the body    48  i64 stamp, ms
 *   12  u32 its raw length        56  the body, zero-padded to a multiple of 8
 *   16  u32 count of proposals
 *   20  u32 CRC-32C of all but this field
 *
 * Body: per proposal u64 number, u32 length, the bytes. All numbers are big-endian. The library
 * needs entries of a multiple of 8 bytes and forgets the others silently at a restart.
 *
 * Pure: no clock, no I/O. */
#ifndef RAFTLOG_BATCH_H
#define RAFTLOG_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"

enum {
    BATCH_HEADER_LEN = 56,
    BATCH_ITEM_LEN = 12,             /* of one proposal, without its bytes */
    BATCH_COMPRESS_BYTES_MIN = 4096, /* smaller bodies are stored as they are */
    BATCH_RAW_BYTES_MAX = 16 << 20,  /* a larger claim is refused before memory is taken */
    BATCH_VERSION = 1
};

struct batch_header {
    uint64_t origin;
    uint64_t session;
    uint64_t term;
    int64_t stamp_ms;
    uint32_t count;
};

/* Appends one proposal to a body. */
void batch_put(struct buf *body, uint64_t number, struct span data);

/* Appends the sealed batch to [out]. */
void batch_seal(const struct batch_header *header, struct span body, struct buf *out);

enum batch_error {
    BATCH_OK = 0,
    BATCH_MALFORMED = -1, /* not a batch, wrong lengths, padding not zero */
    BATCH_BAD_SUM = -2,   /* the checksum does not match */
    BATCH_BAD_BODY = -3,  /* cannot be decompressed, or the proposals do not fill it exactly */
    BATCH_NEWER = -4      /* a version or flag that this release does not know */
};
const char *batch_error_text(enum batch_error error);

struct batch {
    struct batch_header header;
    struct span body; /* borrows from the entry or from the scratch buffer */
    size_t at;
};

/* Checks all of [entry]. A compressed body is unpacked into [scratch], which is reused. */
enum batch_error batch_open(struct batch *batch, struct span entry, struct buf *scratch);

/* The checks of batch_open() that need no memory: for entries that come from a peer. */
enum batch_error batch_check(struct span entry);

/* The next proposal; false after the last one. */
bool batch_next(struct batch *batch, uint64_t *number, struct span *data);

#endif
