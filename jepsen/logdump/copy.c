#include "jepsen/logdump/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char block[1 << 20];

/* 0, or an errno. */
static int copy_bytes(int from, int to)
{
    for (;;) {
        ssize_t n = read(from, block, sizeof block);
        if (n <= 0) {
            return n < 0 ? errno : 0;
        }
        for (ssize_t at = 0; at < n;) {
            ssize_t written = write(to, block + at, (size_t)(n - at));
            if (written <= 0) {
                return written < 0 ? errno : ENOSPC;
            }
            at += written;
        }
    }
}

static int copy_file(int from_dir, int to_dir, const char *name)
{
    int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return errno;
    }
    struct stat about;
    int rv = fstat(from, &about) == 0 ? 0 : errno;
    if (rv == 0 && S_ISREG(about.st_mode)) {
        int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        rv = to < 0 ? errno : copy_bytes(from, to);
        if (to >= 0) {
            close(to);
        }
    }
    close(from);
    return rv;
}

static int copy_all(DIR *from, int to_dir)
{
    int rv = 0;
    errno = 0;
    for (struct dirent *entry = readdir(from); rv == 0 && entry != NULL; entry = readdir(from)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            rv = copy_file(dirfd(from), to_dir, entry->d_name);
        }
    }
    return rv;
}

bool copy_make(const char *from, char to[COPY_PATH_MAX], char *message, size_t message_len)
{
    const char *scratch = getenv("TMPDIR");
    int n = snprintf(to, COPY_PATH_MAX, "%s/logdump-XXXXXX", scratch == NULL ? "/tmp" : scratch);
    DIR *source = opendir(from);
    if (source == NULL) {
        snprintf(message, message_len, "cannot read %s: %s", from, strerror(errno));
        return false;
    }
    if (n < 0 || n >= COPY_PATH_MAX || mkdtemp(to) == NULL) {
        snprintf(message, message_len, "cannot make %s: %s", to, strerror(errno));
        closedir(source);
        return false;
    }
    int to_dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rv = to_dir < 0 ? errno : copy_all(source, to_dir);
    if (to_dir >= 0) {
        close(to_dir);
    }
    closedir(source);
    if (rv != 0) {
        snprintf(message, message_len, "cannot copy %s to %s: %s", from, to, strerror(rv));
        copy_remove(to);
    }
    return rv == 0;
}

void copy_remove(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
    rmdir(path);
}
