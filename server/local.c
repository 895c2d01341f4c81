#include "server/local.h"

#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/build.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/local_parts.h"

static local_handler *find_handler(int16_t api_key)
{
    switch (api_key) {
        case API_Produce:
            return produce_handle;
        case API_Fetch:
            return fetch_handle;
        case API_ListOffsets:
            return list_offsets_handle;
        case API_Metadata:
            return metadata_handle;
        case API_FindCoordinator:
            return find_coordinator_handle;
        case API_InitProducerId:
            return init_producer_id_handle;
        case API_OffsetForLeaderEpoch:
            return offset_for_leader_epoch_handle;
        case API_TxnOffsetCommit:
            return txn_offset_commit_handle;
        case API_DescribeConfigs:
            return describe_configs_handle;
        case API_DescribeCluster:
            return describe_cluster_handle;
        default:
            return NULL;
    }
}

bool local_serves(int16_t api_key)
{
    return find_handler(api_key) != NULL;
}

void local_handle(const struct local_context *ctx, const struct call *call, struct local_reply *out)
{
    local_handler *handle = find_handler(call->api_key);
    ensure(handle != NULL);
    *out = (struct local_reply){0};
    handle(ctx, call, out);
    ensure(out->response != NULL || out->close);
}

void *local_structs(struct arena *arena, const struct kafka_schema *schema, int32_t count)
{
    ensure(count >= 0);
    uint8_t *structs = arena_alloc(arena, (size_t)count * schema->size);
    for (int32_t i = 0; i < count; i++) {
        codec_set_defaults(schema, structs + (size_t)i * schema->size);
    }
    return structs;
}

/* ---- The cluster ---- */

static void add_node(const struct local_context *ctx,
                     const struct node *node,
                     struct local_cluster *cluster)
{
    cluster->node_ids[cluster->nodes_count++] = (int32_t)node->id;
    const struct node_listener *listener = node_listener(node, ctx->listener);
    if (listener == NULL) {
        cluster->leader_lacks_listener |= node->id == ctx->leader_id;
        return;
    }
    struct local_broker *broker = &cluster->brokers[cluster->brokers_count++];
    *broker = (struct local_broker){
        .id = (int32_t)node->id,
        .host = listener->host,
        .port = listener->port,
        .rack = node->rack,
    };
    uint64_t leader_id = ctx->leader_id;
#if ROSTER_BUG == 2201 /* each node names itself */
    leader_id = ctx->node_id;
#endif
    if (node->id == leader_id) {
        cluster->leader = broker;
    }
}

/* This node's own card, as long as the registry lacks it. */
static const struct node *unregistered_self(const struct local_context *ctx)
{
    return ctx->self != NULL && state_node(ctx->state, ctx->self->id) == NULL ? ctx->self : NULL;
}

void local_find_cluster(const struct local_context *ctx,
                        struct arena *arena,
                        struct local_cluster *cluster)
{
    size_t count = 1;
    uint64_t at = 0;
    while (state_next_node(ctx->state, &at) != NULL) {
        count++;
    }
    *cluster = (struct local_cluster){
        .brokers = arena_alloc(arena, count * sizeof *cluster->brokers),
        .node_ids = arena_alloc(arena, count * sizeof *cluster->node_ids),
    };
    const struct node *self = unregistered_self(ctx);
    at = 0;
    for (const struct node *node; (node = state_next_node(ctx->state, &at)) != NULL;) {
        if (self != NULL && self->id < node->id) {
            add_node(ctx, self, cluster);
            self = NULL;
        }
        add_node(ctx, node, cluster);
    }
    if (self != NULL) {
        add_node(ctx, self, cluster);
    }
}

/* ---- Items that a request names more than once ---- */

static int compare_keys(const void *left, const void *right)
{
    const struct local_key *a = left;
    const struct local_key *b = right;
    int order = span_compare(a->text, b->text);
    if (order != 0) {
        return order;
    }
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

const uint8_t *local_mark_repeated(struct arena *arena, struct local_key *keys, int32_t count)
{
    uint8_t *marks = arena_alloc(arena, (size_t)count);
    if (count < 2) {
        return marks;
    }
    qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    for (int32_t i = 1; i < count; i++) {
        const struct local_key *before = &keys[i - 1];
        if (span_compare(before->text, keys[i].text) == 0 && before->number == keys[i].number) {
            marks[keys[i].at] = LOCAL_REPEATED;
            if (marks[before->at] == LOCAL_UNIQUE) {
                marks[before->at] = LOCAL_FIRST;
            }
        }
    }
    return marks;
}

/* ---- Small checks ---- */

const struct topic *local_topic_of(const struct topic *topic, int32_t partition)
{
    bool exists = topic != NULL && partition >= 0 && partition < topic->partitions_count;
    return exists ? topic : NULL;
}

int16_t local_check_epoch(int32_t current_leader_epoch)
{
    if (current_leader_epoch == -1 || current_leader_epoch == LOCAL_LEADER_EPOCH) {
        return KAFKA_NONE;
    }
    return current_leader_epoch < LOCAL_LEADER_EPOCH ? KAFKA_FENCED_LEADER_EPOCH
                                                     : KAFKA_UNKNOWN_LEADER_EPOCH;
}

void local_hint(const struct local_context *ctx,
                const char *event,
                struct span key,
                const char *text)
{
    if (ctx->hint != NULL) {
        ctx->hint(ctx->hint_ctx, event, key, text);
    }
}
