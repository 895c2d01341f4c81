/* DeleteGroups (42), v0-2. Rules: protocol C.6. A group goes with its offsets, also one that never
 * had any, and only while it has neither members nor anybody who is about to join: that is decided
 * here, and again at apply, since a join may be under way in the log. */
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/audit.h"
#include "server/core/internal.h"
#include "server/core/record.h"
#include "server/core/reply.h"

/* In the call's arena. */
struct deletion {
    struct delete_groups_response *response;
    int32_t *record_results; /* for each record: its group's place in the reply */
    int32_t records_count;
};

static int16_t check_group(const struct group_slot *slot)
{
    if (slot == NULL) {
        return KAFKA_GROUP_ID_NOT_FOUND;
    }
    if (round_phase(slot) != GROUP_EMPTY || slot->facts->pending_count > 0) {
        return KAFKA_NON_EMPTY_GROUP;
    }
    return KAFKA_NONE;
}

static void decide_group(struct coordinator *c,
                         struct call *call,
                         struct audit *audit,
                         int32_t at,
                         struct buf *records)
{
    const struct delete_groups_request *request = call->request;
    struct deletion *deletion = audit->decision;
    struct delete_groups_response_result *result = &deletion->response->results[at];
    const struct group_slot *slot = state_group(c->state, request->groups_names[at]);
    result->group_id = request->groups_names[at];
    result->error_code = check_group(slot);
    if (result->error_code != KAFKA_NONE) {
        return;
    }
    struct record_group_deleted record = {.group = slot->facts->id};
    record_append(records, RECORD_GROUP_DELETED, &record);
    deletion->record_results[deletion->records_count++] = at;
    audit_add(audit, call, "group_deleted group=%s offsets=%u reason=operator",
              effect_text(&c->effects, slot->facts->name), slot->facts->offsets.count);
}

static void delete_done(struct coordinator *c,
                        struct proposal *proposal,
                        const struct verdict *verdicts,
                        int count)
{
    struct audit *audit = proposal->data;
    audit_log(audit, verdicts, count);
    for (int r = 0; r < count; r++) {
        c->counters.groups_deleted += verdicts[r].error == KAFKA_NONE;
    }
    if (proposal->call != NULL) {
        struct deletion *deletion = audit->decision;
        for (int32_t r = 0; r < count; r++) {
            deletion->response->results[deletion->record_results[r]].error_code = verdicts[r].error;
        }
        coordinator_reply(c, proposal->call, deletion->response);
    }
    audit_free(audit);
}

void delete_groups_handle(struct coordinator *c, struct call *call)
{
    const struct delete_groups_request *request = call->request;
    int32_t count = request->groups_names_count;
    struct deletion *deletion = arena_alloc(call->arena, sizeof *deletion);
    struct audit *audit = audit_new(c, deletion);
    struct buf records = BUF_EMPTY;
    deletion->record_results =
        arena_alloc(call->arena, sizeof *deletion->record_results * (size_t)count);
    deletion->response = reply_new(call, delete_groups_response_schema());
    deletion->response->results_count = count;
    deletion->response->results =
        reply_elements(call, delete_groups_response_result_schema(), count);
    for (int32_t i = 0; i < count; i++) {
        decide_group(c, call, audit, i, &records);
    }
    audit_propose(c, audit, call, &records, delete_done);
}
