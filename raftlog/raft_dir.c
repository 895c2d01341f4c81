#include "raftlog/raft_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raftlog/bytes.h"
#include "rpc/buf.h"
#include "rpc/build.h"
#include "rpc/ensure.h"

enum {
    METADATA_LEN = 32,
    FORMAT_LEN = 8,
    SUMS_LEN = 8,
    COUNT_LEN = 8,
    ENTRY_LEN = 16,
    ENTRIES_MAX = 1 << 18,
    SEGMENT_BYTES_MAX = 64 << 20,
    NAME_LEN = 64,
    SECTOR_LEN = 512
};

/* The library's checksum: CRC-32 with the polynomial 0x04c11db7, not reflected, from zero. */
static uint32_t sum_of(const uint8_t *at, size_t len)
{
    static uint32_t table[256];
    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = i << 24;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x80000000U) != 0 ? crc << 1 ^ 0x04c11db7U : crc << 1;
            }
            table[i] = crc;
        }
    }
    uint32_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc = crc << 8 ^ table[(crc >> 24 ^ at[i]) & 255];
    }
    return crc;
}

/* Of the batch of [n] entries at [at]. */
static size_t data_len_of(const uint8_t *at, uint64_t n)
{
    size_t data_len = 0;
    for (uint64_t i = 0; i < n; i++) {
        data_len += bytes_le32(at + SUMS_LEN + COUNT_LEN + i * ENTRY_LEN + 12);
    }
    return data_len;
}

/* The length of the whole batch at [at], or 0 if there is none that is sound. */
static size_t batch_len(const uint8_t *at, size_t left)
{
    if (left < SUMS_LEN + COUNT_LEN) {
        return 0;
    }
    uint64_t n = bytes_le64(at + SUMS_LEN);
    if (n == 0 || n > ENTRIES_MAX || left - SUMS_LEN - COUNT_LEN < n * ENTRY_LEN) {
        return 0;
    }
    size_t head_len = COUNT_LEN + (size_t)n * ENTRY_LEN;
    if (sum_of(at + SUMS_LEN, head_len) != bytes_le32(at)) {
        return 0;
    }
    size_t data_len = data_len_of(at, n);
    size_t len = SUMS_LEN + head_len;
    if (left - len < data_len || sum_of(at + len, data_len) != bytes_le32(at + 4)) {
        return 0;
    }
    return len + data_len;
}

static bool is_zero(const uint8_t *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Whether what is no sound batch would go on beyond the end. */
static bool is_cut(const uint8_t *at, size_t left)
{
    if (left < SUMS_LEN + COUNT_LEN) {
        return left > 0;
    }
    uint64_t n = bytes_le64(at + SUMS_LEN);
    if (n == 0 || n > ENTRIES_MAX) {
        return false;
    }
    size_t head_len = COUNT_LEN + (size_t)n * ENTRY_LEN;
    if (left < SUMS_LEN + head_len) {
        return true;
    }
    return sum_of(at + SUMS_LEN, head_len) == bytes_le32(at) &&
           left - SUMS_LEN - head_len < data_len_of(at, n);
}

/* How far what is no sound batch was to reach, as far as its head can be believed. */
static size_t claimed_len(const uint8_t *at, size_t left)
{
    size_t len = SUMS_LEN + COUNT_LEN;
    if (left < len) {
        return left;
    }
    uint64_t n = bytes_le64(at + SUMS_LEN);
    if (n > 0 && n <= ENTRIES_MAX && left - len >= n * ENTRY_LEN) {
        size_t head_len = COUNT_LEN + (size_t)n * ENTRY_LEN;
        len = SUMS_LEN + head_len;
        if (sum_of(at + SUMS_LEN, head_len) == bytes_le32(at)) {
            len += data_len_of(at, n);
        }
    }
    return len < left ? len : left;
}

/* Whether the batch at [at], which is not sound, is one whose write never ended: a sector of it is
 * missing. Disks write whole sectors, and what was there before is zeros. */
static bool is_torn_batch(const uint8_t *bytes, size_t len, size_t at)
{
    size_t end = at + claimed_len(bytes + at, len - at);
    for (size_t from = at; from < end; from = (from / SECTOR_LEN + 1) * SECTOR_LEN) {
        size_t to = (from / SECTOR_LEN + 1) * SECTOR_LEN;
        if (is_zero(bytes + from, (to < end ? to : end) - from)) {
            return true;
        }
    }
    return false;
}

/* What a segment's bytes are: sound batches, then zeros or a bad one, then perhaps sound ones. */
struct segment {
    bool has_batches;
    bool is_cut; /* behind batches */
    bool has_bad;
    bool has_lost; /* the bad one, or one behind it, was whole once */
    bool is_torn;  /* the beginning is missing */
};

static void inspect_segment(const uint8_t *bytes, size_t len, struct segment *segment)
{
    *segment = (struct segment){.has_batches = false};
    if (len < FORMAT_LEN || is_zero(bytes, len)) {
        return;
    }
    size_t at = FORMAT_LEN;
    for (size_t n = batch_len(bytes + at, len - at); n != 0; n = batch_len(bytes + at, len - at)) {
        segment->has_batches = true;
        at += n;
    }
    segment->is_cut = segment->has_batches && is_cut(bytes + at, len - at);
    segment->has_bad = !is_zero(bytes + at, len - at);
    segment->has_lost = segment->has_bad && !is_torn_batch(bytes, len, at);
    for (; segment->has_bad && !segment->has_lost && at + SUMS_LEN + COUNT_LEN <= len; at += 8) {
        segment->has_lost = batch_len(bytes + at, len - at) != 0;
    }
#if ROSTER_BUG == 2183 /* whatever follows a bad batch, it is a torn tail */
    segment->has_lost = false;
#endif
    segment->is_torn = bytes_le64(bytes) == 0 && !segment->has_batches;
}

static int read_all(const char *dir, const char *name, struct buf *out)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    out->len = 0;
    int rv = 0;
    for (;;) {
        ssize_t n = read(fd, buf_reserve(out, 1 << 16), 1 << 16);
        if (n <= 0) {
            rv = n < 0 ? -errno : 0;
            break;
        }
        out->len += (size_t)n;
        if (out->len > SEGMENT_BYTES_MAX) {
            rv = -EFBIG;
            break;
        }
    }
    close(fd);
    return rv;
}

static int inspect_metadata(const char *path,
                            const char *name,
                            struct buf *bytes,
                            uint64_t *newest,
                            struct raft_dir *found)
{
    int rv = read_all(path, name, bytes);
    if (rv == 0 && bytes->len == METADATA_LEN && bytes_le64(bytes->data) == 1 &&
        bytes_le64(bytes->data + 8) > *newest) {
        *newest = bytes_le64(bytes->data + 8);
        found->term = bytes_le64(bytes->data + 16);
        found->vote = bytes_le64(bytes->data + 24);
        found->metadata_version = *newest;
    }
    return rv;
}

struct names {
    char (*items)[NAME_LEN];
    size_t count;
};

static int by_counter(const void *a, const void *b)
{
    unsigned long long x = strtoull((const char *)a + 5, NULL, 10);
    unsigned long long y = strtoull((const char *)b + 5, NULL, 10);
    return (x > y) - (x < y);
}

struct range {
    unsigned long long first;
    unsigned long long last;
};

struct ranges {
    struct range *items;
    size_t count;
};

/* Notes which entries a closed segment holds; whether another one holds one of them, too. */
static bool overlaps(struct ranges *ranges, const char *name)
{
    struct range range;
    char end;
    if (sscanf(name, "%16llu-%16llu%c", &range.first, &range.last, &end) != 2) {
        return false;
    }
    for (size_t i = 0; i < ranges->count; i++) {
        if (range.first <= ranges->items[i].last && ranges->items[i].first <= range.last) {
            return true;
        }
    }
    ranges->items = realloc(ranges->items, (ranges->count + 1) * sizeof *ranges->items);
    ensure(ranges->items != NULL);
    ranges->items[ranges->count++] = range;
    return false;
}

/* Collects the open segments and notes whether there is a log at all. */
static int list(const char *path, struct names *open_segments, struct raft_dir *found)
{
    static const char bootstrapped[] = "0000000000000001-0000000000000001";
    struct ranges closed = {.items = NULL};
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return -errno;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const char *name = entry->d_name;
        if (name[0] == '.' || strncmp(name, "metadata", 8) == 0 || strncmp(name, "tmp", 3) == 0 ||
            strcmp(name, bootstrapped) == 0 || strlen(name) >= NAME_LEN) {
            continue;
        }
        found->has_log = true;
        if (overlaps(&closed, name)) {
            found->health = RAFT_DIR_HOLED;
            snprintf(found->file, sizeof found->file, "%.*s", NAME_LEN - 1, name);
        }
        if (strncmp(name, "open-", 5) == 0) {
            size_t size = (open_segments->count + 1) * NAME_LEN;
            open_segments->items = realloc(open_segments->items, size);
            ensure(open_segments->items != NULL);
            memcpy(open_segments->items[open_segments->count++], name, strlen(name) + 1);
        }
    }
    closedir(dir);
    free(closed.items);
    if (open_segments->count > 0) {
        qsort(open_segments->items, open_segments->count, NAME_LEN, by_counter);
    }
    return 0;
}

static int inspect_segments(const char *path,
                            const struct names *names,
                            struct buf *bytes,
                            struct raft_dir *found)
{
    bool has_bad = false; /* so far; what is bad at the very end may be a torn tail */
    for (size_t i = 0; i < names->count; i++) {
        int rv = read_all(path, names->items[i], bytes);
        if (rv != 0) {
            found->health = RAFT_DIR_UNREADABLE;
            return rv;
        }
        struct segment segment;
        inspect_segment(bytes->data, bytes->len, &segment);
        if (segment.is_torn && !has_bad) {
            snprintf(found->torn, sizeof found->torn, "%s", names->items[i]);
        }
        if (segment.is_cut) {
            snprintf(found->file, sizeof found->file, "%s", names->items[i]);
        }
        if (segment.is_cut || (has_bad && segment.has_batches)) {
            found->health = RAFT_DIR_HOLED;
            return 0;
        }
        if (segment.has_bad && !has_bad) {
            has_bad = true;
            snprintf(found->file, sizeof found->file, "%s", names->items[i]);
            found->health = segment.has_lost ? RAFT_DIR_LOST_END : RAFT_DIR_SOUND;
        }
    }
    return 0;
}

int raft_dir_inspect(const char *path, struct raft_dir *found)
{
    *found = (struct raft_dir){.health = RAFT_DIR_SOUND};
    struct names names = {.items = NULL};
    struct buf bytes = BUF_EMPTY;
    uint64_t newest = 0;
    int rv = list(path, &names, found);
    static const char *const metadata[] = {"metadata1", "metadata2"};
    for (int i = 0; rv == 0 && i < 2; i++) {
        rv = inspect_metadata(path, metadata[i], &bytes, &newest, found);
        if (rv == -ENOENT) {
            rv = 0;
        }
    }
    if (rv == 0 && found->health == RAFT_DIR_SOUND) {
        rv = inspect_segments(path, &names, &bytes, found);
    }
    buf_close(&bytes);
    free(names.items);
    return rv;
}

int raft_dir_remove_torn(const char *path, const struct raft_dir *found)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        return -errno;
    }
    int rv = unlinkat(dir, found->torn, 0) == 0 && fsync(dir) == 0 ? 0 : -errno;
    close(dir);
    return rv;
}

static void put_le64(struct buf *out, uint64_t number)
{
    for (int shift = 0; shift < 64; shift += 8) {
        buf_put_u8(out, (uint8_t)(number >> shift));
    }
}

int raft_dir_write_metadata(const char *path, struct raft_dir *found, uint64_t term, uint64_t vote)
{
    uint64_t version = found->metadata_version + 1;
    const uint64_t words[] = {1, version, term, vote};
    char name[1200];
    snprintf(name, sizeof name, "%s/metadata%d", path, version % 2 == 1 ? 1 : 2);
    struct buf out = BUF_EMPTY;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        put_le64(&out, words[i]);
    }
    int fd = open(name, O_WRONLY | O_CREAT | O_DSYNC | O_CLOEXEC, 0600);
    ssize_t n = fd < 0 ? -1 : pwrite(fd, out.data, out.len, 0);
    int rv = n == METADATA_LEN ? 0 : n < 0 ? -errno : -ENOSPC;
    if (fd >= 0) {
        close(fd);
    }
    buf_close(&out);
    if (rv == 0) {
        found->metadata_version = version;
        found->term = term;
        found->vote = vote;
    }
    return rv;
}
