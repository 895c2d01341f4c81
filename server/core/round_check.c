/* For tests: what a round counts is what it holds. */
#include "rpc/ensure.h"
#include "server/core/round.h"

static void check_members(const struct round *round)
{
    const struct group *group = round->slot->facts;
    for (int32_t i = 0; i < group->members_count; i++) {
        const struct seat *seat = seat_find(round, group->members[i]->member_id);
        ensure(seat != NULL && seat->kind == SEAT_MEMBER);
        ensure(seat->member == group->members[i]->id);
        ensure(deadline_is_set(&seat->session) || seat->removal != 0);
    }
}

static void check_seat(const struct seat *seat)
{
    ensure(seat->join == NULL || seat->join->seat == seat);
    ensure(seat->sync == NULL || seat->sync->seat == seat);
    ensure(seat->kind == SEAT_MEMBER || seat->sync == NULL);
    ensure(seat->kind != SEAT_PENDING || seat->join == NULL);
    ensure(seat->kind != SEAT_CANDIDATE || seat->removal == 0);
    ensure(seat->kind != SEAT_CANDIDATE || seat->join != NULL || seat->round->gates > 0);
}

static void round_check(const struct round *round)
{
    int32_t joined = 0, unheard = 0, candidates = 0, candidates_joined = 0, pending = 0;
    int64_t bytes = 0;
    size_t seats = 0;
    for (const struct seat *seat = round->seats; seat != NULL; seat = seat->next) {
        check_seat(seat);
        seats++;
        bytes += seat->bytes;
        joined += seat->kind == SEAT_MEMBER && seat->join != NULL;
        candidates += seat->kind == SEAT_CANDIDATE;
        candidates_joined += seat->kind == SEAT_CANDIDATE && seat->join != NULL;
        pending += seat->kind == SEAT_PENDING;
        unheard += seat->is_unheard;
    }
    ensure(seats == round->by_id.count && bytes == round->bytes);
    ensure(joined == round->members_joined && unheard == round->members_unheard);
    ensure(candidates == round->candidates && pending == round->pending);
    ensure(candidates_joined == round->candidates_joined);
    ensure(round->slot->round == round);
    ensure(round->leaving == NULL || round->gates > 0);
    check_members(round);
}

void rounds_check(const struct coordinator *c)
{
    for (const struct round *round = c->rounds.first; round != NULL; round = round->next) {
        round_check(round);
    }
}
