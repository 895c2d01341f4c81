/* Random histories: proposals that could have been decided on the state as it is, with some that
 * come too late or are wrong. A seed gives one history, whatever the machine. */
#ifndef TESTS_CORE_FACTS_HISTORY_H
#define TESTS_CORE_FACTS_HISTORY_H

#include "rpc/buf.h"
#include "server/core/state.h"

struct history {
    uint64_t random;
    uint64_t index;
    uint64_t term;
    int64_t stamp_ms;
};

void history_init(struct history *history, uint64_t seed);
uint64_t history_random(struct history *history, uint64_t below);
/* Appends the next proposal and moves index, term and stamp on. */
void history_next(struct history *history, const struct state *state, struct buf *records);
/* The next proposal, applied. [records]: NULL, or it is appended. Returns state_apply()'s. */
int history_step(struct history *history, struct state *state, struct buf *records);

#endif
