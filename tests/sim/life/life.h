/* One life: some nodes, clients that behave and clients that do not, and whatever may go wrong in
 * between. Everything follows from one seed.
 *
 * Two simulations live it: tests/core/random has coordinators alone over a log in memory, tests/sim
 * has whole nodes over a simulated machine. Clients (clients/) and oracle (oracle/) are the same in
 * both; each brings its own nodes, its own lanes (clients/lane.h) and its own nemesis. */
#ifndef TESTS_SIM_LIFE_LIFE_H
#define TESTS_SIM_LIFE_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/core/coordinator.h"
#include "tests/sim/life/chance.h"

enum {
    MACHINES_MAX = 5,
    GROUPS_MAX = 4,
    WORKERS_MAX = 24,
    GHOSTS_MAX = 8, /* what is left of workers that were thought dead */
    LONERS_MAX = 10,
    TOPICS = 3,
    TEXT = 96 /* ids, names */
};

/* What the clients of this seed are like. */
struct options {
    struct coordinator_limits limits;
    int groups, workers, simples, admins, liars;
    int32_t session_ms, rebalance_ms;
    int32_t beat_ms;
    bool has_small_limits;
    bool has_mixed_protocols;
    bool has_large_metadata;
    bool churns; /* members come, leave, change and die */
    int64_t chaos_ms;
};

struct life;
struct event;
struct faults;  /* each simulation's own */
struct cluster; /* the same */
struct wire;    /* the same */
struct machine;
struct message;
struct oracle;
struct worker;
struct loner;

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
    struct faults *faults;
    enum stage stage;
    int64_t now_ms;
    int64_t wall_ms_max; /* the newest that any wall clock has shown */
    struct events events;

    struct machine *machines;
    int machines_count;
    uint64_t term;                 /* the newest that anybody has won */
    struct coordinator *reference; /* applies what is committed, at once */
    uint64_t position;             /* of the reference: how many proposals it has applied */

    struct cluster *cluster;
    struct wire *wire;
    struct message *started; /* with a coordinator, not answered */
    struct oracle *oracle;
    struct worker *workers; /* WORKERS_MAX, then the ghosts */
    struct loner *loners;
    bool is_traced;
    bool is_over;       /* what happens from now on is nobody's business */
    int64_t settled_ms; /* how long it took to come to rest */
    uint64_t calls, struck, inputs;
};

/* A promise was broken: says which, and ends the process. Each simulation has its own. */
_Noreturn void life_fail(struct life *life, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void life_trace(struct life *life, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- events.c: what is to happen, in the order of its time ---- */

void events_add(struct life *life, int64_t at_ms, event_fn *fn, void *who, uint64_t what);
/* INT64_MAX: none. */
int64_t events_next_ms(const struct events *events);
void events_run_one(struct life *life);
void events_close(struct events *events);

/* ---- rest.c: what must be so when nothing goes wrong any more ---- */

/* Why some group is not at rest; NULL: all are. */
const char *rest_missing(const struct life *life);
/* I9: how long it may take. */
int64_t rest_bound_ms(const struct life *life);
/* The generations of all groups at rest, and that they stayed as they are. */
void rest_note_generations(const struct life *life, int32_t generations[GROUPS_MAX]);
void rest_check_generations(struct life *life, const int32_t generations[GROUPS_MAX]);
/* All members end: some leave, others die. */
void rest_end_members(struct life *life);
/* ... and are gone after this time. */
void rest_check_ended(struct life *life, int64_t after_ms);

#endif
