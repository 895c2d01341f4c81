#include "jepsen/disk/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jepsen/lab/chance.h"
#include "rpc/ensure.h"

enum kind { MADE, REMOVED, REMOVED_DIRECTORY, RENAMED };

struct name_change {
    struct name_change *older;
    enum kind kind;
    char *path;     /* after the change; what is gone: before it */
    char *from;     /* RENAMED */
    char trash[24]; /* what was removed or replaced; or empty */
    mode_t mode;    /* REMOVED_DIRECTORY */
    bool is_path_synced;
    bool is_from_synced; /* of RENAMED; true else */
};

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    ensure(copy != NULL);
    return copy;
}

static struct name_change *add(struct names *names, enum kind kind, const char *path)
{
    struct name_change *change = calloc(1, sizeof *change);
    ensure(change != NULL);
    *change = (struct name_change){
        .older = names->newest, .kind = kind, .path = copy_of(path), .is_from_synced = true};
    names->newest = change;
    return change;
}

/* The next name in the trash. */
static void name_trash(struct names *names, char name[24])
{
    snprintf(name, 24, "%llu", (unsigned long long)names->trashed++);
}

static void free_change(struct name_change *change)
{
    free(change->path);
    free(change->from);
    free(change);
}

/* Removes a tree; what cannot be removed stays. */
static void remove_tree(int at, const char *path)
{
    if (unlinkat(at, path, 0) == 0) {
        return;
    }
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_tree(fd, entry->d_name);
        }
    }
    closedir(dir);
    unlinkat(at, path, AT_REMOVEDIR);
}

/* Changes */

int names_make_directory(struct names *names, const char *path, mode_t mode)
{
    if (mkdirat(names->root, path, mode) != 0) {
        return -errno;
    }
    add(names, MADE, path);
    return 0;
}

int names_remove_directory(struct names *names, const char *path)
{
    struct stat found;
    if (fstatat(names->root, path, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        unlinkat(names->root, path, AT_REMOVEDIR) != 0) {
        return -errno;
    }
    add(names, REMOVED_DIRECTORY, path)->mode = found.st_mode & 07777;
    return 0;
}

static void keep(const struct names *names, const char *path, const char *number)
{
    const char *last = strrchr(path, '/');
    char name[NAME_MAX + 32];
    snprintf(name, sizeof name, "%s.%s", number, last == NULL ? path : last + 1);
    ensure(linkat(names->root, path, names->kept, name, 0) == 0);
}

int names_remove(struct names *names, const char *path)
{
    char trash[24];
    name_trash(names, trash);
    struct stat found;
    if (fstatat(names->root, path, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        return -errno;
    }
    if (S_ISDIR(found.st_mode)) {
        return -EISDIR;
    }
    if (names->keeps) {
        keep(names, path, trash);
    }
    if (renameat(names->root, path, names->trash, trash) != 0) {
        return -errno;
    }
    memcpy(add(names, REMOVED, path)->trash, trash, sizeof trash);
    return 0;
}

int names_rename(struct names *names, const char *from, const char *to)
{
    struct stat found;
    char trash[24] = "";
    if (fstatat(names->root, from, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        return -errno;
    }
    if (S_ISDIR(found.st_mode)) {
        return -EOPNOTSUPP;
    }
    if (fstatat(names->root, to, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISDIR(found.st_mode)) {
            return -EISDIR;
        }
        name_trash(names, trash);
        if (renameat(names->root, to, names->trash, trash) != 0) {
            return -errno;
        }
    }
    if (renameat(names->root, from, names->root, to) != 0) {
        int error = errno;
        ensure(trash[0] == '\0' || renameat(names->trash, trash, names->root, to) == 0);
        return -error;
    }
    struct name_change *change = add(names, RENAMED, to);
    change->from = copy_of(from);
    change->is_from_synced = false;
    memcpy(change->trash, trash, sizeof trash);
    return 0;
}

void names_created(struct names *names, const char *path)
{
    add(names, MADE, path);
}

/* Durability */

static bool is_in(const char *path, const char *directory)
{
    const char *end = strrchr(path, '/');
    if (end == NULL) {
        return strcmp(directory, ".") == 0;
    }
    size_t len = (size_t)(end - path);
    return strlen(directory) == len && memcmp(path, directory, len) == 0;
}

static void discard_trash(struct names *names, const struct name_change *change)
{
    if (change->trash[0] != '\0') {
        unlinkat(names->trash, change->trash, 0);
    }
}

void names_synced(struct names *names, const char *directory)
{
    struct name_change **at = &names->newest;
    while (*at != NULL) {
        struct name_change *change = *at;
        change->is_path_synced |= is_in(change->path, directory);
        change->is_from_synced |= change->from != NULL && is_in(change->from, directory);
        if (!change->is_path_synced || !change->is_from_synced) {
            at = &change->older;
            continue;
        }
        *at = change->older;
        discard_trash(names, change);
        if (change->kind == REMOVED_DIRECTORY) {
            names_synced(names, change->path); /* what was in it cannot come back */
            at = &names->newest;
        }
        free_change(change);
    }
}

/* What stands in the way of an undo is not durable either. */
static void undo(struct names *names, const struct name_change *change)
{
    switch (change->kind) {
        case MADE:
            remove_tree(names->root, change->path);
            break;
        case REMOVED:
            renameat(names->trash, change->trash, names->root, change->path);
            break;
        case REMOVED_DIRECTORY:
            mkdirat(names->root, change->path, change->mode);
            break;
        case RENAMED:
            renameat(names->root, change->path, names->root, change->from);
            if (change->trash[0] != '\0') {
                renameat(names->trash, change->trash, names->root, change->path);
            }
            break;
    }
}

uint64_t names_crash(struct names *names, uint64_t *chance)
{
    uint64_t count = names_pending(names);
    uint64_t undone = chance == NULL ? count : chance_below(chance, count + 1);
    for (uint64_t i = 0; i < count; i++) {
        struct name_change *change = names->newest;
        names->newest = change->older;
        if (i < undone) {
            undo(names, change);
        } else {
            discard_trash(names, change);
        }
        free_change(change);
    }
    return undone;
}

uint64_t names_pending(const struct names *names)
{
    uint64_t count = 0;
    for (const struct name_change *change = names->newest; change != NULL; change = change->older) {
        count++;
    }
    return count;
}
