/* What the files of TCP share: tcp.c has the way of packets, endpoint.c what owners do, listener.c
 * who waits to be accepted. */
#ifndef TESTS_SIM_WORLD_TCP_H
#define TESTS_SIM_WORLD_TCP_H

#include "tests/sim/world/parts.h"

enum { TCP_RECEIVE_BYTES_MAX = 256 * 1024, TCP_SEGMENT_BYTES_MAX = 16 * 1024 };

struct segment {
    struct segment *next;
    int64_t sent_us;
    int64_t arrives_us;
    size_t len;
    bool is_fin;
    bool was_lost; /* at least once */
    uint8_t bytes[];
};

struct connection;

struct endpoint {
    struct connection *connection;
    struct endpoint *peer;
    struct endpoint_owner owner;
    int host;
    uint16_t port;
    enum endpoint_state state;
    int error;
    bool is_owned; /* a process or client holds it */
    bool has_vanished;
    bool is_closed; /* by its owner: it sends no more */
    int64_t user_timeout_us;
    int64_t keepalive_us;
    uint64_t keepalive_event;
    uint64_t reset_event; /* an RST is on its way to it */
    int64_t heard_us;

    /* What it has received and nobody has read. */
    uint8_t *received;
    size_t received_at, received_end, received_cap;
    bool has_fin;

    /* What it has sent. */
    struct segment *first; /* not acknowledged */
    struct segment *next;  /* has not arrived */
    struct segment **last;
    size_t unsent; /* bytes not acknowledged */
    int64_t last_arrival_us;
    int64_t retry_us;
    uint64_t event;  /* the arrival of [next], or another try of an acknowledgement */
    bool is_waiting; /* for a held link, or for room */
};

struct connection {
    struct connection *next_all, **link_all;
    uint64_t number;
    struct endpoint ends[2]; /* 0 connected to 1 */
    struct listener *queued; /* ends[1] waits there to be accepted */
    struct connection *next_queued;
    int tries; /* of SYN */
    uint64_t syn_event;
    bool is_local;
};

struct listener {
    struct listener *next;
    int host;
    uint16_t port;
    int backlog, waiting;
    struct connection *first, **last;
    struct endpoint_owner owner;
};

/* ---- tcp.c ---- */

struct connection *tcp_new_connection(int from, int to, uint16_t port);
/* What it has sent and is not acknowledged is forgotten. */
void tcp_free_segments(struct endpoint *end);
/* Where nobody holds it and nothing is under way. */
void tcp_maybe_free(struct connection *connection);
/* Its owner looks at it again, later. */
void tcp_tell(struct endpoint *end);
/* Its owner learns of it; nothing of this end is delivered any more. */
void tcp_break(struct endpoint *end, int error);
/* To this end, from the other. */
void tcp_send_reset(struct endpoint *to);
void tcp_put_received(struct endpoint *to, const struct segment *segment);
/* What waited goes on its way. */
void tcp_go_on(struct endpoint *end);
void tcp_send_segment(struct endpoint *end, const void *bytes, size_t len, bool is_fin);
/* From now on, if it is open and wants to. */
void tcp_watch_keepalive(struct endpoint *end);
/* Of all, through next_all. */
struct connection *tcp_first(void);

/* ---- listener.c ---- */

struct listener *listener_find(int host, uint16_t port);
void listener_free_all(void);

#endif
