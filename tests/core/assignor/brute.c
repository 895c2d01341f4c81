#include "tests/core/assignor/brute.h"

#include <criterion/criterion.h>

enum { MEMBERS = 8, MEMBERS_OF_CHAIN = 512 };

struct attempt {
    const struct instance *instance;
    int32_t loads[MEMBERS];
    int32_t moves;
    struct brute_best best;
};

static void finish(struct attempt *attempt)
{
    int64_t squares = 0;
    for (int32_t m = 0; m < attempt->instance->member_count; m++) {
        squares += (int64_t)attempt->loads[m] * attempt->loads[m];
    }
    struct brute_best *best = &attempt->best;
    if (squares < best->squares || (squares == best->squares && attempt->moves < best->moves)) {
        *best = (struct brute_best){squares, attempt->moves};
    }
}

static void try_all(struct attempt *attempt, int32_t partition)
{
    const struct instance *instance = attempt->instance;
    if (partition == instance->partition_count) {
        finish(attempt);
        return;
    }
    int32_t owner = instance->owner[partition];
    bool can_stay = owner != NOBODY && instance_may(instance, owner, partition);
    bool anybody = false;
    for (int32_t m = 0; m < instance->member_count; m++) {
        if (!instance_may(instance, m, partition)) {
            continue;
        }
        anybody = true;
        attempt->loads[m]++;
        attempt->moves += can_stay && m != owner;
        try_all(attempt, partition + 1);
        attempt->loads[m]--;
        attempt->moves -= can_stay && m != owner;
    }
    if (!anybody) {
        try_all(attempt, partition + 1);
    }
}

struct brute_best brute_solve(const struct instance *instance)
{
    cr_assert(instance->member_count <= MEMBERS);
    struct attempt attempt = {.instance = instance, .best = {INT64_MAX, INT32_MAX}};
    try_all(&attempt, 0);
    return attempt.best;
}

/* Whether [from] has a partition that [to] may have. */
static bool can_give(const struct instance *instance, int32_t from, int32_t to)
{
    for (int32_t p = 0; p < instance->partition_count; p++) {
        if (instance->answer[p] == from && instance_may(instance, to, p)) {
            return true;
        }
    }
    return false;
}

static bool has_chain_from(const struct instance *instance, int32_t source)
{
    bool seen[MEMBERS_OF_CHAIN] = {false};
    int32_t queue[MEMBERS_OF_CHAIN];
    int32_t queued = 0;
    queue[queued++] = source;
    seen[source] = true;
    for (int32_t q = 0; q < queued; q++) {
        for (int32_t m = 0; m < instance->member_count; m++) {
            if (seen[m] || !can_give(instance, queue[q], m)) {
                continue;
            }
            if (instance->loads[m] + 2 <= instance->loads[source]) {
                return true;
            }
            seen[m] = true;
            queue[queued++] = m;
        }
    }
    return false;
}

bool brute_has_chain(const struct instance *instance)
{
    cr_assert(instance->member_count <= MEMBERS_OF_CHAIN);
    for (int32_t m = 0; m < instance->member_count; m++) {
        if (has_chain_from(instance, m)) {
            return true;
        }
    }
    return false;
}
