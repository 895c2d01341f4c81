/* Machines and their log. The log is raft as the coordinator sees it (raftlog/raftlog.h): proposals
 * queue at the leader, all of them are the next batch, one batch is in flight; a batch that is
 * committed is applied on each machine in its own time. Who leads, and what becomes of a batch
 * whose leader is gone, is decided by whoever calls (nemesis.c).
 *
 * A further coordinator, the reference, applies each batch at once; the oracle looks at it. */
#ifndef TESTS_CORE_RANDOM_CLUSTER_H
#define TESTS_CORE_RANDOM_CLUSTER_H

#include "rpc/buf.h"
#include "server/core/state.h"
#include "tests/sim/life/life.h"
#include "tests/sim/oracle/machine.h"

enum { MACHINES = 3 };

/* What goes wrong in this seed; each kind of fault is off in half of the seeds. */
struct faults {
    bool takes_over, cuts, crashes, pauses, stops;
    bool refuses, is_slow, jumps_wall, loses_wall;
    bool snapshots, installs;
    bool breaks_lanes;
};

struct item {
    uint64_t number;
    struct buf records;
};

struct batch {
    uint64_t index;
    uint64_t term;
    int64_t stamp_ms;
    int maker;
    uint64_t incarnation;
    struct item *items;
    size_t count, cap;
};

struct machine_own {
    uint64_t applied; /* batches */
    bool is_elected;
    bool is_stopping;
    int64_t resume_ms;    /* it stands still until then */
    struct batch *queue;  /* what it proposed and has not submitted; NULL: nothing */
    struct batch *flight; /* submitted */
    void *frozen;
    uint64_t frozen_index, frozen_position;
    struct buf snapshot;
    uint64_t snapshot_index, snapshot_position;
};

struct cluster {
    struct machine machines[MACHINES];
    struct machine_own own[MACHINES];
    struct batch **log;
    uint64_t *hashes; /* of the state after each batch */
    size_t log_count, log_cap;
    int leader;   /* the one that can commit; -1: none */
    int refusing; /* proposals find no room, in so many of 1000 cases */
    bool refuses_as_follower;
    int64_t commit_ms_max; /* how long a batch takes */
    int64_t lag_ms_max;    /* and the others behind it */
    int64_t wall_ahead_ms;
    bool is_wall_off;
};

void cluster_init(struct life *life);
void cluster_close(struct life *life);

static inline int64_t cluster_wall_ms(const struct life *life)
{
    return life->now_ms + life->cluster->wall_ahead_ms;
}

static inline bool cluster_is_paused(const struct life *life, const struct machine *machine)
{
    return machine->own->resume_ms > life->now_ms;
}

/* Around each input of a machine's coordinator. */
void cluster_begin_input(struct life *life, struct machine *machine);
void cluster_end_input(struct life *life, struct machine *machine);
/* The machine's next deadline; INT64_MAX: none, or it stands still. */
int64_t cluster_next_ms(const struct life *life, int *machine);
void cluster_tick(struct life *life, int machine);

/* Another machine wins an election. What the old leader has in flight commits first or never; it
 * hears of it after [stale_ms]. */
void cluster_take_over(struct life *life,
                       int machine,
                       bool is_committed,
                       int64_t stale_ms,
                       int64_t settling_ms);
/* The process ends; if it leads, its batch commits or not. */
void cluster_crash(struct life *life, int machine, bool is_committed);
void cluster_restart(struct life *life, int machine);
void cluster_pause(struct life *life, int machine, int64_t ms);
void cluster_stop(struct life *life, int machine);
/* A snapshot of it is begun; it is done, and what it restarts from. */
void cluster_freeze(struct life *life, int machine);
void cluster_thaw(struct life *life, int machine);
/* The machine's facts are replaced by another's snapshot, if that is newer. */
void cluster_install(struct life *life, int machine, int from);

/* ---- The rest of this simulation ---- */

/* life.c */
void life_run(struct life *life, uint64_t seed, bool is_traced);
/* options.c */
void options_draw(struct life *life);
/* nemesis.c */
void nemesis_start(struct life *life);
/* Puts everything back in order. */
void nemesis_heal(struct life *life);

#endif
