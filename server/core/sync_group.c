/* SyncGroup (14), v0-5. v5: protocol type and name must be given, and be the group's. Rules:
 * protocol C.3.4. The leader's brings the assignment; it is answered, as everybody's is, when that
 * has been applied. */
#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/barrier.h"
#include "server/core/reply.h"

static void answer(struct coordinator *c,
                   const struct group *group,
                   const struct member *member,
                   struct call *call)
{
    struct sync_group_response *response = reply_new(call, sync_group_response_schema());
    response->protocol_type = group->protocol_type;
    response->protocol_name = group->protocol_name;
    response->assignment = member->assignment;
#if ROSTER_BUG == 13 /* somebody else's */
    response->assignment = group->members[0]->assignment;
#endif
    coordinator_reply(c, call, response);
}

static void answer_all(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    for (int32_t i = 0; i < group->members_count; i++) {
        struct seat *seat = seat_find(round, group->members[i]->member_id);
        ensure(seat != NULL);
        struct call *call = seat_take_sync(seat);
        if (call != NULL) {
            seat_touch(c, seat, group->members[i]->session_timeout_ms);
            answer(c, group, group->members[i], call);
        }
    }
}

static void refuse_all(struct coordinator *c, struct round *round, int16_t error)
{
    for (struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
        seat_answer_sync(c, seat, error);
    }
}

/* ---- The assignment ---- */

static void assignment_done(struct coordinator *c,
                            struct proposal *proposal,
                            const struct verdict *verdicts,
                            int count)
{
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    if (verdicts[count - 1].error != KAFKA_NONE) {
        refuse_all(c, round, verdicts[count - 1].error);
        return;
    }
    effects_log(&c->effects, EFFECT_INFO, "group_stable group=%s generation=%d members=%d",
                effect_text(&c->effects, round->slot->facts->name), round->slot->facts->generation,
                round->slot->facts->members_count);
    answer_all(c, round);
}

/* Void: chunks of it may be staged under this generation, so it needs a new one. */
static void assignment_given_up(struct coordinator *c,
                                struct proposal *proposal,
                                int16_t error,
                                bool is_void)
{
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    refuse_all(c, round, error);
    if (is_void) {
        barrier_prepare(c, round, CAUSE_SYNC, SPAN_EMPTY, SPAN_EMPTY);
    }
}

/* R8: what does not fit into one entry goes ahead in chunks. [record] gets what is left. */
static void stage_assignments(struct coordinator *c,
                              struct round *round,
                              struct record_assignment *record)
{
    int32_t total = record->assignments_count;
    size_t bytes = 0;
    record->assignments_count = 0;
    for (int32_t i = 0; i < total; i++) {
        size_t more = 32 + record->assignments[record->assignments_count].assignment.len;
        if (bytes > 0 && bytes + more > LIMIT_CHUNK_BYTES) {
            struct record_assignments_staged staged = {
                .group = record->group,
                .generation = record->generation,
                .assignments = record->assignments,
                .assignments_count = record->assignments_count,
            };
            struct buf records = BUF_EMPTY;
            record_append(&records, RECORD_ASSIGNMENTS_STAGED, &staged);
            round_propose(c, round, &records, proposal_chunk_done, NULL);
            record->assignments += record->assignments_count;
            record->assignments_count = 0;
            bytes = 0;
        }
        bytes += more;
        record->assignments_count++;
    }
}

/* What the leader says of members that are there; false: more than can be kept. */
static bool read_assignments(struct coordinator *c,
                             const struct group *group,
                             const struct sync_group_request *request,
                             struct record_assignment *record)
{
    size_t room = (size_t)request->assignments_count * sizeof *record->assignments;
    int64_t bytes = 0;
    record->assignments = arena_alloc(&c->effects.arena, room);
    for (int32_t i = 0; i < request->assignments_count; i++) {
        const struct sync_group_request_assignment *given = &request->assignments[i];
        const struct member *member = group_find_member(group, given->member_id);
        bytes += (int64_t)given->assignment.len;
        if (given->assignment.len > LIMIT_MEMBER_BYTES) {
            return false;
        }
        if (member != NULL) {
            record->assignments[record->assignments_count++] = (struct record_member_assignment){
                .member = member->id,
                .assignment = given->assignment,
            };
        }
    }
    return bytes <= c->limits.group_metadata_bytes_max;
}

static void assign(struct coordinator *c, struct seat *leader)
{
    struct round *round = leader->round;
    const struct group *group = round->slot->facts;
    struct record_assignment record = {.group = group->id, .generation = group->generation};
    if (!read_assignments(c, group, leader->sync->request, &record)) {
        c->counters.limit_group_metadata++;
        effects_log(&c->effects, EFFECT_WARN,
                    "assignment_refused group=%s limit=group.max.metadata.bytes member=%s",
                    effect_text(&c->effects, group->name),
                    effect_text(&c->effects, seat_id(leader)));
        reply_error(c, seat_take_sync(leader), KAFKA_UNKNOWN_SERVER_ERROR);
        barrier_prepare(c, round, CAUSE_SYNC, seat_id(leader), SPAN_EMPTY);
        return;
    }
    stage_assignments(c, round, &record);
    struct buf records = BUF_EMPTY;
    record_append(&records, RECORD_ASSIGNMENT, &record);
    round_propose(c, round, &records, assignment_done, assignment_given_up);
}

/* ---- The request ---- */

static int16_t check(const struct call *call, const struct group *group)
{
    const struct sync_group_request *request = call->request;
    if (request->generation_id != group->generation) {
        return KAFKA_ILLEGAL_GENERATION;
    }
    bool has_other_type = !span_is_null(request->protocol_type) &&
                          span_compare(request->protocol_type, group->protocol_type) != 0;
    bool has_other_name = !span_is_null(request->protocol_name) &&
                          span_compare(request->protocol_name, group->protocol_name) != 0;
    return has_other_type || has_other_name ? KAFKA_INCONSISTENT_GROUP_PROTOCOL : KAFKA_NONE;
}

static void sync_member(struct coordinator *c,
                        struct group_slot *slot,
                        struct seat *seat,
                        struct call *call)
{
    const struct group *group = slot->facts;
    const struct member *member = group_member_by_id(group, seat->member);
    ensure(member != NULL);
    seat_touch(c, seat, member->session_timeout_ms);
    switch (round_phase(slot)) {
        case GROUP_EMPTY:
            reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
            break;
        case GROUP_PREPARING:
            reply_error(c, call, KAFKA_REBALANCE_IN_PROGRESS);
            break;
        case GROUP_COMPLETING:
            seat_park_sync(c, seat, call);
            if (member->id == group->leader) {
                assign(c, seat);
            }
            break;
        case GROUP_STABLE:
            seat->has_synced = true;
            answer(c, group, member, call);
            break;
    }
}

/* Its time is not to run out for want of a decision: it has come. */
static void wait_for_gate(struct coordinator *c, struct group_slot *slot, struct call *call)
{
    const struct sync_group_request *request = call->request;
    const struct member *member = group_find_member(slot->facts, request->member_id);
    bool is_own = member != NULL && (span_is_null(request->group_instance_id) ||
                                     span_equal(request->group_instance_id, member->instance_id));
    if (is_own && check(call, slot->facts) == KAFKA_NONE) {
        round_touch(c, slot, member);
        seat_find(slot->round, request->member_id)->has_synced = true;
    }
    round_wait(c, slot->round, call);
}

void sync_group_handle(struct coordinator *c, struct call *call)
{
    const struct sync_group_request *request = call->request;
    if (request->group_id.len == 0) {
        reply_error(c, call, KAFKA_INVALID_GROUP_ID);
        return;
    }
    bool is_half = span_is_null(request->protocol_type) || span_is_null(request->protocol_name);
    if (call->api_version >= 5 && is_half) {
        reply_error(c, call, KAFKA_INCONSISTENT_GROUP_PROTOCOL);
        return;
    }
    struct group_slot *slot = state_group(c->state, request->group_id);
    if (slot == NULL) {
        reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
        return;
    }
    if (round_is_gated(slot, NULL)) {
        wait_for_gate(c, slot, call);
        return;
    }
    struct seat *seat = NULL;
    int16_t error = seat_identify(c, slot, request->group_instance_id, request->member_id, &seat);
    if (error == KAFKA_NONE && seat->removal != CAUSE_NONE) {
        round_wait(c, seat->round, call);
        return;
    }
    if (error == KAFKA_NONE) {
        error = check(call, slot->facts);
    }
    if (error == KAFKA_NONE && seat->kind != SEAT_MEMBER) {
        error = KAFKA_REBALANCE_IN_PROGRESS;
    }
    if (error != KAFKA_NONE) {
        reply_error(c, call, error);
    } else {
        sync_member(c, slot, seat, call);
    }
}
