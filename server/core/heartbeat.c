/* Heartbeat (12), v0-4. Rules: protocol C.3.5. One lookup of the group, one of the seat, and a
 * deadline moved: it never waits for a decision in flight but for the member's own removal (R6). */
#include "rpc/errors.h"
#include "server/core/reply.h"
#include "server/core/round.h"

static int32_t session_timeout_ms(const struct group *group, const struct seat *seat)
{
    const struct member *member = group_member_by_id(group, seat->member);
    return member == NULL ? 0 : member->session_timeout_ms;
}

void heartbeat_handle(struct coordinator *c, struct call *call)
{
    const struct heartbeat_request *request = call->request;
    if (request->group_id.len == 0) {
        reply_error(c, call, KAFKA_INVALID_GROUP_ID);
        return;
    }
    struct group_slot *slot = state_group(c->state, request->group_id);
    if (slot == NULL) {
        reply_error(c, call, KAFKA_UNKNOWN_MEMBER_ID);
        return;
    }
    struct seat *seat = NULL;
    int16_t error = seat_identify(c, slot, request->group_instance_id, request->member_id, &seat);
    if (error != KAFKA_NONE) {
        reply_error(c, call, error);
    } else if (seat->removal != CAUSE_NONE) {
        round_wait(c, seat->round, call);
    } else if (request->generation_id != slot->facts->generation) {
        reply_error(c, call, KAFKA_ILLEGAL_GENERATION);
    } else {
        if (seat->kind == SEAT_MEMBER) {
            seat_touch(c, seat, session_timeout_ms(slot->facts, seat));
        }
        c->counters.heartbeats++;
        bool is_preparing = round_phase(slot) == GROUP_PREPARING;
        reply_error(c, call, is_preparing ? KAFKA_REBALANCE_IN_PROGRESS : KAFKA_NONE);
    }
}
