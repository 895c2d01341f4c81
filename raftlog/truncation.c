#include "raftlog/truncation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_LEN = 8 };

int truncation_open(struct truncation *truncation, const char *dir)
{
    *truncation =
        (struct truncation){.note = {.fd = -1, .magic = 0x524c4354 /* "RLCT" */, .count = 1}};
    bool is_known; /* where not, it is new, or damaged: raft_dir_inspect() sees what is wrong */
    return sector_open(&truncation->note, dir, "truncation", &truncation->index, &is_known);
}

void truncation_close(struct truncation *truncation)
{
    sector_close(&truncation->note);
}

int truncation_note(struct truncation *truncation, uint64_t index)
{
    int rv = sector_write(&truncation->note, &index);
    if (rv == 0) {
        truncation->index = index;
    }
    return rv;
}

/* Calls [visit] for each file until it returns another number than 0, which is returned; or 0, or a
 * negative errno. */
static int visit_files(const char *path,
                       int (*visit)(void *ctx, int dir, const char *name),
                       void *ctx)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return -errno;
    }
    int rv = 0;
    errno = 0;
    for (struct dirent *entry; rv == 0 && (entry = readdir(dir)) != NULL; errno = 0) {
        rv = visit(ctx, dirfd(dir), entry->d_name);
    }
    if (rv == 0 && errno != 0) {
        rv = -errno;
    }
    closedir(dir);
    return rv;
}

static int sync_directory(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        return -errno;
    }
    int rv = fsync(dir) == 0 ? 0 : -errno;
    close(dir);
    return rv;
}

int truncation_prepare(const char *path)
{
    return sync_directory(path);
}

/* A closed segment is named after its first and its last entry. */
static bool is_closed_segment(const char *name, unsigned long long *first, unsigned long long *last)
{
    char end;
    return sscanf(name, "%16llu-%16llu%c", first, last, &end) == 2;
}

/* An open segment that is not in use yet is all zeros. One that is gone since its name was read may
 * be a closed one by now. 1: there may be entries in it. */
static int is_open_segment_in_use(int dir, const char *name)
{
    if (strncmp(name, "open-", 5) != 0) {
        return 0;
    }
    static const uint8_t zeros[FORMAT_LEN];
    uint8_t format[FORMAT_LEN];
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 1 : -errno;
    }
    ssize_t n = read(fd, format, sizeof format);
    int rv = n < 0 ? -errno : n == FORMAT_LEN && memcmp(format, zeros, FORMAT_LEN) != 0;
    close(fd);
    return rv;
}

static int may_hold(void *ctx, int dir, const char *name)
{
    const uint64_t *index = ctx;
    unsigned long long first;
    unsigned long long last;
    if (is_closed_segment(name, &first, &last)) {
        return last >= *index;
    }
    return is_open_segment_in_use(dir, name);
}

int truncation_is_done(const char *path, uint64_t index)
{
    int held = visit_files(path, may_hold, &index);
    if (held != 0) {
        return held < 0 ? held : 0;
    }
    int rv = sync_directory(path);
    return rv == 0 ? 1 : rv;
}

struct finishing {
    uint64_t index;
    unsigned long long old_first; /* of the file that contains the index; 0: there is none */
    unsigned long long new_first; /* of the one that ends before it; 0: there is none */
    bool has_open;                /* one in use */
    int removed;
};

static int look(void *ctx, int dir, const char *name)
{
    struct finishing *finishing = ctx;
    unsigned long long first;
    unsigned long long last;
    if (!is_closed_segment(name, &first, &last)) {
        int in_use = is_open_segment_in_use(dir, name);
        finishing->has_open = finishing->has_open || in_use > 0;
        return in_use < 0 ? in_use : 0;
    }
    if (first < finishing->index && last >= finishing->index) {
        finishing->old_first = first;
    } else if (last == finishing->index - 1) {
        finishing->new_first = first;
    }
    return 0;
}

/* An open file does not say which entries it holds: behind one that is gone, the library would take
 * them for earlier ones. */
static int remove_rest(void *ctx, int dir, const char *name)
{
    struct finishing *finishing = ctx;
    unsigned long long first;
    unsigned long long last;
    int is_behind = is_closed_segment(name, &first, &last) ? last >= finishing->index
                                                           : is_open_segment_in_use(dir, name);
    if (is_behind <= 0) {
        return is_behind;
    }
    finishing->removed++;
    return unlinkat(dir, name, 0) == 0 ? 0 : -errno;
}

/* Where it had not begun it may begin here, since what is there from the index on was never
 * committed. But where the index lies within a file the library has to write that one anew; and
 * where none ends before it, nobody knows where the open ones begin. */
static bool may_go_on(const struct finishing *finishing)
{
    if (finishing->old_first != 0) {
        return finishing->new_first == finishing->old_first;
    }
    return finishing->new_first != 0 || !finishing->has_open;
}

int truncation_finish(const char *path, uint64_t index)
{
    struct finishing finishing = {.index = index};
    int rv = sync_directory(path); /* or what is seen might be undone */
    rv = rv == 0 ? visit_files(path, look, &finishing) : rv;
    if (rv != 0 || !may_go_on(&finishing)) {
        return rv;
    }
    rv = visit_files(path, remove_rest, &finishing);
    if (rv == 0 && finishing.removed > 0) {
        rv = sync_directory(path);
    }
    return rv == 0 ? finishing.removed : rv;
}
