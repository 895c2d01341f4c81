/* DescribeGroups (15), v0-6. A linearizable read, as OffsetFetch is.
 *
 * Version notes: v3 authorized operations; v4 instance ids; v6 a group that is not there is 69 with
 * a message, before that it is "Dead" without an error.
 *
 * Members are those of the facts: who waits in a join is shown once the generation has begun. */
#include "server/core/describe_groups.h"

#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/internal.h"
#include "server/core/reply.h"

/* Kafka's bits for READ (3), DELETE (6) and DESCRIBE (8): there are no ACLs that deny any. */
enum { OPERATIONS_OF_A_GROUP = 1 << 3 | 1 << 6 | 1 << 8 };

/* About what they take in the reply, texts apart. */
enum { GROUP_BYTES = 64, MEMBER_BYTES = 64 };

struct span describe_groups_state(enum group_phase phase)
{
    static const char *const names[] = {
        [GROUP_EMPTY] = "Empty",
        [GROUP_PREPARING] = "PreparingRebalance",
        [GROUP_COMPLETING] = "CompletingRebalance",
        [GROUP_STABLE] = "Stable",
    };
    return span_from_cstr(names[phase]);
}

/* Metadata and assignment only while Stable: before that they are of no generation, or of the last
 * one. The reply borrows from the facts, which stay as they are until the effects were drained. */
static void fill_member(const struct group *group,
                        const struct member *member,
                        bool is_stable,
                        struct describe_groups_response_member *out)
{
    out->member_id = member->member_id;
    out->group_instance_id = member->instance_id;
    out->client_id = member->client_id;
    out->client_host = member->client_host;
    if (is_stable) {
        out->member_metadata = group_member_metadata(group, member);
        out->member_assignment = member->assignment;
    }
}

static void fill_group(struct call *call,
                       const struct group_slot *slot,
                       struct describe_groups_response_group *out)
{
    const struct group *group = slot->facts;
    bool is_stable = round_phase(slot) == GROUP_STABLE;
    out->group_state = describe_groups_state(round_phase(slot));
    out->protocol_type = group->protocol_type;
    if (is_stable) {
        out->protocol_data = group->protocol_name;
    }
    out->members_count = group->members_count;
    out->members =
        reply_elements(call, describe_groups_response_member_schema(), group->members_count);
    for (int32_t i = 0; i < group->members_count; i++) {
        fill_member(group, group->members[i], is_stable, &out->members[i]);
    }
}

/* About what it takes in the reply. */
static int64_t bytes_of(const struct describe_groups_response_group *out)
{
    int64_t bytes = GROUP_BYTES;
    for (int32_t i = 0; i < out->members_count; i++) {
        const struct describe_groups_response_member *member = &out->members[i];
        bytes += MEMBER_BYTES + (int64_t)member->member_id.len + (int64_t)member->client_id.len +
                 (int64_t)member->member_metadata.len + (int64_t)member->member_assignment.len;
    }
    return bytes;
}

static void fill_refused(struct call *call, struct describe_groups_response_group *out)
{
    out->error_code = KAFKA_INVALID_REQUEST;
    if (call->api_version >= 6) {
        out->error_message = reply_text(call, "The reply is too large; ask for fewer groups.");
    }
}

static void fill_missing(struct call *call,
                         struct span name,
                         struct describe_groups_response_group *out)
{
    out->group_state = SPAN_LITERAL("Dead");
    if (call->api_version >= 6) {
        out->error_code = KAFKA_GROUP_ID_NOT_FOUND;
        out->error_message = reply_text(call, "Group %.*s not found.", REPLY_SPAN(name));
    }
}

static void fill_asked(struct coordinator *c,
                       struct call *call,
                       struct span name,
                       struct describe_groups_response_group *out)
{
    const struct describe_groups_request *request = call->request;
    const struct group_slot *slot = state_group(c->state, name);
    if (slot == NULL) {
        fill_missing(call, name, out);
    } else {
        fill_group(call, slot, out);
    }
    if (request->include_authorized_operations) {
        out->authorized_operations = OPERATIONS_OF_A_GROUP;
    }
}

static void describe_done(struct coordinator *c,
                          struct proposal *proposal,
                          const struct verdict *verdicts,
                          int count)
{
    (void)verdicts;
    (void)count;
    struct call *call = proposal->call;
    if (call == NULL) {
        return;
    }
    const struct describe_groups_request *request = call->request;
    struct describe_groups_response *response = reply_new(call, describe_groups_response_schema());
    response->groups_count = request->groups_count;
    response->groups =
        reply_elements(call, describe_groups_response_group_schema(), request->groups_count);
    int64_t bytes = 0;
    int32_t refused = 0;
    for (int32_t i = 0; i < request->groups_count; i++) {
        struct describe_groups_response_group *out = &response->groups[i];
        out->group_id = request->groups[i];
        if (bytes > LIMIT_REPLY_BYTES) {
            fill_refused(call, out);
            refused++;
        } else {
            fill_asked(c, call, request->groups[i], out);
            bytes += bytes_of(out);
        }
    }
    if (refused > 0) {
        c->counters.limit_reply_bytes++;
        reply_log_refused(c, call, "DescribeGroups");
    }
    coordinator_reply(c, call, response);
}

void describe_groups_handle(struct coordinator *c, struct call *call)
{
    struct buf nothing = BUF_EMPTY;
    proposal_make(c, call, &nothing, describe_done);
}
