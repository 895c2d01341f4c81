/* What processes do with files, how long it takes, and what fails. */
#include "tests/sim/world/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"
#include "tests/sim/world/platter.h"

const struct disk_speed disk_speed_default = {.least_us = 100,
                                              .most_us = 600,
                                              .tail_per_mille = 2,
                                              .tail_us = 20000};

static struct disk disks[WORLD_NODES_MAX + 1];

struct disk *disk_of(int node)
{
    ensure(node >= 1 && node <= WORLD_NODES_MAX);
    return &disks[node];
}

static struct chance *chance(void)
{
    return world_chance(WORLD_CHANCE_DISK);
}

/* ---- Faults and time ---- */

static int find_fault(struct disk *disk, unsigned operation)
{
    struct fault *fault = &disk->fault;
    if (fault->times == 0 || (fault->operations & operation) == 0 ||
        (fault->after > 1 && --fault->after > 0)) {
        return 0;
    }
    if (fault->per_mille < 1000 && !chance_in(chance(), fault->per_mille)) {
        return 0;
    }
    fault->times--;
    disk->failures++;
    world_trace(disk->node, "disk: EIO");
    return EIO;
}

static int64_t latency_us(const struct disk *disk)
{
    int64_t wait_us = chance_between(chance(), disk->speed.least_us, disk->speed.most_us);
    if (disk->speed.tail_per_mille > 0 && chance_in(chance(), disk->speed.tail_per_mille)) {
        wait_us += chance_below(chance(), disk->speed.tail_us + 1);
    }
    return wait_us;
}

int64_t disk_write_due_us(int node)
{
    struct disk *disk = disk_of(node);
    int64_t now_us = world_now_us();
    disk->free_us = (disk->free_us > now_us ? disk->free_us : now_us) + latency_us(disk);
    return disk->free_us;
}

static void wait_for_platter(struct disk *disk)
{
    task_sleep(disk_write_due_us(disk->node) - world_now_us());
}

static int step(struct disk *disk, unsigned operation)
{
    process_step();
    return find_fault(disk, operation);
}

void disk_set_speed(int node, const struct disk_speed *speed)
{
    disk_of(node)->speed = *speed;
}

void disk_fail(int node, unsigned operations, unsigned after, unsigned times, int per_mille)
{
    disk_of(node)->fault = (struct fault){operations, after, times, per_mille};
}

void disk_fail_no_more(int node)
{
    disk_of(node)->fault = (struct fault){.times = 0};
}

void disk_lie(int node, bool lies)
{
    disk_of(node)->lies = lies;
}

void disk_set_capacity(int node, uint64_t bytes)
{
    disk_of(node)->capacity = bytes;
}

void disk_fill(int node, uint64_t left_bytes)
{
    struct disk *disk = disk_of(node);
    disk->capacity = disk->used + left_bytes;
}

uint64_t disk_used(int node)
{
    return disk_of(node)->used;
}

uint64_t disk_free(int node)
{
    const struct disk *disk = disk_of(node);
    return disk->capacity > disk->used ? disk->capacity - disk->used : 0;
}

uint64_t disk_failures(int node)
{
    return disk_of(node)->failures;
}

uint64_t disk_lost_bytes(int node)
{
    return disk_of(node)->lost_bytes;
}

/* ---- What processes do ---- */

/* Without "." and "..", without a slash at the end. */
static void normalize(char *to, const char *path)
{
    size_t len = 0;
    ensure(path[0] == '/' && strlen(path) < PATH_BYTES);
    while (*path != '\0') {
        path += *path == '/';
        size_t part = strcspn(path, "/");
        if (part == 2 && path[0] == '.' && path[1] == '.') {
            while (len > 0 && to[--len] != '/') {
            }
        } else if (part > 1 || (part == 1 && path[0] != '.')) {
            to[len++] = '/';
            memcpy(to + len, path, part);
            len += part;
        }
        path += part;
    }
    to[len] = '\0';
}

int disk_resize(struct disk_handle *handle, uint64_t size)
{
    int error = step(handle->disk, DISK_ALLOCATE);
    if (error == 0) {
        platter_resize(handle->disk, handle->file, size);
    }
    return -error;
}

int disk_open_file(int node, const char *given, int flags, struct disk_handle **handle)
{
    struct disk *disk = disk_of(node);
    char path[PATH_BYTES];
    normalize(path, given);
    int error = step(disk, DISK_OPEN);
    if (error != 0) {
        return -error;
    }
    struct name *name = platter_find_name(&disk->names, path);
    if (name == NULL && (flags & O_CREAT) == 0) {
        return -ENOENT;
    }
    if (name != NULL && (flags & O_EXCL) != 0) {
        return -EEXIST;
    }
    struct file *file = name == NULL ? platter_new_file(false) : name->file;
    if (name == NULL) {
        platter_change_names(disk, file, path, "");
    }
    *handle = heap_world_calloc(sizeof **handle);
    (*handle)->disk = disk;
    (*handle)->file = file;
    (*handle)->is_sync = (flags & O_DSYNC) != 0;
    (*handle)->uses = 1;
    platter_copy_path((*handle)->path, path);
    file->uses++;
    if ((flags & O_TRUNC) != 0) {
        platter_resize(disk, file, 0);
    }
    return 0;
}

struct disk_handle *disk_hold(struct disk_handle *handle)
{
    handle->uses++;
    return handle;
}

void disk_close_file(struct disk_handle *handle)
{
    if (--handle->uses == 0) {
        platter_release_file(handle->disk, handle->file);
        heap_world_free(handle);
    }
}

const char *disk_handle_path(const struct disk_handle *handle)
{
    return handle->path;
}

long disk_read(struct disk_handle *handle, void *bytes, size_t len)
{
    struct file *file = handle->file;
    int error = step(handle->disk, DISK_READ);
    if (error != 0 || file->is_dir) {
        return error != 0 ? -error : -EISDIR;
    }
    uint64_t left = file->size > handle->at ? file->size - handle->at : 0;
    len = len < left ? len : (size_t)left;
    platter_get_bytes(file, bytes, len, handle->at);
    handle->at += len;
    return (long)len;
}

long disk_write(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset)
{
    struct disk *disk = handle->disk;
    uint64_t at = offset < 0 ? handle->at : (uint64_t)offset;
    int error = step(disk, DISK_WRITE);
    if (error != 0) { /* a part of it may be there all the same */
        platter_put_bytes(handle->file, bytes, (size_t)chance_below(chance(), (int64_t)len + 1),
                          at);
        return -error;
    }
    error = platter_reserve(disk, handle->file, at + len);
    if (error != 0) {
        disk->failures++;
        world_trace(disk->node, "disk: full");
        return -error;
    }
    platter_put_bytes(handle->file, bytes, len, at);
    if (offset < 0) {
        handle->at = at + len;
    }
    if (handle->is_sync) {
        wait_for_platter(disk);
        platter_sync_file(handle->file);
    }
    return (long)len;
}

int disk_sync(struct disk_handle *handle)
{
    struct disk *disk = handle->disk;
    int error = step(disk, DISK_SYNC);
    wait_for_platter(disk);
    if (error != 0) {
        return -error;
    }
    if (!disk->lies) {
        platter_sync_file(handle->file);
        platter_settle_names(disk, handle->file, handle->file->is_dir ? handle->path : NULL);
    }
    return 0;
}

int disk_allocate(struct disk_handle *handle, uint64_t size)
{
    struct disk *disk = handle->disk;
    int error = step(disk, DISK_ALLOCATE);
    if (error == 0) {
        error = platter_reserve(disk, handle->file, size);
        disk->failures += error != 0;
    }
    if (error == 0 && size > handle->file->size) {
        handle->file->size = size;
    }
    return -error;
}

int disk_make_dir(int node, const char *given)
{
    struct disk *disk = disk_of(node);
    char path[PATH_BYTES];
    normalize(path, given);
    int error = step(disk, DISK_NAMES);
    if (error != 0) {
        return -error;
    }
    if (platter_find_name(&disk->names, path) != NULL) {
        return -EEXIST;
    }
    platter_change_names(disk, platter_new_file(true), path, "");
    return 0;
}

int disk_rename(int node, const char *from, const char *to)
{
    struct disk *disk = disk_of(node);
    int error = step(disk, DISK_NAMES);
    if (error != 0) {
        return -error;
    }
    struct name *name = platter_find_name(&disk->names, from);
    if (name == NULL) {
        return -ENOENT;
    }
    platter_change_names(disk, name->file, to, from);
    return 0;
}

int disk_unlink(int node, const char *path)
{
    struct disk *disk = disk_of(node);
    int error = step(disk, DISK_NAMES);
    if (error != 0) {
        return -error;
    }
    if (platter_find_name(&disk->names, path) == NULL) {
        return -ENOENT;
    }
    platter_change_names(disk, NULL, path, "");
    return 0;
}

static void fill_stat(const struct file *file, struct disk_stat *found)
{
    *found = (struct disk_stat){.is_dir = file->is_dir, .size = file->size};
}

int disk_stat(int node, const char *given, struct disk_stat *found)
{
    struct disk *disk = disk_of(node);
    char path[PATH_BYTES];
    normalize(path, given);
    const struct name *name = platter_find_name(&disk->names, path);
    if (name == NULL) {
        return -ENOENT;
    }
    fill_stat(name->file, found);
    return 0;
}

int disk_stat_handle(struct disk_handle *handle, struct disk_stat *found)
{
    fill_stat(handle->file, found);
    return 0;
}

int disk_list(int node, const char *given, char ***names, size_t *count)
{
    struct disk *disk = disk_of(node);
    char path[PATH_BYTES];
    normalize(path, given);
    int error = step(disk, DISK_LIST);
    if (error != 0) {
        return -error;
    }
    if (platter_find_name(&disk->names, path) == NULL) {
        return -ENOENT;
    }
    *names = heap_world_calloc((disk->names.count + 1) * sizeof **names);
    *count = 0;
    for (size_t i = 0; i < disk->names.count; i++) {
        const char *found = disk->names.items[i].path;
        if (platter_is_in_dir(found, path)) {
            const char *name = strrchr(found, '/') + 1;
            char *copy = heap_world_calloc(strlen(name) + 1);
            memcpy(copy, name, strlen(name));
            (*names)[(*count)++] = copy;
        }
    }
    return 0;
}

void disk_list_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        heap_world_free(names[i]);
    }
    heap_world_free(names);
}

/* ---- Writes of aio.c ---- */

int disk_write_fails(int node)
{
    return find_fault(disk_of(node), DISK_WRITE);
}

void disk_write_through(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset)
{
    platter_put_bytes(handle->file, bytes, len, (uint64_t)offset);
    if (!handle->disk->lies) {
        platter_sync_file(handle->file);
    }
}

void disk_write_torn(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset)
{
    /* Of a small write each sector is there or not; of a long one the beginning, too. */
    size_t most = chance_in(chance(), 500) ? (size_t)chance_below(chance(), (int64_t)len + 1) : len;
    for (size_t at = 0; at < most; at += SECTOR) {
        size_t n = len - at < SECTOR ? len - at : SECTOR;
        if (chance_in(chance(), 500)) {
            platter_put_bytes(handle->file, (const uint8_t *)bytes + at, n, (uint64_t)offset + at);
        }
    }
    platter_sync_file(handle->file);
}
