/* The data directory:
 *
 *   identity    format version, cluster and node: a directory of another one is refused
 *   voter       whether this disk may vote (below)
 *   ballot      term and vote (ballot.h)
 *   truncation  where the log is being cut (truncation.h)
 *   raft/       the library's own files, and only those
 *
 * All writes are durable when the function returns: file and directory are synced. */
#ifndef RAFTLOG_DATA_DIR_H
#define RAFTLOG_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATA_DIR_PATH_MAX = 1024, DATA_DIR_FORMAT = 1 };

/* What the file "voter" says. An emptied disk must not vote with a partial log (G8, R18): it says
 * nothing, and a node that says nothing or REJOIN has no vote before it has caught up. */
enum data_dir_marker {
    DATA_DIR_MARKER_NONE,   /* pristine, or emptied */
    DATA_DIR_MARKER_FRESH,  /* bootstrapped, and the library has never been started */
    DATA_DIR_MARKER_VOTER,  /* may vote */
    DATA_DIR_MARKER_REJOIN, /* lost a part of its log: as good as emptied */
};

struct data_dir {
    char dir[DATA_DIR_PATH_MAX];
    char raft_dir[DATA_DIR_PATH_MAX];
    enum data_dir_marker marker;
};

/* Creates what is missing and reads the rest. False: [message] says what, where, what to do. */
bool data_dir_open(struct data_dir *data,
                   const char *dir,
                   const char *cluster_id,
                   uint64_t node_id,
                   char *message,
                   size_t message_len);

/* 0, or a negative errno. */
int data_dir_set_marker(struct data_dir *data, enum data_dir_marker marker);

/* Back to DATA_DIR_MARKER_NONE. 0, or a negative errno. */
int data_dir_clear_marker(struct data_dir *data);

/* Removes what the library wrote: for the remains of a bootstrap that a crash cut short. */
int data_dir_clear_raft(const struct data_dir *data);

const char *data_dir_marker_text(enum data_dir_marker marker);

#endif
