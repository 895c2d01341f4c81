#include "server/core/proposal.h"

#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/build.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/internal.h"
#include "server/core/round.h"

void proposals_init(struct proposals *proposals)
{
    *proposals = (struct proposals){0};
}

struct proposal *proposal_make(struct coordinator *c,
                               struct call *call,
                               struct buf *records,
                               proposal_fn *done)
{
    ensure(c->role != ROLE_FOLLOWING);
    ensure(call == NULL || call->link == NULL);
    struct proposal *proposal = calloc(1, sizeof *proposal);
    ensure(proposal != NULL);
    proposal->number = c->next_number++;
    proposal->call = call;
    proposal->done = done;
    proposal->deadline_ms = c->now_ms + LIMIT_PROPOSAL_TIMEOUT_MS;
    proposal->prev = c->proposals.last;
    if (proposal->prev != NULL) {
        proposal->prev->next = proposal;
    } else {
        c->proposals.first = proposal;
    }
    c->proposals.last = proposal;
    if (c->proposals.due == NULL) {
        c->proposals.due = proposal;
    }
    effects_propose(&c->effects, proposal->number, buf_span(records));
    buf_close(records);
    *records = BUF_EMPTY;
    c->counters.proposals++;
    return proposal;
}

/* Takes the proposal out of the queue. */
static struct proposal *take(struct proposals *proposals, struct proposal *proposal)
{
    if (proposal->prev != NULL) {
        proposal->prev->next = proposal->next;
    } else {
        proposals->first = proposal->next;
    }
    if (proposal->next != NULL) {
        proposal->next->prev = proposal->prev;
    } else {
        proposals->last = proposal->prev;
    }
    if (proposals->due == proposal) {
        proposals->due = proposal->next;
    }
    proposal->next = NULL;
    proposal->prev = NULL;
    return proposal;
}

void proposal_chunk_done(struct coordinator *c,
                         struct proposal *proposal,
                         const struct verdict *verdicts,
                         int count)
{
    (void)c;
    (void)proposal;
    (void)verdicts;
    (void)count;
}

static void give_up(struct coordinator *c, struct proposal *proposal, int16_t error, bool is_void)
{
    struct call *call = proposal->call;
    proposal->call = NULL;
    if (call != NULL) {
        reply_error(c, call, error);
    }
    if (proposal->give_up != NULL) {
        proposal->give_up(c, proposal, error, is_void);
    }
}

static void dispose(struct proposal *proposal)
{
    if (proposal->drop != NULL) {
        proposal->drop(proposal->data);
    }
    free(proposal);
}

void proposals_applied(struct coordinator *c,
                       uint64_t number,
                       const struct verdict *verdicts,
                       int count)
{
    ensure(c->proposals.first != NULL && c->proposals.first->number == number);
    struct proposal *proposal = take(&c->proposals, c->proposals.first);
    round_decided(c, proposal);
    proposal->done(c, proposal, verdicts, count);
    free(proposal);
}

/* [first] is void, and so are the later ones of the same group's decision: they are still in the
 * queue of effects, behind it. */
static void void_decision(struct coordinator *c, struct proposal *first, int16_t error)
{
    uint64_t group = first->group;
    for (struct proposal *proposal = first, *next; proposal != NULL; proposal = next) {
        next = proposal->next;
        bool is_behind = group != 0 && proposal->group == group;
        if (proposal == first || (is_behind && effects_cancel(&c->effects, proposal->number))) {
            take(&c->proposals, proposal);
            round_decided(c, proposal);
            give_up(c, proposal, error, true);
            dispose(proposal);
        }
    }
}

/* The log refuses what has just been made, so it is near the end however many are in flight. */
void proposals_refused(struct coordinator *c, uint64_t number, bool full)
{
    c->counters.proposals_refused++;
    struct proposal *proposal = c->proposals.last;
    while (proposal != NULL && proposal->number > number) {
        proposal = proposal->prev;
    }
    if (proposal != NULL && proposal->number == number) {
        void_decision(c, proposal, full ? KAFKA_COORDINATOR_NOT_AVAILABLE : KAFKA_NOT_COORDINATOR);
    }
}

void proposals_expire(struct coordinator *c)
{
#if ROSTER_BUG == 2111 /* whoever proposed waits for as long as it takes */
    c->proposals.due = NULL;
#endif
    while (c->proposals.due != NULL && c->proposals.due->deadline_ms <= c->now_ms) {
        struct proposal *proposal = c->proposals.due;
        c->proposals.due = proposal->next;
        int16_t error = KAFKA_COORDINATOR_NOT_AVAILABLE;
        if (proposal->call != NULL) {
            c->counters.proposals_timed_out++;
            error = reply_error_of_timeout(proposal->call);
        }
        give_up(c, proposal, error, false);
    }
}

int64_t proposals_next_deadline(const struct coordinator *c)
{
    return c->proposals.due == NULL ? INT64_MAX : c->proposals.due->deadline_ms;
}

void proposals_drop(struct coordinator *c)
{
    while (c->proposals.first != NULL) {
        struct proposal *proposal = take(&c->proposals, c->proposals.first);
#if ROSTER_BUG == 14 /* an unknown outcome passes for a refusal */
        if (proposal->call != NULL && proposal->call->api_key == API_OffsetCommit) {
            reply_error(c, proposal->call, KAFKA_ILLEGAL_GENERATION);
            proposal->call = NULL;
        }
#endif
        if (proposal->call != NULL) {
            coordinator_disown(c, proposal->call);
        }
        dispose(proposal);
    }
}
