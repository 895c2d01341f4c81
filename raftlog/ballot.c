#include "raftlog/ballot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "raftlog/bytes.h"
#include "raftlog/crc32c.h"
#include "rpc/buf.h"

enum { BALLOT_LEN = 24, SUM_AT = 20, FILE_MODE = 0640 };
static const uint32_t magic = 0x524c4256; /* "RLBV" */

static void read_ballot(struct ballot *ballot, const uint8_t bytes[BALLOT_LEN])
{
    ballot->is_known =
        bytes_be32(bytes) == magic && bytes_be32(bytes + SUM_AT) == crc32c(0, bytes, SUM_AT);
    if (ballot->is_known) {
        ballot->term = bytes_be64(bytes + 4);
        ballot->vote = bytes_be64(bytes + 12);
    }
}

int ballot_open(struct ballot *ballot, const char *dir)
{
    *ballot = (struct ballot){.fd = -1};
    int parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) {
        return -errno;
    }
    int rv = 0;
    uint8_t bytes[BALLOT_LEN];
    ballot->fd = openat(parent, "ballot", O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC, FILE_MODE);
    ssize_t n = ballot->fd < 0 ? -1 : read(ballot->fd, bytes, sizeof bytes);
    if (n < 0 || fsync(parent) != 0) {
        rv = -errno;
    } else if (n == BALLOT_LEN) {
        read_ballot(ballot, bytes);
    }
    close(parent);
    return rv;
}

void ballot_close(struct ballot *ballot)
{
    if (ballot->fd >= 0) {
        close(ballot->fd);
        ballot->fd = -1;
    }
}

int ballot_write(struct ballot *ballot, uint64_t term, uint64_t vote)
{
    struct buf out = BUF_EMPTY;
    buf_put_be32(&out, magic);
    buf_put_be64(&out, term);
    buf_put_be64(&out, vote);
    buf_put_be32(&out, crc32c(0, out.data, out.len));
    ssize_t n = pwrite(ballot->fd, out.data, out.len, 0);
    int rv = n == (ssize_t)out.len ? 0 : n < 0 ? -errno : -ENOSPC;
    buf_close(&out);
    if (rv == 0) {
        ballot->is_known = true;
        ballot->term = term;
        ballot->vote = vote;
    }
    return rv;
}

enum ballot_match ballot_compare(const struct ballot *ballot, const struct raft_dir *found)
{
    if (!ballot->is_known) {
        return BALLOT_UNKNOWN;
    }
    if (found->term > ballot->term) {
        return BALLOT_DAMAGED;
    }
    return found->term == ballot->term && found->vote == ballot->vote ? BALLOT_SAME : BALLOT_NEWER;
}
