/* The nodes of this simulation, what goes wrong with them, and who starts them again. */
#ifndef TESTS_SIM_LIFE_CLUSTER_H
#define TESTS_SIM_LIFE_CLUSTER_H

#include <stdio.h>

#include "tests/sim/life/life.h"
#include "tests/sim/world/play.h"

/* X(name, help): each is off in half of the seeds. The names are those of "off=" on the command
 * line. */
#define FAULTS(X)                                                             \
    X(crash, "processes are killed and start again")                          \
    X(power, "machines lose power: writes that were not synced are lost")     \
    X(steps, "the same, in the middle of some I/O")                           \
    X(stop, "processes are stopped (SIGSTOP) and go on")                      \
    X(freeze, "machines stand still, with their network, and go on")          \
    X(term, "processes are told to end (SIGTERM), and start again")           \
    X(storm, "all nodes, or most, end at once")                               \
    X(partition, "nodes do not hear each other")                              \
    X(oneway, "links lose everything in one direction")                       \
    X(loss, "links lose much and take long")                                  \
    X(hold, "links keep back what they carry, and release it")                \
    X(reset, "connections break, between nodes and with clients")             \
    X(clients, "clients cannot reach a node, or it cannot reach them")        \
    X(slow_disk, "disks take long")                                           \
    X(disk_error, "calls to the disk fail")                                   \
    X(disk_full, "disks are full, and have room again")                       \
    X(corrupt, "files are damaged while a node is down (one node at a time)") \
    X(wipe, "disks are emptied (one at a time)")                              \
    X(clock, "wall clocks jump")                                              \
    X(drift, "monotonic clocks run at different speeds")                      \
    X(slow_cpu, "nodes take long for everything")                             \
    X(vandal, "clients send garbage")

enum fault {
#define X(name, help) FAULT_##name,
    FAULTS(X)
#undef X
        FAULT_KINDS
};

extern const char *const fault_names[FAULT_KINDS];

struct faults {
    bool is_on[FAULT_KINDS];
    int64_t pace_ms;      /* between two of them, about */
    int64_t length_ms;    /* of one that lasts, at most */
    int leader_per_mille; /* how many of them are for the leader */
    int dead;             /* so many nodes stay dead at the end */
    uint64_t struck[FAULT_KINDS];
};

struct cluster {
    struct life *life;
    char config[2048];             /* lines of each node's configuration */
    bool is_damaged[MACHINES_MAX]; /* its disk has lost something, and it has not caught up */
    bool is_dead[MACHINES_MAX];    /* for ever */
    bool is_hurried[MACHINES_MAX]; /* told to end once more while it did */
    int failed_starts[MACHINES_MAX];
    uint64_t must_have[MACHINES_MAX];    /* the last entry of a file of it that was damaged */
    uint64_t start_number[MACHINES_MAX]; /* of the start that is planned */
    int64_t stopped_at_ms[MACHINES_MAX]; /* -1: it runs */
    int64_t changed_ms;                  /* when the last process began or ended */
    uint64_t quits, restarts, reseeds;
};

/* ---- options.c ---- */

int options_nodes(const struct play_setting *setting);
void options_draw(struct life *life, const struct play_setting *setting);
void options_print(const struct life *life, FILE *out);

/* ---- supervisor.c ---- */

void supervisor_open(struct life *life);
void supervisor_close(struct life *life);
/* Starts the node after a while, unless it runs by then. */
void supervisor_start_later(struct life *life, int machine, int64_t after_ms);
void supervisor_stop(struct life *life, int machine, bool is_frozen, bool loses_time);
void supervisor_continue(struct life *life, int machine);
/* Whether one more disk may lose something: no other has, and all others vote. (Two nodes without a
 * memory wait for each other for ever; and one that lost its power may be without, too: of a write of
 * several batches a later one may be whole and the first one not.) */
bool supervisor_may_damage(const struct life *life, int machine);
/* Whether one more may lose its power: no other disk has lost anything. */
bool supervisor_may_power_off(const struct life *life, int machine);
void supervisor_damage(struct life *life, int machine);
/* A file was damaged that says in its name what it holds: the node must not vote as if it had never
 * held that. */
void supervisor_expect_notice(struct life *life, int machine, const char *path);
/* Nodes that were damaged and have caught up are whole again. */
void supervisor_look(struct life *life);

/* ---- nemesis.c ---- */

void nemesis_start(struct life *life);
/* Puts everything back in order; all nodes run, but for those that stay dead. */
void nemesis_heal(struct life *life);

#endif
