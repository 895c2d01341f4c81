/* OffsetDelete (47), v0. Rules: protocol C.6. Each removal leaves a line in the log that says who
 * asked for it (an offset disappears only with a record of why). */
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/audit.h"
#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/reply.h"

/* In the call's arena. */
struct deletion {
    struct offset_delete_response *response;
    uint64_t *record_rows; /* for each record: the rows that were there when it was decided */
    int32_t records_count;
};

static int16_t check_group(const struct group_slot *slot)
{
    const struct span consumer = SPAN_LITERAL("consumer");
    if (slot == NULL) {
        return KAFKA_GROUP_ID_NOT_FOUND;
    }
    /* What the members of another type of group subscribe to is not for us to know. */
    if (round_phase(slot) != GROUP_EMPTY && !span_equal(slot->facts->protocol_type, consumer)) {
        return KAFKA_NON_EMPTY_GROUP;
    }
    return KAFKA_NONE;
}

/* Answers the partitions of one topic and writes those that have an offset. */
static void decide_topic(struct coordinator *c,
                         struct call *call,
                         const struct group *group,
                         struct audit *audit,
                         int32_t at,
                         struct buf *records)
{
    struct deletion *deletion = audit->decision;
    const struct offset_delete_request *request = call->request;
    const struct offset_delete_request_topic *asked = &request->topics[at];
    struct offset_delete_response_topic *answers = &deletion->response->topics[at];
    const struct topic *topic = state_topic(c->state, asked->name);
    bool is_subscribed = topic != NULL && group_subscribes(group, topic->name);
    struct record_offsets_deleted record = {.group = group->id};
    record.partitions =
        arena_alloc(call->arena, sizeof *record.partitions * (size_t)asked->partitions_count);
    answers->name = asked->name;
    answers->partitions_count = asked->partitions_count;
    answers->partitions =
        reply_elements(call, offset_delete_response_partition_schema(), asked->partitions_count);
    for (int32_t k = 0; k < asked->partitions_count; k++) {
        int32_t index = asked->partitions[k].partition_index;
        answers->partitions[k].partition_index = index;
        if (topic == NULL || index < 0 || index >= topic->partitions_count) {
            answers->partitions[k].error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        } else if (is_subscribed) {
            answers->partitions[k].error_code = KAFKA_GROUP_SUBSCRIBED_TO_TOPIC;
        } else if (offsets_find(&group->offsets, topic->id, index) != NULL) {
            record.partitions[record.partitions_count++] = (uint64_t)index;
        }
    }
    if (record.partitions_count > 0) {
        record.topic = topic->id;
        deletion->record_rows[deletion->records_count++] = (uint64_t)record.partitions_count;
        record_append(records, RECORD_OFFSETS_DELETED, &record);
        audit_add(audit, call, "offsets_deleted group=%s topic=%s count=%d reason=operator",
                  effect_text(&c->effects, group->name), effect_text(&c->effects, topic->name),
                  record.partitions_count);
    }
}

static void delete_done(struct coordinator *c,
                        struct proposal *proposal,
                        const struct verdict *verdicts,
                        int count)
{
    struct audit *audit = proposal->data;
    struct call *call = proposal->call;
    audit_log(audit, verdicts, count);
    if (call != NULL) {
        struct deletion *deletion = audit->decision;
        for (int32_t r = 0; r < count; r++) {
            if (verdicts[r].error != KAFKA_NONE) { /* the group was deleted meanwhile */
                deletion->response->error_code = verdicts[r].error;
                deletion->response->topics_count = 0;
            } else {
                c->counters.offsets_deleted += deletion->record_rows[r];
            }
        }
        coordinator_reply(c, call, deletion->response);
    }
    audit_free(audit);
}

void offset_delete_handle(struct coordinator *c, struct call *call)
{
    const struct offset_delete_request *request = call->request;
    if (span_is_empty(request->group_id)) {
        reply_error(c, call, KAFKA_INVALID_GROUP_ID);
        return;
    }
    struct deletion *deletion = arena_alloc(call->arena, sizeof *deletion);
    struct audit *audit = audit_new(c, deletion);
    struct buf records = BUF_EMPTY;
    const struct group_slot *slot = state_group(c->state, request->group_id);
    deletion->response = reply_new(call, offset_delete_response_schema());
    deletion->response->error_code = check_group(slot);
    if (deletion->response->error_code == KAFKA_NONE) {
        deletion->record_rows =
            arena_alloc(call->arena, sizeof *deletion->record_rows * (size_t)request->topics_count);
        deletion->response->topics_count = request->topics_count;
        deletion->response->topics =
            reply_elements(call, offset_delete_response_topic_schema(), request->topics_count);
        for (int32_t i = 0; i < request->topics_count; i++) {
            decide_topic(c, call, slot->facts, audit, i, &records);
        }
    }
    /* Also when there is nothing to write: "there was no such offset" is a read, too. */
    audit_propose(c, audit, call, &records, delete_done);
}
