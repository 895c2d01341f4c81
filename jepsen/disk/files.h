/* The files of a disk that are open or hold what is not durable: content and length as they were
 * last synced. A file is known by its inode in the backing directory. */
#ifndef JEPSEN_DISK_FILES_H
#define JEPSEN_DISK_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jepsen/disk/pages.h"

struct file {
    struct file *next;
    ino_t inode;
    unsigned handles; /* open ones */
    bool is_dirty;    /* the rest counts only then */
    int fd;
    uint64_t durable_bytes; /* the length */
    struct pages pages;
};

struct files {
    struct file *first;
};

/* A handle on the file behind [fd] comes; and goes. */
struct file *files_open(struct files *files, int fd);
void files_release(struct files *files, struct file *file);

/* Called before the change. [fd]: open for reading and writing. */
void file_will_write(struct file *file, int fd, uint64_t offset, uint64_t len);
void file_will_resize(struct file *file, int fd, uint64_t bytes);

/* fsync(): all is durable. */
void file_synced(struct file *file);

/* A write with O_DSYNC is done: its pages are durable, and the length that is needed to find them.
 */
void file_wrote_durably(struct file *file, uint64_t offset, uint64_t len);

/* The power goes. Content and length of every file are what was durable; with [chance], torn
 * (pages.h). Returns how many pages were not durable. */
uint64_t files_crash(struct files *files, uint64_t *chance);

/* Names became durable: what nobody can reach any more is forgotten. */
void files_sweep(struct files *files);

/* How many pages are not durable. */
uint64_t files_dirty_pages(const struct files *files);

#endif
