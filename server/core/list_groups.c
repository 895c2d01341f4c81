/* ListGroups (16), v0-5. A linearizable read. Version notes: v4 states and a filter of states,
 * v5 types and a filter of types. A filter that names nothing known matches nothing. */
#include "rpc/schema.h"
#include "server/core/describe_groups.h"
#include "server/core/internal.h"
#include "server/core/reply.h"

static uint8_t lower(uint8_t ch)
{
    return ch >= 'A' && ch <= 'Z' ? (uint8_t)(ch - 'A' + 'a') : ch;
}

static bool equal_ignoring_case(struct span a, struct span b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.data[i]) != lower(b.data[i])) {
            return false;
        }
    }
    return true;
}

/* An empty filter lets all through. */
static bool passes(const struct span *filter, int32_t count, struct span value)
{
    for (int32_t i = 0; i < count; i++) {
        if (equal_ignoring_case(filter[i], value)) {
            return true;
        }
    }
    return count <= 0;
}

static void list_done(struct coordinator *c,
                      struct proposal *proposal,
                      const struct verdict *verdicts,
                      int count)
{
    const struct span classic = SPAN_LITERAL("classic");
    (void)verdicts;
    (void)count;
    struct call *call = proposal->call;
    if (call == NULL) {
        return;
    }
    const struct list_groups_request *request = call->request;
    struct list_groups_response *response = reply_new(call, list_groups_response_schema());
    bool any_type = passes(request->types_filter, request->types_filter_count, classic);
    int32_t most = any_type ? (int32_t)state_totals(c->state)->groups : 0;
    uint64_t at = 0;
    response->groups = reply_elements(call, list_groups_response_group_schema(), most);
    for (const struct group_slot *slot;
         response->groups_count < most && (slot = state_next_group(c->state, &at)) != NULL;) {
        struct span state = describe_groups_state(round_phase(slot));
        if (passes(request->states_filter, request->states_filter_count, state)) {
            struct list_groups_response_group *out = &response->groups[response->groups_count++];
            out->group_id = slot->facts->name;
            out->protocol_type = slot->facts->protocol_type;
            out->group_state = state;
            out->group_type = classic;
        }
    }
    coordinator_reply(c, call, response);
}

void list_groups_handle(struct coordinator *c, struct call *call)
{
    struct buf nothing = BUF_EMPTY;
    proposal_make(c, call, &nothing, list_done);
}
