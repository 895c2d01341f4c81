/* What the files of the simulation share. */
#ifndef TESTS_RAFTLOG_SIM_PARTS_H
#define TESTS_RAFTLOG_SIM_PARTS_H

#include <stddef.h>

#include "sim.h"

/* Random numbers and time (sim_events.c). */

extern uint64_t sim_now;
void sim_seed(uint64_t seed);
uint64_t sim_below(uint64_t n);
bool sim_chance(uint64_t per_million);

/* Events: a heap by time, then by the order in which they were made. */

enum sim_kind {
    SIM_EVENT_TICK,
    SIM_EVENT_SENT,
    SIM_EVENT_DELIVER,
    SIM_EVENT_DISK,
    SIM_EVENT_SNAPSHOT_GET,
    SIM_EVENT_WORK,
    SIM_EVENT_RESTART,
    SIM_EVENT_CRASH,
    SIM_EVENT_PARTITION,
    SIM_EVENT_HEAL,
    SIM_EVENT_CLIENT,
    SIM_EVENT_TRANSFER,
    SIM_EVENT_PAUSE,
    SIM_EVENT_WIPE,
    SIM_EVENT_HELLO,
    SIM_EVENT_ANSWER,
    SIM_EVENT_HASTE
};

/* What an event calls back, if anything. */
union sim_callback {
    raft_io_send_cb send;
    raft_io_snapshot_get_cb snapshot_get;
    raft_io_async_work_cb work;
};

struct sim_event {
    uint64_t time;
    uint64_t sequence;
    uint64_t epoch; /* of the node: an event of an earlier incarnation is void */
    uint64_t number;
    enum sim_kind kind;
    struct sim_node *node;
    void *what;
    union sim_callback callback;
};
void sim_push(struct sim_event event);
void sim_at(uint64_t time, enum sim_kind kind, struct sim_node *node, void *what, uint64_t number);
void sim_call_at(uint64_t time,
                 enum sim_kind kind,
                 struct sim_node *node,
                 void *what,
                 union sim_callback callback);
bool sim_pop(struct sim_event *event);

/* A node: what is on its disk, and what is lost in a crash. */

struct sim_entry {
    raft_term term;
    unsigned short type;
    size_t len;
    void *data;
};

enum sim_operation_kind { SIM_APPEND, SIM_TRUNCATE, SIM_SNAPSHOT };

struct sim_operation {
    enum sim_operation_kind kind;
    struct raft_io_append *append;
    raft_io_append_cb append_cb;
    struct raft_io_snapshot_put *put;
    raft_io_snapshot_put_cb put_cb;
    struct sim_entry *entries;
    unsigned n;
    unsigned trailing;
    raft_index index;
    struct raft_snapshot *snapshot;
    int status;
    struct sim_operation *next;
};

struct sim_node {
    unsigned i;
    bool is_up;
    bool is_slow;
    raft_id id;
    char address[16];
    struct raft raft;
    struct raft_io io;
    struct raft_fsm fsm;
    struct guard guard;
    uint64_t epoch;
    raft_io_tick_cb tick;
    raft_io_recv_cb recv;
    unsigned tick_ms;
    double clock_rate;
    uint64_t paused_until;
    /* On disk. */
    raft_term term;
    raft_id vote;
    struct sim_entry *log;
    size_t log_count;
    raft_index log_first;
    struct raft_snapshot *snapshot;
    bool may_vote;    /* the marker of G8 */
    bool is_poisoned; /* the real disk code would not start from this any more (L3) */
    /* In memory. */
    struct sim_operation *operations;
    struct sim_operation **operations_tail;
    uint64_t disk_free_at;
    uint64_t applied;
    unsigned in_flight;
    unsigned puts;
    unsigned disk_errors;
    bool was_leader;
    bool has_failed_write;
    bool is_asking; /* for terms, before it starts (G8) */
    unsigned answered;
    raft_term term_max;
};

struct sim_message {
    struct raft_message raft;
    struct sim_entry *entries;
    unsigned n;
    struct raft_snapshot *snapshot;
    raft_id from;
    char address[16];
    uint64_t to_epoch;
};

/* The cluster (sim_run.c). */

struct sim {
    struct sim_setting setting;
    struct sim_stats *stats;
    struct sim_node *nodes[SIM_NODES_MAX];
    unsigned n;
    bool is_cut[SIM_NODES_MAX][SIM_NODES_MAX];
    uint64_t last_delivery[SIM_NODES_MAX][SIM_NODES_MAX];
    bool is_fifo;                                    /* links keep the order and lose nothing */
    bool is_calm;                                    /* no more faults */
    uint64_t loss, duplicate, latency, disk_latency; /* per million; microseconds */
    unsigned threshold, trailing;
    uint64_t crash_mean, partition_mean, client_gap;
    uint64_t next_value, live_value, live_acked_at, healed_at;
    enum sim_verdict verdict;
    struct sim_node *running; /* whose code runs */
};
extern struct sim sim;

/* sim_disk.c: the raft_io. */
void sim_io_init(struct sim_node *node);
void sim_disk_done(struct sim_node *node);
/* Whether its log ends before [index], with nothing on the way (guard_events). */
int sim_disk_truncated(const struct sim_node *node, raft_index index);
/* What of the writes under way reaches the disk in a crash. */
void sim_disk_crash(struct sim_node *node);

/* sim_copy.c: between the library's memory and the simulated disk or wire. */
struct sim_entry *sim_copy_from_raft(const struct raft_entry *from, unsigned n);
struct raft_entry *sim_copy_to_raft(const struct sim_entry *from, size_t n);
struct raft_snapshot *sim_copy_snapshot(const struct raft_snapshot *from);

/* sim_node.c: life and death of a node, and its clients. */
void sim_launch(struct sim_node *node);
void sim_start(struct sim_node *node);
void sim_crash(struct sim_node *node);
void sim_client(struct sim_node *node);

/* sim_check.c: what must hold. */
void sim_violation(enum sim_verdict verdict,
                   const struct sim_node *node,
                   const char *what,
                   uint64_t a,
                   uint64_t b);
void sim_check_applied(const struct sim_node *node, uint64_t position, uint64_t value);
void sim_check_restored(const struct sim_node *node);
void sim_check_acked(const struct sim_node *node,
                     raft_index index,
                     uint64_t position,
                     uint64_t value);
void sim_check_node(struct sim_node *node);
uint64_t sim_applied_count(void);
bool sim_has_converged(void);

/* sim_faults.c: what events do. */
void sim_step(struct sim_event *event);
struct sim_node *sim_leader(void);
struct sim_node *sim_rejoiner(void);

#endif
