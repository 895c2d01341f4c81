#include "server/core/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "rpc/api.h"
#include "rpc/build.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/internal.h"

enum { TEXT_BYTES = 500 };

void *reply_new(struct call *call, const struct kafka_schema *schema)
{
    void *response = arena_alloc(call->arena, schema->size);
    codec_set_defaults(schema, response);
    return response;
}

void *reply_elements(struct call *call, const struct kafka_schema *schema, int32_t count)
{
    size_t size = schema->size;
    uint8_t *elements = arena_alloc(call->arena, size * (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        codec_set_defaults(schema, elements + size * (size_t)i);
    }
    return elements;
}

void reply_log_refused(struct coordinator *c, const struct call *call, const char *api)
{
    effects_log(&c->effects, EFFECT_WARN,
                "reply_refused api=%s limit_bytes=%d client_id=%s host=%s", api, LIMIT_REPLY_BYTES,
                effect_text(&c->effects, call->client_id),
                effect_text(&c->effects, call->client_host));
}

struct span reply_text(struct call *call, const char *format, ...)
{
    char *text = arena_alloc(call->arena, TEXT_BYTES + 1);
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, TEXT_BYTES + 1, format, args);
    va_end(args);
    ensure(len >= 0);
    return span_of(text, len < TEXT_BYTES ? (size_t)len : TEXT_BYTES);
}

/* ---- One shape of error per API ---- */

static void *join_group_error(struct call *call, int16_t error)
{
    const struct join_group_request *request = call->request;
    struct join_group_response *response = reply_new(call, join_group_response_schema());
    response->error_code = error;
    response->member_id = request->member_id;
    return response;
}

static void *sync_group_error(struct call *call, int16_t error)
{
    struct sync_group_response *response = reply_new(call, sync_group_response_schema());
    response->error_code = error;
    return response;
}

static void *heartbeat_error(struct call *call, int16_t error)
{
    struct heartbeat_response *response = reply_new(call, heartbeat_response_schema());
    response->error_code = error;
    return response;
}

/* "Unknown member" is about members, anything else about the whole call; up to v2 there is one
 * member and one code. */
static void *leave_group_error(struct call *call, int16_t error)
{
    const struct leave_group_request *request = call->request;
    struct leave_group_response *response = reply_new(call, leave_group_response_schema());
    if (call->api_version < 3 || error != KAFKA_UNKNOWN_MEMBER_ID) {
        response->error_code = error;
        return response;
    }
    response->members_count = request->members_count;
    response->members =
        reply_elements(call, leave_group_response_member_schema(), request->members_count);
    for (int32_t i = 0; i < request->members_count; i++) {
        response->members[i].member_id = request->members[i].member_id;
        response->members[i].group_instance_id = request->members[i].group_instance_id;
        response->members[i].error_code = error;
    }
    return response;
}

static void *offset_commit_error(struct call *call, int16_t error)
{
    const struct offset_commit_request *request = call->request;
    struct offset_commit_response *response = reply_new(call, offset_commit_response_schema());
    response->topics_count = request->topics_count;
    response->topics =
        reply_elements(call, offset_commit_response_topic_schema(), request->topics_count);
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct offset_commit_request_topic *asked = &request->topics[i];
        struct offset_commit_response_topic *topic = &response->topics[i];
        topic->name = asked->name;
        topic->topic_id = asked->topic_id;
        topic->partitions_count = asked->partitions_count;
        topic->partitions = reply_elements(call, offset_commit_response_partition_schema(),
                                           asked->partitions_count);
        for (int32_t k = 0; k < asked->partitions_count; k++) {
            topic->partitions[k].partition_index = asked->partitions[k].partition_index;
            topic->partitions[k].error_code = error;
        }
    }
    return response;
}

/* Up to v1 there is only the code of each partition. */
static void fetch_partition_errors(struct call *call,
                                   const struct offset_fetch_request *request,
                                   struct offset_fetch_response *response,
                                   int16_t error)
{
    int32_t count = request->topics_count > 0 ? request->topics_count : 0;
    response->topics_count = count;
    response->topics = reply_elements(call, offset_fetch_response_topic_schema(), count);
    for (int32_t i = 0; i < count; i++) {
        const struct offset_fetch_request_topic *asked = &request->topics[i];
        struct offset_fetch_response_topic *topic = &response->topics[i];
        topic->name = asked->name;
        topic->partitions_count = asked->partition_indexes_count;
        topic->partitions = reply_elements(call, offset_fetch_response_partition_schema(),
                                           asked->partition_indexes_count);
        for (int32_t k = 0; k < asked->partition_indexes_count; k++) {
            topic->partitions[k].partition_index = asked->partition_indexes[k];
            topic->partitions[k].committed_offset = -1;
            topic->partitions[k].error_code = error;
        }
    }
}

static void *offset_fetch_error(struct call *call, int16_t error)
{
    const struct offset_fetch_request *request = call->request;
    struct offset_fetch_response *response = reply_new(call, offset_fetch_response_schema());
    response->error_code = error;
    if (call->api_version < 2) {
        fetch_partition_errors(call, request, response, error);
    } else if (call->api_version >= 8) {
        response->groups_count = request->groups_count;
        response->groups =
            reply_elements(call, offset_fetch_response_group_schema(), request->groups_count);
        for (int32_t i = 0; i < request->groups_count; i++) {
            response->groups[i].group_id = request->groups[i].group_id;
            response->groups[i].error_code = error;
        }
    }
    return response;
}

static void *offset_delete_error(struct call *call, int16_t error)
{
    struct offset_delete_response *response = reply_new(call, offset_delete_response_schema());
    response->error_code = error;
    return response;
}

static void *describe_groups_error(struct call *call, int16_t error)
{
    const struct describe_groups_request *request = call->request;
    struct describe_groups_response *response = reply_new(call, describe_groups_response_schema());
    response->groups_count = request->groups_count;
    response->groups =
        reply_elements(call, describe_groups_response_group_schema(), request->groups_count);
    for (int32_t i = 0; i < request->groups_count; i++) {
        response->groups[i].group_id = request->groups[i];
        response->groups[i].error_code = error;
    }
    return response;
}

static void *list_groups_error(struct call *call, int16_t error)
{
    struct list_groups_response *response = reply_new(call, list_groups_response_schema());
    response->error_code = error;
    return response;
}

static void *delete_groups_error(struct call *call, int16_t error)
{
    const struct delete_groups_request *request = call->request;
    struct delete_groups_response *response = reply_new(call, delete_groups_response_schema());
    response->results_count = request->groups_names_count;
    response->results =
        reply_elements(call, delete_groups_response_result_schema(), request->groups_names_count);
    for (int32_t i = 0; i < request->groups_names_count; i++) {
        response->results[i].group_id = request->groups_names[i];
        response->results[i].error_code = error;
    }
    return response;
}

/* What a user of the topic calls reads beside the code; null: the code says it all. */
static struct span topic_error_text(struct call *call, int16_t error)
{
    switch (error) {
        case KAFKA_NOT_CONTROLLER:
            return reply_text(call,
                              "This node does not lead the cluster. Ask the leader: Metadata "
                              "names it as the controller.");
        case KAFKA_REQUEST_TIMED_OUT:
            return reply_text(call,
                              "No majority of the nodes confirmed it in time. It may still "
                              "happen: look before you repeat it.");
        case KAFKA_COORDINATOR_NOT_AVAILABLE:
            return reply_text(call, "The log has no room just now. Try again.");
        default:
            return SPAN_NULL;
    }
}

static void *create_topics_error(struct call *call, int16_t error)
{
    const struct create_topics_request *request = call->request;
    struct create_topics_response *response = reply_new(call, create_topics_response_schema());
    response->topics_count = request->topics_count;
    response->topics =
        reply_elements(call, create_topics_response_topic_schema(), request->topics_count);
    for (int32_t i = 0; i < request->topics_count; i++) {
        response->topics[i].name = request->topics[i].name;
        response->topics[i].error_code = error;
        response->topics[i].error_message = topic_error_text(call, error);
    }
    return response;
}

static void *delete_topics_error(struct call *call, int16_t error)
{
    const struct delete_topics_request *request = call->request;
    struct delete_topics_response *response = reply_new(call, delete_topics_response_schema());
    bool by_names = call->api_version < 6;
    int32_t count = by_names ? request->topic_names_count : request->topics_count;
    response->responses_count = count;
    response->responses = reply_elements(call, delete_topics_response_topic_schema(), count);
    for (int32_t i = 0; i < count; i++) {
        struct delete_topics_response_topic *topic = &response->responses[i];
        topic->name = by_names ? request->topic_names[i] : request->topics[i].name;
        if (!by_names) {
            topic->topic_id = request->topics[i].topic_id;
        }
        topic->error_code = error;
        topic->error_message = topic_error_text(call, error);
    }
    return response;
}

static void *create_partitions_error(struct call *call, int16_t error)
{
    const struct create_partitions_request *request = call->request;
    struct create_partitions_response *response =
        reply_new(call, create_partitions_response_schema());
    response->results_count = request->topics_count;
    response->results =
        reply_elements(call, create_partitions_response_result_schema(), request->topics_count);
    for (int32_t i = 0; i < request->topics_count; i++) {
        response->results[i].name = request->topics[i].name;
        response->results[i].error_code = error;
        response->results[i].error_message = topic_error_text(call, error);
    }
    return response;
}

static void *build_error(struct call *call, int16_t error)
{
    switch (call->api_key) {
        case API_JoinGroup:
            return join_group_error(call, error);
        case API_SyncGroup:
            return sync_group_error(call, error);
        case API_Heartbeat:
            return heartbeat_error(call, error);
        case API_LeaveGroup:
            return leave_group_error(call, error);
        case API_OffsetCommit:
            return offset_commit_error(call, error);
        case API_OffsetFetch:
            return offset_fetch_error(call, error);
        case API_OffsetDelete:
            return offset_delete_error(call, error);
        case API_DescribeGroups:
            return describe_groups_error(call, error);
        case API_ListGroups:
            return list_groups_error(call, error);
        case API_DeleteGroups:
            return delete_groups_error(call, error);
        case API_CreateTopics:
            return create_topics_error(call, error);
        case API_DeleteTopics:
            return delete_topics_error(call, error);
        case API_CreatePartitions:
            return create_partitions_error(call, error);
        default:
            return NULL;
    }
}

void reply_error(struct coordinator *c, struct call *call, int16_t error)
{
    void *response = build_error(call, error);
    ensure(response != NULL); /* coordinator_serves() let it in */
    coordinator_reply(c, call, response);
}

/* ---- Which error ---- */

static bool is_topic_call(const struct call *call)
{
#if ROSTER_BUG == 2205 /* an admin is not told to look for the controller */
    return false;
#endif
    return call->api_key == API_CreateTopics || call->api_key == API_DeleteTopics ||
           call->api_key == API_CreatePartitions;
}

/* While a leader settles, members must not take its silence for an answer that costs them their
 * place: 27 makes a client repeat SyncGroup later, 0 keeps a heartbeat going (protocol D.3). */
static int16_t error_while_settling(const struct call *call)
{
#if ROSTER_BUG == 2115 /* members look for another coordinator, and join again */
    return KAFKA_NOT_COORDINATOR;
#endif
    switch (call->api_key) {
        case API_SyncGroup:
            return KAFKA_REBALANCE_IN_PROGRESS;
        case API_Heartbeat:
            return KAFKA_NONE;
        case API_ListGroups:
            return KAFKA_COORDINATOR_NOT_AVAILABLE;
        default:
            return KAFKA_NOT_COORDINATOR;
    }
}

int16_t reply_error_of_role(const struct coordinator *c, const struct call *call)
{
    if (is_topic_call(call)) {
        return KAFKA_NOT_CONTROLLER;
    }
    if (c->role == ROLE_SETTLING && !c->is_stopping) {
        return error_while_settling(call);
    }
    bool knows_other = c->leader_id != 0 && c->leader_id != c->node_id;
#if ROSTER_BUG == 2203 /* "no groups", while they are nowhere */
    knows_other = true;
#elif ROSTER_BUG == 2204 /* an admin that asks every node gets an error from all but one */
    knows_other = false;
#endif
    if (call->api_key == API_ListGroups) {
        /* The Java admin asks every node and adds up: a follower has none. But while the groups
         * are nowhere, or their leader has just gone, "none" would pass for the truth. */
        return knows_other ? KAFKA_NONE : KAFKA_COORDINATOR_NOT_AVAILABLE;
    }
#if ROSTER_BUG == 2207 /* nobody says that there is no leader just now */
    return KAFKA_NOT_COORDINATOR;
#endif
    return c->role == ROLE_FOLLOWING && c->leader_id == 0 ? KAFKA_COORDINATOR_NOT_AVAILABLE
                                                          : KAFKA_NOT_COORDINATOR;
}

int16_t reply_error_of_timeout(const struct call *call)
{
    switch (call->api_key) {
        case API_OffsetCommit:
            return KAFKA_REQUEST_TIMED_OUT; /* the outcome is unknown */
        case API_OffsetFetch:
            return KAFKA_NOT_COORDINATOR; /* Java before 3.9 does not handle 15 here (protocol C.5)
                                           */
        case API_CreateTopics:
        case API_DeleteTopics:
        case API_CreatePartitions:
            return KAFKA_REQUEST_TIMED_OUT;
        default:
            return KAFKA_COORDINATOR_NOT_AVAILABLE;
    }
}
