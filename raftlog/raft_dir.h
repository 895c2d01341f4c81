/* Looks at the library's files before the library does. Formats: raft/uv.h.
 *
 * The library takes any bad batch in an open segment for the torn tail of the last write and drops
 * it with all that follows in that file, and then reads the next file as if nothing were missing.
 * Where a readable batch follows a bad one, or no sector of the bad one is missing, so that its
 * write had ended, entries that were acknowledged may be among those that it drops (R18).
 *
 * But where the first write to a file ended half-way, and the file's first sector is missing while
 * a later one is there, it takes the file for corrupt and does not start. Such a file is to be
 * removed, as the library removes empty ones. Nothing in it was acknowledged; but where whole
 * batches are left of it, it cannot be told from one that was damaged later (one write may hold
 * several), so then the node counts as one that has lost entries, too: remove it once that is
 * remembered. */
#ifndef RAFTLOG_RAFT_DIR_H
#define RAFTLOG_RAFT_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum raft_dir_health {
    RAFT_DIR_SOUND,    /* or a torn tail, which nobody was told of */
    RAFT_DIR_LOST_END, /* damage in the last file: what is there from the bad batch on is dropped;
                        * start as a node that has lost entries */
    RAFT_DIR_HOLED, /* likewise, but further files follow: what would be loaded has a hole. Or two
                     * closed files hold the same entry: the library might load either. Or a
                     * batch that its file is too short for: nothing but damage does that, as
                     * files have their full size before they are used; and the library, which
                     * has loaded the batches before it, frees them twice */
    RAFT_DIR_UNREADABLE
};

struct raft_dir {
    uint64_t term; /* 0: no metadata */
    uint64_t vote; /* in that term; 0: none */
    uint64_t metadata_version;
    bool has_log; /* more than metadata and the entry that a bootstrap writes */
    enum raft_dir_health health;
    char file[64]; /* the one that is not sound */
    char torn[64]; /* the one to remove; "": none */
};

/* 0, or a negative errno. */
int raft_dir_inspect(const char *path, struct raft_dir *found);
/* Writes the library's metadata, as its next version and durably. The library must not be open. 0,
 * or a negative errno. */
int raft_dir_write_metadata(const char *path, struct raft_dir *found, uint64_t term, uint64_t vote);
/* Removes found->torn, durably. 0, or a negative errno. */
int raft_dir_remove_torn(const char *path, const struct raft_dir *found);

#endif
