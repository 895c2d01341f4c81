/* One life of a cluster: three coordinators over a log in memory, clients that behave and clients
 * that do not, and whatever may go wrong in between. Everything follows from one seed. */
#ifndef TESTS_CORE_RANDOM_LIFE_H
#define TESTS_CORE_RANDOM_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/core/coordinator.h"
#include "tests/core/random/chance.h"

enum {
    MACHINES = 3,
    GROUPS_MAX = 4,
    WORKERS_MAX = 20,
    GHOSTS_MAX = 8, /* what is left of workers that were thought dead */
    LONERS_MAX = 10,
    TOPICS = 3,
    TEXT = 96 /* ids, names */
};

/* What this seed is about; each kind of fault is off in half of the seeds. */
struct options {
    struct coordinator_limits limits;
    int groups, workers, simples, admins, liars;
    int32_t session_ms, rebalance_ms;
    int32_t beat_ms;
    bool has_small_limits;
    bool has_mixed_protocols;
    bool has_large_metadata;
    bool takes_over, cuts, crashes, pauses, stops;
    bool refuses, is_slow, jumps_wall, loses_wall;
    bool snapshots, installs;
    bool breaks_lanes;
    bool churns; /* members come, leave, change and die */
    int64_t chaos_ms;
};

struct life;
struct event;
struct cluster;
struct oracle;
struct worker;
struct loner;
struct wire;

typedef void event_fn(struct life *life, void *who, uint64_t what);

struct events {
    struct event *heap;
    size_t count, cap;
    uint64_t next_order;
};

enum stage {
    STAGE_CHAOS, /* faults */
    STAGE_CALM,  /* none any more: everything must come to rest */
    STAGE_QUIET, /* at rest: nothing but takeovers, which nobody may notice */
    STAGE_END    /* members leave and die: all must go */
};

struct life {
    uint64_t seed;
    struct chance chance;
    struct options options;
    enum stage stage;
    int64_t now_ms;
    int64_t wall_ahead_ms;
    bool is_wall_off;
    struct events events;
    struct cluster *cluster;
    struct wire *wire;
    struct oracle *oracle;
    struct worker *workers; /* WORKERS_MAX, then the ghosts */
    struct loner *loners;
    bool is_traced;
    bool is_over;       /* what happens from now on is nobody's business */
    int64_t settled_ms; /* how long it took to come to rest */
    uint64_t calls, faults, inputs;
};

/* ---- life.c ---- */

void life_run(struct life *life, uint64_t seed, bool is_traced);
/* A promise was broken: says which, and ends the process. */
_Noreturn void life_fail(struct life *life, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void life_trace(struct life *life, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline int64_t life_wall_ms(const struct life *life)
{
    return life->now_ms + life->wall_ahead_ms;
}

/* ---- options.c ---- */

void options_draw(struct options *options, struct chance *chance);

/* ---- events.c ---- */

void events_add(struct life *life, int64_t at_ms, event_fn *fn, void *who, uint64_t what);
/* INT64_MAX: none. */
int64_t events_next_ms(const struct events *events);
void events_run_one(struct life *life);
void events_close(struct events *events);

/* ---- nemesis.c ---- */

void nemesis_start(struct life *life);
/* Puts everything back in order. */
void nemesis_heal(struct life *life);

#endif
