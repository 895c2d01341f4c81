/* The registry of nodes: who is in the cluster and where clients reach it. It is replicated, so
 * that any node answers Metadata and FindCoordinator for all of them, also right after a restart
 * and for a node that is down. */
#ifndef SERVER_CORE_NODE_H
#define SERVER_CORE_NODE_H

#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"

/* Clients of a listener are told the addresses of the same listener elsewhere. */
struct node_listener {
    struct span name; /* PLAINTEXT, INTERNAL, … */
    struct span host;
    int32_t port;
};

struct node {
    uint64_t id;
    struct span card; /* as it came; the fields below point into it */
    struct span rack; /* null: none */
    struct node_listener *listeners;
    int32_t listeners_count;

    /* Bookkeeping. */
    uint64_t hash;
    uint32_t made; /* in which edition (copy on write) */
};

/* What a card may hold; what has more is no card. */
enum {
    NODE_CARD_BYTES_MAX = 65536,
    NODE_LISTENERS_MAX = 32,
    NODE_NAME_BYTES_MAX = 255, /* of a listener's name and its host, and of a rack */
};

/* Writes a card: version u8 (0), rack, count of listeners, each with name, host and port; strings as
 * buf_put_span(), numbers as uvarint. Bytes that follow are of a later release and are ignored. The
 * node's id and card are not looked at. */
void node_encode_card(const struct node *node, struct buf *out);

/* One allocation of malloc() with all that the card says; NULL: it cannot be read. */
struct node *node_new(uint64_t id, struct span card);

/* NULL: the node has no such listener. */
const struct node_listener *node_listener(const struct node *node, struct span name);

#endif
