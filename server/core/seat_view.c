#include "server/core/round.h"
#include "server/core/seat.h"

struct seat_view seat_view_of(struct seat *seat, const struct member *member)
{
    struct seat_view view = {.member = member, .seat = seat};
    if (seat != NULL && seat->join != NULL) {
        view.request = seat->join->request;
    }
    view.member_id = member != NULL ? member->member_id : seat_id(seat);
    view.instance_id = member != NULL         ? member->instance_id
                       : view.request != NULL ? view.request->group_instance_id
                                              : SPAN_NULL;
    return view;
}

struct seat_view seat_view(const struct group_slot *slot, struct seat *seat)
{
    const struct member *member =
        seat->kind == SEAT_MEMBER ? group_member_by_id(slot->facts, seat->member) : NULL;
    return seat_view_of(seat, member);
}

int32_t seat_view_protocols(const struct seat_view *view)
{
    if (view->request != NULL) {
        return view->request->protocols_count;
    }
    return view->member != NULL ? view->member->protocols_count : 0;
}

struct span seat_view_name(const struct seat_view *view, int32_t i)
{
    return view->request != NULL ? view->request->protocols[i].name
                                 : view->member->protocols[i].name;
}

struct span seat_view_metadata(const struct seat_view *view, int32_t i)
{
    return view->request != NULL ? view->request->protocols[i].metadata
                                 : view->member->protocols[i].metadata;
}

struct span seat_view_metadata_of(const struct seat_view *view, struct span name)
{
    for (int32_t i = 0; i < seat_view_protocols(view); i++) {
        if (span_compare(seat_view_name(view, i), name) == 0) {
            return seat_view_metadata(view, i);
        }
    }
    return SPAN_EMPTY;
}

bool seat_view_supports(const struct seat_view *view, struct span name)
{
    for (int32_t i = 0; i < seat_view_protocols(view); i++) {
        if (span_compare(seat_view_name(view, i), name) == 0) {
            return true;
        }
    }
    return false;
}

int32_t seat_view_rebalance_timeout_ms(const struct seat_view *view)
{
    if (view->request != NULL) {
        return join_rebalance_timeout_ms(view->seat->join);
    }
    return view->member != NULL ? view->member->rebalance_timeout_ms : 0;
}

/* ---- Of a join ---- */

int32_t join_rebalance_timeout_ms(const struct call *call)
{
    const struct join_group_request *request = call->request;
    return call->api_version == 0 || request->rebalance_timeout_ms < 0
               ? request->session_timeout_ms
               : request->rebalance_timeout_ms;
}

int64_t join_protocol_bytes(const struct join_group_request *request)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < request->protocols_count; i++) {
        bytes += (int64_t)(request->protocols[i].name.len + request->protocols[i].metadata.len);
    }
    return bytes;
}

bool join_has_same_names(const struct join_group_request *request, const struct member *member)
{
    bool is_same = request->protocols_count == member->protocols_count;
    for (int32_t i = 0; is_same && i < request->protocols_count; i++) {
        is_same = span_compare(request->protocols[i].name, member->protocols[i].name) == 0;
    }
    return is_same;
}

bool join_is_unchanged(const struct join_group_request *request, const struct member *member)
{
    bool is_same = join_has_same_names(request, member);
    for (int32_t i = 0; is_same && i < request->protocols_count; i++) {
        is_same = span_compare(request->protocols[i].metadata, member->protocols[i].metadata) == 0;
    }
    return is_same;
}
