/* The registry of nodes: what each says of itself (its card, node.h) is kept in the facts, by the
 * leader, so that every node can answer for all of them.
 *
 * Cards that were heard of are remembered by every node and compared with the registry whenever it
 * leads: first thing after an election its own, then those of its peers. What the log refused is
 * tried again a little later; a card that the facts refuse, only when it has changed. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/internal.h"
#include "server/core/record.h"

enum { RETRY_MS = 1000 };

struct announced {
    uint64_t id;
    struct buf card;
    bool is_refused; /* the facts did not take this card */
    struct announced *next;
};

struct roster {
    struct announced *first; /* this node's own first, then in order of hearing */
    int count;
    struct deadline retry;
};

static bool is_in_registry(const struct coordinator *c, const struct announced *node)
{
    const struct node *known = state_node(c->state, node->id);
    return known != NULL && span_equal(known->card, buf_span(&node->card));
}

static void node_done(struct coordinator *c,
                      struct proposal *proposal,
                      const struct verdict *verdicts,
                      int count)
{
    struct announced *node = proposal->data;
    ensure(count == 1);
    if (is_in_registry(c, node)) {
        effects_log(&c->effects, EFFECT_INFO, "node_registered node=%llu",
                    (unsigned long long)node->id);
    } else if (verdicts[0].error != 0) {
        node->is_refused = true;
        effects_log(&c->effects, EFFECT_WARN, "node_refused node=%llu error=%d",
                    (unsigned long long)node->id, verdicts[0].error);
    } else {
        nodes_propose(c); /* it has changed meanwhile */
    }
}

static bool is_in_flight(const struct coordinator *c, const struct announced *node)
{
    for (const struct proposal *p = c->proposals.first; p != NULL; p = p->next) {
        if (p->done == node_done && p->data == node) {
            return true;
        }
    }
    return false;
}

void nodes_propose(struct coordinator *c)
{
    bool any = false;
    for (struct announced *node = c->announced->first; node != NULL; node = node->next) {
        if (c->role != ROLE_LEADING || node->is_refused || is_in_registry(c, node)) {
            continue;
        }
        any = true;
        if (is_in_flight(c, node)) {
            continue;
        }
        struct record_node record = {.node = node->id, .card = buf_span(&node->card)};
        struct buf records = BUF_EMPTY;
        record_append(&records, RECORD_NODE, &record);
        proposal_make(c, NULL, &records, node_done)->data = node;
    }
    if (any) {
        deadline_set(&c->deadlines, &c->announced->retry, c->now_ms + RETRY_MS);
    }
}

static void retry(struct coordinator *c, struct deadline *deadline)
{
    (void)deadline;
    nodes_propose(c);
}

static struct announced *find(struct coordinator *c, uint64_t node_id)
{
    for (struct announced *node = c->announced->first; node != NULL; node = node->next) {
        if (node->id == node_id) {
            return node;
        }
    }
    return NULL;
}

static struct announced *add(struct coordinator *c, uint64_t node_id)
{
    struct roster *roster = c->announced;
    struct announced *node = calloc(1, sizeof *node);
    ensure(node != NULL);
    node->id = node_id;
    struct announced **link = &roster->first;
    while (node_id != c->node_id && *link != NULL) {
        link = &(*link)->next;
    }
    node->next = *link;
    *link = node;
    roster->count++;
    return node;
}

void nodes_heard(struct coordinator *c, uint64_t node_id, struct span card)
{
    struct announced *node = find(c, node_id);
    if (card.len > NODE_CARD_BYTES_MAX || (node == NULL && c->announced->count >= LIMIT_NODES)) {
        effects_log(&c->effects, EFFECT_WARN, "node_ignored node=%llu card_bytes=%zu",
                    (unsigned long long)node_id, card.len);
        return;
    }
    if (node == NULL) {
        node = add(c, node_id);
    } else if (span_equal(buf_span(&node->card), card)) {
        return;
    }
    node->card.len = 0;
    buf_append(&node->card, card.data, card.len);
    node->is_refused = false;
    nodes_propose(c);
}

void nodes_init(struct coordinator *c)
{
    c->announced = calloc(1, sizeof *c->announced);
    ensure(c->announced != NULL);
    deadline_init(&c->announced->retry, retry);
}

void nodes_close(struct coordinator *c)
{
    while (c->announced->first != NULL) {
        struct announced *gone = c->announced->first;
        c->announced->first = gone->next;
        buf_close(&gone->card);
        free(gone);
    }
    free(c->announced);
    c->announced = NULL;
}
