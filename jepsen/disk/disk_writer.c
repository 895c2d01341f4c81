/* A program whose durability is known, for the tests of lossfs.
 *
 *   disk_writer HOW DIRECTORY
 *
 * writes records into DIRECTORY/log, each of RECORD_BYTES and full of its number (from 1), and
 * after each prints the number; it goes on until it is killed. HOW:
 *
 *   fsync, fdatasync   after each record
 *   dsync              the file is allocated first and not synced after that, opened with O_DSYNC
 *   aio                the same with O_DIRECT, and each record by io_submit() with RWF_DSYNC
 *   none               no sync at all
 *   rename             each record is a file of its own, "record": written beside it, synced,
 *                      renamed over it, the directory synced
 *   rename-careless    the same without the directory
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpc/ensure.h"

enum { RECORD_BYTES = 4096, RECORDS_MAX = 2000 };

static uint8_t *record;

static void fill(uint32_t number)
{
    for (size_t i = 0; i < RECORD_BYTES; i += sizeof number) {
        memcpy(record + i, &number, sizeof number);
    }
}

static void acknowledge(uint32_t number)
{
    char line[16];
    int n = snprintf(line, sizeof line, "%u\n", number);
    ensure(write(STDOUT_FILENO, line, (size_t)n) == n);
}

static void sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    ensure(fd >= 0 && fsync(fd) == 0);
    close(fd);
}

static void submit(aio_context_t context, int fd, off_t offset)
{
    struct iocb request = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                           .aio_fildes = (uint32_t)fd,
                           .aio_buf = (uint64_t)(uintptr_t)record,
                           .aio_nbytes = RECORD_BYTES,
                           .aio_offset = offset,
                           .aio_rw_flags = RWF_DSYNC};
    struct iocb *requests[] = {&request};
    struct io_event event;
    ensure(syscall(SYS_io_submit, context, 1L, requests) == 1);
    ensure(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) == 1);
    ensure(event.res == RECORD_BYTES);
}

static void write_log(const char *how, const char *directory)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/log", directory);
    bool is_aio = strcmp(how, "aio") == 0;
    bool is_allocated = is_aio || strcmp(how, "dsync") == 0;
    int flags = is_aio ? O_DIRECT : strcmp(how, "dsync") == 0 ? O_DSYNC : 0;
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | flags, 0644);
    ensure(fd >= 0);
    ensure(!is_allocated || posix_fallocate(fd, 0, (off_t)RECORDS_MAX * RECORD_BYTES) == 0);
    sync_directory(directory);
    aio_context_t context = 0;
    ensure(!is_aio || syscall(SYS_io_setup, 1L, &context) == 0);
    for (uint32_t number = 1; number <= RECORDS_MAX; number++) {
        off_t offset = (off_t)(number - 1) * RECORD_BYTES;
        fill(number);
        if (is_aio) {
            submit(context, fd, offset);
        } else {
            ensure(pwrite(fd, record, RECORD_BYTES, offset) == RECORD_BYTES);
        }
        ensure(strcmp(how, "fsync") != 0 || fsync(fd) == 0);
        ensure(strcmp(how, "fdatasync") != 0 || fdatasync(fd) == 0);
        acknowledge(number);
    }
}

static void write_files(bool is_careful, const char *directory)
{
    char path[1024];
    char final[1024];
    snprintf(path, sizeof path, "%s/record.new", directory);
    snprintf(final, sizeof final, "%s/record", directory);
    for (uint32_t number = 1; number <= RECORDS_MAX; number++) {
        int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
        fill(number);
        ensure(fd >= 0 && write(fd, record, RECORD_BYTES) == RECORD_BYTES && fsync(fd) == 0);
        close(fd);
        ensure(rename(path, final) == 0);
        if (is_careful) {
            sync_directory(directory);
        }
        acknowledge(number);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: disk_writer HOW DIRECTORY\n");
        return 64;
    }
    ensure(posix_memalign((void **)&record, RECORD_BYTES, RECORD_BYTES) == 0);
    if (strncmp(argv[1], "rename", 6) == 0) {
        write_files(strcmp(argv[1], "rename") == 0, argv[2]);
    } else {
        write_log(argv[1], argv[2]);
    }
    pause();
}
