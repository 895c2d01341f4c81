/* The parts of a raftlog, for the files that tie them together: open.c (opening and closing),
 * start.c (how it starts), node.c (what peers say), leadership.c (edges), submission.c,
 * handover.c, disk_space.c. */
#ifndef RAFTLOG_INTERNAL_H
#define RAFTLOG_INTERNAL_H

#include <raft.h>
#include <raft/uv.h>

#include "raftlog/ballot.h"
#include "raftlog/data_dir.h"
#include "raftlog/fsm.h"
#include "raftlog/guard.h"
#include "raftlog/peer_control.h"
#include "raftlog/peer_listener.h"
#include "raftlog/peer_transport.h"
#include "raftlog/peers.h"
#include "raftlog/proposal_queue.h"
#include "raftlog/raftlog.h"
#include "raftlog/startup.h"
#include "raftlog/truncation.h"
#include "raftlog/wall_clock.h"

enum {
    RAFTLOG_CONNECT_RETRY_MS = 100,
    RAFTLOG_SECOND_MS = 1000,
    RAFTLOG_GATHER_MS = 1,           /* a submission waits for more of them at most so long */
    RAFTLOG_WAIT_LOG_MS = 10000,     /* between log lines of a node that waits or is refused */
    RAFTLOG_HANDOVER_RETRY_MS = 5000 /* of a leader without disk space */
};

/* A request of the library's; its memory must outlive its callback (it is written to afterwards),
 * so all are kept until the log is closed. */
struct handover_request {
    struct raft_transfer request;
    struct handover_request *next;
};

struct handover {
    bool is_active;
    bool is_requested; /* from the library, and its callback is still to come */
    uint64_t deadline_ms;
    uint64_t next_try_ms;
    uint64_t tried_id; /* the last one asked to lead */
    void (*done)(void *ctx, bool transferred);
    void *ctx;
    struct handover_request *requests;
};

struct submission {
    struct proposal_queue queue;
    struct raft_apply request;
    bool is_in_flight;
    uv_idle_t gatherer; /* while it is active the loop looks for events but does not wait for any */
    size_t gathered;    /* proposals that waited at the end of the last turn; 0: not gathering */
    uint64_t gather_ms; /* since when, by the loop's clock */
    int64_t last_stamp_ms;     /* of all batches that this node has applied or submitted */
    uint64_t last_stamp_at_ms; /* since when, by the loop's clock */
    struct buf scratch;
    uint64_t batches;
    uint64_t proposals;
};

struct raftlog {
    struct raftlog_options options;
    struct report report;
    uv_loop_t *loop;
    struct data_dir data;
    struct ballot ballot;
    struct truncation truncation;
    uint64_t boot_id;
    uint8_t config_hash[HELLO_HASH_LEN];
    struct raft_buffer configuration; /* as the library encodes it, without its padding */
    struct peers peers;
    struct handshake_self self;

    struct raft raft;
    struct raft_io io;
    struct guard guard;
    struct fsm fsm;
    struct peer_transport transport;
    struct peer_listener listener;
    struct peer_control control;
    uv_check_t check;
    uv_prepare_t prepare;
    uv_timer_t seconds; /* once a second */
    uv_timer_t starter; /* while waiting to start; afterwards, until votes are given */

    struct startup_state startup;
    bool is_started;
    bool is_close_asked; /* the library must not be closed at any moment: guard_is_rewriting() */
    bool is_closing;
    bool has_library; /* raft_init() was done */
    bool has_control;
    unsigned open_parts; /* that must come back before the memory is freed */
    void (*closed)(void *ctx);
    uint64_t started_ms;
    uint64_t wait_log_ms;
    struct report_limit strangers; /* log lines */

    struct submission submission;
    struct handover handover;
    bool is_disk_low;
    struct report_limit disk_unknown; /* log lines */
    bool is_clock_suspect;
    uint64_t elections_won;
    uint64_t peers_refused;
};

/* node.c: this node among its peers. */
void raftlog_node_init(struct raftlog *log);
/* start.c. Starts, if the rules of startup.h allow it by now. False: it cannot, [message] says why;
 * while it still has to wait, true. */
bool raftlog_node_advance(struct raftlog *log, char *message, size_t message_len);
/* Remembers acknowledgements and watches the clocks; once a second. */
void raftlog_node_second(struct raftlog *log);
/* The library's last entry on disk. */
uint64_t raftlog_node_last_index(const struct raftlog *log);
/* The clocks that are known now (R19), and our own. */
void raftlog_node_clock(const struct raftlog *log, struct wall_clock *clock);
int64_t raftlog_node_wall_ms(void);

/* start.c */
int raftlog_start_configuration(const struct raftlog *log, struct raft_configuration *to);
/* The time in which votes are held back after a start is over. */
void raftlog_start_votes(uv_timer_t *timer);

/* leadership.c */
extern const struct guard_events raftlog_guard_events;

/* submission.c */
void raftlog_submission_open(struct raftlog *log);
/* Before the loop waits, and after it has handled what was ready. */
void raftlog_submission_prepare(struct raftlog *log);
void raftlog_submission_check(struct raftlog *log);
void raftlog_submission_drop(struct raftlog *log);

/* handover.c */
void raftlog_handover_turn(struct raftlog *log);
/* Whether there is a node to hand over to. */
bool raftlog_handover_is_possible(const struct raftlog *log);
void raftlog_handover_close(struct raftlog *log);

/* disk_space.c: once a second. */
void raftlog_disk_space_second(struct raftlog *log);

#endif
