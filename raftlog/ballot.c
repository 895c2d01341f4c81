#include "raftlog/ballot.h"

int ballot_open(struct ballot *ballot, const char *dir)
{
    *ballot = (struct ballot){.file = {.fd = -1, .magic = 0x524c4256 /* "RLBV" */, .count = 2}};
    uint64_t numbers[2];
    int rv = sector_open(&ballot->file, dir, "ballot", numbers, &ballot->is_known);
    if (ballot->is_known) {
        ballot->term = numbers[0];
        ballot->vote = numbers[1];
    }
    return rv;
}

void ballot_close(struct ballot *ballot)
{
    sector_close(&ballot->file);
}

int ballot_write(struct ballot *ballot, uint64_t term, uint64_t vote)
{
    int rv = sector_write(&ballot->file, (const uint64_t[]){term, vote});
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
