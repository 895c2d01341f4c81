#include "server/core/barrier.h"

#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"

/* The SyncGroups' time is up while a decision is in flight: look again. */
enum { SYNC_AGAIN_MS = 1000 };

static int32_t rebalance_timeout_ms(struct coordinator *c, const struct round *round)
{
    int32_t count;
    struct seat_view *views = barrier_views(c, round, &count);
    int32_t longest = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t timeout = seat_view_rebalance_timeout_ms(&views[i]);
        longest = timeout > longest ? timeout : longest;
    }
    return longest;
}

static void count_cause(struct coordinator *c, enum rebalance_cause cause)
{
    switch (cause) {
        case CAUSE_JOIN:
        case CAUSE_CHANGE:
            c->counters.rebalances_join++;
            break;
        case CAUSE_LEAVE:
        case CAUSE_OPERATOR:
            c->counters.rebalances_leave++;
            break;
        case CAUSE_SESSION:
        case CAUSE_SYNC:
        case CAUSE_REJOIN:
            c->counters.rebalances_expiry++;
            break;
        case CAUSE_NONE:
        case CAUSE_TAKEOVER:
        case CAUSE_SIZE:
            break;
    }
}

/* Whoever waits for an assignment of the generation that is over must join again. */
static void answer_syncs(struct coordinator *c, struct round *round)
{
    deadline_clear(&c->deadlines, &round->sync);
    for (struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
        seat_answer_sync(c, seat, KAFKA_REBALANCE_IN_PROGRESS);
    }
}

static void start_delay(struct coordinator *c, struct round *round)
{
    int32_t timeout_ms = rebalance_timeout_ms(c, round);
    round->stage = ROUND_INITIAL;
    round->delay_ms = c->limits.initial_rebalance_delay_ms;
    round->remaining_ms = timeout_ms > round->delay_ms ? timeout_ms - round->delay_ms : 0;
    round->has_newcomer = false;
    deadline_set(&c->deadlines, &round->barrier, c->now_ms + round->delay_ms);
}

void barrier_restart(struct coordinator *c, struct round *round)
{
    round->is_overdue = false;
    if (round->slot->facts->members_count == 0) {
        start_delay(c, round);
    } else {
        round->stage = ROUND_JOINING;
        deadline_set(&c->deadlines, &round->barrier, c->now_ms + rebalance_timeout_ms(c, round));
    }
    round_mark(c, round);
}

void barrier_prepare(struct coordinator *c,
                     struct round *round,
                     enum rebalance_cause cause,
                     struct span member_id,
                     struct span client_id)
{
    if (round->stage != ROUND_IDLE) {
        return;
    }
    round_blame(round, cause, member_id, client_id);
    answer_syncs(c, round);
    round->started_ms = c->now_ms;
    barrier_restart(c, round);
    count_cause(c, round->cause);
    effects_log(&c->effects, EFFECT_INFO,
                "rebalance_started group=%s generation=%d cause=%s member=%s client_id=%s",
                effect_text(&c->effects, round->slot->facts->name), round->slot->facts->generation,
                rebalance_cause_name(round->cause),
                effect_text(&c->effects, buf_span(&round->cause_member)),
                effect_text(&c->effects, buf_span(&round->cause_client)));
}

void barrier_joined(struct round *round)
{
    round->has_newcomer = round->stage == ROUND_INITIAL;
}

void barrier_log_empty(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    effects_log(&c->effects, EFFECT_INFO, "group_empty group=%s generation=%d cause=%s member=%s",
                effect_text(&c->effects, group->name), group->generation,
                rebalance_cause_name(round->cause),
                effect_text(&c->effects, buf_span(&round->cause_member)));
    if (round->stage == ROUND_IDLE) {
        round_forgive(round);
    }
}

/* Nobody is left who could be in a generation. */
static void call_off(struct coordinator *c, struct round *round)
{
    round->stage = ROUND_IDLE;
    round->is_overdue = false;
    deadline_clear(&c->deadlines, &round->barrier);
    round_forgive(round);
}

/* R3: a member that joined without an id and was not heard from since the takeover may never have
 * learned its id. One that has beats every few seconds, so it gets that long to be heard. */
static bool is_everybody_here(const struct round *round)
{
    int32_t excused = deadline_is_set(&round->grace) ? 0 : round->members_unheard;
    return round->members_joined + excused == round->slot->facts->members_count &&
           round->members_joined + round->candidates > 0 && round->pending == 0 &&
           round->pending_proposed == 0;
}

void barrier_turn(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    bool is_changed = group->is_changed;
#if ROSTER_BUG == 2012 /* what began under another leader is not gone on with */
    is_changed = is_changed && round->cause != CAUSE_NONE;
#endif
    if (round->stage == ROUND_IDLE && group->members_count > 0 && is_changed) {
        barrier_prepare(c, round, CAUSE_TAKEOVER, SPAN_EMPTY, SPAN_EMPTY);
    }
    bool is_complete = round->is_overdue;
    switch (round->stage) {
        case ROUND_IDLE:
        case ROUND_GENERATING:
            return;
        case ROUND_INITIAL:
            is_complete = is_complete || round->delay_ms == 0;
            break;
        case ROUND_JOINING:
            is_complete = is_complete || is_everybody_here(round);
            break;
    }
    if (round->candidates == 0 && group->members_count == 0) {
        call_off(c, round);
    } else if (is_complete) {
        barrier_complete(c, round);
    }
}

void barrier_due(struct coordinator *c, struct deadline *deadline)
{
    struct round *round = container_of(deadline, struct round, barrier);
    if (round->stage == ROUND_INITIAL && round->has_newcomer && round->remaining_ms > 0) {
        int32_t full_ms = c->limits.initial_rebalance_delay_ms;
        int32_t last_ms = round->delay_ms;
        round->has_newcomer = false;
        round->delay_ms = full_ms < round->remaining_ms ? full_ms : round->remaining_ms;
        round->remaining_ms = round->remaining_ms > last_ms ? round->remaining_ms - last_ms : 0;
        deadline_set(&c->deadlines, &round->barrier, c->now_ms + round->delay_ms);
        return;
    }
    round->is_overdue = true;
    round_mark(c, round);
}

void barrier_arm_sync(struct coordinator *c, struct round *round)
{
    deadline_set(&c->deadlines, &round->sync, c->now_ms + rebalance_timeout_ms(c, round));
}

void barrier_sync_due(struct coordinator *c, struct deadline *deadline)
{
    struct round *round = container_of(deadline, struct round, sync);
    if (round->gates > 0) { /* some may have come and wait for the decision in flight */
        deadline_set(&c->deadlines, deadline, c->now_ms + SYNC_AGAIN_MS);
        return;
    }
    for (struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
        if (seat->kind != SEAT_MEMBER || seat->has_synced || seat->removal != CAUSE_NONE) {
            continue;
        }
        effects_log(&c->effects, EFFECT_INFO, "sync_expired group=%s generation=%d member=%s",
                    effect_text(&c->effects, round->slot->facts->name),
                    round->slot->facts->generation, effect_text(&c->effects, seat_id(seat)));
        c->counters.syncs_expired++;
        seat_flag(c, seat, CAUSE_SYNC);
    }
}
