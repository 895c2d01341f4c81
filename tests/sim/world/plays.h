/* All plays; the first is the one that runs where none is named. */
#ifndef TESTS_SIM_WORLD_PLAYS_H
#define TESTS_SIM_WORLD_PLAYS_H

#include "tests/sim/world/play.h"

extern const struct play *const plays[];
extern const size_t plays_count;

#endif
