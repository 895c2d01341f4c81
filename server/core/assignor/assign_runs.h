/* A growing list of runs in an arena. What it grew out of stays behind in the arena: reserve what
 * is expected. */
#ifndef SERVER_CORE_ASSIGNOR_ASSIGN_RUNS_H
#define SERVER_CORE_ASSIGNOR_ASSIGN_RUNS_H

#include "rpc/arena.h"
#include "server/core/assignor/assignor.h"

struct assign_runs {
    struct arena *arena;
    struct assignor_run *at;
    int32_t count;
    int32_t capacity;
};

void assign_runs_init(struct assign_runs *runs, struct arena *arena, int64_t expected);

/* Makes room for at least [more]. */
void assign_runs_grow(struct assign_runs *runs, int32_t more);

static inline void assign_runs_reserve(struct assign_runs *runs, int32_t more)
{
    if (more > runs->capacity - runs->count) {
        assign_runs_grow(runs, more);
    }
}

static inline void assign_runs_push(struct assign_runs *runs, struct assignor_run run)
{
    assign_runs_reserve(runs, 1);
    runs->at[runs->count++] = run;
}

#endif
