/* The faults themselves, tried on small programs. */
#ifndef TESTS_SIM_WORLD_TRIALS_H
#define TESTS_SIM_WORLD_TRIALS_H

#include "tests/sim/world/play.h"

extern const struct play play_disk;    /* trial_disk.c */
extern const struct play play_network; /* trial_network.c */

#endif
