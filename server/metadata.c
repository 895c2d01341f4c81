/* Metadata (3), v0-13.
 *
 * Version notes
 *   v0      an empty list asks for all topics; from v1 on null does, and an empty list for none
 *   v1      controller, rack; v2 cluster id; v4 auto-creation allowed (nothing is created here);
 *           v5 offline replicas; v6 error 72 where the leader lacks the listener, 5 before
 *   v7      leader epoch: always the same one
 *   v8      authorized operations: "not known" until there is authorization
 *   v10-11  have a topic id in the request but take names only: 42 for anything else
 *   v12     names or ids
 *   v13     an error for the whole reply: never set
 *
 * R20: the raft leader is the leader of every partition and the controller. */
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/local_parts.h"

struct answer {
    const struct local_context *ctx;
    struct arena *arena;
    int16_t version;
    struct local_cluster cluster;
};

static void fill_brokers(struct answer *answer, struct metadata_response *response)
{
    const struct local_cluster *cluster = &answer->cluster;
    response->brokers =
        local_structs(answer->arena, metadata_response_broker_schema(), cluster->brokers_count);
    response->brokers_count = cluster->brokers_count;
    for (int32_t i = 0; i < cluster->brokers_count; i++) {
        const struct local_broker *broker = &cluster->brokers[i];
        response->brokers[i] = (struct metadata_response_broker){
            .node_id = broker->id,
            .host = broker->host,
            .port = broker->port,
            .rack = broker->rack,
        };
    }
}

static int16_t leader_error(const struct answer *answer)
{
    if (answer->cluster.leader != NULL) {
        return KAFKA_NONE;
    }
    bool lacks_listener = answer->cluster.leader_lacks_listener && answer->version >= 6;
    return lacks_listener ? KAFKA_LISTENER_NOT_FOUND : KAFKA_LEADER_NOT_AVAILABLE;
}

static void fill_partitions(struct answer *answer,
                            const struct topic *topic,
                            struct metadata_response_topic *out)
{
    const struct local_cluster *cluster = &answer->cluster;
    int16_t error = leader_error(answer);
    out->partitions_count = topic->partitions_count;
    out->partitions =
        local_structs(answer->arena, metadata_response_partition_schema(), topic->partitions_count);
    for (int32_t i = 0; i < topic->partitions_count; i++) {
        struct metadata_response_partition *partition = &out->partitions[i];
        partition->error_code = error;
        partition->partition_index = i;
        partition->leader_id = cluster->leader == NULL ? -1 : cluster->leader->id;
        partition->leader_epoch = LOCAL_LEADER_EPOCH;
        partition->replica_nodes = cluster->node_ids;
        partition->replica_nodes_count = cluster->nodes_count;
        partition->isr_nodes = cluster->node_ids;
        partition->isr_nodes_count = cluster->nodes_count;
    }
}

static void fill_topic(struct answer *answer,
                       const struct topic *topic,
                       struct metadata_response_topic *out)
{
    out->name = topic->name;
    out->topic_id = topic->uuid;
    fill_partitions(answer, topic, out);
}

static void fill_all_topics(struct answer *answer, struct metadata_response *response)
{
    int32_t count = (int32_t)state_totals(answer->ctx->state)->topics;
    response->topics = local_structs(answer->arena, metadata_response_topic_schema(), count);
    uint64_t at = 0;
    for (const struct topic *topic; (topic = state_next_topic(answer->ctx->state, &at)) != NULL;) {
        ensure(response->topics_count < count);
        fill_topic(answer, topic, &response->topics[response->topics_count++]);
    }
}

static void fill_by_id(struct answer *answer,
                       const struct metadata_request_topic *asked,
                       struct metadata_response_topic *out)
{
    const struct topic *topic = state_topic_by_uuid(answer->ctx->state, &asked->topic_id);
    if (topic != NULL) {
        fill_topic(answer, topic, out);
        return;
    }
    out->error_code = KAFKA_UNKNOWN_TOPIC_ID;
    out->topic_id = asked->topic_id;
    out->name = SPAN_NULL;
}

static void fill_by_name(struct answer *answer,
                         struct span name,
                         struct metadata_response_topic *out)
{
    const struct topic *topic = state_topic(answer->ctx->state, name);
    if (topic != NULL) {
        fill_topic(answer, topic, out);
        return;
    }
    out->name = name;
    out->error_code = KAFKA_INVALID_TOPIC_EXCEPTION;
    if (topic_name_is_legal(name)) {
        out->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        local_hint(answer->ctx, "topic_not_declared", name,
                   "a client asks for a topic that is not declared: create it with any Kafka admin "
                   "client (CreateTopics)");
    }
}

static void fill_asked(struct answer *answer,
                       const struct metadata_request_topic *asked,
                       struct metadata_response_topic *out)
{
    bool by_id = !uuid_is_zero(asked->topic_id);
    if ((by_id && answer->version < 12) || (!by_id && span_is_null(asked->name))) {
        out->error_code = KAFKA_INVALID_REQUEST;
        out->name = asked->name;
        out->topic_id = asked->topic_id;
    } else if (by_id) {
        fill_by_id(answer, asked, out);
    } else {
        fill_by_name(answer, asked->name, out);
    }
}

/* A topic asked for twice is answered once, as Kafka does; so the size of a reply is bounded by
 * what exists, not by how often it was asked for. */
static const uint8_t *mark_repeated(struct arena *arena, const struct metadata_request *request)
{
    struct local_key *keys = arena_alloc(arena, (size_t)request->topics_count * sizeof *keys);
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct metadata_request_topic *asked = &request->topics[i];
        bool by_id = !uuid_is_zero(asked->topic_id);
        keys[i] = (struct local_key){
            .text = by_id ? span_of(asked->topic_id.bytes, sizeof asked->topic_id) : asked->name,
            .number = by_id,
            .at = i,
        };
    }
    return local_mark_repeated(arena, keys, request->topics_count);
}

static void fill_asked_topics(struct answer *answer,
                              const struct metadata_request *request,
                              struct metadata_response *response)
{
    const uint8_t *marks = mark_repeated(answer->arena, request);
    response->topics =
        local_structs(answer->arena, metadata_response_topic_schema(), request->topics_count);
    for (int32_t i = 0; i < request->topics_count; i++) {
        if (marks[i] != LOCAL_REPEATED) {
            fill_asked(answer, &request->topics[i], &response->topics[response->topics_count++]);
        }
    }
}

void metadata_handle(const struct local_context *ctx,
                     const struct call *call,
                     struct local_reply *out)
{
    const struct metadata_request *request = call->request;
    struct answer answer = {.ctx = ctx, .arena = call->arena, .version = call->api_version};
    local_find_cluster(ctx, call->arena, &answer.cluster);
    if (answer.cluster.brokers_count == 0) {
        /* Clients ignore a reply without brokers, or forget those they know. */
        out->close = true;
        return;
    }
    struct metadata_response *response = local_structs(call->arena, metadata_response_schema(), 1);
    fill_brokers(&answer, response);
    response->cluster_id = span_from_cstr(ctx->cluster_id);
    response->controller_id = answer.cluster.leader == NULL ? -1 : answer.cluster.leader->id;
    bool all = request->topics_count < 0 || (call->api_version == 0 && request->topics_count == 0);
    if (all) {
        fill_all_topics(&answer, response);
    } else {
        fill_asked_topics(&answer, request, response);
    }
    out->response = response;
}
