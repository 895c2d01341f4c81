#include "jepsen/disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "jepsen/lab/control.h"

static int open_directory(int at, const char *name)
{
    if (mkdirat(at, name, 0755) != 0 && errno != EEXIST) {
        return -errno;
    }
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int disk_open(struct disk *disk, const char *store)
{
    *disk = (struct disk){.lock = PTHREAD_MUTEX_INITIALIZER,
                          .faults = {.space_bytes = FAULTS_SPACE_ANY}};
    int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    disk->names.root = open_directory(fd, "data");
    disk->names.trash = open_directory(fd, "trash");
    disk->names.kept = open_directory(fd, "kept");
    int worst = disk->names.root < disk->names.trash ? disk->names.root : disk->names.trash;
    worst = worst < disk->names.kept ? worst : disk->names.kept;
    return worst < 0 ? worst : 0;
}

static const char *const operation_names[FAULT_OPERATIONS] = {"read", "write", "sync", "name"};

static void crash(struct disk *disk, uint64_t *chance, struct buf *reply)
{
    uint64_t pages = files_crash(&disk->files, chance);
    uint64_t names = names_crash(&disk->names, chance);
    disk->faults.crashes++;
    disk->faults.lost_pages += pages;
    disk->faults.lost_names += names;
    control_say(reply, "ok pages=%llu names=%llu\n", (unsigned long long)pages,
                (unsigned long long)names);
}

/* The power goes at this moment, under whoever uses the disk. */
static bool cut(struct disk *disk, const char *seed, struct buf *reply)
{
    uint64_t chance = 0;
    if (seed != NULL && !control_number(seed, UINT64_MAX, &chance)) {
        return false;
    }
    disk->faults.is_cut = true;
    disk->faults.tears = seed != NULL;
    crash(disk, seed == NULL ? NULL : &chance, reply);
    disk->faults.chance = chance;
    return true;
}

static bool fail(struct disk *disk, const char *operation, const char *times)
{
    uint64_t count = FAULTS_ALWAYS;
    if (operation == NULL || times == NULL ||
        (strcmp(times, "always") != 0 && !control_number(times, FAULTS_ALWAYS - 1, &count))) {
        return false;
    }
    for (size_t i = 0; i < FAULT_OPERATIONS; i++) {
        if (strcmp(operation, operation_names[i]) == 0) {
            disk->faults.failures[i] = count;
            return true;
        }
    }
    return false;
}

static bool limit_space(struct disk *disk, const char *amount, const char *hardness)
{
    uint64_t bytes = FAULTS_SPACE_ANY;
    if (amount == NULL ||
        (strcmp(amount, "any") != 0 && !control_number(amount, FAULTS_SPACE_ANY - 1, &bytes)) ||
        (hardness != NULL && strcmp(hardness, "hard") != 0)) {
        return false;
    }
    disk->faults.space_bytes = bytes;
    disk->faults.is_full_hard = hardness != NULL;
    return true;
}

static void heal(struct disk *disk)
{
    memset(disk->faults.failures, 0, sizeof disk->faults.failures);
    disk->faults.space_bytes = FAULTS_SPACE_ANY;
    disk->faults.is_full_hard = false;
    disk->faults.loses = false;
    disk->faults.is_cut = false;
    disk->faults.delay_us = 0;
}

static void say_counters(const struct disk *disk, struct buf *reply)
{
    const struct faults *f = &disk->faults;
    for (size_t i = 0; i < FAULT_OPERATIONS; i++) {
        control_say(reply, "%s=%llu ", operation_names[i], (unsigned long long)f->operations[i]);
    }
    control_say(reply,
                "durable_writes=%llu failed=%llu refused=%llu lost_syncs=%llu delayed=%llu "
                "crashes=%llu lost_pages=%llu lost_names=%llu dirty_pages=%llu dirty_names=%llu\n",
                (unsigned long long)f->durable_writes, (unsigned long long)f->failed,
                (unsigned long long)f->refused, (unsigned long long)f->lost_syncs,
                (unsigned long long)f->delayed, (unsigned long long)f->crashes,
                (unsigned long long)f->lost_pages, (unsigned long long)f->lost_names,
                (unsigned long long)files_dirty_pages(&disk->files),
                (unsigned long long)names_pending(&disk->names));
}

static bool act(struct disk *disk, char *line, struct buf *reply)
{
    const char *what = control_word(&line);
    uint64_t number;
    if (what == NULL) {
        return false;
    }
    if (strcmp(what, "fail") == 0) {
        const char *operation = control_word(&line);
        return fail(disk, operation, control_word(&line));
    }
    if (strcmp(what, "cut") == 0) {
        return cut(disk, control_word(&line), reply);
    }
    if (strcmp(what, "space") == 0) {
        const char *amount = control_word(&line);
        return limit_space(disk, amount, control_word(&line));
    }
    if (strcmp(what, "crash") == 0) {
        crash(disk, NULL, reply);
    } else if (strcmp(what, "torn") == 0 &&
               control_number(control_word(&line), UINT64_MAX, &number)) {
        crash(disk, &number, reply);
    } else if (strcmp(what, "delay") == 0 &&
               control_number(control_word(&line), 60000000, &number)) {
        disk->faults.delay_us = number;
    } else if (strcmp(what, "lose") == 0 && control_number(control_word(&line), 1, &number)) {
        disk->faults.loses = number == 1;
    } else if (strcmp(what, "keep") == 0 && control_number(control_word(&line), 1, &number)) {
        disk->names.keeps = number == 1;
    } else if (strcmp(what, "heal") == 0) {
        heal(disk);
    } else if (strcmp(what, "stat") == 0) {
        say_counters(disk, reply);
    } else {
        return false;
    }
    return true;
}

void disk_answer(void *ctx, char *line, struct buf *reply)
{
    struct disk *disk = ctx;
    pthread_mutex_lock(&disk->lock);
    if (!act(disk, line, reply)) {
        control_say(reply, "error: not a command\n");
    } else if (reply->len == 0) {
        control_say(reply, "ok\n");
    }
    pthread_mutex_unlock(&disk->lock);
}
