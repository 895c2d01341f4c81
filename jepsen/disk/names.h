/* The names on a disk that are not durable: every creation, removal and renaming until the
 * directory that it is in was synced. A crash undoes them, newest first. What is removed waits in a
 * directory of its own, beside the visible tree, until its removal is durable.
 *
 * The strict reading of POSIX: fsync() of a file does nothing for its name. Paths are relative to
 * the root. Directories can be made and removed, not renamed. */
#ifndef JEPSEN_DISK_NAMES_H
#define JEPSEN_DISK_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct name_change;

struct names {
    int root; /* descriptors of directories on the same file system */
    int trash;
    int kept;   /* where what is removed gets another name, for those who look into it later */
    bool keeps; /* whether it does */
    uint64_t trashed; /* so many, which names the next one */
    struct name_change *newest;
};

/* Each carries out the change; 0 or a negative errno. */
int names_make_directory(struct names *names, const char *path, mode_t mode);
int names_remove_directory(struct names *names, const char *path);
int names_remove(struct names *names, const char *path);
int names_rename(struct names *names, const char *from, const char *to);

/* A file was created at [path]. */
void names_created(struct names *names, const char *path);

/* The directory was synced. */
void names_synced(struct names *names, const char *directory);

/* The power goes. With [chance], some of the oldest changes were written nevertheless: any number,
 * in order, as a journal would. Returns how many were undone. */
uint64_t names_crash(struct names *names, uint64_t *chance);

uint64_t names_pending(const struct names *names);

#endif
