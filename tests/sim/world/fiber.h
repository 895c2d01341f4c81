/* Fibers: code that can wait in the middle, with a stack of its own. Whoever waits gives way to the
 * world; an event of the world lets it go on. */
#ifndef TESTS_SIM_WORLD_FIBER_H
#define TESTS_SIM_WORLD_FIBER_H

#include <stdbool.h>
#include <stdint.h>

struct fiber;

/* [fn] begins at the first fiber_enter(). [owner] is the caller's. */
struct fiber *fiber_new(void (*fn)(void *arg), void *arg, void *owner);
/* Lets it run until it leaves; false: fn has returned. From outside of fibers alone. */
bool fiber_enter(struct fiber *fiber);
/* Called by the running fiber: goes on behind fiber_enter(). */
void fiber_leave(void);
/* It never goes on. Not from within itself. */
void fiber_free(struct fiber *fiber);
/* NULL: none runs. */
struct fiber *fiber_running(void);
void *fiber_owner(const struct fiber *fiber);
/* Gives back the stacks that are kept for reuse. */
void fiber_close_all(void);

#endif
