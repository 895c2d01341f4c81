/* The term this node is in and whom it voted for in it, a second time and with a checksum.
 *
 * The library keeps them without one (metadata1 and metadata2): a flipped bit there makes a node
 * vote twice in a term, or in a term that never was; and so does a write that ended within its 32
 * bytes. So each is written here first, and at a start what is here is the truth: where the
 * library's is another it is older, torn or damaged, and is corrected. A term above ours it cannot
 * have.
 *
 * Where the file cannot be read (its own last write was torn, or it is damaged), the library's word
 * is taken: one of the two is sound. */
#ifndef RAFTLOG_BALLOT_H
#define RAFTLOG_BALLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "raftlog/raft_dir.h"
#include "raftlog/sector.h"

struct ballot {
    struct sector file;
    bool is_known;
    uint64_t term;
    uint64_t vote; /* 0: none */
};

/* Opens "ballot" in [dir], creating it. 0, or a negative errno. */
int ballot_open(struct ballot *ballot, const char *dir);
void ballot_close(struct ballot *ballot);

/* Durable when it returns. 0, or a negative errno. */
int ballot_write(struct ballot *ballot, uint64_t term, uint64_t vote);

enum ballot_match {
    BALLOT_SAME,
    BALLOT_NEWER,   /* the library's is to be brought up to date */
    BALLOT_UNKNOWN, /* the library's is to be taken over */
    BALLOT_DAMAGED, /* one of them is, beyond telling which */
};
/* [found]: what the library has written; found->term is not 0. */
enum ballot_match ballot_compare(const struct ballot *ballot, const struct raft_dir *found);

#endif
