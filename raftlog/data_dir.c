#include "raftlog/data_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpc/ensure.h"

enum { LINE_MAX_LEN = 512, DIR_MODE = 0750, FILE_MODE = 0640 };

static const char *const marker_texts[] = {"none", "fresh", "voter", "rejoin"};

const char *data_dir_marker_text(enum data_dir_marker marker)
{
    return marker_texts[marker];
}

static bool join(char *path, const char *dir, const char *name)
{
    int n = snprintf(path, DATA_DIR_PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < DATA_DIR_PATH_MAX;
}

static int sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int rv = fsync(fd) == 0 ? 0 : -errno;
    close(fd);
    return rv;
}

static int write_all(int fd, const char *text)
{
    size_t len = strlen(text);
    ssize_t n = write(fd, text, len);
    if (n != (ssize_t)len) {
        return n < 0 ? -errno : -ENOSPC;
    }
    return fsync(fd) == 0 ? 0 : -errno;
}

/* Atomically replaces a small file. */
static int write_file(const char *dir, const char *name, const char *text)
{
    char path[DATA_DIR_PATH_MAX];
    char temporary[DATA_DIR_PATH_MAX];
    char temporary_name[64];
    snprintf(temporary_name, sizeof temporary_name, "%s.new", name);
    if (!join(path, dir, name) || !join(temporary, dir, temporary_name)) {
        return -ENAMETOOLONG;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        return -errno;
    }
    int rv = write_all(fd, text);
    close(fd);
    if (rv != 0) {
        unlink(temporary);
        return rv;
    }
    if (rename(temporary, path) != 0) {
        return -errno;
    }
    return sync_dir(dir);
}

/* The first line of a small file; 0, or a negative errno. */
static int read_file(const char *dir, const char *name, char line[LINE_MAX_LEN])
{
    char path[DATA_DIR_PATH_MAX];
    if (!join(path, dir, name)) {
        return -ENAMETOOLONG;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t n = read(fd, line, LINE_MAX_LEN - 1);
    int rv = n < 0 ? -errno : 0;
    close(fd);
    line[n < 0 ? 0 : n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return rv;
}

/* Our own line, to compare a found one with. */
static void identity_line(char *line, size_t len, const char *cluster_id, uint64_t node_id)
{
    snprintf(line, len, "roster raftlog format=%d node=%" PRIu64 " cluster=%s", DATA_DIR_FORMAT,
             node_id, cluster_id);
}

static bool check_identity(const struct data_dir *data,
                           const char *cluster_id,
                           uint64_t node_id,
                           char *message,
                           size_t message_len)
{
    char ours[LINE_MAX_LEN];
    char found[LINE_MAX_LEN];
    identity_line(ours, sizeof ours, cluster_id, node_id);
    int rv = read_file(data->dir, "identity", found);
    if (rv == -ENOENT) {
        char text[LINE_MAX_LEN + 1];
        snprintf(text, sizeof text, "%s\n", ours);
        rv = write_file(data->dir, "identity", text);
        if (rv != 0) {
            snprintf(message, message_len, "cannot write %s/identity: %s", data->dir,
                     strerror(-rv));
        }
        return rv == 0;
    }
    if (rv != 0) {
        snprintf(message, message_len, "cannot read %s/identity: %s", data->dir, strerror(-rv));
        return false;
    }
    int format = 0;
    if (sscanf(found, "roster raftlog format=%d ", &format) == 1 && format > DATA_DIR_FORMAT) {
        snprintf(message, message_len,
                 "%s was written by a newer release (format %d, this one knows %d): use that one",
                 data->dir, format, DATA_DIR_FORMAT);
        return false;
    }
    if (strcmp(ours, found) != 0) {
        snprintf(message, message_len,
                 "%s belongs to another node: it says '%s', the configuration '%s'; correct the "
                 "configuration or the path; if they are right, %s/identity is damaged: remove "
                 "this node's data directory, it rejoins by itself",
                 data->dir, found, ours, data->dir);
        return false;
    }
    return true;
}

static bool read_marker(struct data_dir *data, char *message, size_t message_len)
{
    char line[LINE_MAX_LEN];
    int rv = read_file(data->dir, "voter", line);
    if (rv == -ENOENT) {
        data->marker = DATA_DIR_MARKER_NONE;
        return true;
    }
    for (int i = DATA_DIR_MARKER_FRESH; rv == 0 && i <= DATA_DIR_MARKER_REJOIN; i++) {
        if (strcmp(line, marker_texts[i]) == 0) {
            data->marker = (enum data_dir_marker)i;
            return true;
        }
    }
    snprintf(message, message_len,
             "cannot read %s/voter (%s): remove this node's data directory, it rejoins by itself",
             data->dir, rv != 0 ? strerror(-rv) : "unknown content");
    return false;
}

bool data_dir_open(struct data_dir *data,
                   const char *dir,
                   const char *cluster_id,
                   uint64_t node_id,
                   char *message,
                   size_t message_len)
{
    *data = (struct data_dir){.marker = DATA_DIR_MARKER_NONE};
    int n = snprintf(data->dir, sizeof data->dir, "%s", dir);
    if (n <= 0 || n >= DATA_DIR_PATH_MAX || !join(data->raft_dir, dir, "raft")) {
        snprintf(message, message_len, "the data directory's path is empty or too long");
        return false;
    }
    const char *const dirs[] = {data->dir, data->raft_dir};
    for (int i = 0; i < 2; i++) {
        if (mkdir(dirs[i], DIR_MODE) != 0 && errno != EEXIST) {
            snprintf(message, message_len, "cannot create %s: %s", dirs[i], strerror(errno));
            return false;
        }
    }
    char parent[DATA_DIR_PATH_MAX];
    int rv = join(parent, dir, "..") ? sync_dir(parent) : -ENAMETOOLONG;
    rv = rv == 0 || rv == -EACCES ? sync_dir(data->dir) : rv;
    if (rv != 0) {
        snprintf(message, message_len, "cannot use %s: %s", data->dir, strerror(-rv));
        return false;
    }
    return check_identity(data, cluster_id, node_id, message, message_len) &&
           read_marker(data, message, message_len);
}

int data_dir_set_marker(struct data_dir *data, enum data_dir_marker marker)
{
    ensure(marker != DATA_DIR_MARKER_NONE);
    char text[32];
    snprintf(text, sizeof text, "%s\n", marker_texts[marker]);
    int rv = write_file(data->dir, "voter", text);
    if (rv == 0) {
        data->marker = marker;
    }
    return rv;
}

int data_dir_clear_marker(struct data_dir *data)
{
    char path[DATA_DIR_PATH_MAX];
    if (!join(path, data->dir, "voter")) {
        return -ENAMETOOLONG;
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        return -errno;
    }
    data->marker = DATA_DIR_MARKER_NONE;
    return sync_dir(data->dir);
}

int data_dir_clear_raft(const struct data_dir *data)
{
    DIR *dir = opendir(data->raft_dir);
    if (dir == NULL) {
        return -errno;
    }
    int rv = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL && rv == 0; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(dir), entry->d_name, 0) != 0) {
            rv = -errno;
        }
    }
    closedir(dir);
    return rv != 0 ? rv : sync_dir(data->raft_dir);
}
