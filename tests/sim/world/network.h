/* Links between hosts, and TCP connections over them. Hosts are the nodes' machines and the
 * clients'. A link has a direction. What happens to a packet is decided when it arrives: a cut
 * link, or chance, loses it, and TCP sends it again 200 ms later, then 400, ... up to 3 s apart; a
 * connection whose bytes stay unacknowledged for its user timeout (peers: 2.5 s; others: 15 min)
 * breaks. Connections know nothing of each other, so the bytes of an old one may arrive after a new
 * one was made.
 *
 * A process that ends closes its connections; a machine that goes silent leaves them half open, and
 * answers with RST when it is back. */
#ifndef TESTS_SIM_WORLD_NETWORK_H
#define TESTS_SIM_WORLD_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/world/world.h"

enum { NETWORK_HOSTS = 1 + WORLD_NODES_MAX + WORLD_CLIENTS_MAX };

/* ---- Hosts: 1 to WORLD_NODES_MAX are the nodes ---- */

static inline int network_client_host(int client) /* 0 to WORLD_CLIENTS_MAX - 1 */
{
    return 1 + WORLD_NODES_MAX + client;
}

/* ---- Connections of simulated clients ---- */

struct network_conn;

enum network_closing {
    NETWORK_REFUSED,  /* nobody listens there, or there is no such host */
    NETWORK_TIMEOUT,  /* no answer, or bytes that nobody acknowledges */
    NETWORK_FINISHED, /* the other side closed it */
    NETWORK_BROKEN    /* RST */
};
const char *network_closing_text(enum network_closing closing);

/* All are called from events of the world. After closed() the connection is gone. */
struct network_events {
    void (*opened)(void *ctx, struct network_conn *conn);
    /* Cut anywhere. */
    void (*bytes)(void *ctx, struct network_conn *conn, const uint8_t *bytes, size_t len);
    void (*closed)(void *ctx, struct network_conn *conn, enum network_closing closing);
};

/* From a client's host to "n1".."n5". Never NULL: what is wrong comes through closed(). Gives up
 * after [timeout_us]; 0: after 2 minutes. */
struct network_conn *network_connect(int client,
                                     const char *host,
                                     uint16_t port,
                                     int64_t timeout_us,
                                     const struct network_events *events,
                                     void *ctx);
/* Copied. Takes any amount; before opened() too. */
void network_write(struct network_conn *conn, const void *bytes, size_t len);
/* Bytes written and not yet acknowledged. */
size_t network_unsent(const struct network_conn *conn);
/* A client that does not read: the window closes, the sender waits. */
void network_pause(struct network_conn *conn, bool is_paused);
/* FIN behind what was written, or RST at once. closed() is not called; the connection is gone for
 * its owner, also within its own events. */
void network_close(struct network_conn *conn);
void network_reset(struct network_conn *conn);

/* ---- Faults ---- */

struct network_link {
    int64_t least_us, most_us; /* the time that a packet takes */
    int tail_per_mille;        /* so many take up to tail_us more */
    int64_t tail_us;
    int loss_per_mille;
};
/* 100 to 400 us, 1 in 1000 up to 5 ms more, no loss. */
extern const struct network_link network_link_default;

/* 0 for a host: all of them. */
void network_set_link(int from, int to, const struct network_link *link);
/* One direction: nothing arrives any more. */
void network_cut(int from, int to, bool is_cut);
/* Nodes with their bit in [side] (1 << id) and all others do not hear each other; clients are not
 * touched. */
void network_partition(unsigned side);
/* What arrives is kept, and delivered in order when it is released. */
void network_hold(int from, int to, bool is_held);
/* Whole links again, all of them, with the default latency if [resets_links]. */
void network_heal(bool resets_links);
/* RST for all connections between two hosts (0: any); returns how many. */
unsigned network_break(int a, int b);
/* So many per mille of the pieces that arrive are cut in two, at any place; 250 at first. */
void network_set_splitting(int per_mille);

bool network_is_cut(int from, int to);
/* Packets delivered, lost. */
uint64_t network_delivered(void);
uint64_t network_lost(void);

#endif
