/* A disk per node: a small file system in memory below the file calls of rosterd, libraft and
 * libuv. Paths are as on a real machine; all under the data directory is the node's.
 *
 * What a power loss leaves: of bytes that were written and not synced each sector of 512 bytes is
 * there or not, by chance; of file sizes and names that were changed and not synced, the first so
 * many changes. A write with O_DSYNC that had not been reported as done may be there in part. A
 * process that is killed loses nothing but what it had not written yet. */
#ifndef TESTS_SIM_WORLD_DISK_H
#define TESTS_SIM_WORLD_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/world/world.h"

#define DISK_ROOT "/disk" /* is always there */
#define DISK_DATA_DIR DISK_ROOT "/data"

/* How long a step takes that has to reach the disk. */
struct disk_speed {
    int64_t least_us, most_us;
    int tail_per_mille; /* so many take up to tail_us more */
    int64_t tail_us;
};
extern const struct disk_speed disk_speed_default; /* 100 to 600 us, 2 in 1000 up to 20 ms */

void disk_set_speed(int node, const struct disk_speed *speed);

enum disk_operation {
    DISK_OPEN = 1,
    DISK_READ = 2,
    DISK_WRITE = 4,
    DISK_SYNC = 8,
    DISK_NAMES = 16,    /* mkdir, rename, unlink */
    DISK_ALLOCATE = 32, /* posix_fallocate, ftruncate */
    DISK_ANY = 63,
    DISK_LIST = 64 /* of a directory; not among the others: libraft's UvList() then frees what it
                    * never set, and the process may end in any way */
};

/* EIO: the [after]-th call from now of one of [operations] (1: the next), and those behind it,
 * [times] in all; each time with this chance. A failed write may have written a part. */
void disk_fail(int node, unsigned operations, unsigned after, unsigned times, int per_mille);
void disk_fail_no_more(int node);
/* The disk lies: syncs are reported as done and are not, until it is told to be honest. */
void disk_lie(int node, bool lies);

/* Room for so many bytes in all, 1 GiB at first; then ENOSPC. */
void disk_set_capacity(int node, uint64_t bytes);
/* Leaves so much room. */
void disk_fill(int node, uint64_t left_bytes);
uint64_t disk_used(int node);
uint64_t disk_free(int node);

/* Everything is gone. Only while the node is off. */
bool disk_wipe(int node);
/* The disk as it is now is kept, or put back: an operator's wrong restore. While the node is off.
 */
bool disk_keep_copy(int node);
bool disk_restore_copy(int node);

enum disk_kind {
    DISK_SEGMENT_OPEN,
    DISK_SEGMENT_CLOSED,
    DISK_SNAPSHOT,
    DISK_SNAPSHOT_META,
    DISK_METADATA, /* term and vote */
    DISK_MARKER,   /* raftlog's own small files */
    DISK_KINDS
};
/* Flips one bit in the used part of a file of this kind, chosen by chance. False: there is none.
 * [path], if not NULL, gets its name. */
bool disk_flip_bit(int node, enum disk_kind kind, char *path, size_t path_len);
/* Cuts off the end of one. */
bool disk_truncate(int node, enum disk_kind kind, char *path, size_t path_len);

/* For checks: the bytes of a file as a process would read them; NULL: no such file. Freed with
 * free(). */
uint8_t *disk_read_file(int node, const char *path, size_t *len);
/* Calls that failed on purpose, and bytes that a power loss threw away. */
uint64_t disk_failures(int node);
uint64_t disk_lost_bytes(int node);

#endif
