/* The world of a simulated cluster: its time, its chance, its list of what is to happen, and the
 * transcript. One process lives one life, so there is one world and it is global; main.c forks a
 * child per seed.
 *
 *   node.h      whole rosterds, each in fibers of its own
 *   network.h   links between hosts, connections over them; simulated clients connect here
 *   disk.h      a disk per node, what a crash leaves of it, and its faults
 *   inputs.h    what goes in and out of a coordinator
 *   play.h      what main.c runs
 *
 * Nothing in it looks at the real time, at addresses or at memory that was not written: the same
 * seed gives the same hash on every machine and with every compiler. */
#ifndef TESTS_SIM_WORLD_WORLD_H
#define TESTS_SIM_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/life/chance.h"

enum {
    WORLD_NODES_MAX = 5, /* ids 1 to 5; 0: no node, the world itself */
    WORLD_CLIENTS_MAX = 64,
    WORLD_MS = 1000, /* time is in microseconds since the life began */
    WORLD_SECOND = 1000 * WORLD_MS
};

struct world_setting {
    uint64_t seed;
    int nodes; /* 3 or 5 */
    bool is_traced;
};

/* Each purpose has a stream of its own, so that one more draw of one leaves the others alone. */
enum world_stream {
    WORLD_CHANCE_NETWORK,
    WORLD_CHANCE_DISK,
    WORLD_CHANCE_NODES,   /* what nodes get from getrandom() */
    WORLD_CHANCE_TIMING,  /* how long nodes take for what they do */
    WORLD_CHANCE_NEMESIS, /* for whoever makes the faults ... */
    WORLD_CHANCE_CLIENTS, /* ... and the clients */
    WORLD_STREAMS
};

void world_open(const struct world_setting *setting);
/* Ends all nodes and frees everything. */
void world_close(void);

uint64_t world_seed(void);
int world_nodes(void);
int64_t world_now_us(void);
struct chance *world_chance(enum world_stream stream);

/* What is to happen, by time; at the same time in the order in which it was asked for. A time that
 * has passed means now, after all that is due now already. [what] is the caller's. Returns a number
 * for world_cancel(), never 0. */
typedef void world_fn(void *ctx, uint64_t what);
uint64_t world_at(int64_t at_us, world_fn *fn, void *ctx, uint64_t what);
uint64_t world_after(int64_t wait_us, world_fn *fn, void *ctx, uint64_t what);
/* It does not happen; nothing if it has. */
void world_cancel(uint64_t number);

/* Lets everything happen that is due until then, and makes it now. Must not be called from within
 * an event. */
void world_run_until(int64_t at_us);
/* The next event alone; false: there is none until then, and then is now. */
bool world_step(int64_t until_us);
/* world_run_until() returns after the event that calls it. */
void world_halt(void);
/* How many events there were. */
uint64_t world_events(void);

/* The transcript: a line with time and node, printed while traced, and the last of them in any case
 * when the life fails. Not part of the hash. */
void world_trace(int node, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool world_is_traced(void);

/* The hash of the life so far: every event that matters goes in, with its time. [kind] is the
 * caller's; world/ uses those below 100. */
void world_note(unsigned kind, int node, const void *bytes, size_t len);
uint64_t world_hash(void);

/* Something that must not be: prints it with the seed and the end of the transcript, and ends the
 * process. May be called from anywhere, within a node too. */
_Noreturn void world_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Called by world_fail() behind the transcript's end: what the caller knows of its options. */
void world_set_epilogue(void (*print)(void *ctx), void *ctx);

#endif
