/* What the steps of uniform hand on (uniform.h). Steps are functions over one struct, called once
 * each, in the order of this header. */
#ifndef SERVER_CORE_ASSIGNOR_UNIFORM_PLAN_H
#define SERVER_CORE_ASSIGNOR_UNIFORM_PLAN_H

#include "server/core/assignor/assign_plan.h"

/* A member, by rank. Its runs are kept.at[kept_begin .. kept_end), ascending, some perhaps empty;
 * dealt.at[dealt_begin .. dealt_end), and those of matches that name it. */
struct seat {
    int32_t kept_begin;
    int32_t kept_end;
    int32_t held; /* partitions, of all three */
    int32_t quota;
    int32_t dealt_begin;
    int32_t dealt_end;
};

struct uniform_plan {
    struct assign_plan *plan;
    struct seat *seats;
    struct assign_runs kept;    /* of the present target */
    struct assign_runs dealt;   /* of the pool, a member's together */
    struct assign_runs matches; /* of the pool, by rack, one partition each */
    int32_t *match_ranks;       /* for whom */

    struct assignor_share *shares; /* of the input's members: the result */
    int64_t *kept_of;              /* per edge: what its members keep */
    int64_t *wanted_of;            /* per edge: what they are to have */
    bool *is_fresh;                /* per class: has its result already */
    bool has_shared;               /* a group of several classes exists */
    bool has_racks;                /* a member and a topic have some */
    int64_t steps;                 /* taken */
    bool is_exhausted;
};

void uniform_keep(struct uniform_plan *uniform);
void uniform_spread(struct uniform_plan *uniform);
void uniform_balance(struct uniform_plan *uniform);
/* False: some class is not fresh. */
bool uniform_fresh(struct uniform_plan *uniform);
void uniform_release(struct uniform_plan *uniform);
void uniform_racks(struct uniform_plan *uniform);
void uniform_deal(struct uniform_plan *uniform);

/* Once: seats for all. A group that is fresh as a whole needs none. */
static inline void uniform_seat(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    if (uniform->seats == NULL) {
        uniform->seats =
            arena_alloc(plan->arena, (size_t)plan->member_count * sizeof *uniform->seats);
    }
}

/* The edge by which a member has a topic. */
static inline int32_t uniform_edge_of(const struct uniform_plan *uniform,
                                      int32_t rank,
                                      int32_t topic)
{
    const struct assign_plan *plan = uniform->plan;
    int32_t group = plan->group_of[topic];
    if (group < 0) {
        return -1;
    }
    int32_t class = plan->class_of[rank];
    int32_t first = plan->class_edge_start[class];
    if (first < plan->class_edge_start[class + 1] && plan->edge_group[first] == group) {
        return first;
    }
    return assign_plan_edge(plan, class, group);
}

/* What the members of a class are to have together. */
static inline int64_t uniform_wanted_of_class(const struct uniform_plan *uniform, int32_t class)
{
    int64_t wanted = 0;
    const int32_t *start = uniform->plan->class_edge_start;
    for (int32_t e = start[class]; e < start[class + 1]; e++) {
        wanted += uniform->wanted_of[e];
    }
    return wanted;
}

/* The share of a member, by rank. */
static inline struct assignor_share *uniform_share(const struct uniform_plan *uniform, int32_t rank)
{
    return &uniform->shares[uniform->plan->order[rank]];
}

#endif
