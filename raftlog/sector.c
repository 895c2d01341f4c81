#include "raftlog/sector.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "raftlog/bytes.h"
#include "raftlog/crc32c.h"
#include "rpc/buf.h"

enum { MAGIC_LEN = 4, NUMBER_LEN = 8, SUM_LEN = 4, FILE_MODE = 0640 };
enum { LEN_MAX = MAGIC_LEN + SECTOR_NUMBERS_MAX * NUMBER_LEN + SUM_LEN };

static bool read_numbers(const struct sector *sector, const uint8_t *bytes, uint64_t *numbers)
{
    size_t sum_at = MAGIC_LEN + sector->count * NUMBER_LEN;
    if (bytes_be32(bytes) != sector->magic ||
        bytes_be32(bytes + sum_at) != crc32c(0, bytes, sum_at)) {
        return false;
    }
    for (size_t i = 0; i < sector->count; i++) {
        numbers[i] = bytes_be64(bytes + MAGIC_LEN + i * NUMBER_LEN);
    }
    return true;
}

int sector_open(struct sector *sector,
                const char *dir,
                const char *name,
                uint64_t *numbers,
                bool *is_known)
{
    *is_known = false;
    int parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) {
        return -errno;
    }
    int rv = 0;
    uint8_t bytes[LEN_MAX];
    size_t len = MAGIC_LEN + sector->count * NUMBER_LEN + SUM_LEN;
    sector->fd = openat(parent, name, O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC, FILE_MODE);
    ssize_t n = sector->fd < 0 ? -1 : read(sector->fd, bytes, len);
    /* What a process wrote that was killed meanwhile can be read before it is durable. */
    if (n < 0 || fsync(sector->fd) != 0 || fsync(parent) != 0) {
        rv = -errno;
    } else if ((size_t)n == len) {
        *is_known = read_numbers(sector, bytes, numbers);
    }
    close(parent);
    return rv;
}

void sector_close(struct sector *sector)
{
    if (sector->fd >= 0) {
        close(sector->fd);
        sector->fd = -1;
    }
}

int sector_write(const struct sector *sector, const uint64_t *numbers)
{
    struct buf out = BUF_EMPTY;
    buf_put_be32(&out, sector->magic);
    for (size_t i = 0; i < sector->count; i++) {
        buf_put_be64(&out, numbers[i]);
    }
    buf_put_be32(&out, crc32c(0, out.data, out.len));
    ssize_t n = pwrite(sector->fd, out.data, out.len, 0);
    int rv = n == (ssize_t)out.len ? 0 : n < 0 ? -errno : -ENOSPC;
    buf_close(&out);
    return rv;
}
