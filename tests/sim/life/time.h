/* The life's time is the world's, in milliseconds. */
#ifndef TESTS_SIM_LIFE_TIME_H
#define TESTS_SIM_LIFE_TIME_H

#include "tests/sim/clients/lane.h"
#include "tests/sim/life/life.h"
#include "tests/sim/world/world.h"

/* At the beginning of whatever the world calls. */
static inline void time_enter(struct life *life)
{
    life->now_ms = world_now_us() / WORLD_MS;
}

/* Nothing happens any more. */
void time_close(void);

/* No answer within its time: while all is well that must not be. */
void time_out_noticed(struct life *life, const struct message *message);

#endif
