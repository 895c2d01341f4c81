/* How a node starts: the rules of bootstrap and rejoin (G8, R18) as one decision.
 *
 *   pristine   all others are pristine or fresh: bootstrap, become fresh
 *              somebody votes already: this disk was emptied (or is late): rejoin
 *   fresh      all others are fresh or more, or somebody is more: become a voter, start
 *   voter      start
 *   rejoining  start without a vote; if its term is not known to be above all that it may have
 *              voted in, first take one above all others' terms
 *
 * A fresh node does not start, so as long as nobody is more than fresh, nothing was ever committed:
 * only then may a bare disk be taken for a new one. An unreachable node means waiting.
 *
 * Several nodes without a memory wait for each other for ever: only an operator can say that what
 * remains is to be taken for the truth. With all nodes stopped, he gives each of them but one a
 * copy of the directory with the longest log, without the file "identity" (docs/OPERATING.md); the
 * last one rejoins by itself.
 *
 * Pure: no clock, no I/O. */
#ifndef RAFTLOG_STARTUP_H
#define RAFTLOG_STARTUP_H

#include "raftlog/peers.h"

enum startup_step {
    STARTUP_WAIT,
    STARTUP_BOOTSTRAP, /* write the first entry, then be fresh */
    STARTUP_VOTE,      /* be a voter, then start */
    STARTUP_START,     /* start */
    STARTUP_TAKE_TERM, /* durably set the term, then start, rejoining */
    STARTUP_STEPS
};

struct startup_state {
    enum hello_standing standing;
    bool needs_term; /* rejoining, and a term above all others is still to be taken */
    uint64_t term;   /* our own */
};

/* [*term]: with STARTUP_TAKE_TERM, the one to set. */
enum startup_step startup_decide(const struct startup_state *state,
                                 const struct peers *peers,
                                 uint64_t *term);

#endif
