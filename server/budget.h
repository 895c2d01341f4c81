/* The memory that all connections share: requests that are not complete or not answered, replies
 * that are not sent (queued.max.bytes).
 *
 * What happens beyond it (conns.h): a connection that holds more than BUDGET_ALLOWANCE_BYTES is not
 * read from while the budget is over; connections are closed, the largest holder first, when it
 * stays over, or at once when it is far over. So small requests are served whatever others do. */
#ifndef SERVER_BUDGET_H
#define SERVER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "rpc/ensure.h"

enum { BUDGET_ALLOWANCE_BYTES = 16384 };

struct budget {
    size_t used;
    size_t max;
    size_t peak; /* highest [used] since budget_init() */
};

static inline void budget_init(struct budget *budget, size_t max)
{
    *budget = (struct budget){.max = max};
}

static inline void budget_take(struct budget *budget, size_t bytes)
{
    budget->used += bytes;
    if (budget->used > budget->peak) {
        budget->peak = budget->used;
    }
}

static inline void budget_give(struct budget *budget, size_t bytes)
{
    ensure(bytes <= budget->used);
    budget->used -= bytes;
}

static inline bool budget_is_over(const struct budget *budget)
{
    return budget->used > budget->max;
}

static inline bool budget_is_far_over(const struct budget *budget)
{
    return budget->used > budget->max && budget->used - budget->max > budget->max / 8;
}

#endif
