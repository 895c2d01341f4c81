/* The faults of disks, tried on programs of which it is known what they may lose: one that syncs
 * loses nothing that it reported, one that does not loses something sooner or later. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/world/disk.h"
#include "tests/sim/world/node.h"
#include "tests/sim/world/parts.h"
#include "tests/sim/world/trials.h"

enum { NODE = 1, RECORD = 700, RECORDS = 40, LIVES = 150, STEPS_MAX = 160 };

#define FILE_PATH DISK_ROOT "/records"
#define STATE_PATH DISK_ROOT "/state"
#define NEW_PATH DISK_ROOT "/state.new"

int io_setup(unsigned events, aio_context_t *context);
int io_submit(aio_context_t context, long count, struct iocb **iocbs);
int io_getevents(aio_context_t context,
                 long least,
                 long most,
                 struct io_event *events,
                 struct timespec *timeout);

/* What the running program has reported. */
static int reported;
static bool syncs;

static void fill(char *record, int number)
{
    for (int i = 0; i < RECORD; i++) {
        record[i] = (char)(number * 7 + i % 64 + 1);
    }
}

static void sync_root(void)
{
    int fd = open(DISK_ROOT, O_RDONLY | O_DIRECTORY);
    fsync(fd);
    close(fd);
}

/* ---- Programs ---- */

static void append_records(void *process)
{
    char record[RECORD];
    int fd = open(FILE_PATH, O_WRONLY | O_CREAT, 0600);
    (void)process;
    if (syncs) {
        fsync(fd);
        sync_root();
    }
    for (int i = 0; i < RECORDS; i++) {
        fill(record, i);
        if (write(fd, record, RECORD) != RECORD || (syncs && fsync(fd) != 0)) {
            process_quit(NODE_QUIT, 1);
        }
        reported = i + 1;
    }
    task_sleep(WORLD_SECOND);
    process_quit(NODE_EXITED, 0);
}

/* The same as libraft does it: space reserved, then asynchronous writes with O_DSYNC. */
static void append_by_aio(void *process)
{
    aio_context_t context = 0;
    char record[RECORD];
    int fd = open(FILE_PATH, O_WRONLY | O_CREAT | (syncs ? O_DSYNC : 0), 0600);
    (void)process;
    posix_fallocate(fd, 0, RECORD * RECORDS);
    fsync(fd);
    sync_root();
    io_setup(1, &context);
    for (int i = 0; i < RECORDS; i++) {
        struct iocb iocb = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                            .aio_fildes = (uint32_t)fd,
                            .aio_buf = (uint64_t)(uintptr_t)record,
                            .aio_nbytes = RECORD,
                            .aio_offset = (int64_t)i * RECORD};
        struct iocb *iocbs = &iocb;
        struct io_event event;
        fill(record, i);
        io_submit(context, 1, &iocbs);
        reported = syncs ? reported : i + 1; /* too early */
        io_getevents(context, 1, 1, &event, NULL);
        if (event.res != RECORD) {
            process_quit(NODE_QUIT, 1);
        }
        reported = i + 1;
    }
    task_sleep(WORLD_SECOND);
    process_quit(NODE_EXITED, 0);
}

static void replace_state(void *process)
{
    char record[RECORD];
    (void)process;
    for (int i = 0; i < RECORDS; i++) {
        int fd = open(NEW_PATH, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        fill(record, i);
        write(fd, record, RECORD) == RECORD ? (void)0 : process_quit(NODE_QUIT, 1);
        if (syncs) {
            fsync(fd);
        }
        close(fd);
        rename(NEW_PATH, STATE_PATH);
        sync_root();
        reported = i + 1;
    }
    task_sleep(WORLD_SECOND);
    process_quit(NODE_EXITED, 0);
}

/* ---- What is there afterwards ---- */

static bool has_record(const uint8_t *bytes, int number)
{
    char record[RECORD];
    fill(record, number);
    return memcmp(bytes, record, RECORD) == 0;
}

static bool has_records(void)
{
    size_t len = 0;
    uint8_t *bytes = disk_read_file(NODE, FILE_PATH, &len);
    bool has_all = reported == 0 || (bytes != NULL && len >= (size_t)reported * RECORD);
    for (int i = 0; has_all && i < reported; i++) {
        has_all = has_record(bytes + (size_t)i * RECORD, i);
    }
    free(bytes);
    return has_all;
}

/* The newest that was reported, or one behind it. */
static bool has_state(void)
{
    size_t len = 0;
    uint8_t *bytes = disk_read_file(NODE, STATE_PATH, &len);
    bool is_good = reported == 0;
    for (int i = reported - 1; bytes != NULL && i >= 0 && i <= reported && !is_good; i++) {
        is_good = len == RECORD && has_record(bytes, i);
    }
    free(bytes);
    return is_good;
}

/* How many of so many lives of the program lost what they had reported. */
static int count_losses(void (*program)(void *process), bool (*is_whole)(void), bool is_power)
{
    int losses = 0;
    for (int life = 0; life < LIVES; life++) {
        unsigned steps = (unsigned)chance_between(world_chance(WORLD_CHANCE_NEMESIS), 1, STEPS_MAX);
        disk_wipe(NODE);
        reported = 0;
        node_start(NODE, program);
        is_power ? node_lose_power_at_step(NODE, steps) : node_kill_at_step(NODE, steps);
        world_run_until(world_now_us() +
                        chance_between(world_chance(WORLD_CHANCE_NEMESIS), 1, 60) * WORLD_MS);
        is_power ? node_lose_power(NODE) : node_kill(NODE);
        losses += !is_whole();
    }
    return losses;
}

static void expect(const char *what, int losses, bool may_lose)
{
    printf("%-44s %3d of %d lives lost what was reported\n", what, losses, LIVES);
    if ((losses > 0) != may_lose) {
        world_fail("%s: that is wrong", what);
    }
}

static void try_crashes(void)
{
    static const struct {
        const char *name;
        void (*program)(void *process);
        bool (*is_whole)(void);
    } programs[] = {{"records", append_records, has_records},
                    {"asynchronous records", append_by_aio, has_records},
                    {"a state that is replaced", replace_state, has_state}};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char what[80];
        for (int synced = 0; synced < 2; synced++) {
            syncs = synced != 0;
            snprintf(what, sizeof what, "%s, %s, power lost", programs[i].name,
                     syncs ? "synced" : "not synced");
            expect(what, count_losses(programs[i].program, programs[i].is_whole, true), !syncs);
        }
        syncs = true;
        snprintf(what, sizeof what, "%s, killed", programs[i].name);
        expect(what, count_losses(programs[i].program, programs[i].is_whole, false), false);
    }
    syncs = true;
    disk_lie(NODE, true);
    expect("records, synced by a disk that lies", count_losses(append_records, has_records, true),
           true);
    disk_lie(NODE, false);
}

/* ---- Errors ---- */

static int run_to_end(void (*program)(void *process))
{
    disk_wipe(NODE);
    reported = 0;
    syncs = true;
    node_start(NODE, program);
    world_run_until(world_now_us() + 5 * WORLD_SECOND);
    if (node_is_on(NODE)) {
        world_fail("the program does not end");
    }
    return node_exit_status(NODE);
}

static void try_errors(void)
{
    if (run_to_end(append_records) != 0 || reported != RECORDS) {
        world_fail("a disk without faults fails");
    }
    disk_fail(NODE, DISK_WRITE, 5, 1, 1000);
    if (run_to_end(append_records) != 1 || reported != 4 || disk_failures(NODE) != 1) {
        world_fail("the fifth write was to fail, %d did not", reported);
    }
    disk_fail(NODE, DISK_SYNC, 3, 1, 1000); /* of the file, of the directory, of a record */
    if (run_to_end(append_records) != 1 || reported != 0) {
        world_fail("the third sync was to fail");
    }
    disk_fail_no_more(NODE);
    disk_set_capacity(NODE, 3 * 4096);
    if (run_to_end(append_records) != 1 || reported != 3 * 4096 / RECORD) {
        world_fail("a disk of 12 KiB took %d records", reported);
    }
    disk_set_capacity(NODE, 1 << 30);
}

static unsigned count_bits(const uint8_t *a, const uint8_t *b, size_t len)
{
    unsigned bits = 0;
    for (size_t i = 0; i < len; i++) {
        bits += (unsigned)__builtin_popcount((unsigned)(a[i] ^ b[i]));
    }
    return bits;
}

static void try_damage(void)
{
    size_t len = 0;
    size_t len_after = 0;
    char path[256];
    run_to_end(append_records);
    uint8_t *before = disk_read_file(NODE, FILE_PATH, &len);
    disk_keep_copy(NODE);
    if (!disk_flip_bit(NODE, DISK_MARKER, path, sizeof path) || strcmp(path, FILE_PATH) != 0) {
        world_fail("no bit was flipped");
    }
    uint8_t *after = disk_read_file(NODE, FILE_PATH, &len_after);
    if (len != len_after || count_bits(before, after, len) != 1) {
        world_fail("one bit was to be flipped");
    }
    free(after);
    disk_truncate(NODE, DISK_MARKER, NULL, 0);
    disk_restore_copy(NODE);
    after = disk_read_file(NODE, FILE_PATH, &len_after);
    if (len != len_after || count_bits(before, after, len) != 0) {
        world_fail("the copy is another one");
    }
    free(before);
    free(after);
    disk_wipe(NODE);
    if (disk_read_file(NODE, FILE_PATH, &len) != NULL || disk_used(NODE) == 0) {
        world_fail("the disk was to be empty, but for the copy");
    }
}

static int nodes_of(const struct play_setting *setting)
{
    (void)setting;
    return NODE;
}

static void run(const struct play_setting *setting)
{
    (void)setting;
    try_crashes();
    try_errors();
    try_damage();
}

const struct play play_disk = {.name = "disk",
                               .help = "the faults of disks, tried",
                               .nodes = nodes_of,
                               .run = run};
