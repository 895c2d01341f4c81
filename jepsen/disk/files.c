#include "jepsen/disk/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jepsen/lab/chance.h"
#include "rpc/ensure.h"

static struct stat stat_of(int fd)
{
    struct stat found;
    ensure(fstat(fd, &found) == 0);
    return found;
}

struct file *files_open(struct files *files, int fd)
{
    ino_t inode = stat_of(fd).st_ino;
    struct file *file = files->first;
    while (file != NULL && file->inode != inode) {
        file = file->next;
    }
    if (file == NULL) {
        file = calloc(1, sizeof *file);
        ensure(file != NULL);
        *file = (struct file){.next = files->first, .inode = inode, .fd = -1};
        files->first = file;
    }
    file->handles++;
    return file;
}

static void clean(struct file *file)
{
    if (file->is_dirty) {
        pages_close(&file->pages);
        close(file->fd);
        file->fd = -1;
        file->is_dirty = false;
    }
}

/* Forgotten when nobody has it open and nothing can be lost. Its inode cannot be given to another
 * file before that: a dirty file is held open here. */
static void forget_if_idle(struct files *files, struct file *file)
{
    if (file->handles > 0 || file->is_dirty) {
        return;
    }
    struct file **at = &files->first;
    while (*at != file) {
        at = &(*at)->next;
    }
    *at = file->next;
    free(file);
}

/* Durably removed and closed: there is nothing that a crash could restore. */
static bool is_out_of_reach(const struct file *file)
{
    return file->handles == 0 && file->is_dirty && stat_of(file->fd).st_nlink == 0;
}

void files_release(struct files *files, struct file *file)
{
    ensure(file->handles > 0);
    file->handles--;
    if (is_out_of_reach(file)) {
        clean(file);
    }
    forget_if_idle(files, file);
}

void files_sweep(struct files *files)
{
    struct file *next;
    for (struct file *file = files->first; file != NULL; file = next) {
        next = file->next;
        if (is_out_of_reach(file)) {
            clean(file);
        }
        forget_if_idle(files, file);
    }
}

static void touch(struct file *file, int fd)
{
    if (!file->is_dirty) {
        file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        ensure(file->fd >= 0);
        file->durable_bytes = (uint64_t)stat_of(fd).st_size;
        file->is_dirty = true;
    }
}

void file_will_write(struct file *file, int fd, uint64_t offset, uint64_t len)
{
    touch(file, fd);
    pages_keep(&file->pages, fd, offset, len);
}

void file_will_resize(struct file *file, int fd, uint64_t bytes)
{
    touch(file, fd);
    uint64_t now = (uint64_t)stat_of(fd).st_size;
    if (bytes < now) {
        pages_keep(&file->pages, fd, bytes, now - bytes);
    }
}

void file_synced(struct file *file)
{
    clean(file);
}

void file_wrote_durably(struct file *file, uint64_t offset, uint64_t len)
{
    if (file->is_dirty) {
        pages_drop(&file->pages, offset, len);
        if (file->durable_bytes < offset + len) {
            file->durable_bytes = offset + len;
        }
    }
}

static void crash(struct file *file, uint64_t *chance)
{
    uint64_t now = (uint64_t)stat_of(file->fd).st_size;
    bool keeps_length = chance != NULL && chance_below(chance, 2) == 0;
    pages_restore(&file->pages, file->fd, chance);
    ensure(ftruncate(file->fd, (off_t)(keeps_length ? now : file->durable_bytes)) == 0);
    clean(file);
}

uint64_t files_crash(struct files *files, uint64_t *chance)
{
    uint64_t lost = files_dirty_pages(files);
    struct file *next;
    for (struct file *file = files->first; file != NULL; file = next) {
        next = file->next;
        if (file->is_dirty) {
            crash(file, chance);
        }
        forget_if_idle(files, file);
    }
    return lost;
}

uint64_t files_dirty_pages(const struct files *files)
{
    uint64_t count = 0;
    for (const struct file *file = files->first; file != NULL; file = file->next) {
        count += file->pages.count;
    }
    return count;
}
