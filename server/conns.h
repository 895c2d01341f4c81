/* All client connections of a node: what they share, the limits that bound them together, and the
 * end of each turn of the loop, when replies leave.
 *
 *   listener --> conns_accept() --> conn (conn.h) --> events.request --> dispatch
 *                                     ^                                     |
 *   socket <-- conns_end_turn() <-----'-------- conn_reply() <--------------'
 */
#ifndef SERVER_CONNS_H
#define SERVER_CONNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "rpc/span.h"
#include "server/addresses.h"
#include "server/alarm.h"
#include "server/budget.h"
#include "server/core/call.h"
#include "server/core/deadline.h"
#include "server/log.h"
#include "server/outbox.h"
#include "server/request.h"

struct conn;

/* The keys of the configuration behind them stand in config.def. */
struct conns_limits {
    size_t request_bytes_max;
    size_t connections_max;
    size_t connections_per_ip_max;
    size_t pipeline_max;
    size_t unsent_bytes_max;
    size_t queued_bytes_max;
    int64_t idle_ms;
    int descriptors_max; /* a connection whose descriptor is not below is refused */
};

/* X(name, help): what the metrics page shows later; the help of a limit begins with its key. */
#define CONNS_COUNTERS(X)                                                         \
    X(accepted, "connections accepted")                                           \
    X(closed, "connections closed, by either side")                               \
    X(requests, "requests read")                                                  \
    X(accept_failed, "connections that the operating system would not hand over") \
    X(limit_connections, "max.connections: connections refused")                  \
    X(limit_per_ip, "max.connections.per.ip: connections refused")                \
    X(limit_descriptors, "open files: connections refused because few are left")  \
    X(descriptors_used_up, "times no descriptor was left")                        \
    X(limit_request_bytes, "socket.request.max.bytes: connections closed")        \
    X(limit_idle, "connections.max.idle.ms: connections closed")                  \
    X(limit_pipeline, "connection.max.pipelined.requests: times reading stopped") \
    X(limit_unsent, "connection.max.unsent.bytes: times reading stopped")         \
    X(limit_budget_paused, "queued.max.bytes: times reading stopped")             \
    X(limit_budget_closed, "queued.max.bytes: connections closed")                \
    X(bad_requests, "connections closed for a request that cannot be read or is not served")

struct conns_counters {
#define X(name, help) uint64_t name;
    CONNS_COUNTERS(X)
#undef X
};

/* Rates of the log lines, one per limit. */
struct conns_rates {
#define X(name, help) struct log_rate name;
    CONNS_COUNTERS(X)
#undef X
};

struct conns_events {
    /* A request's turn has come; it is RUNNING. Ends in exactly one of conn_reply(), conn_hold(),
     * conn_skip(), conn_refuse(), now or, for the first of them, later. */
    void (*request)(void *ctx, struct request *request);
    /* The connection of a running request is gone. It must be answered nevertheless. */
    void (*gone)(void *ctx, struct request *request);
};

enum { CONNS_READ_BYTES = 65536 };

struct conns {
    uv_loop_t *loop;
    struct conns_limits limits;
    struct conns_events events;
    void *events_ctx;

    struct conn *first; /* all */
    size_t count;
    struct addresses addresses;
    struct budget budget;
    struct conn *ready; /* may go on: conn_resume() at the end of the turn */
    struct conn *dirty; /* have replies to send */
    size_t paused;      /* connections not read from because of the budget */
    bool is_over;       /* the budget was over at the last sweep */
    bool is_stopping;

    struct request_pool requests;
    struct outbox_pool outbufs;
    struct deadlines holds;
    struct alarm hold_alarm;
    struct alarm sweep_alarm;

    struct conns_counters counters;
    struct conns_rates rates;
    uint8_t read_buffer[CONNS_READ_BYTES]; /* a chunk is used up before the next one is read */
};

void conns_init(struct conns *conns,
                uv_loop_t *loop,
                const struct conns_limits *limits,
                const struct conns_events *events,
                void *events_ctx);
/* All connections must be closed, no request in use; the loop must run once more. */
void conns_close(struct conns *conns);

/* Takes the connection that [server] has ready. [listener]: its name, which outlives it. */
void conns_accept(struct conns *conns, uv_stream_t *server, struct span listener);

/* Lets connections that may go on do so, then sends what there is to send. Call it when all events
 * of a turn of the loop have been handled, and after timers. */
void conns_end_turn(struct conns *conns);

/* Held replies leave now and none is held any more. */
void conns_stop_holding(struct conns *conns);
/* As conns_finish(), for connections that have carried no call of a group's member. */
void conns_finish_others(struct conns *conns);
/* No further request is read; each connection is closed once its replies have left. Requests that
 * are running must have been answered. */
void conns_finish(struct conns *conns);
/* Closes all at once. */
void conns_close_all(struct conns *conns);

/* Closes the largest holders until the budget is kept. For conn_*.c. */
void conns_shed(struct conns *conns);

#endif
