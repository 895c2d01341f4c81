/* The file system: names, and files of pages. Each page is there twice where it was written and not
 * synced: as processes see it, and as it is on the platter. */
#include "tests/sim/world/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

enum { PAGE = 4096, SECTOR = 512, SECTORS = PAGE / SECTOR, PATH_BYTES = 256 };
#define CAPACITY ((uint64_t)1 << 30)

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

const struct disk_speed disk_speed_default = {.least_us = 100,
                                              .most_us = 600,
                                              .tail_per_mille = 2,
                                              .tail_us = 20000};

static struct disk disks[WORLD_NODES_MAX + 1];

static struct disk *disk_of(int node)
{
    ensure(node >= 1 && node <= WORLD_NODES_MAX);
    return &disks[node];
}

static struct chance *chance(void)
{
    return world_chance(WORLD_CHANCE_DISK);
}

/* ---- Files ---- */

static struct file *new_file(bool is_dir)
{
    struct file *file = heap_world_calloc(sizeof *file);
    file->is_dir = is_dir;
    return file;
}

static void drop_page(struct page *page)
{
    if (page->durable != page->seen) {
        heap_world_free(page->durable);
    }
    heap_world_free(page->seen);
    *page = (struct page){.seen = NULL};
}

static void release_file(struct disk *disk, struct file *file)
{
    if (file == NULL || --file->uses > 0) {
        return;
    }
    for (size_t i = 0; i < file->pages_count; i++) {
        drop_page(&file->pages[i]);
    }
    disk->used -= file->allocated;
    heap_world_free(file->pages);
    heap_world_free(file->dirty);
    heap_world_free(file);
}

static void need_pages(struct file *file, size_t count)
{
    if (count > file->pages_count) {
        file->pages = heap_world_realloc(file->pages, count * sizeof *file->pages);
        memset(file->pages + file->pages_count, 0,
               (count - file->pages_count) * sizeof *file->pages);
        file->pages_count = count;
    }
}

static void set_dirty(struct file *file, size_t number)
{
    if (file->pages[number].is_dirty) {
        return;
    }
    file->pages[number].is_dirty = true;
    if (file->dirty_count == file->dirty_cap) {
        file->dirty_cap = file->dirty_cap * 2 + 8;
        file->dirty = heap_world_realloc(file->dirty, file->dirty_cap * sizeof *file->dirty);
    }
    file->dirty[file->dirty_count++] = number;
}

/* A page to write to. */
static uint8_t *own_page(struct file *file, size_t number)
{
    struct page *page = &file->pages[number];
    if (page->seen == page->durable) {
        uint8_t *bytes = heap_world_calloc(PAGE);
        if (page->durable != NULL) {
            memcpy(bytes, page->durable, PAGE);
        }
        page->seen = bytes;
        set_dirty(file, number);
    }
    return page->seen;
}

static void put_bytes(struct file *file, const uint8_t *bytes, size_t len, uint64_t at)
{
    need_pages(file, (size_t)((at + len + PAGE - 1) / PAGE));
    while (len > 0) {
        size_t in_page = (size_t)(at % PAGE);
        size_t n = PAGE - in_page < len ? PAGE - in_page : len;
        memcpy(own_page(file, (size_t)(at / PAGE)) + in_page, bytes, n);
        bytes += n;
        at += n;
        len -= n;
    }
    file->size = at > file->size ? at : file->size;
}

static void sync_page(struct page *page)
{
    if (page->durable != page->seen) {
        heap_world_free(page->durable);
        page->durable = page->seen;
    }
    page->is_dirty = false;
}

static void sync_file(struct file *file)
{
    for (size_t i = 0; i < file->dirty_count; i++) {
        sync_page(&file->pages[file->dirty[i]]);
    }
    file->dirty_count = 0;
    file->durable_size = file->size;
}

/* Room for a file of this size; 0 or ENOSPC. */
static int reserve(struct disk *disk, struct file *file, uint64_t size)
{
    uint64_t needed = (size + PAGE - 1) / PAGE * PAGE;
    if (needed <= file->allocated) {
        return 0;
    }
    if (disk->used + needed - file->allocated > disk->capacity) {
        return ENOSPC;
    }
    disk->used += needed - file->allocated;
    file->allocated = needed;
    return 0;
}

/* ---- Names ---- */

static struct name *find_name(const struct names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i].path, path) == 0) {
            return &names->items[i];
        }
    }
    return NULL;
}

static void copy_path(char *to, const char *path)
{
    ensure(strlen(path) < PATH_BYTES);
    strcpy(to, path);
}

static void remove_name(struct disk *disk, struct names *names, const char *path)
{
    struct name *name = find_name(names, path);
    if (name != NULL) {
        struct file *file = name->file;
        size_t at = (size_t)(name - names->items);
        memmove(name, name + 1, (names->count - at - 1) * sizeof *name);
        names->count--;
        release_file(disk, file);
    }
}

static void set_name(struct disk *disk, struct names *names, const char *path, struct file *file)
{
    file->uses++;
    remove_name(disk, names, path);
    if (names->count == names->cap) {
        names->cap = names->cap * 2 + 16;
        names->items = heap_world_realloc(names->items, names->cap * sizeof *names->items);
    }
    struct name *name = &names->items[names->count++];
    copy_path(name->path, path);
    name->file = file;
}

static void clear_names(struct disk *disk, struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        release_file(disk, names->items[i].file);
    }
    names->count = 0;
}

static void apply_change(struct disk *disk, struct names *names, const struct change *change)
{
    if (change->gone[0] != '\0') {
        remove_name(disk, names, change->gone);
    }
    if (change->file == NULL) {
        remove_name(disk, names, change->path);
    } else {
        set_name(disk, names, change->path, change->file);
    }
}

static void change_names(struct disk *disk, struct file *file, const char *path, const char *gone)
{
    if (disk->changes_count == disk->changes_cap) {
        disk->changes_cap = disk->changes_cap * 2 + 16;
        disk->changes =
            heap_world_realloc(disk->changes, disk->changes_cap * sizeof *disk->changes);
    }
    struct change *change = &disk->changes[disk->changes_count++];
    *change = (struct change){.file = file};
    copy_path(change->path, path);
    copy_path(change->gone, gone);
    if (file != NULL) {
        file->uses++;
    }
    apply_change(disk, &disk->names, change);
}

/* The first [count] changes are on the platter now. */
static void settle_changes(struct disk *disk, size_t count)
{
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        apply_change(disk, &disk->durable, &disk->changes[i]);
        release_file(disk, disk->changes[i].file);
    }
    disk->changes_count -= count;
    memmove(disk->changes, disk->changes + count, disk->changes_count * sizeof *disk->changes);
}

static bool is_in_dir(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/' && strchr(path + len + 1, '/') == NULL;
}

/* A journal keeps the order: what is before the last change that must be durable is durable, too.
 */
static void settle_names(struct disk *disk, const struct file *file, const char *dir)
{
    size_t count = disk->changes_count;
    while (count > 0) {
        const struct change *change = &disk->changes[count - 1];
        if (dir != NULL ? is_in_dir(change->path, dir) || is_in_dir(change->gone, dir)
                        : change->file == file) {
            break;
        }
        count--;
    }
    settle_changes(disk, count);
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

static void resize(struct disk *disk, struct file *file, uint64_t size)
{
    size_t in_page = (size_t)(size % PAGE);
    size_t number = (size_t)(size / PAGE);
    if (in_page != 0 && number < file->pages_count && file->pages[number].seen != NULL) {
        memset(own_page(file, number) + in_page, 0, PAGE - in_page);
        number++;
    } else {
        number += in_page != 0;
    }
    for (size_t i = number; i < file->pages_count; i++) {
        if (file->pages[i].seen != NULL) {
            memset(own_page(file, i), 0, PAGE);
        }
    }
    file->size = size;
    uint64_t needed = (size + PAGE - 1) / PAGE * PAGE;
    if (needed < file->allocated) {
        disk->used -= file->allocated - needed;
        file->allocated = needed;
    }
}

int disk_resize(struct disk_handle *handle, uint64_t size)
{
    int error = step(handle->disk, DISK_ALLOCATE);
    if (error == 0) {
        resize(handle->disk, handle->file, size);
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
    struct name *name = find_name(&disk->names, path);
    if (name == NULL && (flags & O_CREAT) == 0) {
        return -ENOENT;
    }
    if (name != NULL && (flags & O_EXCL) != 0) {
        return -EEXIST;
    }
    struct file *file = name == NULL ? new_file(false) : name->file;
    if (name == NULL) {
        change_names(disk, file, path, "");
    }
    *handle = heap_world_calloc(sizeof **handle);
    (*handle)->disk = disk;
    (*handle)->file = file;
    (*handle)->is_sync = (flags & O_DSYNC) != 0;
    (*handle)->uses = 1;
    copy_path((*handle)->path, path);
    file->uses++;
    if ((flags & O_TRUNC) != 0) {
        resize(disk, file, 0);
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
        release_file(handle->disk, handle->file);
        heap_world_free(handle);
    }
}

const char *disk_handle_path(const struct disk_handle *handle)
{
    return handle->path;
}

static void get_bytes(const struct file *file, uint8_t *bytes, size_t len, uint64_t at)
{
    while (len > 0) {
        size_t in_page = (size_t)(at % PAGE);
        size_t n = PAGE - in_page < len ? PAGE - in_page : len;
        size_t number = (size_t)(at / PAGE);
        if (number < file->pages_count && file->pages[number].seen != NULL) {
            memcpy(bytes, file->pages[number].seen + in_page, n);
        } else {
            memset(bytes, 0, n);
        }
        bytes += n;
        at += n;
        len -= n;
    }
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
    get_bytes(file, bytes, len, handle->at);
    handle->at += len;
    return (long)len;
}

long disk_write(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset)
{
    struct disk *disk = handle->disk;
    uint64_t at = offset < 0 ? handle->at : (uint64_t)offset;
    int error = step(disk, DISK_WRITE);
    if (error != 0) { /* a part of it may be there all the same */
        put_bytes(handle->file, bytes, (size_t)chance_below(chance(), (int64_t)len + 1), at);
        return -error;
    }
    error = reserve(disk, handle->file, at + len);
    if (error != 0) {
        disk->failures++;
        world_trace(disk->node, "disk: full");
        return -error;
    }
    put_bytes(handle->file, bytes, len, at);
    if (offset < 0) {
        handle->at = at + len;
    }
    if (handle->is_sync) {
        wait_for_platter(disk);
        sync_file(handle->file);
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
        sync_file(handle->file);
        settle_names(disk, handle->file, handle->file->is_dir ? handle->path : NULL);
    }
    return 0;
}

int disk_allocate(struct disk_handle *handle, uint64_t size)
{
    struct disk *disk = handle->disk;
    int error = step(disk, DISK_ALLOCATE);
    if (error == 0) {
        error = reserve(disk, handle->file, size);
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
    if (find_name(&disk->names, path) != NULL) {
        return -EEXIST;
    }
    change_names(disk, new_file(true), path, "");
    return 0;
}

int disk_rename(int node, const char *from, const char *to)
{
    struct disk *disk = disk_of(node);
    int error = step(disk, DISK_NAMES);
    if (error != 0) {
        return -error;
    }
    struct name *name = find_name(&disk->names, from);
    if (name == NULL) {
        return -ENOENT;
    }
    change_names(disk, name->file, to, from);
    return 0;
}

int disk_unlink(int node, const char *path)
{
    struct disk *disk = disk_of(node);
    int error = step(disk, DISK_NAMES);
    if (error != 0) {
        return -error;
    }
    if (find_name(&disk->names, path) == NULL) {
        return -ENOENT;
    }
    change_names(disk, NULL, path, "");
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
    const struct name *name = find_name(&disk->names, path);
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
    if (find_name(&disk->names, path) == NULL) {
        return -ENOENT;
    }
    *names = heap_world_calloc((disk->names.count + 1) * sizeof **names);
    *count = 0;
    for (size_t i = 0; i < disk->names.count; i++) {
        const char *found = disk->names.items[i].path;
        if (is_in_dir(found, path)) {
            const char *name = strrchr(found, '/') + 1;
            char *copy = heap_world_calloc(strlen(name) + 1);
            strcpy(copy, name);
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
    put_bytes(handle->file, bytes, len, (uint64_t)offset);
    if (!handle->disk->lies) {
        sync_file(handle->file);
    }
}

void disk_write_torn(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset)
{
    /* Of a small write each sector is there or not; of a long one the beginning, too. */
    size_t most = chance_in(chance(), 500) ? (size_t)chance_below(chance(), (int64_t)len + 1) : len;
    for (size_t at = 0; at < most; at += SECTOR) {
        size_t n = len - at < SECTOR ? len - at : SECTOR;
        if (chance_in(chance(), 500)) {
            put_bytes(handle->file, (const uint8_t *)bytes + at, n, (uint64_t)offset + at);
        }
    }
    sync_file(handle->file);
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
    drop_page(page);
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
    settle_changes(disk, kept);
    for (size_t i = 0; i < disk->changes_count; i++) {
        release_file(disk, disk->changes[i].file);
    }
    disk->changes_count = 0;
    clear_names(disk, &disk->names);
    for (size_t i = 0; i < disk->durable.count; i++) {
        const struct name *name = &disk->durable.items[i];
        lose_unsynced(disk, name->file);
        set_name(disk, &disk->names, name->path, name->file);
    }
    disk->free_us = 0;
}

/* ---- What the nemesis does to files ---- */

static void make_root(struct disk *disk)
{
    struct file *root = new_file(true);
    set_name(disk, &disk->names, DISK_ROOT, root);
    set_name(disk, &disk->durable, DISK_ROOT, root);
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
    settle_changes(disk, disk->changes_count);
    clear_names(disk, &disk->names);
    clear_names(disk, &disk->durable);
    make_root(disk);
    world_trace(node, "the disk is wiped");
    return true;
}

static struct file *copy_file(struct disk *disk, const struct file *from)
{
    struct file *to = new_file(from->is_dir);
    need_pages(to, from->pages_count);
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
    clear_names(disk, to);
    for (size_t i = 0; i < from->count; i++) {
        set_name(disk, to, from->items[i].path, copy_file(disk, from->items[i].file));
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
        set_name(disk, &disk->durable, disk->names.items[i].path, disk->names.items[i].file);
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
    resize(disk_of(node), name->file, size);
    sync_file(name->file);
    tell_path(name, path, path_len);
    world_trace(node, "disk: %s cut to %llu bytes", name->path, (unsigned long long)size);
    return true;
}

uint8_t *disk_read_file(int node, const char *path, size_t *len)
{
    const struct name *name = find_name(&disk_of(node)->names, path);
    if (name == NULL) {
        return NULL;
    }
    *len = (size_t)name->file->size;
    uint8_t *bytes = heap_world_calloc(*len + 1);
    get_bytes(name->file, bytes, *len, 0);
    return bytes;
}

/* ---- The world ---- */

void disks_open(void)
{
    memset(disks, 0, sizeof disks);
    for (int node = 1; node <= WORLD_NODES_MAX; node++) {
        disks[node].node = node;
        disks[node].capacity = CAPACITY;
        disks[node].speed = disk_speed_default;
        make_root(&disks[node]);
    }
}

void disks_close(void)
{
    for (int node = 1; node <= WORLD_NODES_MAX; node++) {
        struct disk *disk = &disks[node];
        settle_changes(disk, disk->changes_count);
        clear_names(disk, &disk->names);
        clear_names(disk, &disk->durable);
        clear_names(disk, &disk->copy);
        heap_world_free(disk->names.items);
        heap_world_free(disk->durable.items);
        heap_world_free(disk->copy.items);
        heap_world_free(disk->changes);
    }
}
