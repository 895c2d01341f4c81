/* The data directory and what is found in it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame_bytes.h"
#include "raftlog/data_dir.h"
#include "raftlog/raft_dir.h"
#include "tests/rpc/leaks.h"

TestSuite(data_dir, .fini = leaks_abort);
TestSuite(raft_dir, .fini = leaks_abort);

static char directory[64];
static char message[512];

static const char *new_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/raftlog-test-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    return directory;
}

static void write_text(const char *dir, const char *name, const void *bytes, size_t len)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    cr_assert_eq(system(command), 0);
}

Test(data_dir, remembers_whose_it_is)
{
    struct data_dir data;
    const char *dir = new_directory();
    cr_assert(data_dir_open(&data, dir, "c", 1, message, sizeof message));
    cr_assert(data_dir_open(&data, dir, "c", 1, message, sizeof message));
    cr_assert_not(data_dir_open(&data, dir, "c", 2, message, sizeof message));
    cr_assert_not(data_dir_open(&data, dir, "d", 1, message, sizeof message));
    cr_assert_not_null(strstr(message, "belongs to another node"));
    cr_assert_not_null(strstr(message, "identity is damaged: remove this node's data directory"));
    remove_all();
}

Test(data_dir, newer_format_is_refused)
{
    struct data_dir data;
    const char *dir = new_directory();
    const char *line = "roster raftlog format=2 node=1 cluster=c and more\n";
    write_text(dir, "identity", line, strlen(line));
    cr_assert_not(data_dir_open(&data, dir, "c", 1, message, sizeof message));
    cr_assert_not_null(strstr(message, "newer release"));
    remove_all();
}

Test(data_dir, marker_survives_and_nonsense_is_refused)
{
    struct data_dir data;
    const char *dir = new_directory();
    cr_assert(data_dir_open(&data, dir, "c", 1, message, sizeof message));
    cr_assert_eq(data.marker, DATA_DIR_MARKER_NONE);
    for (int i = DATA_DIR_MARKER_FRESH; i <= DATA_DIR_MARKER_REJOIN; i++) {
        cr_assert_eq(data_dir_set_marker(&data, (enum data_dir_marker)i), 0);
        cr_assert(data_dir_open(&data, dir, "c", 1, message, sizeof message));
        cr_assert_eq((int)data.marker, i);
    }
    cr_assert_eq(data_dir_clear_marker(&data), 0);
    cr_assert(data_dir_open(&data, dir, "c", 1, message, sizeof message));
    cr_assert_eq(data.marker, DATA_DIR_MARKER_NONE);
    write_text(dir, "voter", "yes\n", 4);
    cr_assert_not(data_dir_open(&data, dir, "c", 1, message, sizeof message));
    remove_all();
}

Test(data_dir, parent_must_exist)
{
    struct data_dir data;
    cr_assert_not(data_dir_open(&data, "/nonexistent/dir", "c", 1, message, sizeof message));
    cr_assert_not_null(strstr(message, "cannot create"));
}

static void write_metadata(const char *name, uint64_t version, uint64_t term)
{
    struct buf out = BUF_EMPTY;
    put_numbers(&out, (const uint64_t[]){1, version, term, 0}, 4);
    write_text(directory, name, out.data, out.len);
    buf_close(&out);
}

/* The library's checksum, bit by bit. */
static uint32_t sum_of(const uint8_t *at, size_t len)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc ^= (uint32_t)at[i] << 24;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 0x80000000U) != 0 ? crc << 1 ^ 0x04c11db7U : crc << 1;
        }
    }
    return crc;
}

/* Appends a batch of one entry of [len] bytes to a segment. */
static void put_batch(struct buf *out, size_t len)
{
    struct buf head = BUF_EMPTY;
    struct buf data = BUF_EMPTY;
    put_le(&head, 1, 8);
    put_entry_head(&head, 3, 1, (uint32_t)len);
    for (size_t i = 0; i < len; i++) {
        buf_put_u8(&data, (uint8_t)(i + 1));
    }
    put_le(out, sum_of(head.data, head.len), 4);
    put_le(out, sum_of(data.data, data.len), 4);
    buf_append(out, head.data, head.len);
    buf_append(out, data.data, data.len);
    buf_close(&head);
    buf_close(&data);
}

enum { BATCH_BYTES = 8 + 24 + 64, ZEROS = 512 };

/* Writes an open segment of [n] batches of which number [bad] (from 0) is damaged, then zeros. */
static void write_segment(const char *name, int n, int bad)
{
    struct buf out = BUF_EMPTY;
    put_le(&out, 1, 8);
    for (int i = 0; i < n; i++) {
        put_batch(&out, 64);
    }
    if (bad >= 0) {
        out.data[8 + bad * BATCH_BYTES + 50] ^= 1;
    }
    for (int i = 0; i < ZEROS; i++) {
        buf_put_u8(&out, 0);
    }
    write_text(directory, name, out.data, out.len);
    buf_close(&out);
}

static struct raft_dir inspect(void)
{
    struct raft_dir found;
    cr_assert_eq(raft_dir_inspect(directory, &found), 0);
    return found;
}

Test(raft_dir, term_is_that_of_the_newest_metadata)
{
    new_directory();
    cr_assert_eq(inspect().term, 0);
    write_metadata("metadata1", 3, 7);
    cr_assert_eq(inspect().term, 7);
    write_metadata("metadata2", 4, 9);
    cr_assert_eq(inspect().term, 9);
    write_metadata("metadata1", 5, 12);
    cr_assert_eq(inspect().term, 12);
    write_text(directory, "metadata1", "torn", 4);
    cr_assert_eq(inspect().term, 9);
    cr_assert_not(inspect().has_log);
    remove_all();
}

Test(raft_dir, torn_tail_is_sound)
{
    new_directory();
    write_segment("open-1", 3, -1);
    cr_assert_eq(inspect().health, RAFT_DIR_SOUND);
    cr_assert(inspect().has_log);
    write_segment("open-2", 0, -1);
    cr_assert_eq(inspect().health, RAFT_DIR_SOUND, "the next one is prepared, and empty");
    remove_all();
}

/* A last batch of several sectors behind another; [missing] (from 0, in the file) never came, the
 * byte at [flipped] is damaged. */
static enum raft_dir_health health_of_last(int missing, int flipped)
{
    enum { SECTOR = 512 };
    struct buf out = BUF_EMPTY;
    put_le(&out, 1, 8);
    put_batch(&out, 64);
    size_t start = out.len;
    put_batch(&out, 3 * SECTOR);
    for (int i = 0; i < ZEROS; i++) {
        buf_put_u8(&out, 0);
    }
    for (size_t i = 0; missing >= 0 && i < SECTOR; i++) {
        size_t at = (size_t)missing * SECTOR + i;
        out.data[at] = at < start ? out.data[at] : 0;
    }
    if (flipped >= 0) {
        out.data[start + (size_t)flipped] ^= 1;
    }
    write_text(directory, "open-1", out.data, out.len);
    buf_close(&out);
    return inspect().health;
}

Test(raft_dir, last_batch_is_torn_where_a_sector_is_missing_else_damaged)
{
    new_directory();
    cr_assert_eq(health_of_last(-1, -1), RAFT_DIR_SOUND);
    for (int missing = 0; missing <= 3; missing++) {
        cr_assert_eq(health_of_last(missing, -1), RAFT_DIR_SOUND, "sector %d", missing);
    }
    static const int heads[] = {0 /* its sums */, 4, 8 /* its count, now 0 */, 9, 20};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        cr_assert_neq(health_of_last(-1, heads[i]), RAFT_DIR_SOUND, "byte %d", heads[i]);
    }
    cr_assert_eq(health_of_last(-1, 700), RAFT_DIR_LOST_END, "its data");
    cr_assert_eq(health_of_last(-1, 3 * 512 + 100), RAFT_DIR_SOUND, "behind its end");
    remove_all();
}

Test(raft_dir, bad_batch_before_a_readable_one_is_not)
{
    new_directory();
    write_segment("open-1", 3, 1);
    cr_assert_eq(inspect().health, RAFT_DIR_LOST_END);
    write_segment("open-1", 3, 2);
    write_segment("open-2", 1, -1);
    cr_assert_eq(inspect().health, RAFT_DIR_HOLED);
    write_segment("open-1", 3, -1);
    cr_assert_eq(inspect().health, RAFT_DIR_SOUND);
    write_segment("open-10", 2, 0);
    cr_assert_eq(inspect().health, RAFT_DIR_LOST_END, "the last by number, not by name");
    remove_all();
}

Test(raft_dir, batch_beyond_the_end_is_damage)
{
    static const size_t cuts[] = {1, 8, 15, 16, 39, 40, BATCH_BYTES - 1};
    struct buf out = BUF_EMPTY;
    new_directory();
    put_le(&out, 1, 8);
    put_batch(&out, 64);
    put_batch(&out, 64);
    write_text(directory, "open-1", out.data, out.len);
    cr_assert_eq(inspect().health, RAFT_DIR_SOUND, "full to the end");
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        write_text(directory, "open-1", out.data, 8 + BATCH_BYTES + cuts[i]);
        cr_assert_eq(inspect().health, RAFT_DIR_HOLED, "%zu bytes", cuts[i]);
    }
    write_text(directory, "open-1", out.data, 8 + BATCH_BYTES);
    cr_assert_eq(inspect().health, RAFT_DIR_SOUND);
    write_text(directory, "open-1", out.data, 8 + BATCH_BYTES - 1);
    cr_assert_eq(inspect().health, RAFT_DIR_LOST_END, "no batch at all: nothing is freed twice");
    buf_close(&out);
    remove_all();
}

Test(raft_dir, first_write_that_was_torn_is_removed)
{
    enum { SECTOR = 512 };
    struct buf out = BUF_EMPTY;
    new_directory();
    put_le(&out, 1, 8);
    put_batch(&out, 3 * SECTOR);
    struct raft_dir found = inspect();
    cr_assert_str_eq(found.torn, "");
    memset(out.data, 0, SECTOR);
    write_segment("open-1", 1, -1);
    write_text(directory, "open-2", out.data, out.len);
    found = inspect();
    cr_assert_eq(found.health, RAFT_DIR_SOUND);
    cr_assert_str_eq(found.torn, "open-2");
    cr_assert_eq(raft_dir_remove_torn(directory, &found), 0);
    cr_assert_str_eq(inspect().torn, "");
    put_batch(&out, 64); /* of the same write, or of one behind it: who knows */
    write_text(directory, "open-2", out.data, out.len);
    found = inspect();
    cr_assert_eq(found.health, RAFT_DIR_LOST_END);
    cr_assert_str_eq(found.torn, "open-2");
    buf_close(&out);
    remove_all();
}

Test(raft_dir, two_files_with_the_same_entry_are_not_loaded)
{
    new_directory();
    write_text(directory, "0000000000000010-0000000000000049", "", 0);
    write_text(directory, "0000000000000050-0000000000000080", "", 0);
    cr_assert_eq(inspect().health, RAFT_DIR_SOUND);
    write_text(directory, "0000000000000080-0000000000000090", "", 0);
    struct raft_dir found = inspect();
    cr_assert_eq(found.health, RAFT_DIR_HOLED);
    cr_assert_not_null(strchr(found.file, '-'));
    remove_all();
}
