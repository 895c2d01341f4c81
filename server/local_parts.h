/* What the handlers behind local.h share: one of them per API, and the helpers for their replies.
 * Nothing but these files includes it. */
#ifndef SERVER_LOCAL_PARTS_H
#define SERVER_LOCAL_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/schema.h"
#include "rpc/span.h"
#include "server/core/call.h"
#include "server/core/node.h"
#include "server/core/topic.h"
#include "server/local.h"

enum {
    /* The one epoch of every partition's leader, on all nodes and for ever: clients compare epochs
     * of replies from different nodes (protocol.md D.2). */
    LOCAL_LEADER_EPOCH = 0,

    /* FindCoordinator from v4 on: keys of one request that get an address. Those beyond it get
     * INVALID_REQUEST, since every address multiplies what three bytes asked for. */
    LOCAL_COORDINATOR_KEYS_MAX = 10000,

    /* Produce: refused partitions of one request that get the text; those beyond it get the bare
     * error code, for the same reason. */
    LOCAL_PRODUCE_TEXTS_MAX = 1000,
};

/* [call]->request is the API's; what they build is in the call's arena. [out] comes zeroed. */
typedef void local_handler(const struct local_context *ctx,
                           const struct call *call,
                           struct local_reply *out);
local_handler produce_handle;
local_handler fetch_handle;
local_handler list_offsets_handle;
local_handler metadata_handle;
local_handler find_coordinator_handle;
local_handler init_producer_id_handle;
local_handler offset_for_leader_epoch_handle;
local_handler txn_offset_commit_handle;
local_handler describe_configs_handle;
local_handler describe_cluster_handle;

/* [count] structs of [schema], each with its defaults. Never NULL. */
void *local_structs(struct arena *arena, const struct kafka_schema *schema, int32_t count);

/* A node as the clients of one listener see it. */
struct local_broker {
    int32_t id;
    struct span host;
    int32_t port;
    struct span rack;
};

/* The cluster as the clients of one listener see it. */
struct local_cluster {
    struct local_broker *brokers; /* the nodes that have this listener, by id */
    int32_t brokers_count;
    int32_t *node_ids; /* all nodes, by id: every partition's replicas */
    int32_t nodes_count;
    const struct local_broker *leader; /* NULL: nobody known, or nobody these clients can reach */
    bool leader_lacks_listener;        /* why leader is NULL */
};
void local_find_cluster(const struct local_context *ctx,
                        struct arena *arena,
                        struct local_cluster *cluster);

/* What makes two items of a request the same item. */
struct local_key {
    struct span text;
    int64_t number;
    int32_t at; /* the item's place in the request, 0 .. count - 1 */
};

enum local_mark {
    LOCAL_UNIQUE = 0,
    LOCAL_FIRST,    /* of several that are equal */
    LOCAL_REPEATED, /* one of the others */
};

/* Marks by place. Sorts [keys]; costs n log n, whatever a client chose to send. */
const uint8_t *local_mark_repeated(struct arena *arena, struct local_key *keys, int32_t count);

/* The partition's topic in the facts, where a request names it rightly; else NULL. */
const struct topic *local_topic_of(const struct topic *topic, int32_t partition);

/* Kafka's check of the leader epoch that a client believes in; -1: it believes in none. */
int16_t local_check_epoch(int32_t current_leader_epoch);

void local_hint(const struct local_context *ctx,
                const char *event,
                struct span key,
                const char *text);

#endif
