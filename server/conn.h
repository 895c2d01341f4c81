/* One client connection: bytes in, requests in order, replies in order.
 *
 * Requests are read ahead, up to a limit, and take effect in order of arrival: several
 * OffsetCommits may be running, any other request waits until all before it are answered (R12).
 * Replies leave in the same order. A connection that may not go on (its pipeline is full, it does
 * not read its replies, or it holds much of a budget that is used up) is not read from. */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/addresses.h"
#include "server/conns.h"
#include "server/inbox.h"
#include "server/outbox.h"
#include "server/request.h"

struct conn {
    uv_tcp_t tcp;
    struct conns *conns;
    struct conn *next, **link; /* in conns->first */
    struct conn *next_ready;
    struct conn *next_dirty;

    struct inbox inbox;
    size_t inbox_charged;
    struct request *first, **last; /* in order of arrival */
    struct request *todo;          /* the first that is READ; NULL: none */
    size_t pending;                /* of them all */
    struct outbox outbox;
    size_t unsent;  /* bytes of replies in the outbox */
    size_t charged; /* what it holds of the budget */

    int64_t active_ms; /* the last byte in either direction */
    struct span listener;
    struct address address;
    char client_host[ADDRESS_TEXT_BYTES];
    uint8_t client_host_len;

    bool is_members; /* has carried a call for the coordinator */
    bool is_reading;
    bool is_paused; /* by the budget */
    bool is_pumping;
    bool is_ready;
    bool is_dirty;
    bool is_refusing; /* a request was refused, and waits for those before it */
    bool is_ending;   /* closed once its replies have left */
    bool is_crowded;  /* there was no room for a reply: closed at the end of the turn */
    bool is_closed;
};

/* ---- For conns.c ---- */

/* Takes the connection [server] has ready; NULL if that failed (it is closed then). */
struct conn *conn_accept(struct conns *conns, uv_stream_t *server, struct span listener);
void conn_start(struct conn *conn);
/* At once; what is running gets its answer later and drops it. */
void conn_close(struct conn *conn);
/* After the replies that are there have left. */
void conn_end(struct conn *conn);
void conn_resume(struct conn *conn);
void conn_flush(struct conn *conn);
/* A held reply's time has come. */
void conn_release(struct request *request);

/* ---- For whoever answers ---- */

/* [response]: struct <api>_response of request->api in version call.api_version. The request is
 * over: neither it nor its arena may be touched afterwards. */
void conn_reply(struct request *request, const void *response);
/* The same, [hold_ms] later, or when another request waits behind it on the connection. */
void conn_hold(struct request *request, const void *response, int32_t hold_ms);
/* The request is over without a reply. */
void conn_skip(struct request *request);
/* The same, and the connection is closed behind the replies to earlier requests. */
void conn_refuse(struct request *request);
/* The decoded request takes memory until it is answered. */
void conn_charge(struct request *request);

/* ---- Between conn.c and conn_pipeline.c ---- */

void conn_mark_ready(struct conn *conn);
void conn_mark_dirty(struct conn *conn);
bool conn_may_read(struct conn *conn);
void conn_take_bytes(struct conn *conn, size_t bytes);
void conn_give_bytes(struct conn *conn, size_t bytes);
/* A frame is complete. */
void conn_push(struct conn *conn, struct request *request);
/* Starts what may start. */
void conn_pump(struct conn *conn);
/* Drops all requests; those that run are told that the connection is gone. */
void conn_drop_requests(struct conn *conn);

#endif
