/* What the nodes' logs hold, as the library itself would say: that is where a promise is broken
 * first, long before a client sees it. */
#ifndef TESTS_SIM_ORACLE_COPIES_H
#define TESTS_SIM_ORACLE_COPIES_H

#include "tests/sim/life/life.h"

/* The machine is about to apply an entry that nobody has applied before: a majority must have it on
 * disk. A node that is off, starts or has lost its disk may have it. */
void copies_check(struct life *life, int machine);
#endif
