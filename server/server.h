/* A node: the parts of the shell, put together on one loop.
 *
 *   sockets -- listener -- conns -- dispatch --+-- local.h
 *                                              '-- driver --+-- core/coordinator.h
 *                                                           '-- raftlog/raftlog.h
 *
 * The end of a turn: when the events of a poll have been handled, and again after the timers,
 * before the loop waits, connections go on, replies leave and the timers are set. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "rpc/buf.h"
#include "server/config.h"
#include "server/conns.h"
#include "server/datadir.h"
#include "server/dispatch.h"
#include "server/driver.h"
#include "server/listener.h"
#include "server/signals.h"

/* From SIGTERM to the end; stop.c. */
enum stop_phase {
    STOP_RUNNING,
    STOP_TRANSFERRING, /* leadership is being handed over */
    STOP_ANSWERING,    /* calls whose proposal is in flight get their answer */
    STOP_LINGERING,    /* another node leads; clients are told so when they ask */
    STOP_PARTING,      /* connections that no group's member uses are closed */
    STOP_FLUSHING,     /* the others, too, once their replies have left */
    STOP_CLOSING       /* the log is being closed, then the loop ends */
};

struct server {
    uv_loop_t loop;
    const struct config *config;
    struct datadir datadir;
    struct raftlog_peer peers[CONFIG_PEERS_MAX]; /* outlives the log */
    struct driver driver;
    struct conns conns;
    struct dispatch dispatch;
    struct listeners listeners;
    struct buf card;   /* what this node says of itself, */
    struct node *self; /* and the same, read */

    uv_prepare_t prepare;
    uv_check_t check;
    uv_signal_t signals[SIGNALS_COUNT];
    uv_work_t first_work;
    struct alarm stop_alarm;
    bool is_handed_over;
    enum stop_phase stop_phase;
    int64_t stop_due_ms;     /* when the phase ends in any case */
    int64_t stop_limit_ms;   /* when the process ends in any case */
    int64_t turn_began_ms;   /* when the events of this turn were there; 0: no turn yet */
    int64_t longest_turn_ms; /* since the last line of status, waiting not counted */
};

/* Opens all. False: [message] says what failed and what to do; the process is to end. */
bool server_open(struct server *server,
                 const struct config *config,
                 char *message,
                 size_t message_len);
/* Serves until a signal has ended it, then frees all. */
void server_run(struct server *server);

/* stop.c */
void stop_init(struct server *server);
void stop_begin(struct server *server);
/* At the end of each turn. */
void stop_turn(struct server *server);

/* status.c: one line of figures. */
void status_log(struct server *server);

#endif
