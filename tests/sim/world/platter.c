/* Files and names, twice: as processes see them, and as they are on the platter. */
#include "tests/sim/world/platter.h"

#include <errno.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/heap.h"

/* ---- Files ---- */

struct file *platter_new_file(bool is_dir)
{
    struct file *file = heap_world_calloc(sizeof *file);
    file->is_dir = is_dir;
    return file;
}

void platter_drop_page(struct page *page)
{
    if (page->durable != page->seen) {
        heap_world_free(page->durable);
    }
    heap_world_free(page->seen);
    *page = (struct page){.seen = NULL};
}

void platter_release_file(struct disk *disk, struct file *file)
{
    if (file == NULL || --file->uses > 0) {
        return;
    }
    for (size_t i = 0; i < file->pages_count; i++) {
        platter_drop_page(&file->pages[i]);
    }
    disk->used -= file->allocated;
    heap_world_free(file->pages);
    heap_world_free(file->dirty);
    heap_world_free(file);
}

void platter_need_pages(struct file *file, size_t count)
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
uint8_t *platter_own_page(struct file *file, size_t number)
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

void platter_put_bytes(struct file *file, const uint8_t *bytes, size_t len, uint64_t at)
{
    platter_need_pages(file, (size_t)((at + len + PAGE - 1) / PAGE));
    while (len > 0) {
        size_t in_page = (size_t)(at % PAGE);
        size_t n = PAGE - in_page < len ? PAGE - in_page : len;
        memcpy(platter_own_page(file, (size_t)(at / PAGE)) + in_page, bytes, n);
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

void platter_sync_file(struct file *file)
{
    for (size_t i = 0; i < file->dirty_count; i++) {
        sync_page(&file->pages[file->dirty[i]]);
    }
    file->dirty_count = 0;
    file->durable_size = file->size;
}

/* Room for a file of this size; 0 or ENOSPC. */
int platter_reserve(struct disk *disk, struct file *file, uint64_t size)
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

struct name *platter_find_name(const struct names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i].path, path) == 0) {
            return &names->items[i];
        }
    }
    return NULL;
}

void platter_copy_path(char *to, const char *path)
{
    size_t size = strlen(path) + 1;
    ensure(size <= PATH_BYTES);
    memcpy(to, path, size);
}

static void remove_name(struct disk *disk, struct names *names, const char *path)
{
    struct name *name = platter_find_name(names, path);
    if (name != NULL) {
        struct file *file = name->file;
        size_t at = (size_t)(name - names->items);
        memmove(name, name + 1, (names->count - at - 1) * sizeof *name);
        names->count--;
        platter_release_file(disk, file);
    }
}

void platter_set_name(struct disk *disk, struct names *names, const char *path, struct file *file)
{
    file->uses++;
    remove_name(disk, names, path);
    if (names->count == names->cap) {
        names->cap = names->cap * 2 + 16;
        names->items = heap_world_realloc(names->items, names->cap * sizeof *names->items);
    }
    struct name *name = &names->items[names->count++];
    platter_copy_path(name->path, path);
    name->file = file;
}

void platter_clear_names(struct disk *disk, struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        platter_release_file(disk, names->items[i].file);
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
        platter_set_name(disk, names, change->path, change->file);
    }
}

void platter_change_names(struct disk *disk, struct file *file, const char *path, const char *gone)
{
    if (disk->changes_count == disk->changes_cap) {
        disk->changes_cap = disk->changes_cap * 2 + 16;
        disk->changes =
            heap_world_realloc(disk->changes, disk->changes_cap * sizeof *disk->changes);
    }
    struct change *change = &disk->changes[disk->changes_count++];
    *change = (struct change){.file = file};
    platter_copy_path(change->path, path);
    platter_copy_path(change->gone, gone);
    if (file != NULL) {
        file->uses++;
    }
    apply_change(disk, &disk->names, change);
}

/* The first [count] changes are on the platter now. */
void platter_settle_changes(struct disk *disk, size_t count)
{
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        apply_change(disk, &disk->durable, &disk->changes[i]);
        platter_release_file(disk, disk->changes[i].file);
    }
    disk->changes_count -= count;
    memmove(disk->changes, disk->changes + count, disk->changes_count * sizeof *disk->changes);
}

bool platter_is_in_dir(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/' && strchr(path + len + 1, '/') == NULL;
}

/* A journal keeps the order: what is before the last change that must be durable is durable, too.
 */
void platter_settle_names(struct disk *disk, const struct file *file, const char *dir)
{
    size_t count = disk->changes_count;
    while (count > 0) {
        const struct change *change = &disk->changes[count - 1];
        if (dir != NULL
                ? platter_is_in_dir(change->path, dir) || platter_is_in_dir(change->gone, dir)
                : change->file == file) {
            break;
        }
        count--;
    }
    platter_settle_changes(disk, count);
}

void platter_resize(struct disk *disk, struct file *file, uint64_t size)
{
    size_t in_page = (size_t)(size % PAGE);
    size_t number = (size_t)(size / PAGE);
    if (in_page != 0 && number < file->pages_count && file->pages[number].seen != NULL) {
        memset(platter_own_page(file, number) + in_page, 0, PAGE - in_page);
        number++;
    } else {
        number += in_page != 0;
    }
    for (size_t i = number; i < file->pages_count; i++) {
        if (file->pages[i].seen != NULL) {
            memset(platter_own_page(file, i), 0, PAGE);
        }
    }
    file->size = size;
    uint64_t needed = (size + PAGE - 1) / PAGE * PAGE;
    if (needed < file->allocated) {
        disk->used -= file->allocated - needed;
        file->allocated = needed;
    }
}

void platter_get_bytes(const struct file *file, uint8_t *bytes, size_t len, uint64_t at)
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
