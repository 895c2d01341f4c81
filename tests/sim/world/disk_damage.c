/* What a power loss leaves, what the nemesis does to files, and how disks begin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"
#include "tests/sim/world/platter.h"

enum { SECTORS = PAGE / SECTOR };
#define CAPACITY ((uint64_t)1 << 30)

static struct chance *chance(void)
{
    return world_chance(WORLD_CHANCE_DISK);
}

/* ---- Power loss ---- */

/* Each sector as it was seen, or as it was. */
static void tear_page(struct disk *disk, struct page *page)
{
    uint8_t *seen = page->seen;
    uint8_t *result = heap_world_calloc(PAGE);
    for (size_t i = 0; i < SECTORS; i++) {
        bool has_arrived = chance_in(chance(), 500);
        const uint8_t *from = has_arrived ? seen : page->durable;
        if (from != NULL) {
            memcpy(result + i * SECTOR, from + i * SECTOR, SECTOR);
        }
        disk->lost_bytes += has_arrived ? 0 : SECTOR;
    }
    platter_drop_page(page);
    page->seen = page->durable = result;
}

static void lose_unsynced(struct disk *disk, struct file *file)
{
    for (size_t i = 0; i < file->dirty_count; i++) {
        struct page *page = &file->pages[file->dirty[i]];
        if (page->seen != page->durable) {
            tear_page(disk, page);
        }
        page->is_dirty = false;
    }
    file->dirty_count = 0;
    if (file->size != file->durable_size && chance_in(chance(), 500)) {
        file->size = file->durable_size;
    }
    file->durable_size = file->size;
}

void disk_lose_power(int node)
{
    struct disk *disk = disk_of(node);
    size_t kept = (size_t)chance_below(chance(), (int64_t)disk->changes_count + 1);
    platter_settle_changes(disk, kept);
    for (size_t i = 0; i < disk->changes_count; i++) {
        platter_release_file(disk, disk->changes[i].file);
    }
    disk->changes_count = 0;
    platter_clear_names(disk, &disk->names);
    for (size_t i = 0; i < disk->durable.count; i++) {
        const struct name *name = &disk->durable.items[i];
        lose_unsynced(disk, name->file);
        platter_set_name(disk, &disk->names, name->path, name->file);
    }
    disk->free_us = 0;
}

/* ---- What the nemesis does to files ---- */

static void make_root(struct disk *disk)
{
    struct file *root = platter_new_file(true);
    platter_set_name(disk, &disk->names, DISK_ROOT, root);
    platter_set_name(disk, &disk->durable, DISK_ROOT, root);
}

static bool may_touch(int node)
{
    return !node_is_on(node);
}

bool disk_wipe(int node)
{
    struct disk *disk = disk_of(node);
    if (!may_touch(node)) {
        return false;
    }
    platter_settle_changes(disk, disk->changes_count);
    platter_clear_names(disk, &disk->names);
    platter_clear_names(disk, &disk->durable);
    make_root(disk);
    world_trace(node, "the disk is wiped");
    return true;
}

static struct file *copy_file(struct disk *disk, const struct file *from)
{
    struct file *to = platter_new_file(from->is_dir);
    platter_need_pages(to, from->pages_count);
    for (size_t i = 0; i < from->pages_count; i++) {
        if (from->pages[i].seen != NULL) {
            to->pages[i].seen = heap_world_calloc(PAGE);
            memcpy(to->pages[i].seen, from->pages[i].seen, PAGE);
            to->pages[i].durable = to->pages[i].seen;
        }
    }
    to->size = to->durable_size = from->size;
    to->allocated = from->allocated;
    disk->used += to->allocated;
    return to;
}

static void copy_names(struct disk *disk, struct names *to, const struct names *from)
{
    platter_clear_names(disk, to);
    for (size_t i = 0; i < from->count; i++) {
        platter_set_name(disk, to, from->items[i].path, copy_file(disk, from->items[i].file));
    }
}

bool disk_keep_copy(int node)
{
    struct disk *disk = disk_of(node);
    if (!may_touch(node)) {
        return false;
    }
    copy_names(disk, &disk->copy, &disk->names);
    disk->has_copy = true;
    world_trace(node, "the disk is copied");
    return true;
}

bool disk_restore_copy(int node)
{
    struct disk *disk = disk_of(node);
    if (!disk->has_copy || !disk_wipe(node)) {
        return false;
    }
    copy_names(disk, &disk->names, &disk->copy);
    for (size_t i = 0; i < disk->names.count; i++) {
        platter_set_name(disk, &disk->durable, disk->names.items[i].path,
                         disk->names.items[i].file);
    }
    world_trace(node, "the old copy of the disk is put back");
    return true;
}

static enum disk_kind kind_of(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    size_t len = strlen(name);
    if (strncmp(name, "open-", 5) == 0) {
        return DISK_SEGMENT_OPEN;
    }
    if (strncmp(name, "snapshot-", 9) == 0) {
        return len > 5 && strcmp(name + len - 5, ".meta") == 0 ? DISK_SNAPSHOT_META : DISK_SNAPSHOT;
    }
    if (strncmp(name, "metadata", 8) == 0) {
        return DISK_METADATA;
    }
    return name[0] >= '0' && name[0] <= '9' ? DISK_SEGMENT_CLOSED : DISK_MARKER;
}

/* The bytes of a file up to the last that is not zero. */
static uint64_t used_len(const struct file *file)
{
    uint64_t len = 0;
    for (size_t i = 0; i < file->pages_count; i++) {
        const uint8_t *bytes = file->pages[i].seen;
        for (size_t at = PAGE; bytes != NULL && at > 0; at--) {
            if (bytes[at - 1] != 0) {
                len = (uint64_t)i * PAGE + at;
                break;
            }
        }
    }
    return len < file->size ? len : file->size;
}

static struct name *choose_file(struct disk *disk, enum disk_kind kind)
{
    struct name *chosen = NULL;
    int64_t count = 0;
    for (size_t i = 0; i < disk->names.count; i++) {
        struct name *name = &disk->names.items[i];
        if (!name->file->is_dir && kind_of(name->path) == kind && used_len(name->file) > 0 &&
            chance_below(chance(), ++count) == 0) {
            chosen = name;
        }
    }
    return chosen;
}

static void tell_path(const struct name *name, char *path, size_t path_len)
{
    if (path != NULL) {
        snprintf(path, path_len, "%s", name->path);
    }
}

bool disk_flip_bit(int node, enum disk_kind kind, char *path, size_t path_len)
{
    struct name *name = choose_file(disk_of(node), kind);
    if (name == NULL) {
        return false;
    }
    struct file *file = name->file;
    uint64_t at = (uint64_t)chance_below(chance(), (int64_t)used_len(file));
    uint8_t bit = (uint8_t)(1U << chance_below(chance(), 8));
    struct page *page = &file->pages[at / PAGE];
    page->seen[at % PAGE] ^= bit;
    if (page->durable != page->seen && page->durable != NULL) {
        page->durable[at % PAGE] ^= bit;
    }
    tell_path(name, path, path_len);
    world_trace(node, "disk: bit flipped in %s at %llu", name->path, (unsigned long long)at);
    return true;
}

bool disk_truncate(int node, enum disk_kind kind, char *path, size_t path_len)
{
    struct name *name = choose_file(disk_of(node), kind);
    if (name == NULL) {
        return false;
    }
    uint64_t size = (uint64_t)chance_below(chance(), (int64_t)used_len(name->file));
    platter_resize(disk_of(node), name->file, size);
    platter_sync_file(name->file);
    tell_path(name, path, path_len);
    world_trace(node, "disk: %s cut to %llu bytes", name->path, (unsigned long long)size);
    return true;
}

uint8_t *disk_read_file(int node, const char *path, size_t *len)
{
    const struct name *name = platter_find_name(&disk_of(node)->names, path);
    if (name == NULL) {
        return NULL;
    }
    *len = (size_t)name->file->size;
    uint8_t *bytes = heap_world_calloc(*len + 1);
    platter_get_bytes(name->file, bytes, *len, 0);
    return bytes;
}

/* ---- The world ---- */

void disks_open(void)
{
    for (int node = 1; node <= WORLD_NODES_MAX; node++) {
        struct disk *disk = disk_of(node);
        *disk = (struct disk){.node = node, .capacity = CAPACITY, .speed = disk_speed_default};
        make_root(disk);
    }
}

void disks_close(void)
{
    for (int node = 1; node <= WORLD_NODES_MAX; node++) {
        struct disk *disk = disk_of(node);
        platter_settle_changes(disk, disk->changes_count);
        platter_clear_names(disk, &disk->names);
        platter_clear_names(disk, &disk->durable);
        platter_clear_names(disk, &disk->copy);
        heap_world_free(disk->names.items);
        heap_world_free(disk->durable.items);
        heap_world_free(disk->copy.items);
        heap_world_free(disk->changes);
    }
}
