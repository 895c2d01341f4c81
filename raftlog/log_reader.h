/* The log of a node that does not run, for tools: what the node would read at its next start, by
 * the same inspection (raft_dir.h) and the library's own loader, recovery off.
 *
 * As at a start the loader completes what a crash left half done, so it may change the files: give
 * it a copy. */
#ifndef RAFTLOG_LOG_READER_H
#define RAFTLOG_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

enum log_reader_kind {
    LOG_READER_COMMAND, /* a batch (batch.h) */
    LOG_READER_BARRIER,
    LOG_READER_CONFIGURATION
};

struct log_reader_entry {
    enum log_reader_kind kind;
    uint64_t index; /* the library's */
    uint64_t term;
    struct span bytes; /* borrowed from the reader */
};

struct log_reader_parts;

struct log_reader {
    uint64_t term; /* as persisted; 0: never */
    uint64_t vote;
    bool has_lost_end; /* a damaged batch was followed by others: all of them are dropped (R18) */
    char file[64];     /* in this segment */

    bool has_snapshot;
    uint64_t snapshot_index; /* the library's */
    uint64_t snapshot_term;
    struct span snapshot; /* log_snapshot.h */

    uint64_t first; /* index of the first entry */
    size_t count;

    struct log_reader_parts *parts;
};

/* [dir]: the library's files and nothing else. False: [message] says what is wrong and where. */
bool log_reader_open(struct log_reader *reader, const char *dir, char *message, size_t message_len);
void log_reader_close(struct log_reader *reader);

/* [at] from 0 to count - 1. */
struct log_reader_entry log_reader_entry(const struct log_reader *reader, size_t at);

#endif
