#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/barrier.h"

struct seat_view *barrier_views(struct coordinator *c, const struct round *round, int32_t *count)
{
    const struct group *group = round->slot->facts;
    size_t most = (size_t)group->members_count + (size_t)round->candidates;
    struct seat_view *views = arena_alloc(&c->effects.arena, most * sizeof *views);
    int32_t n = 0;
    for (int32_t i = 0; i < group->members_count; i++) {
        struct seat *seat = seat_find(round, group->members[i]->member_id);
        views[n++] = seat_view_of(seat, group->members[i]);
    }
    for (struct seat *seat = round->seats; seat != NULL && (size_t)n < most; seat = seat->next) {
        if (seat->kind == SEAT_CANDIDATE && seat->join != NULL) {
            views[n++] = seat_view_of(seat, NULL);
        }
    }
    *count = n;
    return views;
}

/* A candidate whose join was answered by its deadline (R11) while the generation that makes it a
 * member is in flight does not count: what it gave is with its call. */
struct span barrier_protocol_type(const struct round *round)
{
    const struct group *group = round->slot->facts;
    return group->members_count > 0 || round->candidates_joined == 0
               ? group->protocol_type
               : buf_span(&round->candidates_type);
}

/* ---- What all have in common ---- */

/* Keeps of [names] what [view] supports. */
static int32_t narrow(struct span *names, int32_t count, const struct seat_view *view)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        if (seat_view_supports(view, names[i])) {
            names[kept++] = names[i];
        }
    }
    return kept;
}

/* In the order of the first view; [names] has room for LIMIT_PROTOCOLS. */
static int32_t in_common(const struct seat_view *views, int32_t count, struct span *names)
{
    int32_t n = seat_view_protocols(&views[0]);
    n = n < LIMIT_PROTOCOLS ? n : LIMIT_PROTOCOLS;
    for (int32_t i = 0; i < n; i++) {
        names[i] = seat_view_name(&views[0], i);
    }
    for (int32_t i = 1; i < count && n > 0; i++) {
        n = narrow(names, n, &views[i]);
    }
    return n;
}

/* Copies the names: views come and go. */
static void find_common(struct coordinator *c, struct round *round)
{
    struct span names[LIMIT_PROTOCOLS];
    int32_t count;
    struct seat_view *views = barrier_views(c, round, &count);
    int32_t n = count == 0 ? 0 : in_common(views, count, names);
    if (round->common == NULL) {
        round->common = calloc(LIMIT_PROTOCOLS, sizeof *round->common);
        ensure(round->common != NULL);
    }
    round->common_text.len = 0;
    for (int32_t i = 0; i < n; i++) {
        buf_append(&round->common_text, names[i].data, names[i].len);
    }
    size_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        round->common[i] = span_of(round->common_text.data + at, names[i].len);
        at += names[i].len;
    }
    round->common_count = n;
    round->common_is_known = true;
}

bool barrier_accepts(struct coordinator *c,
                     const struct group_slot *slot,
                     const struct join_group_request *request)
{
    struct round *round = slot->round;
    if (slot->facts->members_count == 0 && (round == NULL || round->candidates_joined == 0)) {
        return request->protocol_type.len > 0 && request->protocols_count > 0;
    }
    ensure(round != NULL);
    if (span_compare(request->protocol_type, barrier_protocol_type(round)) != 0) {
        return false;
    }
    if (!round->common_is_known) {
        find_common(c, round);
    }
    for (int32_t i = 0; i < round->common_count; i++) {
        for (int32_t k = 0; k < request->protocols_count; k++) {
            if (span_compare(request->protocols[k].name, round->common[i]) == 0) {
                return true;
            }
        }
    }
    return false;
}

void barrier_view_changed(struct round *round,
                          const struct member *member,
                          const struct join_group_request *request,
                          bool had_join)
{
    if (!round->common_is_known) {
        return;
    }
    bool is_first = round->candidates + round->slot->facts->members_count == 1;
    if (had_join || is_first || (member != NULL && !join_has_same_names(request, member))) {
        round->common_is_known = false;
    } else if (member == NULL) {
        struct seat_view view = {.request = request};
        round->common_count = narrow(round->common, round->common_count, &view);
    }
}

/* ---- The vote ---- */

struct span barrier_select(const struct seat_view *views, int32_t count)
{
    struct span names[LIMIT_PROTOCOLS];
    int32_t votes[LIMIT_PROTOCOLS] = {0};
    int32_t n = count == 0 ? 0 : in_common(views, count, names);
    if (n == 0) {
        return SPAN_NULL;
    }
    for (int32_t v = 0; v < count; v++) {
        for (int32_t i = 0; i < seat_view_protocols(&views[v]); i++) {
            int32_t k = 0;
            while (k < n && span_compare(names[k], seat_view_name(&views[v], i)) != 0) {
                k++;
            }
            if (k < n) { /* its first choice among the candidates */
                votes[k]++;
                break;
            }
        }
    }
    int32_t best = 0;
    for (int32_t k = 1; k < n; k++) {
        best = votes[k] > votes[best] ? k : best;
    }
    return names[best];
}
