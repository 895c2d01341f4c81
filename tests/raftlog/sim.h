/* A deterministic simulation of a cluster of libraft nodes under the guard: an in-memory raft_io,
 * crashes with torn writes, disk errors, lost disks, partitions (one-way too), loss, duplication,
 * delay and reordering of messages, skewed clocks, pauses, transfers.
 *
 * One process lives one life: a seed always gives the same run, so state is global and nothing is
 * freed. sim_main.c forks a child per seed. Random numbers are drawn in a fixed order: changing
 * that order changes what every seed does, the named ones in sim_cases.c too. */
#ifndef TESTS_RAFTLOG_SIM_H
#define TESTS_RAFTLOG_SIM_H

#include <raft.h>
#include <stdbool.h>
#include <stdint.h>

#include "raftlog/guard.h"

enum { SIM_NODES_MAX = 5, SIM_MS = 1000, SIM_SECOND = 1000 * SIM_MS }; /* time is in microseconds */

enum sim_fault {
    SIM_CRASH = 1,
    SIM_NET = 2,
    SIM_DISK = 4,
    SIM_TRANSFER = 8,
    SIM_PAUSE = 16,
    SIM_SKEW = 32,
    SIM_WIPE_QUIET = 64,      /* a disk is emptied while all else is well */
    SIM_WIPE = 128,           /* ... or not */
    SIM_WIPE_DOWN = 256,      /* ... while another node is down */
    SIM_HASTE = 512,          /* nodes are told that their leader has died, true or not */
    SIM_TRUNCATE_LOST = 1024, /* a truncation fails, and the library goes on (L7) */
    SIM_COMMON = 63
};

enum sim_verdict {
    SIM_OK,
    SIM_STATE,       /* two nodes applied different commands at one position */
    SIM_ELECTION,    /* two leaders in one term */
    SIM_COPIES,      /* acknowledged with too few copies on disk */
    SIM_UNAVAILABLE, /* the library gave up without an I/O error */
    SIM_START,       /* a node does not start */
    SIM_LIVENESS,    /* nothing commits after all has healed */
    SIM_CONVERGE,    /* replicas stay different */
    SIM_VERDICTS
};
extern const char *const sim_verdict_texts[SIM_VERDICTS];

/* What a run is made of; 2 for prevote and one means "by the seed". */
struct sim_setting {
    uint64_t seed;
    unsigned seconds;
    unsigned nodes;
    unsigned rules; /* enum guard_rule; 0: the library as it is */
    unsigned faults;
    unsigned prevote;
    unsigned one;     /* one submission in flight */
    unsigned hostile; /* 1: often; 2: also slow disks and small logs */
    bool ask;         /* G8 with the question for terms */
    unsigned chunk;   /* G10: entries per AppendEntries; 0: no limit */
    bool trace;
};

struct sim_stats {
    uint64_t crashes, leaders, acks, messages, snapshots, installs, transfers, wipes, rejoins,
        stops;
    uint64_t verdicts[SIM_VERDICTS];
    uint64_t guard[GUARD_COUNTS];
};

/* One whole life. Once per process. */
enum sim_verdict sim_run(const struct sim_setting *setting, struct sim_stats *stats);

#endif
