/* The best there is, found by trying everything. Knows nothing of how assignors work. */
#ifndef TESTS_CORE_ASSIGNOR_BRUTE_H
#define TESTS_CORE_ASSIGNOR_BRUTE_H

#include "tests/core/assignor/instance.h"

struct brute_best {
    int64_t squares; /* least sum of the squares of the loads */
    int32_t moves;   /* least number of moves among those */
};

/* Over all assignments: members to the power of partitions of them. */
struct brute_best brute_solve(const struct instance *instance);

/* Whether moves along a chain, each of one partition to a member that may have it, lead from a
 * member to one that has at least two fewer. */
bool brute_has_chain(const struct instance *instance);

#endif
