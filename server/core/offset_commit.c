/* OffsetCommit (8), v1-10.
 *
 * Version notes: v1 a commit time per partition; v2-4 a retention per request; v6 leader epochs;
 * v7 instance ids; v9 a missing group is 69, before that 22; v10 topics by id.
 *
 * Decided in two steps (protocol C.4): topics first, each partition on its own, then the group, for
 * all that remain. What passes is written with the member and generation it was made under, and
 * apply has the last word (R4). So commits are pipelined freely: they never wait for a decision of
 * their group that is in flight. */
#include "rpc/build.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/reply.h"
#include "server/core/round.h"

/* A stored expiry is commit time plus this, which must not overflow. */
#define RETENTION_MAX_MS ((int64_t)1 << 60)

/* Stands in a partition of the reply while nothing has refused it. */
enum { ACCEPTED = KAFKA_NONE };

/* A request on its way through the log; in the call's arena. */
struct commit {
    struct offset_commit_response *response;
    uint64_t group;         /* interned; 0: the one that the first record makes */
    uint64_t member;        /* interned; 0: none */
    bool creates;           /* the first record is group_created */
    int32_t *record_topics; /* for each record of offsets: its topic's place in the reply */
    int32_t records_count;
    int32_t too_large; /* partitions refused for their metadata */
};

static const struct topic *find_topic(const struct coordinator *c,
                                      const struct call *call,
                                      const struct offset_commit_request_topic *asked)
{
    return call->api_version >= 10 ? state_topic_by_uuid(c->state, &asked->topic_id)
                                   : state_topic(c->state, asked->name);
}

/* The reply's frame, with what the topics alone decide. Returns how many partitions remain. */
static int32_t check_topics(struct coordinator *c,
                            struct call *call,
                            struct offset_commit_response *response)
{
    const struct offset_commit_request *request = call->request;
    int32_t remaining = 0;
    response->topics_count = request->topics_count;
    response->topics =
        reply_elements(call, offset_commit_response_topic_schema(), request->topics_count);
    for (int32_t i = 0; i < request->topics_count; i++) {
        const struct offset_commit_request_topic *asked = &request->topics[i];
        struct offset_commit_response_topic *topic = &response->topics[i];
        const struct topic *known = find_topic(c, call, asked);
        int16_t unknown =
            call->api_version >= 10 ? KAFKA_UNKNOWN_TOPIC_ID : KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        topic->name = asked->name;
        topic->topic_id = asked->topic_id;
        topic->partitions_count = asked->partitions_count;
        topic->partitions = reply_elements(call, offset_commit_response_partition_schema(),
                                           asked->partitions_count);
        for (int32_t k = 0; k < asked->partitions_count; k++) {
            int32_t index = asked->partitions[k].partition_index;
            topic->partitions[k].partition_index = index;
            if (known == NULL) {
                topic->partitions[k].error_code = unknown;
            } else if (index < 0 || index >= known->partitions_count) {
                topic->partitions[k].error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
            } else {
                remaining++;
            }
        }
    }
    return remaining;
}

/* Refuses all that nothing has refused yet. */
static void refuse_rest(struct offset_commit_response *response, int16_t error)
{
    for (int32_t i = 0; i < response->topics_count; i++) {
        for (int32_t k = 0; k < response->topics[i].partitions_count; k++) {
            if (response->topics[i].partitions[k].error_code == ACCEPTED) {
                response->topics[i].partitions[k].error_code = error;
            }
        }
    }
}

static void answer(struct coordinator *c,
                   struct call *call,
                   struct offset_commit_response *response)
{
#if ROSTER_BUG == 22 /* one bad partition makes all "ok" */
    bool any = false;
    for (int32_t i = 0; i < response->topics_count; i++) {
        for (int32_t k = 0; k < response->topics[i].partitions_count; k++) {
            any = any || response->topics[i].partitions[k].error_code != 0;
        }
    }
    for (int32_t i = 0; any && i < response->topics_count; i++) {
        for (int32_t k = 0; k < response->topics[i].partitions_count; k++) {
            response->topics[i].partitions[k].error_code = 0;
        }
    }
#endif
    coordinator_reply(c, call, response);
}

/* ---- The group's rules ---- */

/* Who commits: a member of the group, or nobody in particular. */
static int16_t check_member(struct coordinator *c,
                            struct group_slot *slot,
                            const struct offset_commit_request *request,
                            const struct member **member)
{
    const struct group *group = slot->facts;
    if (!span_is_null(request->group_instance_id)) {
        const struct member *holder = group_member_by_instance(group, request->group_instance_id);
        if (holder == NULL) {
            return KAFKA_UNKNOWN_MEMBER_ID;
        }
        if (!span_equal(holder->member_id, request->member_id)) {
            return seat_check_instance(c, slot, request->group_instance_id, request->member_id);
        }
    }
    *member = group_find_member(group, request->member_id);
    return *member == NULL ? KAFKA_UNKNOWN_MEMBER_ID : KAFKA_NONE;
}

/* [*member] NULL with 0: a commit without a member, into an Empty group. */
static int16_t check_group(struct coordinator *c,
                           struct group_slot *slot,
                           const struct offset_commit_request *request,
                           const struct member **member)
{
    const struct group *group = slot->facts;
    int32_t generation = request->generation_id_or_member_epoch;
    enum group_phase phase = round_phase(slot);
    *member = NULL;
    if (generation < 0 && phase == GROUP_EMPTY) {
        return KAFKA_NONE; /* member and instance are not looked at */
    }
    int16_t error = check_member(c, slot, request, member);
#if ROSTER_BUG == 6 /* a zombie is accepted: whoever commits passes for the group's leader */
    *member = group_member_by_id(group, group->leader);
    error = KAFKA_NONE;
    generation = group->generation;
#endif
    if (error != KAFKA_NONE) {
        return error;
    }
    if (generation != group->generation) {
        return KAFKA_ILLEGAL_GENERATION;
    }
    /* Preparing takes commits of the generation that ends, but only once that had an assignment. */
    return phase == GROUP_COMPLETING || !group->has_assignment ? KAFKA_REBALANCE_IN_PROGRESS
                                                               : KAFKA_NONE;
}

static void log_refused(struct coordinator *c, const struct call *call, const char *limit)
{
    const struct offset_commit_request *request = call->request;
    effects_log(&c->effects, EFFECT_WARN, "commit_refused group=%s limit=%s client_id=%s",
                effect_text(&c->effects, request->group_id), limit,
                effect_text(&c->effects, call->client_id));
}

static int16_t check_missing_group(struct coordinator *c, const struct call *call)
{
    const struct offset_commit_request *request = call->request;
    if (request->generation_id_or_member_epoch >= 0) {
        return call->api_version >= 9 ? KAFKA_GROUP_ID_NOT_FOUND : KAFKA_ILLEGAL_GENERATION;
    }
    if (state_totals(c->state)->groups >= (uint64_t)c->limits.groups_max) {
        c->counters.limit_groups++;
        log_refused(c, call, "coordinator.max.groups");
        return KAFKA_POLICY_VIOLATION;
    }
    return KAFKA_NONE;
}

/* ---- Records ---- */

static void fill_offset(struct record_offset *offset,
                        const struct offset_commit_request_partition *asked)
{
    codec_set_defaults(record_offset_schema(), offset);
    offset->partition = (uint64_t)asked->partition_index;
    offset->offset = asked->committed_offset;
    offset->leader_epoch = asked->committed_leader_epoch < 0 ? -1 : asked->committed_leader_epoch;
    offset->commit_ms = asked->commit_timestamp < 0 ? -1 : asked->commit_timestamp;
    offset->metadata =
        span_is_null(asked->committed_metadata) ? SPAN_EMPTY : asked->committed_metadata;
}

/* The rows of one topic; returns how many of them the group does not have yet. */
static int64_t put_topic(struct coordinator *c,
                         struct call *call,
                         const struct group *group,
                         struct commit *commit,
                         int32_t at,
                         struct buf *records)
{
    const struct offset_commit_request *request = call->request;
    const struct offset_commit_request_topic *asked = &request->topics[at];
    struct offset_commit_response_topic *answers = &commit->response->topics[at];
    const struct topic *topic = find_topic(c, call, asked);
    struct record_offsets record;
    int64_t added = 0;
    if (topic == NULL) {
        return 0;
    }
    codec_set_defaults(record_offsets_schema(), &record);
    record.group = commit->group;
    record.member = commit->member;
    record.generation = request->generation_id_or_member_epoch;
    record.topic = topic->id;
    record.retention_ms = request->retention_time_ms < 0 ? -1 : request->retention_time_ms;
    if (record.retention_ms > RETENTION_MAX_MS) {
        record.retention_ms = RETENTION_MAX_MS;
    }
#if ROSTER_BUG == 6
    record.generation = group == NULL ? -1 : group->generation;
#endif
    record.offsets =
        arena_alloc(call->arena, sizeof *record.offsets * (size_t)asked->partitions_count);
    for (int32_t k = 0; k < asked->partitions_count; k++) {
        const struct offset_commit_request_partition *from = &asked->partitions[k];
        if (answers->partitions[k].error_code != ACCEPTED) {
            continue;
        }
        if (from->committed_metadata.len > (size_t)c->limits.offset_metadata_bytes_max) {
            answers->partitions[k].error_code = KAFKA_OFFSET_METADATA_TOO_LARGE;
            commit->too_large++;
            continue;
        }
        added += group == NULL ||
                 offsets_find(&group->offsets, topic->id, from->partition_index) == NULL;
        fill_offset(&record.offsets[record.offsets_count++], from);
    }
    if (record.offsets_count > 0) {
        commit->record_topics[commit->records_count++] = at;
        record_append(records, RECORD_OFFSETS, &record);
    }
    return added;
}

/* 0, or why the rest of the request cannot be written. */
static int16_t put_records(struct coordinator *c,
                           struct call *call,
                           const struct group *group,
                           struct commit *commit,
                           struct buf *records)
{
    const struct offset_commit_request *request = call->request;
    int64_t added = 0;
    commit->record_topics =
        arena_alloc(call->arena, sizeof *commit->record_topics * (size_t)request->topics_count);
    if (group == NULL) {
        struct record_group_created created = {.name = request->group_id};
        record_append(records, RECORD_GROUP_CREATED, &created);
        commit->creates = true;
    }
    for (int32_t i = 0; i < request->topics_count; i++) {
        added += put_topic(c, call, group, commit, i, records);
    }
    c->counters.limit_offset_metadata += (uint64_t)commit->too_large;
    if (records->len > LIMIT_PROPOSAL_BYTES) {
        c->counters.limit_proposal_bytes++;
        return KAFKA_INVALID_COMMIT_OFFSET_SIZE;
    }
    if (added > 0 && (int64_t)state_totals(c->state)->offsets + added > c->limits.offsets_max) {
        c->counters.limit_offsets++;
        log_refused(c, call, "coordinator.max.offsets");
        return KAFKA_POLICY_VIOLATION;
    }
    return KAFKA_NONE;
}

/* ---- After apply ---- */

static void count_partitions(struct coordinator *c, const struct commit *commit)
{
    for (int32_t i = 0; i < commit->response->topics_count; i++) {
        const struct offset_commit_response_topic *topic = &commit->response->topics[i];
        for (int32_t k = 0; k < topic->partitions_count; k++) {
            c->counters.commits += topic->partitions[k].error_code == KAFKA_NONE;
        }
    }
}

static void touch_member(struct coordinator *c, uint64_t group_id, uint64_t member_id)
{
    struct group_slot *slot = state_group_by_id(c->state, group_id);
    if (slot == NULL || member_id == 0) {
        return;
    }
    const struct member *member = group_member_by_id(slot->facts, member_id);
    enum group_phase phase = round_phase(slot);
    if (member != NULL && (phase == GROUP_STABLE || phase == GROUP_PREPARING)) {
        round_touch(c, slot, member);
    }
}

static void commit_done(struct coordinator *c,
                        struct proposal *proposal,
                        const struct verdict *verdicts,
                        int count)
{
    struct call *call = proposal->call;
    if (call == NULL) {
        return; /* answered by its deadline; its arena may be gone */
    }
    struct commit *commit = proposal->data;
#if ROSTER_BUG != 2041 /* else what apply says of it counts */
    if (!commit->creates && state_group_by_id(c->state, commit->group) == NULL) {
        coordinator_dispatch(c, call); /* the group was deleted before it: decided anew */
        return;
    }
#endif
    c->counters.groups_created += commit->creates && verdicts[0].id != 0;
    int first = commit->creates ? 1 : 0;
    ensure(count == first + commit->records_count);
    bool is_accepted = false;
    for (int32_t r = 0; r < commit->records_count; r++) {
        const struct verdict *verdict = &verdicts[first + r];
        struct offset_commit_response_topic *topic =
            &commit->response->topics[commit->record_topics[r]];
        int16_t error = verdict->error;
        if (error == KAFKA_UNKNOWN_TOPIC_OR_PARTITION && call->api_version >= 10) {
            error = KAFKA_UNKNOWN_TOPIC_ID; /* deleted meanwhile */
        }
        for (int32_t k = 0; error != KAFKA_NONE && k < topic->partitions_count; k++) {
            if (topic->partitions[k].error_code == ACCEPTED) {
                topic->partitions[k].error_code = error;
            }
        }
        if (verdict->error == KAFKA_NONE && !is_accepted) {
            is_accepted = true;
            touch_member(c, verdict->group, commit->member);
        }
    }
    if (!is_accepted) {
        c->counters.commits_fenced++;
    }
    count_partitions(c, commit);
    answer(c, call, commit->response);
}

/* ---- The request ---- */

static void refuse(struct coordinator *c,
                   struct call *call,
                   struct offset_commit_response *response,
                   int16_t error)
{
    if (error == KAFKA_ILLEGAL_GENERATION || error == KAFKA_UNKNOWN_MEMBER_ID ||
        error == KAFKA_FENCED_INSTANCE_ID) {
        c->counters.commits_fenced++;
    }
    refuse_rest(response, error);
    answer(c, call, response);
}

void offset_commit_handle(struct coordinator *c, struct call *call)
{
    const struct offset_commit_request *request = call->request;
    if (span_is_null(request->group_id) || request->group_id.len > LIMIT_GROUP_ID_BYTES) {
        reply_error(c, call, KAFKA_INVALID_GROUP_ID);
        return;
    }
    struct offset_commit_response *response = reply_new(call, offset_commit_response_schema());
    if (check_topics(c, call, response) == 0) {
        answer(c, call, response); /* without a look at the group */
        return;
    }
    struct group_slot *slot = state_group(c->state, request->group_id);
    const struct member *member = NULL;
    int16_t error =
        slot == NULL ? check_missing_group(c, call) : check_group(c, slot, request, &member);
    if (member != NULL && round_waits_for_removal(c, slot, member, call)) {
        return; /* R6: decided anew after the removal */
    }
    struct buf records = BUF_EMPTY;
    struct commit *commit = arena_alloc(call->arena, sizeof *commit);
    commit->response = response;
    commit->group = slot == NULL ? 0 : slot->facts->id;
    commit->member = member == NULL ? 0 : member->id;
    if (error == KAFKA_NONE) {
        error = put_records(c, call, slot == NULL ? NULL : slot->facts, commit, &records);
    }
    if (error != KAFKA_NONE || commit->records_count == 0) {
        buf_close(&records);
        refuse(c, call, response, error);
        return;
    }
#if ROSTER_BUG == 1 /* answered when proposed */
    proposal_make(c, NULL, &records, commit_done);
    answer(c, call, response);
    return;
#endif
    proposal_make(c, call, &records, commit_done)->data = commit;
}
