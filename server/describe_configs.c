/* DescribeConfigs (32), v0-4.
 *
 * Version notes
 *   v0  says only whether a value is a default; v1 its source, and synonyms where asked for
 *   v3  the type of a value, and documentation where asked for
 *
 * Read-only, and only what is true by construction: admin tools ask for these before they show a
 * topic or a node. The settings of rosterd itself are its operator's, not its clients'. */
#include <stdio.h>

#include "rpc/errors.h"
#include "server/local_parts.h"

enum resource_type { RESOURCE_TOPIC = 2, RESOURCE_BROKER = 4, RESOURCE_GROUP = 32 };
enum config_source { SOURCE_STATIC_BROKER = 4, SOURCE_DEFAULT = 5 };
enum config_type { TYPE_BOOL = 1, TYPE_STRING = 2, TYPE_INT = 3, TYPE_LONG = 5, TYPE_LIST = 7 };

struct row {
    const char *name;
    const char *value; /* NULL: this node's, or this cluster's; see value_of() */
    int8_t type;
    int8_t source;
    const char *documentation;
};

static const struct row topic_rows[] = {
    {"cleanup.policy", "delete", TYPE_LIST, SOURCE_DEFAULT, "There are no records to clean up."},
    {"compression.type", "producer", TYPE_STRING, SOURCE_DEFAULT, "There are no records."},
    {"message.timestamp.type", "CreateTime", TYPE_STRING, SOURCE_DEFAULT, "There are no records."},
    {"retention.bytes", "-1", TYPE_LONG, SOURCE_DEFAULT, "There are no records to keep."},
    {"retention.ms", "-1", TYPE_LONG, SOURCE_DEFAULT, "There are no records to keep."},
};

static const char node_id_name[] = "node.id";
static const char replication_name[] = "default.replication.factor";

static const struct row broker_rows[] = {
    {"auto.create.topics.enable", "false", TYPE_BOOL, SOURCE_DEFAULT,
     "Topics are declared, never made up."},
    {replication_name, NULL, TYPE_INT, SOURCE_DEFAULT, "Every node holds everything."},
    {"delete.topic.enable", "true", TYPE_BOOL, SOURCE_DEFAULT, "Topics can be deleted."},
    {node_id_name, NULL, TYPE_INT, SOURCE_STATIC_BROKER, "The node that answers."},
};

struct table {
    const struct row *rows;
    int32_t rows_count;
};

struct answer {
    const struct local_context *ctx;
    const struct describe_configs_request *request;
    struct arena *arena;
    int32_t nodes_count;
};

static struct span format_number(struct arena *arena, uint64_t number)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return arena_copy(arena, span_of(text, (size_t)len));
}

static struct span value_of(const struct answer *answer, const struct row *row)
{
    if (row->value != NULL) {
        return span_from_cstr(row->value);
    }
    uint64_t number =
        row->name == node_id_name ? answer->ctx->node_id : (uint64_t)answer->nodes_count;
    return format_number(answer->arena, number);
}

static bool is_asked(const struct describe_configs_request_resource *resource, const char *name)
{
    if (resource->configuration_keys_count < 0) {
        return true;
    }
    for (int32_t i = 0; i < resource->configuration_keys_count; i++) {
        if (span_compare(resource->configuration_keys[i], span_from_cstr(name)) == 0) {
            return true;
        }
    }
    return false;
}

static void fill_config(const struct answer *answer,
                        const struct row *row,
                        struct describe_configs_response_config *out)
{
    out->name = span_from_cstr(row->name);
    out->value = value_of(answer, row);
    out->read_only = true;
    out->is_default = row->source == SOURCE_DEFAULT;
    out->config_source = row->source;
    out->config_type = row->type;
    out->documentation =
        answer->request->include_documentation ? span_from_cstr(row->documentation) : SPAN_NULL;
    if (answer->request->include_synonyms) {
        out->synonyms = local_structs(answer->arena, describe_configs_response_synonym_schema(), 1);
        out->synonyms_count = 1;
        out->synonyms[0] = (struct describe_configs_response_synonym){
            .name = out->name, .value = out->value, .source = row->source};
    }
}

static void fill_table(const struct answer *answer,
                       const struct describe_configs_request_resource *resource,
                       struct table table,
                       struct describe_configs_response_result *out)
{
    out->configs =
        local_structs(answer->arena, describe_configs_response_config_schema(), table.rows_count);
    for (int32_t i = 0; i < table.rows_count; i++) {
        if (is_asked(resource, table.rows[i].name)) {
            fill_config(answer, &table.rows[i], &out->configs[out->configs_count++]);
        }
    }
}

static void refuse(struct describe_configs_response_result *out, int16_t error, const char *message)
{
    out->error_code = error;
    out->error_message = span_from_cstr(message);
}

static void describe_topic(const struct answer *answer,
                           const struct describe_configs_request_resource *resource,
                           struct describe_configs_response_result *out)
{
    if (state_topic(answer->ctx->state, resource->resource_name) != NULL) {
        fill_table(answer, resource,
                   (struct table){topic_rows, sizeof topic_rows / sizeof topic_rows[0]}, out);
    } else if (topic_name_is_legal(resource->resource_name)) {
        refuse(out, KAFKA_UNKNOWN_TOPIC_OR_PARTITION, "There is no topic of this name.");
    } else {
        refuse(out, KAFKA_INVALID_TOPIC_EXCEPTION, "This is not a name that a topic can have.");
    }
}

static void describe_broker(const struct answer *answer,
                            const struct describe_configs_request_resource *resource,
                            struct describe_configs_response_result *out)
{
    struct span self = format_number(answer->arena, answer->ctx->node_id);
    if (resource->resource_name.len == 0 || span_equal(resource->resource_name, self)) {
        fill_table(answer, resource,
                   (struct table){broker_rows, sizeof broker_rows / sizeof broker_rows[0]}, out);
    } else {
        refuse(out, KAFKA_INVALID_REQUEST, "A node describes only itself: ask that node.");
    }
}

static void describe(const struct answer *answer,
                     const struct describe_configs_request_resource *resource,
                     struct describe_configs_response_result *out)
{
    out->resource_type = resource->resource_type;
    out->resource_name = resource->resource_name;
    out->error_message = SPAN_NULL;
    switch (resource->resource_type) {
        case RESOURCE_TOPIC:
            describe_topic(answer, resource, out);
            break;
        case RESOURCE_BROKER:
            describe_broker(answer, resource, out);
            break;
        case RESOURCE_GROUP:
            break; /* no group has settings of its own */
        default:
            refuse(out, KAFKA_INVALID_REQUEST, "Resources of this type have no settings here.");
    }
}

/* A resource asked for twice is answered once: see metadata.c. */
static const uint8_t *mark_repeated(struct arena *arena,
                                    const struct describe_configs_request *request)
{
    struct local_key *keys = arena_alloc(arena, (size_t)request->resources_count * sizeof *keys);
    for (int32_t i = 0; i < request->resources_count; i++) {
        keys[i] = (struct local_key){request->resources[i].resource_name,
                                     request->resources[i].resource_type, i};
    }
    return local_mark_repeated(arena, keys, request->resources_count);
}

void describe_configs_handle(const struct local_context *ctx,
                             const struct call *call,
                             struct local_reply *out)
{
    const struct describe_configs_request *request = call->request;
    struct local_cluster cluster;
    local_find_cluster(ctx, call->arena, &cluster);
    struct answer answer = {ctx, request, call->arena, cluster.nodes_count};
    struct describe_configs_response *response =
        local_structs(call->arena, describe_configs_response_schema(), 1);
    response->results = local_structs(call->arena, describe_configs_response_result_schema(),
                                      request->resources_count);
    const uint8_t *marks = mark_repeated(call->arena, request);
    for (int32_t i = 0; i < request->resources_count; i++) {
        if (marks[i] != LOCAL_REPEATED) {
            describe(&answer, &request->resources[i],
                     &response->results[response->results_count++]);
        }
    }
    out->response = response;
}
