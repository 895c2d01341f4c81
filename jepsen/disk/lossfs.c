/* A disk that loses power: a FUSE file system over a directory, which remembers what was not
 * synced.
 *
 *   lossfs MOUNT STORE SOCKET
 *
 * stays in the foreground until SIGTERM. STORE/data holds the files as programs see them. Durable
 * is a file's content after fsync() or fdatasync(), the pages and the length that a write with
 * O_DSYNC or O_SYNC (or RWF_DSYNC) covers, and a name after fsync() of its directory. Modes and
 * times are always durable. Commands (control.h):
 *
 *   crash              undoes all that is not durable; end the programs that use it first
 *   torn SEED          the same, but some of it had been written: any sectors of a page, the oldest
 *                      changes of names
 *   cut [SEED]         a crash at this moment, under the programs that use it: from then on nothing
 *                      works; with SEED as torn, and of what is written now any sectors arrive
 *   fail OP N|always   the next N operations end with EIO; OP: read, write, sync, name
 *   space BYTES|any    so much is free; beyond it ENOSPC, but for writes over what is allocated,
 *                      which fail too where "hard" follows
 *   delay US           of every write and sync
 *   lose 0|1           syncs are acknowledged and do nothing
 *   heal               ends the last five
 *   keep 0|1           what is removed has another name in STORE/kept from then on: its number in
 * the order of removals, and its last name, with a dot between stat               counters
 *
 * Not supported, and refused: links, renaming of directories, holes, special files,
 * fstat() of a file that has no name any more. */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "jepsen/disk/disk.h"
#include "jepsen/lab/chance.h"
#include "jepsen/lab/control.h"
#include "rpc/ensure.h"

enum { THREADS_MAX = 8 };

struct handle {
    int fd;
    struct file *file;
    struct handle *next;
    struct handle **link; /* what points to it */
};

static struct disk disk;
static struct handle *handles; /* all that are open */
static int control;

static const char *relative(const char *path)
{
    return path[1] == '\0' ? "." : path + 1;
}

static struct handle *handle_of(const struct fuse_file_info *info)
{
    return (struct handle *)(uintptr_t)info->fh;
}

static uint64_t length_of(int fd)
{
    struct stat found;
    ensure(fstat(fd, &found) == 0);
    return (uint64_t)found.st_size;
}

static void lock(void)
{
    pthread_mutex_lock(&disk.lock);
}

static int unlock(int result)
{
    pthread_mutex_unlock(&disk.lock);
    return result;
}

/* Takes the lock, after the disk's delay. */
static void lock_slowly(void)
{
    lock();
    uint64_t delay_us = disk.faults.delay_us;
    if (delay_us == 0) {
        return;
    }
    disk.faults.delayed++;
    unlock(0);
    struct timespec t = {.tv_sec = (time_t)(delay_us / 1000000),
                         .tv_nsec = (long)(delay_us % 1000000) * 1000};
    nanosleep(&t, NULL);
    lock();
}

/* Whether a sync is done rather than only acknowledged. */
static bool is_honest(void)
{
    disk.faults.lost_syncs += disk.faults.loses;
    return !disk.faults.loses;
}

/* Files */

static int open_handle(const char *path, int flags, mode_t mode, struct fuse_file_info *info)
{
    int fd = openat(disk.names.root, relative(path), flags | O_RDWR | O_CLOEXEC, mode);
    if (fd < 0) {
        return -errno;
    }
    struct handle *handle = malloc(sizeof *handle);
    ensure(handle != NULL);
    *handle = (struct handle){
        .fd = fd, .file = files_open(&disk.files, fd), .next = handles, .link = &handles};
    if (handles != NULL) {
        handles->link = &handle->next;
    }
    handles = handle;
    info->fh = (uint64_t)(uintptr_t)handle;
    info->direct_io = 1;
    return 0;
}

static int on_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    lock();
    int rv = faults_check(&disk.faults, FAULT_NAME);
    rv = rv == 0 ? faults_allocate(&disk.faults, 0, false) : rv;
    rv = rv == 0 ? open_handle(path, O_CREAT | O_EXCL, mode, info) : rv;
    if (rv == 0) {
        names_created(&disk.names, relative(path));
    } else if (rv == -EEXIST) {
        rv = open_handle(path, 0, 0, info);
    }
    return unlock(rv);
}

static int on_open(const char *path, struct fuse_file_info *info)
{
    lock();
    return unlock(open_handle(path, 0, 0, info));
}

/* With the lock held. */
static void release(struct handle *handle)
{
    *handle->link = handle->next;
    if (handle->next != NULL) {
        handle->next->link = handle->link;
    }
    close(handle->fd);
    files_release(&disk.files, handle->file);
    free(handle);
}

static int on_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    lock();
    release(handle_of(info));
    return unlock(0);
}

static int on_read(const char *path,
                   char *out,
                   size_t len,
                   off_t offset,
                   struct fuse_file_info *info)
{
    (void)path;
    lock();
    int rv = faults_check(&disk.faults, FAULT_READ);
    if (rv == 0) {
        ssize_t n = pread(handle_of(info)->fd, out, len, offset);
        rv = n < 0 ? -errno : (int)n;
    }
    return unlock(rv);
}

static int write_at(struct handle *handle,
                    const char *in,
                    size_t len,
                    uint64_t offset,
                    bool is_durable)
{
    uint64_t length = length_of(handle->fd);
    uint64_t more = offset + len > length ? offset + len - length : 0;
    int rv = faults_allocate(&disk.faults, more, more == 0);
    if (rv != 0) {
        return rv;
    }
    disk.faults.durable_writes += is_durable;
    is_durable = is_durable && is_honest();
    if (!is_durable) {
        file_will_write(handle->file, handle->fd, offset, len);
    }
    ssize_t n = pwrite(handle->fd, in, len, (off_t)offset);
    if (n < 0) {
        return -errno;
    }
    if (is_durable) {
        file_wrote_durably(handle->file, offset, (uint64_t)n);
    }
    return (int)n;
}

/* A write under way when the power went. */
static void tear(int fd, const char *in, size_t len, uint64_t offset)
{
    for (size_t at = 0; at < len; at += SECTOR_BYTES) {
        size_t part = len - at < SECTOR_BYTES ? len - at : SECTOR_BYTES;
        if (chance_below(&disk.faults.chance, 2) == 0) {
            ensure(pwrite(fd, in + at, part, (off_t)(offset + at)) == (ssize_t)part);
        }
    }
}

static int on_write(const char *path,
                    const char *in,
                    size_t len,
                    off_t offset,
                    struct fuse_file_info *info)
{
    (void)path;
    lock_slowly();
    int rv = faults_check(&disk.faults, FAULT_WRITE);
    if (rv == 0) {
        rv = write_at(handle_of(info), in, len, (uint64_t)offset, (info->flags & O_DSYNC) != 0);
    } else if (disk.faults.is_cut && disk.faults.tears) {
        tear(handle_of(info)->fd, in, len, (uint64_t)offset);
    }
    return unlock(rv);
}

/* With the lock held. */
static int resize(struct file *file, int fd, uint64_t bytes)
{
    uint64_t length = length_of(fd);
    int rv = faults_check(&disk.faults, FAULT_WRITE);
    if (rv == 0 && bytes > length) {
        rv = faults_allocate(&disk.faults, bytes - length, false);
    }
    if (rv == 0) {
        file_will_resize(file, fd, bytes);
        rv = ftruncate(fd, (off_t)bytes) == 0 ? 0 : -errno;
    }
    return rv;
}

static int on_truncate(const char *path, off_t bytes, struct fuse_file_info *info)
{
    lock();
    if (info != NULL) {
        struct handle *handle = handle_of(info);
        return unlock(resize(handle->file, handle->fd, (uint64_t)bytes));
    }
    struct fuse_file_info own = {.flags = O_RDWR};
    int rv = open_handle(path, 0, 0, &own);
    if (rv != 0) {
        return unlock(rv);
    }
    rv = resize(handle_of(&own)->file, handle_of(&own)->fd, (uint64_t)bytes);
    unlock(0);
    on_release(path, &own);
    return rv;
}

static int on_fallocate(const char *path,
                        int mode,
                        off_t offset,
                        off_t len,
                        struct fuse_file_info *info)
{
    (void)path;
    if (mode != 0) {
        return -EOPNOTSUPP;
    }
    struct handle *handle = handle_of(info);
    lock();
    bool is_longer = (uint64_t)(offset + len) > length_of(handle->fd);
    return unlock(is_longer ? resize(handle->file, handle->fd, (uint64_t)(offset + len)) : 0);
}

static int on_fsync(const char *path, int only_data, struct fuse_file_info *info)
{
    (void)path;
    (void)only_data; /* the length is needed to read the data */
    lock_slowly();
    int rv = faults_check(&disk.faults, FAULT_SYNC);
    if (rv == 0 && is_honest()) {
        file_synced(handle_of(info)->file);
    }
    return unlock(rv);
}

/* Names */

static int on_fsyncdir(const char *path, int only_data, struct fuse_file_info *info)
{
    (void)only_data;
    (void)info;
    lock_slowly();
    int rv = faults_check(&disk.faults, FAULT_SYNC);
    if (rv == 0 && is_honest()) {
        names_synced(&disk.names, relative(path));
        files_sweep(&disk.files);
    }
    return unlock(rv);
}

static int on_rename(const char *from, const char *to, unsigned flags)
{
    if (flags != 0) {
        return -EINVAL;
    }
    lock();
    int rv = faults_check(&disk.faults, FAULT_NAME);
    return unlock(rv == 0 ? names_rename(&disk.names, relative(from), relative(to)) : rv);
}

static int on_unlink(const char *path)
{
    lock();
    int rv = faults_check(&disk.faults, FAULT_NAME);
    return unlock(rv == 0 ? names_remove(&disk.names, relative(path)) : rv);
}

static int on_mkdir(const char *path, mode_t mode)
{
    lock();
    int rv = faults_check(&disk.faults, FAULT_NAME);
    rv = rv == 0 ? faults_allocate(&disk.faults, 0, false) : rv;
    return unlock(rv == 0 ? names_make_directory(&disk.names, relative(path), mode) : rv);
}

static int on_rmdir(const char *path)
{
    lock();
    int rv = faults_check(&disk.faults, FAULT_NAME);
    return unlock(rv == 0 ? names_remove_directory(&disk.names, relative(path)) : rv);
}

/* What is always durable */

static int on_getattr(const char *path, struct stat *out, struct fuse_file_info *info)
{
    int rv = info != NULL ? fstat(handle_of(info)->fd, out)
                          : fstatat(disk.names.root, relative(path), out, AT_SYMLINK_NOFOLLOW);
    return rv == 0 ? 0 : -errno;
}

static int on_readdir(const char *path,
                      void *out,
                      fuse_fill_dir_t fill,
                      off_t offset,
                      struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    (void)offset;
    (void)info;
    (void)flags;
    int fd = openat(disk.names.root, relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        return -errno;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        fill(out, entry->d_name, NULL, 0, 0);
    }
    closedir(dir);
    return 0;
}

static int on_statfs(const char *path, struct statvfs *out)
{
    (void)path;
    if (fstatvfs(disk.names.root, out) != 0) {
        return -errno;
    }
    lock();
    uint64_t blocks = disk.faults.space_bytes / out->f_frsize;
    if (disk.faults.space_bytes != FAULTS_SPACE_ANY && blocks < out->f_bavail) {
        out->f_bavail = blocks;
        out->f_bfree = blocks;
    }
    return unlock(0);
}

static int on_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    (void)info;
    return fchmodat(disk.names.root, relative(path), mode, 0) == 0 ? 0 : -errno;
}

static int on_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    (void)info;
    return utimensat(disk.names.root, relative(path), times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

/* Start */

_Noreturn static void *take_commands(void *ctx)
{
    for (;;) {
        control_serve(control, disk_answer, ctx);
    }
}

static void *on_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    config->hard_remove = 1;
    config->attr_timeout = 0;
    config->entry_timeout = 0;
    config->negative_timeout = 0;
    pthread_t thread;
    ensure(pthread_create(&thread, NULL, take_commands, &disk) == 0);
    ensure(pthread_detach(thread) == 0);
    return NULL;
}

static const struct fuse_operations operations = {
    .init = on_init,
    .create = on_create,
    .open = on_open,
    .release = on_release,
    .read = on_read,
    .write = on_write,
    .truncate = on_truncate,
    .fallocate = on_fallocate,
    .fsync = on_fsync,
    .fsyncdir = on_fsyncdir,
    .rename = on_rename,
    .unlink = on_unlink,
    .mkdir = on_mkdir,
    .rmdir = on_rmdir,
    .getattr = on_getattr,
    .readdir = on_readdir,
    .statfs = on_statfs,
    .chmod = on_chmod,
    .utimens = on_utimens,
};

/* Until SIGTERM; the exit status. */
static int serve(char *program, const char *mount)
{
    static char name[] = "-ofsname=lossfs";
    char *words[] = {program, name, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(2, words);
    struct fuse *fuse = fuse_new(&args, &operations, sizeof operations, NULL);
    fuse_opt_free_args(&args);
    if (fuse == NULL || fuse_mount(fuse, mount) != 0 ||
        fuse_set_signal_handlers(fuse_get_session(fuse)) != 0) {
        return 1;
    }
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    ensure(config != NULL);
    fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
    int rv = fuse_loop_mt(fuse, config);
    fuse_loop_cfg_destroy(config);
    fuse_unmount(fuse);
    fuse_destroy(fuse);
    while (handles != NULL) { /* of programs that were killed */
        release(handles);
    }
    return rv < 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: lossfs MOUNT STORE SOCKET\n");
        return 64;
    }
    int rv = disk_open(&disk, argv[2]);
    if (rv != 0) {
        fprintf(stderr, "lossfs: %s: %s\n", argv[2], strerror(-rv));
        return 1;
    }
    control = control_listen(argv[3]);
    if (control < 0) {
        fprintf(stderr, "lossfs: %s: %s\n", argv[3], strerror(-control));
        return 1;
    }
    return serve(argv[0], argv[1]);
}
