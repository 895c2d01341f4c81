/* A cluster without a machine: coordinators, a log, a clock that a script moves. */
#ifndef TESTS_SCENARIOS_WORLD_H
#define TESTS_SCENARIOS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "server/core/coordinator.h"
#include "tests/scenarios/names.h"

enum { WORLD_NODES = 2, WORLD_CALLS_MAX = 60000, WORLD_DEADLINES_MAX = 200000 };

struct world_node {
    char name[8];
    uint64_t id;
    uint64_t incarnation; /* of the process: rises with each restart */
    struct coordinator *coordinator;
};

/* An entry of the log, or one that is not committed yet. */
struct world_entry {
    struct applied applied;
    struct buf records; /* owned */
    int maker;          /* a node; -1: none of them */
    uint64_t incarnation;
};

struct world_call {
    struct call call;
    struct arena arena;
    struct buf bytes; /* what the request borrows from */
    char label[64];
    int node;
    uint64_t incarnation;
    bool is_answered;
};

struct world {
    struct coordinator_limits limits;
    struct world_node nodes[WORLD_NODES];
    bool is_started;
    int leader; /* -1: nobody */
    uint64_t term;
    int64_t now_ms;
    int64_t wall_ahead_ms;
    bool is_wall_off;

    struct world_entry *log; /* committed */
    size_t log_count;
    struct world_entry *held;
    size_t held_count;
    bool is_holding;
    int refuse; /* the next proposal: 0 not, 1 for want of room, 2 not the leader */

    struct world_call **calls;
    size_t calls_count;
    uint64_t entropy;

    void *frozen; /* by freeze */
    int frozen_node;
    uint64_t frozen_index;

    bool shows_records;
    bool is_quiet;        /* nothing is printed */
    char log_events[512]; /* " NAME NAME ": only those are printed; "": all */
    struct names *names;
    struct buf out;
    char error[300]; /* "": all is well */
};

void world_init(struct world *w);
void world_close(struct world *w);
void world_fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* n1 leads from now on; the first command calls it. */
void world_start(struct world *w);
void world_advance(struct world *w, int64_t to_ms);
/* After each input: effects, what is due now, equal hashes, invariants. */
void world_settle(struct world *w);

/* A request with the fields of [parser_text]; NULL fields are defaults. */
void world_request(struct world *w, int node, struct world_call *call);
struct world_call *world_new_call(struct world *w, const char *label, int node);
/* The last call of this label; NULL: none. */
struct world_call *world_find_call(struct world *w, struct span label);

/* Appends records to the log as if some other process had proposed them. */
void world_append(struct world *w, struct span records);
void world_commit(struct world *w, size_t count);
void world_lose(struct world *w);

void world_depose(struct world *w);
void world_win(struct world *w, int node);
void world_elected(struct world *w);
void world_restart(struct world *w, int node);
void world_freeze(struct world *w, int node);
void world_thaw(struct world *w);

/* The checks at the end of a file. */
void world_finish(struct world *w);

#endif
