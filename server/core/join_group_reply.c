#include "rpc/errors.h"
#include "server/core/join_group.h"
#include "server/core/reply.h"

static void list_members(struct call *call,
                         struct join_group_response *response,
                         const struct join_answer *answer)
{
    response->members_count = answer->members_count;
    response->members =
        reply_elements(call, join_group_response_member_schema(), answer->members_count);
    for (int32_t i = 0; i < answer->members_count; i++) {
        const struct seat_view *view = &answer->members[i];
        response->members[i].member_id = view->member_id;
        response->members[i].group_instance_id = view->instance_id;
        response->members[i].metadata = seat_view_metadata_of(view, answer->protocol_name);
    }
}

void join_answer(struct coordinator *c, struct call *call, const struct join_answer *answer)
{
    struct join_group_response *response = reply_new(call, join_group_response_schema());
    response->generation_id = answer->generation;
    response->protocol_type = answer->protocol_type;
    response->protocol_name = answer->protocol_name;
    response->leader = answer->leader;
    response->skip_assignment = answer->skip_assignment;
    response->member_id = answer->member_id;
    if (answer->members != NULL) {
        list_members(call, response, answer);
    }
    coordinator_reply(c, call, response);
}

void join_answer_current(struct coordinator *c,
                         const struct group_slot *slot,
                         const struct member *member,
                         struct call *call)
{
    const struct group *group = slot->facts;
    const struct member *leader = group_member_by_id(group, group->leader);
    struct join_answer answer = {
        .generation = group->generation,
        .protocol_type = group->protocol_type,
        .protocol_name = group->protocol_name,
        .leader = leader == NULL ? SPAN_EMPTY : leader->member_id,
        .member_id = member->member_id,
    };
    if (member == leader) {
        answer.members = barrier_views(c, slot->round, &answer.members_count);
    }
    join_answer(c, call, &answer);
}

void join_refuse(struct coordinator *c, struct call *call, int16_t error, struct span member_id)
{
    struct join_group_response *response = reply_new(call, join_group_response_schema());
    response->error_code = error;
    response->member_id = member_id;
    coordinator_reply(c, call, response);
}
