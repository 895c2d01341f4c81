#include "server/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "roster-data "
#define REMEDY "remove this node's data directory, it rejoins by itself"

enum { FORMAT_BYTES = 512 };

struct opening {
    const char *path;
    const char *cluster_id;
    uint64_t node_id;
    int fd; /* of the directory */
    char *message;
    size_t message_len;
};

static bool fail(const struct opening *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(const struct opening *o, const char *format, ...)
{
    va_list arguments;
    int len = snprintf(o->message, o->message_len, "data.dir %s: ", o->path);
    if (len > 0 && (size_t)len < o->message_len) {
        va_start(arguments, format);
        vsnprintf(o->message + len, o->message_len - (size_t)len, format, arguments);
        va_end(arguments);
    }
    return false;
}

static const char *advice(int error)
{
    switch (error) {
        case EACCES:
        case EPERM:
            return "; give the directory to the user that runs rosterd";
        case EROFS:
            return "; the file system is mounted read-only";
        case ENOSPC:
        case EDQUOT:
            return "; make room on the disk";
        case ENOENT:
            return "; its parent must exist";
        case ENOTDIR:
            return "; a file is in the way";
        default:
            return "";
    }
}

static bool fail_errno(const struct opening *o, const char *what)
{
    int error = errno;
    return fail(o, "%s: %s%s", what, strerror(error), advice(error));
}

/* The directory's own name lasts. A parent that we may not read was not ours to make it in. */
static bool sync_parent(const struct opening *o)
{
    int fd = openat(o->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == EACCES || fail_errno(o, "its parent cannot be opened");
    }
    bool is_synced = fsync(fd) == 0 || fail_errno(o, "its parent cannot be synced");
    close(fd);
    return is_synced;
}

static bool open_directory(struct opening *o)
{
    if (mkdir(o->path, 0750) != 0 && errno != EEXIST) {
        return fail_errno(o, "cannot be created");
    }
    o->fd = open(o->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->fd < 0) {
        return fail_errno(o, "cannot be opened");
    }
    return sync_parent(o);
}

static bool take_lock(const struct opening *o, struct datadir *datadir)
{
    datadir->lock_fd = openat(o->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (datadir->lock_fd < 0) {
        return fail_errno(o, "cannot be written to");
    }
    if (flock(datadir->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        return true;
    }
    if (errno == EWOULDBLOCK) {
        return fail(o,
                    "in use by another rosterd; end that one, or give each node a data.dir of "
                    "its own");
    }
    return fail_errno(o, "cannot be locked");
}

/* 1: nothing in it but the lock and what a new file system has; 0: something; -1: error. */
static int is_pristine(const struct opening *o)
{
    int fd = openat(o->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) {
        return -1;
    }
    static const char *const expected[] = {".", "..", "lock", "lost+found", "format.new"};
    int pristine = 1;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        bool is_expected = false;
        for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
            is_expected = is_expected || strcmp(entry->d_name, expected[i]) == 0;
        }
        pristine = is_expected ? pristine : 0;
    }
    closedir(directory);
    return pristine;
}

static void format_text(const struct opening *o, char *text, size_t size)
{
    snprintf(text, size, MAGIC "%d\ncluster.id=%s\nnode.id=%llu\n", DATADIR_VERSION, o->cluster_id,
             (unsigned long long)o->node_id);
}

static bool write_format(const struct opening *o)
{
    char text[FORMAT_BYTES];
    format_text(o, text, sizeof text);
    int fd = openat(o->fd, "format.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0) {
        return fail_errno(o, "cannot be written to");
    }
    size_t len = strlen(text);
    bool is_written = write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
    if (!is_written) {
        fail_errno(o, "format.new cannot be written");
    }
    close(fd);
    if (is_written && (renameat(o->fd, "format.new", o->fd, "format") != 0 || fsync(o->fd) != 0)) {
        is_written = fail_errno(o, "format cannot be put in place");
    }
    return is_written;
}

static bool check_format(const struct opening *o, char *found)
{
    char expected[FORMAT_BYTES];
    format_text(o, expected, sizeof expected);
    if (strcmp(found, expected) == 0) {
        return true;
    }
    if (strncmp(found, MAGIC, strlen(MAGIC)) != 0) {
        return fail(o,
                    "its file format is not ours; choose another directory; if it was rosterd's, "
                    "the file is damaged: " REMEDY);
    }
    long version = strtol(found + strlen(MAGIC), NULL, 10);
    if (version > DATADIR_VERSION) {
        return fail(
            o,
            "written by a newer rosterd (format %ld, this one knows %d); start that version "
            "again",
            version, DATADIR_VERSION);
    }
    for (char *at = found; (at = strchr(at, '\n')) != NULL;) {
        *at = ' ';
    }
    return fail(o,
                "belongs to another node or cluster (file format: %s); correct node.id, cluster.id "
                "or data.dir; if they are right, the file is damaged: " REMEDY,
                found);
}

/* Reads the format, or writes it in a new directory. */
static bool settle_format(const struct opening *o)
{
    char text[FORMAT_BYTES];
    int fd = openat(o->fd, "format", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        close(fd);
        if (got < 0) {
            return fail_errno(o, "format cannot be read");
        }
        text[got] = '\0';
        return check_format(o, text);
    }
    if (errno != ENOENT) {
        return fail_errno(o, "format cannot be opened");
    }
    switch (is_pristine(o)) {
        case 1:
            return write_format(o);
        case 0:
            return fail(o,
                        "has files in it but none called format, so it is not ours; choose an "
                        "empty directory");
        default:
            return fail_errno(o, "cannot be read");
    }
}

bool datadir_open(struct datadir *datadir,
                  const char *path,
                  const char *cluster_id,
                  uint64_t node_id,
                  char *message,
                  size_t message_len)
{
    struct opening o = {path, cluster_id, node_id, -1, message, message_len};
    datadir->lock_fd = -1;
    int len = snprintf(datadir->raft, sizeof datadir->raft, "%s/raft", path);
    bool is_open = len > 0 && (size_t)len < sizeof datadir->raft;
    is_open = is_open ? open_directory(&o) && take_lock(&o, datadir) && settle_format(&o)
                      : fail(&o, "the path is too long");
    if (o.fd >= 0) {
        close(o.fd);
    }
    if (!is_open) {
        datadir_close(datadir);
    }
    return is_open;
}

void datadir_close(struct datadir *datadir)
{
    if (datadir->lock_fd >= 0) {
        close(datadir->lock_fd);
        datadir->lock_fd = -1;
    }
}
