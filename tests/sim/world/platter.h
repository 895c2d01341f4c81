/* What a disk consists of: names, and files of pages. Each page is there twice where it was written
 * and not synced: as processes see it, and as it is on the platter. The same goes for names:
 * changes are kept in their order until they are durable. disk.c has the calls of processes,
 * disk_damage.c what power losses and the nemesis do. */
#ifndef TESTS_SIM_WORLD_PLATTER_H
#define TESTS_SIM_WORLD_PLATTER_H

#include "tests/sim/world/disk.h"

enum { PAGE = 4096, SECTOR = 512, PATH_BYTES = 256 };

struct page {
    uint8_t *seen;    /* NULL: zeros */
    uint8_t *durable; /* the same pointer where all is synced */
    bool is_dirty;
};

struct file {
    unsigned uses; /* names, handles, copies */
    bool is_dir;
    uint64_t size, durable_size;
    uint64_t allocated; /* bytes that it takes of the disk */
    struct page *pages;
    size_t pages_count;
    size_t *dirty; /* numbers of dirty pages */
    size_t dirty_count, dirty_cap;
};

struct name {
    char path[PATH_BYTES];
    struct file *file;
};

struct names {
    struct name *items;
    size_t count, cap;
};

/* A change of names that is not durable yet. */
struct change {
    struct file *file; /* what [path] is from now on; NULL: nothing */
    char path[PATH_BYTES];
    char gone[PATH_BYTES]; /* a rename's source; "": none */
};

struct disk_handle {
    struct disk *disk;
    struct file *file;
    char path[PATH_BYTES];
    uint64_t at;
    bool is_sync; /* O_DSYNC */
    unsigned uses;
};

struct fault {
    unsigned operations;
    unsigned after, times;
    int per_mille;
};

struct disk {
    int node;
    struct names names, durable;
    struct change *changes;
    size_t changes_count, changes_cap;
    struct names copy; /* disk_keep_copy() */
    bool has_copy;
    uint64_t capacity, used;
    struct disk_speed speed;
    struct fault fault;
    bool lies;
    int64_t free_us; /* when what it was given is done */
    uint64_t failures, lost_bytes;
};

/* disk.c */
struct disk *disk_of(int node);

/* ---- Files; they go with their last use ---- */

struct file *platter_new_file(bool is_dir);
void platter_drop_page(struct page *page);
void platter_release_file(struct disk *disk, struct file *file);
void platter_need_pages(struct file *file, size_t count);
/* A page to write to. */
uint8_t *platter_own_page(struct file *file, size_t number);
void platter_put_bytes(struct file *file, const uint8_t *bytes, size_t len, uint64_t at);
/* All of it is durable. */
void platter_sync_file(struct file *file);
/* Room for a file of this size; 0 or ENOSPC. */
int platter_reserve(struct disk *disk, struct file *file, uint64_t size);
void platter_resize(struct disk *disk, struct file *file, uint64_t size);
void platter_get_bytes(const struct file *file, uint8_t *bytes, size_t len, uint64_t at);

/* ---- Names; all that is there and in order of its making ---- */

struct name *platter_find_name(const struct names *names, const char *path);
void platter_copy_path(char *to, const char *path);
void platter_set_name(struct disk *disk, struct names *names, const char *path, struct file *file);
void platter_clear_names(struct disk *disk, struct names *names);
/* From now on [path] is this file, or nothing; [gone] is nothing any more, unless "". */
void platter_change_names(struct disk *disk, struct file *file, const char *path, const char *gone);
/* The first [count] changes are on the platter now. */
void platter_settle_changes(struct disk *disk, size_t count);
bool platter_is_in_dir(const char *path, const char *dir);
/* All changes up to the last of this directory or, where that is NULL, of this file: a journal
 * keeps their order. */
void platter_settle_names(struct disk *disk, const struct file *file, const char *dir);

#endif
