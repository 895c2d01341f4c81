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
#include "tests/core/random/life.h"

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

struct machine {
    int at;
    uint64_t incarnation;
    struct coordinator *core; /* NULL: down */
    uint64_t applied;         /* batches */
    uint64_t position;        /* proposals: where in the history its facts are */
    uint64_t term;            /* it leads this one, as far as it knows; 0: none */
    bool is_elected;
    bool is_cut; /* it leads no more, but has not heard of it */
    bool is_stopping;
    int64_t resume_ms; /* it stands still until then */
    int64_t input_ms;  /* its last input */
    int64_t pauses_ms; /* all of them together */

    /* For the oracle: the time of its groups stands still while it does not lead (R9). */
    bool was_leading;
    int64_t stopped_ms;
    int64_t frozen_ms;
    int64_t serving_ms; /* when this term's leading began */

    struct batch *queue;  /* what it proposed and has not submitted; NULL: nothing */
    struct batch *flight; /* submitted */
    void *frozen;
    uint64_t frozen_index, frozen_position;
    struct buf snapshot;
    uint64_t snapshot_index, snapshot_position;
};

struct cluster {
    struct machine machines[MACHINES];
    struct coordinator *reference;
    uint64_t position; /* of the reference */
    struct batch **log;
    uint64_t *hashes; /* of the state after each batch */
    size_t log_count, log_cap;
    uint64_t term;
    int leader;   /* the one that can commit; -1: none */
    int refusing; /* proposals find no room, in so many of 1000 cases */
    bool refuses_as_follower;
    int64_t commit_ms_max; /* how long a batch takes */
    int64_t lag_ms_max;    /* and the others behind it */
};

void cluster_init(struct life *life);
void cluster_close(struct life *life);

static inline bool cluster_is_paused(const struct life *life, const struct machine *machine)
{
    return machine->resume_ms > life->now_ms;
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
/* For the oracle: a time that does not go on while the machine's groups stand still. */
int64_t cluster_group_ms(const struct life *life, const struct machine *machine);

#endif
