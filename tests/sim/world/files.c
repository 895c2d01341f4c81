/* File calls of a node: POSIX, by --wrap, and libuv's synchronous ones, which libraft uses. Outside
 * of nodes the real functions are called. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

#define SECRET_PATH "/etc/roster/peer.secret"
static const char secret[] = "all nodes of the simulation share this";

enum { PATH_BYTES = 512, EXT4_MAGIC = 0xef53 };

int __wrap_open(const char *path, int flags, ...);
int __wrap___open_2(const char *path, int flags);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap___openat_2(int dir, const char *path, int flags);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *bytes, size_t len);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t len, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t offset);
int __wrap_fsync(int fd);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_flock(int fd, int operation);
int __wrap_fstat(int fd, struct stat *found);
int __wrap_statvfs(const char *path, struct statvfs *found);
int __wrap_fstatfs(int fd, struct statfs *found);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_eventfd(unsigned count, int flags);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_fdopendir(int fd);
struct dirent *__wrap_readdir(DIR *dir);
int __wrap_dirfd(DIR *dir);
int __wrap_closedir(DIR *dir);

/* -1 with errno where [result] is a negative error. */
static int posix(long result)
{
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return (int)result;
}

static struct disk_handle *handle_of(int fd)
{
    const struct descriptor *descriptor = descriptor_get(fd);
    return descriptor == NULL || descriptor->kind != DESCRIPTOR_FILE ? NULL : descriptor->file;
}

/* ---- Opening and closing ---- */

static long open_path(const char *path, int flags)
{
    struct process *process = process_current();
    if (strcmp(path, "/dev/null") == 0 || strcmp(path, SECRET_PATH) == 0) {
        int fd = descriptor_new(process, DESCRIPTOR_NULL);
        process->descriptors[fd].count = path[1] == 'e'; /* the secret has not been read */
        return fd;
    }
    struct disk_handle *handle;
    int error = disk_open_file(process->node, path, flags, &handle);
    if (error != 0) {
        return error;
    }
    int fd = descriptor_new(process, DESCRIPTOR_FILE);
    process->descriptors[fd].file = handle;
    return fd;
}

static void join(char *to, int dir, const char *path)
{
    const struct disk_handle *handle = path[0] == '/' ? NULL : handle_of(dir);
    int len = snprintf(to, PATH_BYTES, "%s%s%s", handle == NULL ? "" : disk_handle_path(handle),
                       handle == NULL ? "" : "/", path);
    ensure(len > 0 && len < PATH_BYTES);
}

int __wrap_open(const char *path, int flags, ...)
{
    return posix(open_path(path, flags));
}

int __wrap___open_2(const char *path, int flags)
{
    return posix(open_path(path, flags));
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    char whole[PATH_BYTES];
    join(whole, dir, path);
    return posix(open_path(whole, flags));
}

int __wrap___openat_2(int dir, const char *path, int flags)
{
    return __wrap_openat(dir, path, flags);
}

int __wrap_close(int fd)
{
    return posix(descriptor_close(fd));
}

/* ---- Bytes ---- */

ssize_t __wrap_read(int fd, void *bytes, size_t len)
{
    struct descriptor *descriptor = descriptor_get(fd);
    if (descriptor == NULL) {
        return posix(-EBADF);
    }
    if (descriptor->kind == DESCRIPTOR_EVENT) {
        ensure(len == sizeof descriptor->count);
        memcpy(bytes, &descriptor->count, len);
        bool is_ready = descriptor->count > 0;
        descriptor->count = 0;
        return is_ready ? (ssize_t)len : posix(-EAGAIN);
    }
    if (descriptor->kind == DESCRIPTOR_NULL) {
        size_t n = descriptor->count == 0 ? 0 : sizeof secret - 1;
        descriptor->count = 0;
        ensure(n <= len);
        memcpy(bytes, secret, n);
        return (ssize_t)n;
    }
    long got = disk_read(descriptor->file, bytes, len);
    return got < 0 ? posix(got) : got;
}

ssize_t __wrap___read_chk(int fd, void *bytes, size_t len, size_t size)
{
    ensure(len <= size);
    return __wrap_read(fd, bytes, len);
}

static long write_at(int fd, const void *bytes, size_t len, int64_t offset)
{
    if (fd == STDERR_FILENO) {
        node_log(process_current(), bytes, len);
        return (long)len;
    }
    struct disk_handle *handle = handle_of(fd);
    return handle == NULL ? -EBADF : disk_write(handle, bytes, len, offset);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
    long written = write_at(fd, bytes, len, -1);
    return written < 0 ? posix(written) : written;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    long written = write_at(fd, bytes, len, offset);
    return written < 0 ? posix(written) : written;
}

int __wrap_fsync(int fd)
{
    struct disk_handle *handle = handle_of(fd);
    return posix(handle == NULL ? -EBADF : disk_sync(handle));
}

int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
    struct disk_handle *handle = handle_of(fd);
    return handle == NULL ? EBADF : -disk_allocate(handle, (uint64_t)(offset + len));
}

int __wrap_eventfd(unsigned count, int flags)
{
    int fd = descriptor_new(process_current(), DESCRIPTOR_EVENT);
    (void)flags;
    process_current()->descriptors[fd].count = count;
    return fd;
}

/* ---- Names ---- */

int __wrap_mkdir(const char *path, mode_t mode)
{
    (void)mode;
    return posix(disk_make_dir(node_current(), path));
}

int __wrap_rename(const char *from, const char *to)
{
    return posix(disk_rename(node_current(), from, to));
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    char whole_from[PATH_BYTES];
    char whole_to[PATH_BYTES];
    join(whole_from, from_dir, from);
    join(whole_to, to_dir, to);
    return posix(disk_rename(node_current(), whole_from, whole_to));
}

int __wrap_unlink(const char *path)
{
    return posix(disk_unlink(node_current(), path));
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    char whole[PATH_BYTES];
    (void)flags;
    join(whole, dir, path);
    return posix(disk_unlink(node_current(), whole));
}

/* One process per data directory is the simulation's own rule. */
int __wrap_flock(int fd, int operation)
{
    (void)operation;
    return posix(handle_of(fd) == NULL ? -EBADF : 0);
}

/* ---- What is known of files ---- */

int __wrap_fstat(int fd, struct stat *found)
{
    memset(found, 0, sizeof *found);
    found->st_mode = S_IFREG | 0600;
    return posix(descriptor_get(fd) == NULL ? -EBADF : 0);
}

int __wrap_statvfs(const char *path, struct statvfs *found)
{
    (void)path;
    memset(found, 0, sizeof *found);
    found->f_frsize = 4096;
    found->f_bavail = disk_free(node_current()) / 4096;
    return 0;
}

int __wrap_fstatfs(int fd, struct statfs *found)
{
    memset(found, 0, sizeof *found);
    found->f_type = EXT4_MAGIC;
    found->f_bsize = 4096;
    return posix(descriptor_get(fd) == NULL ? -EBADF : 0);
}

/* libraft switches direct I/O on. */
int __wrap_fcntl(int fd, int command, ...)
{
    (void)command;
    return posix(descriptor_get(fd) == NULL ? -EBADF : 0);
}

/* ---- Directories ---- */

struct listing {
    int fd;
    char **names;
    size_t count, at;
    struct dirent entry;
};

DIR *__wrap_fdopendir(int fd)
{
    struct disk_handle *handle = handle_of(fd);
    struct listing *listing = calloc(1, sizeof *listing);
    ensure(handle != NULL && listing != NULL);
    listing->fd = fd;
    int error =
        disk_list(node_current(), disk_handle_path(handle), &listing->names, &listing->count);
    if (error != 0) {
        free(listing);
        posix(error);
        return NULL;
    }
    /* In the node's memory, which goes with it. */
    char **names = calloc(listing->count + 1, sizeof *names);
    ensure(names != NULL);
    for (size_t i = 0; i < listing->count; i++) {
        names[i] = strdup(listing->names[i]);
    }
    disk_list_free(listing->names, listing->count);
    listing->names = names;
    return (DIR *)listing;
}

DIR *__wrap_opendir(const char *path)
{
    int fd = __wrap_open(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? NULL : __wrap_fdopendir(fd);
}

struct dirent *__wrap_readdir(DIR *dir)
{
    struct listing *listing = (struct listing *)dir;
    if (listing->at == listing->count) {
        return NULL;
    }
    const char *name = listing->names[listing->at++];
    snprintf(listing->entry.d_name, sizeof listing->entry.d_name, "%s", name);
    return &listing->entry;
}

int __wrap_dirfd(DIR *dir)
{
    return ((struct listing *)dir)->fd;
}

int __wrap_closedir(DIR *dir)
{
    struct listing *listing = (struct listing *)dir;
    descriptor_close(listing->fd);
    for (size_t i = 0; i < listing->count; i++) {
        free(listing->names[i]);
    }
    free(listing->names);
    free(listing);
    return 0;
}

/* ---- libuv's, all without a loop ---- */

int uv_fs_open(uv_loop_t *uv, uv_fs_t *request, const char *path, int flags, int mode, uv_fs_cb cb)
{
    (void)uv;
    (void)request;
    (void)mode;
    ensure(cb == NULL);
    return (int)open_path(path, flags);
}

int uv_fs_close(uv_loop_t *uv, uv_fs_t *request, uv_file fd, uv_fs_cb cb)
{
    (void)uv;
    (void)request;
    (void)cb;
    return descriptor_close(fd);
}

int uv_fs_write(uv_loop_t *uv,
                uv_fs_t *request,
                uv_file fd,
                const uv_buf_t bufs[],
                unsigned count,
                int64_t offset,
                uv_fs_cb cb)
{
    long total = 0;
    (void)uv;
    (void)request;
    (void)cb;
    for (unsigned i = 0; i < count; i++) {
        long written = write_at(fd, bufs[i].base, bufs[i].len, offset < 0 ? -1 : offset + total);
        if (written < 0) {
            return total > 0 ? (int)total : (int)written;
        }
        total += written;
    }
    return (int)total;
}

static int sync_fd(int fd)
{
    struct disk_handle *handle = handle_of(fd);
    return handle == NULL ? -EBADF : disk_sync(handle);
}

int uv_fs_fsync(uv_loop_t *uv, uv_fs_t *request, uv_file fd, uv_fs_cb cb)
{
    (void)uv;
    (void)request;
    (void)cb;
    return sync_fd(fd);
}

int uv_fs_fdatasync(uv_loop_t *uv, uv_fs_t *request, uv_file fd, uv_fs_cb cb)
{
    (void)uv;
    (void)request;
    (void)cb;
    return sync_fd(fd);
}

int uv_fs_ftruncate(uv_loop_t *uv, uv_fs_t *request, uv_file fd, int64_t size, uv_fs_cb cb)
{
    struct disk_handle *handle = handle_of(fd);
    (void)uv;
    (void)request;
    (void)cb;
    return handle == NULL ? -EBADF : disk_resize(handle, (uint64_t)size);
}

int uv_fs_stat(uv_loop_t *uv, uv_fs_t *request, const char *path, uv_fs_cb cb)
{
    struct disk_stat found;
    (void)uv;
    (void)cb;
    memset(&request->statbuf, 0, sizeof request->statbuf);
    int error = disk_stat(node_current(), path, &found);
    if (error == 0) {
        request->statbuf.st_mode = found.is_dir ? S_IFDIR | 0700 : S_IFREG | 0600;
        request->statbuf.st_size = found.size;
    }
    return error;
}

int uv_fs_rename(uv_loop_t *uv, uv_fs_t *request, const char *from, const char *to, uv_fs_cb cb)
{
    (void)uv;
    (void)request;
    (void)cb;
    return disk_rename(node_current(), from, to);
}

int uv_fs_unlink(uv_loop_t *uv, uv_fs_t *request, const char *path, uv_fs_cb cb)
{
    (void)uv;
    (void)request;
    (void)cb;
    return disk_unlink(node_current(), path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted by name, as libuv's. The last uv_fs_scandir_next() frees it; libraft always gets there. */
int uv_fs_scandir(uv_loop_t *uv, uv_fs_t *request, const char *path, int flags, uv_fs_cb cb)
{
    char **names = NULL;
    size_t count = 0;
    (void)uv;
    (void)flags;
    (void)cb;
    int error = disk_list(node_current(), path, &names, &count);
    if (error != 0) {
        return error;
    }
    if (count > 0) {
        qsort(names, count, sizeof *names, by_name);
    }
    char **copies = calloc(count + 1, sizeof *copies);
    ensure(copies != NULL);
    for (size_t i = 0; i < count; i++) {
        copies[i] = strdup(names[i]);
    }
    disk_list_free(names, count);
    request->ptr = copies;
    request->result = (ssize_t)count;
    request->nbufs = 0;
    return (int)count;
}

int uv_fs_scandir_next(uv_fs_t *request, uv_dirent_t *entry)
{
    char **names = request->ptr;
    unsigned at = request->nbufs;
    if (at > 0) {
        free(names[at - 1]);
    }
    if (at == (unsigned)request->result) {
        free(names);
        request->ptr = NULL;
        return UV_EOF;
    }
    request->nbufs = at + 1;
    entry->name = names[at];
    entry->type = UV_DIRENT_FILE;
    return 0;
}
