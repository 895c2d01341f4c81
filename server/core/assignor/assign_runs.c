#include "server/core/assignor/assign_runs.h"

#include "rpc/ensure.h"

void assign_runs_init(struct assign_runs *runs, struct arena *arena, int64_t expected)
{
    ensure(expected >= 0 && expected < INT32_MAX - 16);
    int32_t capacity = (int32_t)expected + 16;
    *runs = (struct assign_runs){arena, NULL, 0, capacity};
    runs->at = arena_alloc(arena, (size_t)capacity * sizeof *runs->at);
}

void assign_runs_grow(struct assign_runs *runs, int32_t more)
{
    ensure(runs->capacity < INT32_MAX / 2 && more < INT32_MAX / 2);
    struct assignor_run *old = runs->at;
    runs->capacity += runs->capacity > more ? runs->capacity : more;
    runs->at = arena_alloc(runs->arena, (size_t)runs->capacity * sizeof *runs->at);
    memcpy(runs->at, old, (size_t)runs->count * sizeof *old);
}
