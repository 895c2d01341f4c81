/* The roles of a node, and the ways between them: winning, elected, suspended (R9), deposed. */
#include "server/core/leadership.h"
#include "rpc/api.h"
#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/round.h"
#include "server/core/takeover.h"

/* ---- LEADING ---- */

static void log_took_over(struct coordinator *c)
{
    const struct state_totals *totals = state_totals(c->state);
    effects_log(&c->effects, EFFECT_INFO, "took_over term=%llu groups=%llu members=%llu",
                (unsigned long long)c->term, (unsigned long long)totals->groups,
                (unsigned long long)totals->members);
}

/* The node serves (again): time goes on for the groups, and what waited is decided. */
static void serve(struct coordinator *c)
{
    c->role = ROLE_LEADING;
#if ROSTER_BUG == 2093 /* sessions end in the gap */
    c->frozen_ms = -1;
#endif
    if (c->frozen_ms >= 0) {
        deadlines_shift(&c->deadlines, c->now_ms - c->frozen_ms);
        c->frozen_ms = -1;
    }
    if (!c->has_begun) {
        c->has_begun = true;
        c->counters.takeovers++;
        log_took_over(c);
        takeover_start(c);
        sweep_start(c);
    }
    nodes_propose(c);
    rounds_mark(c);
    for (size_t n = c->unsettled.count; n > 0; n--) {
        struct call *call = call_list_pop(&c->unsettled);
        call->deadline_ms = INT64_MAX;
        coordinator_dispatch(c, call);
    }
}

/* ---- R9: a fresh proposal of ours ---- */

static void barrier_applied(struct coordinator *c,
                            struct proposal *proposal,
                            const struct verdict *verdicts,
                            int count)
{
    (void)verdicts;
    (void)count;
    if (proposal->number == c->barrier) {
        c->barrier = 0;
        c->barrier_needed = false;
        serve(c);
    }
}

static void barrier_given_up(struct coordinator *c,
                             struct proposal *proposal,
                             int16_t error,
                             bool is_void)
{
    (void)error;
    if (is_void && proposal->number == c->barrier) {
        c->barrier = 0;
        c->barrier_at_ms = c->now_ms + LIMIT_RETRY_MS;
    }
}

static void propose_barrier(struct coordinator *c)
{
    struct buf records = BUF_EMPTY;
    struct proposal *proposal = proposal_make(c, NULL, &records, barrier_applied);
    proposal->give_up = barrier_given_up;
    c->barrier = proposal->number;
}

static bool wants_barrier(const struct coordinator *c)
{
    return c->role == ROLE_SETTLING && c->is_elected && c->barrier_needed && c->barrier == 0;
}

void leadership_tick(struct coordinator *c)
{
    if (wants_barrier(c) && c->barrier_at_ms <= c->now_ms) {
        propose_barrier(c);
    }
}

int64_t leadership_next_deadline(const struct coordinator *c)
{
    return wants_barrier(c) ? c->barrier_at_ms : INT64_MAX;
}

/* ---- Inputs ---- */

void coordinator_winning(struct coordinator *c, uint64_t term, int64_t now_ms)
{
    c->now_ms = now_ms;
    if (c->role != ROLE_FOLLOWING) {
        coordinator_deposed(c, now_ms);
    }
    c->role = ROLE_SETTLING;
    c->term = term;
    c->leader_id = c->node_id;
    c->next_number = 1;
    c->is_elected = false;
    c->has_begun = false;
    c->barrier_needed = false;
    c->barrier = 0;
    c->frozen_ms = -1;
#if ROSTER_BUG == 5 /* serves before its barrier says that all of the log is applied */
    c->is_elected = true;
    serve(c);
#endif
}

void coordinator_elected(struct coordinator *c, uint64_t term, int64_t now_ms)
{
    if (c->role == ROLE_FOLLOWING || c->term != term) {
        coordinator_winning(c, term, now_ms);
    }
    c->now_ms = now_ms;
    c->is_elected = true;
    if (c->barrier_needed) { /* it stood still meanwhile: that barrier may be an old one */
        propose_barrier(c);
    } else {
        serve(c);
    }
    rounds_turn(c);
}

void coordinator_suspended(struct coordinator *c, int64_t now_ms)
{
    int64_t last_ms = c->now_ms;
    c->now_ms = now_ms;
    if (c->role == ROLE_FOLLOWING) {
        return;
    }
    c->counters.suspensions++;
    if (c->frozen_ms < 0) {
        c->frozen_ms = last_ms;
    }
    c->role = ROLE_SETTLING;
    c->barrier_needed = true;
#if ROSTER_BUG == 2092 /* a leader that stood still believes that it leads */
    c->barrier_needed = !c->is_elected;
    if (c->is_elected) {
        serve(c);
        return;
    }
#endif
    if (c->is_elected) {
        propose_barrier(c);
    }
}

void coordinator_deposed(struct coordinator *c, int64_t now_ms)
{
    c->now_ms = now_ms;
    if (c->role == ROLE_FOLLOWING) {
        return;
    }
    c->role = ROLE_FOLLOWING;
    if (c->leader_id == c->node_id) {
        c->leader_id = 0;
    }
    c->takeover_pending = false;
    sweep_stop(c);
    for (struct call *call; (call = call_list_pop(&c->unsettled)) != NULL;) {
        coordinator_disown(c, call);
    }
    proposals_drop(c);
    rounds_drop(c);
}

void coordinator_leader(struct coordinator *c, uint64_t node_id)
{
    c->leader_id = node_id;
}

void coordinator_node(struct coordinator *c, uint64_t node_id, struct span card, int64_t now_ms)
{
    c->now_ms = now_ms;
    nodes_heard(c, node_id, card);
}

void coordinator_stopping(struct coordinator *c, int64_t now_ms)
{
    c->now_ms = now_ms;
    c->is_stopping = true;
    for (struct call *call; (call = call_list_pop(&c->unsettled)) != NULL;) {
        coordinator_disown(c, call);
    }
    for (struct round *round = c->rounds.first; round != NULL; round = round->next) {
        round_stop(c, round);
    }
    rounds_turn(c);
}

void coordinator_disown(struct coordinator *c, struct call *call)
{
    int16_t error = reply_error_of_role(c, call);
    if (call->api_key == API_ListGroups) {
        error = KAFKA_COORDINATOR_NOT_AVAILABLE; /* "none" would pass for the truth */
    } else if (error == KAFKA_COORDINATOR_NOT_AVAILABLE) {
        error = KAFKA_NOT_COORDINATOR; /* whoever waited here must look for the new leader */
    }
    reply_error(c, call, error);
}
