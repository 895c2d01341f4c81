/* Clients that are members of nothing: simple consumers, who commit without a group's membership;
 * operators; and liars, who send whatever they like. */
#ifndef TESTS_CORE_RANDOM_LONER_H
#define TESTS_CORE_RANDOM_LONER_H

#include "tests/core/random/wire.h"

enum loner_kind { LONER_SIMPLE, LONER_ADMIN, LONER_LIAR };

struct loner {
    struct life *life;
    int number;
    enum loner_kind kind;
    struct lane lane;
};

void loners_init(struct life *life);
void loners_close(struct life *life);
/* Declares the topics that all use, as soon as anybody listens. */
void loner_declare(struct loner *loner);

#endif
