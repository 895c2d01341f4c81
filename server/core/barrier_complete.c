/* The end of the barrier: who is here becomes the next generation. Members who did not rejoin are
 * out, but static ones, who keep their place while their session runs. The JoinGroups are answered
 * when the generation has been applied: so a (group, generation) names one member set for ever. */
#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/join_group.h"

/* Who will be in the generation, in order; [leader] is an index of it. */
struct lineup {
    struct seat_view *views;
    int32_t count;
    int32_t leader;
};

static bool is_kept(const struct seat_view *view)
{
    return view->request != NULL || !span_is_null(view->instance_id);
}

/* The leader stays if it is here; else the first who is. Whoever is here knows its id, or its
 * connection waits for it (R3). */
static struct lineup line_up(struct coordinator *c, const struct round *round)
{
    struct lineup lineup = {.leader = -1};
    int32_t count;
    lineup.views = barrier_views(c, round, &count);
    uint64_t leader = round->slot->facts->leader;
    for (int32_t i = 0; i < count; i++) {
        if (!is_kept(&lineup.views[i])) {
            continue;
        }
        lineup.views[lineup.count] = lineup.views[i];
        const struct seat_view *view = &lineup.views[lineup.count];
        bool is_leader = view->member != NULL && view->member->id == leader;
        if (view->request != NULL && (lineup.leader < 0 || is_leader)) {
            lineup.leader = lineup.count;
        }
        lineup.count++;
    }
    return lineup;
}

/* ---- Answers ---- */

static void answer_joins(struct coordinator *c,
                         struct round *round,
                         const struct lineup *lineup,
                         int32_t generation,
                         struct span leader,
                         struct span protocol_name)
{
    struct join_answer answer = {
        .generation = generation,
        .protocol_type = barrier_protocol_type(round),
        .protocol_name = protocol_name,
        .leader = leader,
    };
    /* The leader first: its list borrows from the other joins. */
    for (int32_t n = 0; n < lineup->count; n++) {
        int32_t i = n == 0 ? lineup->leader : n <= lineup->leader ? n - 1 : n;
        struct seat_view *view = &lineup->views[i];
        struct call *join = view->seat == NULL ? NULL : seat_take_join(view->seat);
        if (join == NULL) {
            continue;
        }
        answer.member_id = view->member_id;
        answer.members = i == lineup->leader ? lineup->views : NULL;
        answer.members_count = lineup->count;
        join_answer(c, join, &answer);
        bool never_learns =
            join->gone && join_is_without_id(join) && view->seat->kind == SEAT_MEMBER;
#if ROSTER_BUG == 2033 /* whose connection closed meanwhile is a member all the same */
        never_learns = false;
#endif
        if (never_learns) {
            seat_flag(c, view->seat, CAUSE_LEAVE); /* R3: nobody will ever use this id */
        }
    }
}

/* Seats of those who are not in the facts: apply has the last word on who is a member. */
static void dismiss_absent(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    for (struct seat *seat = round->seats, *next; seat != NULL; seat = next) {
        next = seat->next;
        if (seat->kind == SEAT_PENDING || group_find_member(group, seat_id(seat)) != NULL) {
            continue;
        }
        effects_log(&c->effects, EFFECT_INFO, "join_expired group=%s generation=%d member=%s",
                    effect_text(&c->effects, group->name), group->generation,
                    effect_text(&c->effects, seat_id(seat)));
        c->counters.joins_expired++;
        if (seat->kind == SEAT_CANDIDATE) {
            seat_reject(c, seat, KAFKA_UNKNOWN_MEMBER_ID, CAUSE_REJOIN);
        } else {
            seat_answer(c, seat, KAFKA_UNKNOWN_MEMBER_ID);
            seat_free(c, seat);
        }
    }
}

static void seat_members(struct coordinator *c, struct round *round)
{
    const struct group *group = round->slot->facts;
    round->vote_is_known = false;
    for (int32_t i = 0; i < group->members_count; i++) {
        const struct member *member = group->members[i];
        struct seat *seat = seat_find(round, member->member_id);
        ensure(seat != NULL);
        bool was_here = seat->kind == SEAT_CANDIDATE || seat->join != NULL;
        if (was_here) {
            seat_become_member(c, seat, member);
        }
        seat->has_synced = false;
    }
}

static void log_begun(struct coordinator *c, const struct round *round)
{
    const struct group *group = round->slot->facts;
    const struct member *leader = group_member_by_id(group, group->leader);
    effects_log(&c->effects, EFFECT_INFO,
                "generation_begun group=%s generation=%d members=%d protocol=%s leader=%s cause=%s "
                "member=%s client_id=%s took_ms=%lld",
                effect_text(&c->effects, group->name), group->generation, group->members_count,
                effect_text(&c->effects, group->protocol_name),
                effect_text(&c->effects, leader == NULL ? SPAN_EMPTY : leader->member_id),
                rebalance_cause_name(round->cause),
                effect_text(&c->effects, buf_span(&round->cause_member)),
                effect_text(&c->effects, buf_span(&round->cause_client)),
                (long long)(c->now_ms - round->started_ms));
}

static void generation_done(struct coordinator *c,
                            struct proposal *proposal,
                            const struct verdict *verdicts,
                            int count)
{
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    const struct group *group = round->slot->facts;
    ensure(count > 0 && verdicts[count - 1].error == KAFKA_NONE);
    c->counters.generations++;
    dismiss_absent(c, round);
    seat_members(c, round);
    round->stage = ROUND_IDLE;
    if (group->members_count == 0) {
        barrier_log_empty(c, round);
        return;
    }
    log_begun(c, round);
    round_forgive(round);
    barrier_arm_sync(c, round);
    struct lineup lineup = {.leader = 0};
    lineup.views = barrier_views(c, round, &lineup.count);
    for (int32_t i = 0; i < lineup.count; i++) {
        lineup.leader = lineup.views[i].member->id == group->leader ? i : lineup.leader;
    }
    answer_joins(c, round, &lineup, group->generation, lineup.views[lineup.leader].member_id,
                 group->protocol_name);
}

/* [is_void]: the log had no room, so the barrier stands again, without those who were answered. */
static void generation_given_up(struct coordinator *c,
                                struct proposal *proposal,
                                int16_t error,
                                bool is_void)
{
    struct round *round = round_of_proposal(c, proposal);
    if (round == NULL) {
        return;
    }
    for (struct seat *seat = round->seats, *next; seat != NULL; seat = next) {
        next = seat->next;
        if (is_void && seat->kind == SEAT_CANDIDATE) {
            seat_reject(c, seat, error, CAUSE_NONE);
        } else {
            seat_answer(c, seat, error);
        }
    }
    if (is_void && round->stage == ROUND_GENERATING) {
        barrier_restart(c, round);
        round_retry(c, round);
    }
}

/* ---- The record ---- */

static size_t bytes_of(const struct record_member *member)
{
    size_t bytes = 64 + member->member_id.len + member->instance_id.len + member->client_id.len +
                   member->client_host.len;
    for (int32_t i = 0; i < member->protocols_count; i++) {
        bytes += 16 + member->protocols[i].name.len + member->protocols[i].metadata.len;
    }
    return bytes;
}

static struct record_member record_of(const struct seat_view *view)
{
    if (view->request == NULL ||
        (view->member != NULL && join_keeps_member(view->seat->join, view->member))) {
        return (struct record_member){.id = view->member->id, .is_kept = true};
    }
    uint64_t id = view->member == NULL ? 0 : view->member->id;
    struct record_member record = join_record(view->seat->join, view->member_id, id);
    record.instance_id = view->instance_id; /* a member's own, also where the request has none */
#if ROSTER_BUG == 2024 /* a static member is one as long as this leader leads */
    record.instance_id = SPAN_NULL;
#endif
    return record;
}

/* R8: what does not fit into one entry goes ahead in chunks, which apply keeps until the record
 * that closes them. [record] gets what is left. */
static void stage_members(struct coordinator *c,
                          struct round *round,
                          const struct lineup *lineup,
                          struct record_generation *record)
{
    struct record_member *members =
        arena_alloc(&c->effects.arena, (size_t)lineup->count * sizeof *members);
    size_t bytes = 0;
    record->members = members;
    for (int32_t i = 0; i < lineup->count; i++) {
        members[i] = record_of(&lineup->views[i]);
        size_t more = bytes_of(&members[i]);
        bool is_full = bytes > 0 && bytes + more > LIMIT_CHUNK_BYTES;
#if ROSTER_BUG == 2081 /* a generation is one record, however large */
        is_full = false;
#endif
        if (is_full) {
            struct record_members_staged staged = {
                .group = record->group,
                .generation = record->generation,
                .members = record->members,
                .members_count = record->members_count,
            };
            struct buf records = BUF_EMPTY;
            record_append(&records, RECORD_MEMBERS_STAGED, &staged);
            round_propose(c, round, &records, proposal_chunk_done, NULL);
            round->generation_tried = record->generation;
            record->members += record->members_count;
            record->members_count = 0;
            bytes = 0;
        }
        bytes += more;
        record->members_count++;
    }
}

static void propose(struct coordinator *c, struct round *round, const struct lineup *lineup)
{
    const struct group *group = round->slot->facts;
    bool is_empty = lineup->count == 0;
    struct record_generation record = {
        .group = group->id,
        .generation = round_next_generation(round),
        .protocol_type = barrier_protocol_type(round),
        .cause = (int8_t)round->cause,
    };
    if (!is_empty) {
        record.leader = lineup->views[lineup->leader].member_id;
        record.protocol_name = barrier_select(lineup->views, lineup->count);
        ensure(!span_is_null(record.protocol_name)); /* barrier_accepts() let them in */
        stage_members(c, round, lineup, &record);
    }
    struct buf records = BUF_EMPTY;
    record_append(&records, RECORD_GENERATION, &record);
    round->stage = ROUND_GENERATING;
    round->is_overdue = false;
    deadline_clear(&c->deadlines, &round->barrier);
    round_propose(c, round, &records, generation_done, generation_given_up);
#if ROSTER_BUG == 7 /* answered before it is a fact */
    answer_joins(c, round, lineup, record.generation, record.leader, record.protocol_name);
#endif
}

/* Nobody rejoined. Static members keep the group alive; the barrier goes on for them, without the
 * others. */
static bool wait_for_static(struct coordinator *c, struct round *round, struct lineup *lineup)
{
    if (lineup->count == 0 || lineup->leader >= 0) {
        return false;
    }
    int32_t longest = 0;
    for (int32_t i = 0; i < lineup->count; i++) {
        int32_t timeout = seat_view_rebalance_timeout_ms(&lineup->views[i]);
        longest = timeout > longest ? timeout : longest;
    }
    for (struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
        const struct member *member =
            seat->kind == SEAT_MEMBER ? group_member_by_id(round->slot->facts, seat->member) : NULL;
        if (member != NULL && span_is_null(member->instance_id)) {
            c->counters.joins_expired++;
            seat_flag(c, seat, CAUSE_REJOIN);
        }
    }
    round->is_overdue = false;
    deadline_set(&c->deadlines, &round->barrier, c->now_ms + longest);
    return true;
}

/* Static members who are not here were not counted when others joined (join_group.c), but they keep
 * their places: the last who are new do not get in. So a group becomes larger than group.max.size
 * only where that is lowered. */
static void dismiss_excess(struct coordinator *c, struct round *round)
{
    int32_t count;
    struct seat_view *views = barrier_views(c, round, &count);
    int64_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        kept += is_kept(&views[i]);
    }
    for (int32_t i = count - 1; i >= 0 && kept > c->limits.group_size_max; i--) {
        if (views[i].member != NULL) {
            return; /* candidates come last */
        }
        kept--;
        c->counters.limit_group_size++;
        effects_log(&c->effects, EFFECT_WARN,
                    "join_refused group=%s limit=group.max.size client_id=%s",
                    effect_text(&c->effects, round->slot->facts->name),
                    effect_text(&c->effects, views[i].seat->join->client_id));
        join_refuse(c, seat_take_join(views[i].seat), KAFKA_GROUP_MAX_SIZE_REACHED, SPAN_EMPTY);
        seat_reject(c, views[i].seat, KAFKA_GROUP_MAX_SIZE_REACHED, CAUSE_SIZE);
    }
}

void barrier_complete(struct coordinator *c, struct round *round)
{
    dismiss_excess(c, round);
    struct lineup lineup = line_up(c, round);
    if (!wait_for_static(c, round, &lineup)) {
        propose(c, round, &lineup);
    }
}
