#include "tests/load/requests.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "tests/load/crowd.h"

enum { METADATA_BYTES = 32, EMBEDDED_VERSION = 0, SLACK_MS = 5000 };

static struct buf embedded; /* of the request that is being built */

static struct span topic(void)
{
    return span_of(crowd_topic, TOPIC_NAME_BYTES);
}

static struct span group_id(const struct member *member)
{
    return span_of(member->group->name, GROUP_NAME_BYTES);
}

static void send_request(struct member *member,
                         int16_t api_key,
                         int16_t version,
                         const void *body,
                         unsigned timeout_ms,
                         link_done *done)
{
    link_send(member->link, &(struct link_request){.api_key = api_key,
                                                   .version = version,
                                                   .body = body,
                                                   .timeout_ms = timeout_ms,
                                                   .done = done,
                                                   .ctx = member});
}

static struct span subscription(void)
{
    struct span topics[] = {topic()};
    embedded.len = 0;
    buf_put_be16(&embedded, EMBEDDED_VERSION);
    codec_encode(consumer_protocol_subscription_schema(), EMBEDDED_VERSION,
                 &(struct consumer_protocol_subscription){.topics = topics, .topics_count = 1},
                 &embedded);
    return buf_span(&embedded);
}

void requests_join(struct member *member, link_done *done)
{
    const struct crowd_options *options = &member->group->crowd->options;
    struct join_group_request_protocol protocol = {.name = SPAN_LITERAL("range"),
                                                   .metadata = subscription()};
    struct join_group_request request = {
        .group_id = group_id(member),
        .session_timeout_ms = (int32_t)options->session_ms,
        .rebalance_timeout_ms = (int32_t)options->rebalance_ms,
        .member_id = member_id(member),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = &protocol,
        .protocols_count = 1,
    };
    send_request(member, API_JoinGroup, JOIN_VERSION, &request, options->rebalance_ms + SLACK_MS,
                 done);
}

/* ---- Assignments ---- */

/* Appends the assignment of the [index]th of [count] members to [out]; where it starts. */
static size_t append_assignment(const struct member *member, int index, int count, struct buf *out)
{
    int32_t partitions[MEMBER_PARTITIONS_MAX];
    int32_t partitions_count = 0;
    for (int p = index; p < member->group->crowd->options.partitions; p += count) {
        if (partitions_count < MEMBER_PARTITIONS_MAX) {
            partitions[partitions_count++] = p;
        }
    }
    struct consumer_protocol_topic_partition assigned = {
        .topic = topic(), .partitions = partitions, .partitions_count = partitions_count};
    struct consumer_protocol_assignment assignment = {
        .assigned_partitions = &assigned, .assigned_partitions_count = partitions_count > 0};
    size_t start = out->len;
    buf_put_be16(out, EMBEDDED_VERSION);
    codec_encode(consumer_protocol_assignment_schema(), EMBEDDED_VERSION, &assignment, out);
    return start;
}

/* One allocation for the caller to free. */
static struct sync_group_request_assignment *make_assignments(const struct member *member)
{
    int count = member->others_count;
    struct sync_group_request_assignment *all = calloc((size_t)count + 1, sizeof *all);
    size_t *starts = calloc((size_t)count + 1, sizeof *starts);
    ensure(all != NULL && starts != NULL);
    embedded.len = 0;
    for (int i = 0; i < count; i++) {
        starts[i] = append_assignment(member, i, count, &embedded);
    }
    starts[count] = embedded.len;
    for (int i = 0; i < count; i++) {
        all[i].member_id = member->others[i];
        all[i].assignment = span_of(embedded.data + starts[i], starts[i + 1] - starts[i]);
    }
    free(starts);
    return all;
}

void requests_sync(struct member *member, link_done *done)
{
    const struct crowd_options *options = &member->group->crowd->options;
    struct sync_group_request request = {
        .group_id = group_id(member),
        .generation_id = member->generation,
        .member_id = member_id(member),
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocol_name = SPAN_LITERAL("range"),
    };
    if (member->is_leader) {
        request.assignments = make_assignments(member);
        request.assignments_count = member->others_count;
    }
    send_request(member, API_SyncGroup, SYNC_VERSION, &request, options->rebalance_ms + SLACK_MS,
                 done);
    free(request.assignments);
}

int requests_parse_assignment(struct span bytes, int *partitions)
{
    struct arena arena;
    struct consumer_protocol_assignment assignment = {0};
    struct reader reader = reader_of(bytes);
    int count = 0;
    if (bytes.len == 0) {
        return 0;
    }
    arena_init(&arena, SIZE_MAX);
    ensure(reader_be16(&reader) == EMBEDDED_VERSION);
    ensure(codec_decode(consumer_protocol_assignment_schema(), EMBEDDED_VERSION, &reader, &arena,
                        &assignment) == CODEC_OK);
    for (int32_t t = 0; t < assignment.assigned_partitions_count; t++) {
        const struct consumer_protocol_topic_partition *one = &assignment.assigned_partitions[t];
        for (int32_t p = 0; p < one->partitions_count && count < MEMBER_PARTITIONS_MAX; p++) {
            partitions[count++] = one->partitions[p];
        }
    }
    arena_close(&arena);
    return count;
}

/* ---- Beating, committing, leaving ---- */

static void heartbeat(struct link *link,
                      const struct member *member,
                      unsigned timeout_ms,
                      link_done *done,
                      void *ctx)
{
    struct heartbeat_request request = {.group_id = group_id(member),
                                        .generation_id = member->generation,
                                        .member_id = member_id(member)};
    link_send(link, &(struct link_request){.api_key = API_Heartbeat,
                                           .version = HEARTBEAT_VERSION,
                                           .body = &request,
                                           .timeout_ms = timeout_ms,
                                           .done = done,
                                           .ctx = ctx});
}

void requests_heartbeat(struct member *member, link_done *done)
{
    heartbeat(member->link, member, member->group->crowd->options.request_ms, done, member);
}

void requests_heartbeat_on(struct link *link,
                           const struct member *member,
                           link_done *done,
                           void *ctx)
{
    heartbeat(link, member, 0, done, ctx);
}

static void commit(struct link *link,
                   const struct member *member,
                   const struct offset_commit_request_partition *partition,
                   unsigned timeout_ms,
                   link_done *done,
                   void *ctx)
{
    struct offset_commit_request_partition partitions[] = {*partition};
    struct offset_commit_request_topic topics = {
        .name = topic(), .partitions = partitions, .partitions_count = 1};
    struct offset_commit_request request = {.group_id = group_id(member),
                                            .generation_id_or_member_epoch = member->generation,
                                            .member_id = member_id(member),
                                            .topics = &topics,
                                            .topics_count = 1};
    link_send(link, &(struct link_request){.api_key = API_OffsetCommit,
                                           .version = COMMIT_VERSION,
                                           .body = &request,
                                           .timeout_ms = timeout_ms,
                                           .done = done,
                                           .ctx = ctx});
}

void requests_commit(struct member *member, link_done *done)
{
    char metadata[METADATA_BYTES];
    int len = snprintf(metadata, sizeof metadata, "op=%lld", (long long)member->commit.offset);
    struct offset_commit_request_partition partition = {
        .partition_index = member->commit.partition,
        .committed_offset = member->commit.offset,
        .committed_leader_epoch = -1,
        .committed_metadata = span_of(metadata, (size_t)len),
    };
    commit(member->link, member, &partition, member->group->crowd->options.request_ms, done,
           member);
}

void requests_commit_on(struct link *link, const struct member *member, link_done *done, void *ctx)
{
    struct offset_commit_request_partition partition = {
        .partition_index = member->commit.partition,
        .committed_offset = member->commit.offset,
        .committed_leader_epoch = -1,
        .committed_metadata = SPAN_EMPTY,
    };
    commit(link, member, &partition, 0, done, ctx);
}

void requests_leave(struct member *member, link_done *done)
{
    struct leave_group_request_member members[] = {{.member_id = member_id(member)}};
    struct leave_group_request request = {
        .group_id = group_id(member), .members = members, .members_count = 1};
    send_request(member, API_LeaveGroup, LEAVE_VERSION, &request,
                 member->group->crowd->options.request_ms, done);
}
