#include "server/core/proposal.h"

#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "server/core/internal.h"
#include "server/core/round.h"

void proposals_init(struct proposals *proposals)
{
    *proposals = (struct proposals){.last = &proposals->first};
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
    *c->proposals.last = proposal;
    c->proposals.last = &proposal->next;
    if (c->proposals.due == NULL) {
        c->proposals.due = proposal;
    }
    effects_propose(&c->effects, proposal->number, buf_span(records));
    buf_close(records);
    *records = BUF_EMPTY;
    c->counters.proposals++;
    return proposal;
}

/* Takes the proposal that [link] points to out of the queue. */
static struct proposal *take(struct proposals *proposals, struct proposal **link)
{
    struct proposal *proposal = *link;
    *link = proposal->next;
    if (proposal->next == NULL) {
        proposals->last = link;
    }
    if (proposals->due == proposal) {
        proposals->due = proposal->next;
    }
    proposal->next = NULL;
    return proposal;
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
    struct proposal *proposal = take(&c->proposals, &c->proposals.first);
    round_decided(c, proposal);
    proposal->done(c, proposal, verdicts, count);
    free(proposal);
}

/* Proposal [number] is void, and so are the later ones of the same group's decision: they are still
 * in the queue of effects, behind it. */
static void void_decision(struct coordinator *c, uint64_t number, uint64_t group, int16_t error)
{
    struct proposal **link = &c->proposals.first;
    while (*link != NULL) {
        struct proposal *proposal = *link;
        bool is_it = proposal->number == number;
        bool is_behind = group != 0 && proposal->group == group && proposal->number > number;
        if (!is_it && !(is_behind && effects_cancel(&c->effects, proposal->number))) {
            link = &proposal->next;
            continue;
        }
        proposal = take(&c->proposals, link);
        round_decided(c, proposal);
        give_up(c, proposal, error, true);
        dispose(proposal);
    }
}

void proposals_refused(struct coordinator *c, uint64_t number, bool full)
{
    c->counters.proposals_refused++;
    for (struct proposal *p = c->proposals.first; p != NULL; p = p->next) {
        if (p->number == number) {
            void_decision(c, number, p->group,
                          full ? KAFKA_COORDINATOR_NOT_AVAILABLE : KAFKA_NOT_COORDINATOR);
            return;
        }
    }
}

void proposals_expire(struct coordinator *c)
{
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
        struct proposal *proposal = take(&c->proposals, &c->proposals.first);
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
