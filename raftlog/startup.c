#include "raftlog/startup.h"

#include "rpc/build.h"

/* How many of the others are known to stand so. */
struct census {
    size_t count;
    size_t known;
    size_t by_standing[HELLO_STANDINGS];
    uint64_t term_max;
};

static struct census take_census(const struct peers *peers)
{
    struct census census = {.count = peers->count};
    for (size_t i = 0; i < peers->count; i++) {
        const struct peer *peer = &peers->items[i];
        if (peer->is_known) {
            census.known++;
            census.by_standing[peer->standing]++;
            if (peer->term > census.term_max) {
                census.term_max = peer->term;
            }
        }
    }
    return census;
}

/* Only nodes with their memory count: their terms are above all that a lost vote was given in. */
static enum startup_step take_term(const struct census *census, uint64_t own, uint64_t *term)
{
    if (census->by_standing[HELLO_FRESH] + census->by_standing[HELLO_VOTER] < census->count) {
        return STARTUP_WAIT;
    }
    *term = (census->term_max > own ? census->term_max : own) + 1;
    return STARTUP_TAKE_TERM;
}

static enum startup_step decide_pristine(const struct census *census, uint64_t own, uint64_t *term)
{
    bool is_emptied = census->by_standing[HELLO_VOTER] > 0;
#if ROSTER_BUG == 2182 /* whoever has no log is new */
    return STARTUP_BOOTSTRAP;
#endif
    if (is_emptied) {
        return take_term(census, own, term);
    }
    size_t bare = census->by_standing[HELLO_PRISTINE] + census->by_standing[HELLO_FRESH];
    return bare == census->count ? STARTUP_BOOTSTRAP : STARTUP_WAIT;
}

static enum startup_step decide_fresh(const struct census *census)
{
    size_t formed = census->by_standing[HELLO_VOTER] + census->by_standing[HELLO_REJOINING];
    bool is_formed = formed > 0 || census->by_standing[HELLO_FRESH] == census->count;
    return is_formed ? STARTUP_VOTE : STARTUP_WAIT;
}

enum startup_step startup_decide(const struct startup_state *state,
                                 const struct peers *peers,
                                 uint64_t *term)
{
    struct census census = take_census(peers);
    switch (state->standing) {
        case HELLO_PRISTINE:
            return decide_pristine(&census, state->term, term);
        case HELLO_FRESH:
            return decide_fresh(&census);
        case HELLO_REJOINING:
            return state->needs_term ? take_term(&census, state->term, term) : STARTUP_START;
        case HELLO_VOTER:
        case HELLO_STANDINGS:
            break;
    }
    return STARTUP_START;
}
