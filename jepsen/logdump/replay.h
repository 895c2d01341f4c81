/* The entries of a log as lines, applied to the state as they come. */
#ifndef JEPSEN_LOGDUMP_REPLAY_H
#define JEPSEN_LOGDUMP_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jepsen/logdump/names.h"
#include "raftlog/log_reader.h"
#include "rpc/buf.h"

struct replay {
    struct state *state; /* as restored from the snapshot, or empty */
    uint64_t index;      /* ours, of the batch applied last */
    uint64_t term;       /* the library's, and its index, of the entry read last */
    uint64_t raft_index;
    int64_t stamp_ms;
    struct names names;
    struct buf scratch; /* an unpacked batch */
    struct buf lines;   /* the proposals of the entry at hand */
};

void replay_init(struct replay *replay, struct state *state);
void replay_close(struct replay *replay);

/* Appends the entry's line and those of its proposals. [index]: ours, of a command that the
 * snapshot covers and that is not applied; 0: it follows and is. False: [message] says what is
 * wrong. */
bool replay_entry(struct replay *replay,
                  const struct log_reader_entry *entry,
                  bool is_replayed,
                  uint64_t index,
                  struct buf *out,
                  uint64_t *lines,
                  char *message,
                  size_t message_len);

#endif
