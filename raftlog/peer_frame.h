/* Checks the library's messages from a peer, byte by byte, before the library sees them: its own
 * decoder believes every length and type (N1: one malformed message from a peer kills the process).
 *
 * Message: u64 type, u64 length of the header, the header, for two types a payload; little-endian.
 * AppendEntries pass when they are whole and every entry in them is sound; a snapshot passes frame
 * by frame (snapshot.h), its first bytes once its header is sound.
 *
 * Pure: no clock, no I/O. */
#ifndef RAFTLOG_PEER_FRAME_H
#define RAFTLOG_PEER_FRAME_H

#include <stdint.h>

#include "raftlog/batch.h"
#include "raftlog/log_snapshot.h"
#include "rpc/buf.h"

enum {
    PEER_FRAME_PREAMBLE_LEN = 16,
    PEER_FRAME_ENTRIES_MAX = 1024,          /* in one AppendEntries: what the guard cuts them to */
    PEER_FRAME_PAYLOAD_BYTES_MAX = 4 << 20, /* likewise: nothing follows the entry that fills it */
    PEER_FRAME_ENTRY_BYTES_MAX = BATCH_RAW_BYTES_MAX + BATCH_HEADER_LEN + 8
};

/* Terms and indices beyond it are lies; a term near 2^64 would stop the cluster for good. */
#define PEER_FRAME_NUMBER_MAX ((uint64_t)1 << 62)

enum peer_frame_error {
    PEER_FRAME_OK = 0,
    PEER_FRAME_BAD_TYPE,
    PEER_FRAME_BAD_LENGTH,
    PEER_FRAME_BAD_NUMBER,        /* a term or index that cannot be, or a field outside its range */
    PEER_FRAME_BAD_SENDER,        /* a vote request in somebody else's name */
    PEER_FRAME_BAD_ENTRY,         /* an entry's type, length, term or checksum */
    PEER_FRAME_BAD_CONFIGURATION, /* other voters than the configured ones */
    PEER_FRAME_BAD_SNAPSHOT,
    PEER_FRAME_ERRORS
};
const char *peer_frame_error_text(enum peer_frame_error error);

enum peer_frame_stage {
    PEER_FRAME_PREAMBLE,
    PEER_FRAME_HEADER,
    PEER_FRAME_ENTRIES,
    PEER_FRAME_SNAPSHOT
};

struct peer_frame_reader {
    uint64_t peer_id;
    struct span configuration; /* as the library encodes it, without its padding: the only one
                                * that may be sent */
    enum peer_frame_stage stage;
    uint64_t type;
    size_t header_len;
    size_t payload_len;
    uint64_t snapshot_left;
    struct buf message; /* what has arrived of the message and has not passed yet */
    struct log_snapshot_check snapshot;
};

/* [configuration] must outlive the reader. */
void peer_frame_reader_init(struct peer_frame_reader *reader,
                            uint64_t peer_id,
                            struct span configuration);
void peer_frame_reader_close(struct peer_frame_reader *reader);

/* Takes [in] and appends to [out] what has been found good. After an error the connection is
 * useless. */
enum peer_frame_error peer_frame_feed(struct peer_frame_reader *reader,
                                      struct span in,
                                      struct buf *out);

#endif
