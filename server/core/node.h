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
};

/* Writes a card; [nodes]' card field is not looked at. */
void node_encode_card(const struct node *node, struct buf *out);

/* NULL: the node has no such listener. */
const struct node_listener *node_listener(const struct node *node, struct span name);

#endif
