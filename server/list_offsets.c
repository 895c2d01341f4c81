/* ListOffsets (2), v0-11.
 *
 * Version notes
 *   v0   a list of offsets instead of one
 *   v1   one offset and its timestamp; v2 isolation level: the same answer at both
 *   v4   leader epochs: checked and answered
 *   v7   timestamp -3, v8 -4, v9 -5, v11 -6; a negative one that the version lacks is error 35
 *   v10  a timeout, not needed here
 *
 * There are no records, so earliest is 0 and latest is the highest offset that any group has ever
 * committed: some clients refuse a committed offset outside [earliest, latest] (protocol.md D.2).
 * R20: only the leader knows all commits, every other node answers 6. */
#include "rpc/build.h"
#include "rpc/errors.h"
#include "server/local_parts.h"

enum special_timestamp {
    LATEST = -1,
    EARLIEST = -2,
    MAX_TIMESTAMP = -3,
    EARLIEST_LOCAL = -4,
    LATEST_TIERED = -5,
    EARLIEST_PENDING_UPLOAD = -6,
};

/* The first version that has a special timestamp; INT16_MAX: none. */
static int16_t first_version_of(int64_t timestamp)
{
    switch (timestamp) {
        case LATEST:
        case EARLIEST:
            return 0;
        case MAX_TIMESTAMP:
            return 7;
        case EARLIEST_LOCAL:
            return 8;
        case LATEST_TIERED:
            return 9;
        case EARLIEST_PENDING_UPLOAD:
            return 11;
        default:
            return INT16_MAX;
    }
}

/* -1: no offset matches. */
static int64_t offset_at(const struct topic *topic, int32_t partition, int64_t timestamp)
{
    switch (timestamp) {
        case LATEST:
            return topic->high_offsets[partition] > 0 ? topic->high_offsets[partition] : 0;
        case EARLIEST:
        case EARLIEST_LOCAL:
            return 0;
        default:
            return -1;
    }
}

/* v0: up to [max] offsets at which reading could begin, the highest first. */
static void list_old_style(struct arena *arena,
                           int64_t offset,
                           int32_t max,
                           struct list_offsets_response_partition *out)
{
    if (offset < 0 || max <= 0) {
        return;
    }
    out->old_style_offsets = arena_alloc(arena, 2 * sizeof *out->old_style_offsets);
    out->old_style_offsets[out->old_style_offsets_count++] = offset;
    if (offset > 0 && max > 1) {
        out->old_style_offsets[out->old_style_offsets_count++] = 0;
    }
}

static void look_up(const struct call *call,
                    const struct topic *topic,
                    const struct list_offsets_request_partition *asked,
                    struct list_offsets_response_partition *out)
{
    if (asked->timestamp < 0 && first_version_of(asked->timestamp) > call->api_version) {
        out->error_code = KAFKA_UNSUPPORTED_VERSION;
        return;
    }
    out->offset = offset_at(topic, asked->partition_index, asked->timestamp);
    out->leader_epoch = out->offset < 0 ? -1 : LOCAL_LEADER_EPOCH;
    if (call->api_version == 0) {
        list_old_style(call->arena, out->offset, asked->max_num_offsets, out);
    }
}

static void answer_partition(const struct local_context *ctx,
                             const struct call *call,
                             const struct topic *topic,
                             const struct list_offsets_request_partition *asked,
                             struct list_offsets_response_partition *out)
{
    if (local_topic_of(topic, asked->partition_index) == NULL) {
        out->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        return;
    }
    out->error_code = local_check_epoch(asked->current_leader_epoch);
    if (out->error_code != KAFKA_NONE) {
        return;
    }
    bool is_leader = ctx->leader_id == ctx->node_id;
#if ROSTER_BUG == 2202 /* a follower tells what it has applied so far */
    is_leader = true;
#endif
    if (!is_leader) {
        out->error_code = KAFKA_NOT_LEADER_OR_FOLLOWER;
        return;
    }
    look_up(call, topic, asked, out);
}

/* By place, counted through all topics. */
static const uint8_t *mark_repeated(struct arena *arena, const struct list_offsets_request *request)
{
    int32_t count = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        count += request->topics[i].partitions_count;
    }
    struct local_key *keys = arena_alloc(arena, (size_t)count * sizeof *keys);
    int32_t at = 0;
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct list_offsets_request_topic *topic = &request->topics[i];
        for (int32_t p = 0; p < topic->partitions_count; p++, at++) {
            keys[at] = (struct local_key){topic->name, topic->partitions[p].partition_index, at};
        }
    }
    return local_mark_repeated(arena, keys, count);
}

void list_offsets_handle(const struct local_context *ctx,
                         const struct call *call,
                         struct local_reply *out)
{
    const struct list_offsets_request *request = call->request;
    struct list_offsets_response *response =
        local_structs(call->arena, list_offsets_response_schema(), 1);
    response->topics =
        local_structs(call->arena, list_offsets_response_topic_schema(), request->topics_count);
    response->topics_count = request->topics_count;
    const uint8_t *mark = mark_repeated(call->arena, request);
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct list_offsets_request_topic *asked = &request->topics[i];
        const struct topic *topic = state_topic(ctx->state, asked->name);
        struct list_offsets_response_topic *answer = &response->topics[i];
        answer->name = asked->name;
        answer->partitions_count = asked->partitions_count;
        answer->partitions = local_structs(call->arena, list_offsets_response_partition_schema(),
                                           asked->partitions_count);
        for (int32_t p = 0; p < asked->partitions_count; p++, mark++) {
            answer->partitions[p].partition_index = asked->partitions[p].partition_index;
            if (*mark != LOCAL_UNIQUE) {
                answer->partitions[p].error_code = KAFKA_INVALID_REQUEST;
            } else {
                answer_partition(ctx, call, topic, &asked->partitions[p], &answer->partitions[p]);
            }
        }
    }
    out->response = response;
}
