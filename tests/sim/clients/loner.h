/* Clients that are members of nothing: simple consumers, who commit without a group's membership;
 * operators; and liars, who send whatever they like. */
#ifndef TESTS_SIM_CLIENTS_LONER_H
#define TESTS_SIM_CLIENTS_LONER_H

#include "tests/sim/clients/lane.h"

enum loner_kind { LONER_SIMPLE, LONER_ADMIN, LONER_LIAR };

struct loner {
    struct life *life;
    int number;
    enum loner_kind kind;
    struct finder finder;
    struct lane lane;
    struct lane other; /* of a probe */
    int old_leader;
};

void loners_init(struct life *life);
void loners_close(struct life *life);
/* Declares those of the topics that all use which are not there, as soon as anybody listens. */
void loners_declare(struct life *life);
/* For so long somebody commits in a group of his own. */
void loners_prove(struct life *life, int64_t ms);
/* Commits at the new leader, and when that is acknowledged reads at the old one, which may not know
 * yet that it is the old one. */
void loner_probe(struct loner *loner, int old_leader, int leader);

#endif
