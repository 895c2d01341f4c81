/* The data directory: made if need be, locked for one process, marked with the version of its
 * layout and with the node that it belongs to.
 *
 *   lock    held with flock() while the node runs
 *   format  "roster-data 1", then cluster.id=... and node.id=..., a line each
 *   raft/   the replicated log's own (raftlog.h) */
#ifndef SERVER_DATADIR_H
#define SERVER_DATADIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATADIR_VERSION = 1, DATADIR_PATH_BYTES = 1024 };

struct datadir {
    int lock_fd;
    char raft[DATADIR_PATH_BYTES]; /* path of the log's directory */
};

/* False: [message] says what is wrong, where, and what to do. */
bool datadir_open(struct datadir *datadir,
                  const char *path,
                  const char *cluster_id,
                  uint64_t node_id,
                  char *message,
                  size_t message_len);
void datadir_close(struct datadir *datadir);

#endif
