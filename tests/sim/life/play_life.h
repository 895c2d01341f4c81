/* The lives that tests/sim is about. */
#ifndef TESTS_SIM_LIFE_PLAY_LIFE_H
#define TESTS_SIM_LIFE_PLAY_LIFE_H

#include "tests/sim/world/play.h"

extern const struct play play_life;

#endif
