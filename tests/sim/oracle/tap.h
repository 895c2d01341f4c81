/* From the nodes to the oracle: what goes in and out of each coordinator (world/inputs.h), as it
 * happens. It keeps the one history: what any node applies first is applied to the reference, and
 * every other node must apply the same, at the same place, with the same result. */
#ifndef TESTS_SIM_ORACLE_TAP_H
#define TESTS_SIM_ORACLE_TAP_H

#include "tests/sim/life/life.h"

struct tap_counts {
    uint64_t entries, applied, restored, elections, suspensions, foreign_calls;
};

/* Allocates life->machines and the reference, and listens. */
void tap_open(struct life *life);
void tap_close(struct life *life);
/* The node's process has ended. */
void tap_ended(struct life *life, int machine);
/* Whether all machines that are on have come as far. */
bool tap_has_reached(const struct life *life, uint64_t position);
/* What the wall clocks show, before and after they are changed: R19. */
void tap_note_clocks(const struct life *life);
/* A machine of which this is the newest leader; -1: none. */
int tap_leader(const struct life *life);
const struct tap_counts *tap_counts(void);

#endif
