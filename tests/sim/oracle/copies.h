/* What the nodes' logs hold, as the library itself would say: that is where a promise is broken
 * first, long before a client sees it. */
#ifndef TESTS_SIM_ORACLE_COPIES_H
#define TESTS_SIM_ORACLE_COPIES_H

#include "tests/sim/life/life.h"

/* The machine is about to apply an entry that nobody has applied before: a majority must have it on
 * disk. A node that is off, starts or has lost its disk may have it. */
void copies_check(struct life *life, int machine);
/* How far what the machine's log holds on its disk was committed; 0: it has not started. */
uint64_t copies_committed(int machine);
/* Votes with less than it had when it was [committed]: it does not even know what it has lost. */
bool copies_has_forgotten(int machine, uint64_t committed);

#endif
