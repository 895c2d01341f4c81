/* The run that faults are injected into: members beat, a share of the groups is always in some
 * rebalance, offsets are committed at a fixed rate.
 *
 * Commands on standard input:
 *   fault KIND [NS]   a fault happens (at that time of the monotonic clock); a line follows when
 *                     all have recovered from it
 *   status            prints whether all members are stable
 *   verify            holds commits back, reads all offsets, goes on
 *   hold, resume      nothing is committed and nobody comes or goes in between
 *   finish            ends churn and commits, verifies offsets and members, prints totals, ends
 * The end of the input is "finish", after --seconds if the run has them. */
#ifndef LOAD_FAILOVER_H
#define LOAD_FAILOVER_H

#include <stdbool.h>

#include "tests/load/crowd.h"

/* The crowd is not formed yet. False: something that must be zero is not. */
bool failover_run(struct crowd *crowd, double commits_per_s, double seconds);

#endif
