#include "server/core/coordinator.h"

#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/leadership.h"
#include "server/core/round.h"
#include "server/core/takeover.h"

/* The shortest record: type, version, one field. */
enum { RECORD_BYTES_MIN = 3 };

/* ---- Life ---- */

static void group_deleted(void *ctx, struct group_slot *slot)
{
    struct coordinator *c = ctx;
    round_orphan(c, slot);
}

struct coordinator *coordinator_new(const struct coordinator_limits *limits, uint64_t node_id)
{
    static const struct state_events events = {.group_deleted = group_deleted};
    struct coordinator *c = calloc(1, sizeof *c);
    ensure(c != NULL);
    c->limits = *limits;
    c->node_id = node_id;
    c->wall_ms = -1;
    c->frozen_ms = -1;
    c->state = state_new();
    state_set_events(c->state, &events, c);
    effects_init(&c->effects);
    deadlines_init(&c->deadlines);
    proposals_init(&c->proposals);
    call_list_init(&c->unsettled);
    call_list_init(&c->orphans);
    c->rounds.dirty_last = &c->rounds.dirty;
    sweep_init(c);
    nodes_init(c);
    return c;
}

void coordinator_free(struct coordinator *c)
{
    if (c == NULL) {
        return;
    }
    coordinator_deposed(c, c->now_ms); /* whoever drives it has drained or dropped its calls */
    sweep_close(c);
    nodes_close(c);
    deadlines_close(&c->deadlines);
    effects_close(&c->effects);
    state_free(c->state);
    free(c->verdicts);
    free(c);
}

/* ---- Requests ---- */

typedef void handler(struct coordinator *c, struct call *call);

static handler *handler_of(int16_t api_key)
{
    switch (api_key) {
        case API_JoinGroup:
            return join_group_handle;
        case API_SyncGroup:
            return sync_group_handle;
        case API_Heartbeat:
            return heartbeat_handle;
        case API_LeaveGroup:
            return leave_group_handle;
        case API_OffsetCommit:
            return offset_commit_handle;
        case API_OffsetFetch:
            return offset_fetch_handle;
        case API_OffsetDelete:
            return offset_delete_handle;
        case API_DescribeGroups:
            return describe_groups_handle;
        case API_ListGroups:
            return list_groups_handle;
        case API_DeleteGroups:
            return delete_groups_handle;
        case API_CreateTopics:
            return create_topics_handle;
        case API_DeleteTopics:
            return delete_topics_handle;
        case API_CreatePartitions:
            return create_partitions_handle;
        default:
            return NULL;
    }
}

bool coordinator_serves(int16_t api_key)
{
    return handler_of(api_key) != NULL;
}

void coordinator_unsettle(struct coordinator *c, struct call *call)
{
    if (c->unsettled.count >= LIMIT_UNSETTLED_CALLS) {
        c->counters.limit_unsettled_calls++;
        reply_error(c, call, KAFKA_NOT_COORDINATOR);
        return;
    }
    call->deadline_ms = c->now_ms + c->limits.election_timeout_ms;
#if ROSTER_BUG == 2112 /* waits for the barrier however long that takes */
    call->deadline_ms = INT64_MAX;
#endif
    call_list_push(&c->unsettled, call);
}

void coordinator_dispatch(struct coordinator *c, struct call *call)
{
    switch (c->role) {
        case ROLE_FOLLOWING:
            coordinator_disown(c, call);
            break;
        case ROLE_SETTLING:
            coordinator_unsettle(c, call);
            break;
        case ROLE_LEADING:
            handler_of(call->api_key)(c, call);
            break;
    }
}

void coordinator_request(struct coordinator *c, struct call *call, int64_t now_ms)
{
    ensure(coordinator_serves(call->api_key));
    c->now_ms = now_ms;
    c->counters.requests++;
    c->counters.joins += call->api_key == API_JoinGroup;
    c->parked++;
    call->next = NULL;
    call->link = NULL;
    call->seat = NULL;
    call->deadline_ms = INT64_MAX;
    call->sequence = c->next_sequence++;
    if (c->role == ROLE_FOLLOWING || c->is_stopping) {
        reply_error(c, call, reply_error_of_role(c, call));
    } else {
        coordinator_dispatch(c, call);
    }
    rounds_turn(c);
}

void coordinator_reply(struct coordinator *c, struct call *call, const void *response)
{
    ensure(c->parked > 0 && call->link == NULL && call->seat == NULL);
    c->parked--;
    effects_reply(&c->effects, call, response);
}

/* R3: a member that never learned its id cannot come back for it. Another one may, on a new
 * connection: it has its session's time for that, since what is parked no longer shows it alive. */
void coordinator_gone(struct coordinator *c, struct call *call, int64_t now_ms)
{
    c->now_ms = now_ms;
    call->gone = true;
    struct seat *seat = call->seat;
    bool never_learns = seat != NULL && seat->join == call && seat->kind == SEAT_CANDIDATE &&
                        call->api_version < 4 && !seat->was_pending &&
                        seat->round->stage != ROUND_GENERATING;
#if ROSTER_BUG == 2031 /* its join stays parked */
    never_learns = false;
#endif
    if (never_learns) {
        seat_reject(c, seat, KAFKA_UNKNOWN_MEMBER_ID, CAUSE_NONE);
    } else if (seat != NULL) {
        seat_disconnected(c, seat);
    }
    rounds_turn(c);
}

/* ---- The log ---- */

static void make_room(struct coordinator *c, size_t bytes)
{
    size_t cap = bytes / RECORD_BYTES_MIN + 1;
    if (cap <= c->verdicts_cap) {
        return;
    }
    free(c->verdicts);
    c->verdicts = calloc(cap, sizeof *c->verdicts);
    ensure(c->verdicts != NULL);
    c->verdicts_cap = cap;
}

static void adopt_orphans(struct coordinator *c)
{
    for (size_t n = c->orphans.count; n > 0; n--) {
        coordinator_dispatch(c, call_list_pop(&c->orphans));
    }
}

void coordinator_apply(struct coordinator *c, const struct applied *applied, int64_t now_ms)
{
    c->now_ms = now_ms;
    bool is_ours = applied->own && c->role != ROLE_FOLLOWING && applied->term == c->term;
#if ROSTER_BUG == 2101 /* an old proposal passes for one of this term */
    is_ours = applied->own && c->role != ROLE_FOLLOWING;
#endif
    if (is_ours) {
        make_room(c, applied->records.len);
    }
    int count = state_apply(c->state, applied->index, applied->term, applied->stamp_ms,
                            applied->records, c->verdicts, is_ours ? (int)c->verdicts_cap : 0);
    ensure(count >= 0); /* no node of this cluster writes what this build cannot read */
    if (is_ours) {
        proposals_applied(c, applied->number, c->verdicts, count);
    }
    adopt_orphans(c);
    rounds_turn(c);
}

void coordinator_refused(struct coordinator *c, uint64_t number, bool full, int64_t now_ms)
{
    c->now_ms = now_ms;
    proposals_refused(c, number, full);
    rounds_turn(c);
}

/* ---- Time ---- */

static void expire_unsettled(struct coordinator *c)
{
    while (c->unsettled.first != NULL && c->unsettled.first->deadline_ms <= c->now_ms) {
        struct call *call = call_list_pop(&c->unsettled);
        c->counters.proposals_timed_out++;
        reply_error(c, call, reply_error_of_role(c, call));
    }
}

void coordinator_tick(struct coordinator *c, int64_t now_ms, int64_t wall_ms)
{
    c->now_ms = now_ms;
    c->wall_ms = wall_ms;
    expire_unsettled(c);
    proposals_expire(c);
    leadership_tick(c);
    if (c->role == ROLE_LEADING) { /* else no time passes for the groups (R9) */
        deadlines_run(&c->deadlines, c, now_ms, LIMIT_DEADLINES);
        if (c->takeover_pending) {
            takeover_slice(c);
        }
    }
    rounds_turn(c);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t coordinator_next_deadline(const struct coordinator *c)
{
    int64_t next_ms = earlier(proposals_next_deadline(c), leadership_next_deadline(c));
    if (c->unsettled.first != NULL) {
        next_ms = earlier(next_ms, c->unsettled.first->deadline_ms);
    }
    if (c->role != ROLE_LEADING) {
        return next_ms;
    }
    return earlier(next_ms, c->takeover_pending ? c->now_ms : deadlines_next(&c->deadlines));
}

/* ---- Questions ---- */

struct effects *coordinator_effects(struct coordinator *c)
{
    return &c->effects;
}

bool coordinator_is_leading(const struct coordinator *c)
{
    return c->role == ROLE_LEADING;
}

uint64_t coordinator_leader_id(const struct coordinator *c)
{
    return c->leader_id;
}

size_t coordinator_parked_calls(const struct coordinator *c)
{
    return c->parked;
}

const struct state *coordinator_state(const struct coordinator *c)
{
    return c->state;
}

const struct coordinator_counters *coordinator_counters(const struct coordinator *c)
{
    return &c->counters;
}

uint64_t coordinator_state_hash(const struct coordinator *c)
{
    return state_totals(c->state)->hash;
}

void coordinator_check(const struct coordinator *c)
{
    state_check(c->state);
    deadlines_check(&c->deadlines);
    rounds_check(c);
}

/* ---- Snapshots ---- */

void *coordinator_freeze(struct coordinator *c)
{
    return state_freeze(c->state);
}

void coordinator_encode(void *frozen, struct buf *out)
{
    state_encode(frozen, out);
}

void coordinator_release(struct coordinator *c, void *frozen)
{
    state_release(c->state, frozen);
}

int coordinator_restore(struct coordinator *c, struct span snapshot)
{
    ensure(c->role == ROLE_FOLLOWING && c->rounds.first == NULL);
    return state_restore(c->state, snapshot);
}
