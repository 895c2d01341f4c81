/* Nodes: rosterd as it is, but for main.c, above simulated machines. A node's code runs in fibers:
 * one for its loop, one for each piece of work that libuv's pool does. A fiber gives way where a
 * process would wait (for events, for the disk), so a node may be ended or stopped there, in the
 * middle of whatever it does.
 *
 * All functions are for the nemesis, the clients and the oracle, from within an event of the world.
 * A node that is on cannot be booted, one that is off cannot be killed: such calls do nothing and
 * return false, so that a nemesis need not look first. */
#ifndef TESTS_SIM_WORLD_NODE_H
#define TESTS_SIM_WORLD_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/world/world.h"

struct server;

enum node_end {
    NODE_NEVER,      /* it has not ended yet */
    NODE_EXITED,     /* server_run() returned: an orderly end */
    NODE_QUIT,       /* _exit(): fatal() of raftlog, or it could not start; see node_last_words() */
    NODE_ABORTED,    /* a broken invariant: no fault may cause that */
    NODE_KILLED,     /* SIGKILL */
    NODE_POWER_LOST, /* with its machine */
    NODE_ENDS
};

enum {
    NODE_CLIENT_PORT = 9092,
    NODE_PEER_PORT = 9093,
    NODE_SIGNAL_TERM = 15,
    NODE_SIGNAL_USR1 = 10
};

/* The host name of a node ("n1") and its listener's port are what its Metadata says, and what
 * network_connect() takes. */

/* Further lines of its configuration file ("key=value\n"), from the next boot on; the world sets
 * node.id, cluster.id, cluster.nodes, peer.secret.file, data.dir, listeners and
 * advertised.listeners. The text is copied. */
void node_configure(int node, const char *lines);

/* Starts the process, and the machine if it is off. */
bool node_boot(int node);
/* SIGKILL: the machine lives on. Its connections are closed (FIN, or RST where bytes were unread),
 * what was written to files is there. */
bool node_kill(int node);
/* The machine is off at once: no packet says so, unsynced writes are lost or torn. */
bool node_lose_power(int node);
/* The same at the [steps]-th I/O step from now (each step of a file or socket call, and of the
 * pool's work, counts), 1 being the next; whatever happens first. 0: not any
 * more. */
bool node_kill_at_step(int node, unsigned steps);
bool node_lose_power_at_step(int node, unsigned steps);
/* SIGTERM: an orderly end; or SIGUSR1. */
bool node_signal(int node, int number);

/* SIGSTOP and SIGCONT: ports accept, nobody reads. */
bool node_stop(int node);
bool node_stop_at_step(int node, unsigned steps);
bool node_continue(int node);
/* The whole machine, as a VM that is paused: its network is silent, too. Its clocks go on or, with
 * [loses_time], stand still. */
bool node_freeze(int node, bool loses_time);
bool node_thaw(int node);

/* Its clocks. The wall clock jumps; the monotonic clock runs faster by so many millionths (boot on,
 * and from now on). */
void node_step_wall_clock(int node, int64_t by_ms);
void node_set_drift(int node, int millionths);
int64_t node_wall_ms(int node);
int64_t node_monotonic_ms(int node);

/* The size of libraft's segments, from the next boot on. In a quarter of all seeds its own 8 MiB at
 * first, else 1 MiB: what is read at each start is shorter, and segments are closed more often. */
void node_set_segment_bytes(int node, size_t bytes);

/* How long a turn of its loop takes; 20 to 80 us at first. A slow machine has more. */
void node_set_turn_cost(int node, int64_t least_us, int64_t most_us);

/* Questions. */
bool node_is_on(int node);      /* has a process, stopped or not */
bool node_is_stopped(int node); /* stopped or frozen */
bool node_has_power(int node);
bool node_is_frozen(int node);
uint64_t node_incarnation(int node); /* rises with each boot; 0: never booted */
unsigned node_steps(int node);       /* I/O steps of this incarnation so far */
enum node_end node_ended(int node);  /* how the last incarnation ended */
int node_exit_status(int node);      /* of NODE_QUIT and NODE_EXITED */
/* The line that it logged last at level error, in this or the last incarnation; "" if none. */
const char *node_last_words(int node);
const char *node_end_text(enum node_end end);
/* NULL while it is off. Only to be read; driver_state(&server->driver) and all else is there. */
const struct server *node_server(int node);
/* The node of which code runs now; 0: none. */
int node_current(void);
/* A node's own memory, in bytes: grows with the node alone. */
size_t node_memory(int node);

/* Told at each end of an incarnation, before its memory goes. One listener at most. */
struct node_events {
    void (*booted)(void *ctx, int node);
    void (*ended)(void *ctx, int node, enum node_end end);
    /* Each line of its log. */
    void (*logged)(void *ctx, int node, const char *line);
};
void node_listen(const struct node_events *events, void *ctx);

#endif
