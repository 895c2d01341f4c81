/* What both assignors look at: the members in order, and who may have what, in sets.
 *
 * A *class* is the members with equal subscriptions; a *group* is the topics with the same
 * classes of subscribers; an *edge* is a group and a class that may have its partitions. Members of
 * a class, and partitions of a group, can stand in for each other, so decisions are made per edge,
 * of which there are few, and then dealt out. If all subscriptions are equal there is one of each.
 *
 * Members are known by their rank, the place in the order. Classes are numbered by their first
 * member's rank, groups by their first topic, edges by class and group: no number depends on the
 * order of the input. Topics that have no subscriber or nothing to hand out are in no group. */
#ifndef SERVER_CORE_ASSIGNOR_ASSIGN_PLAN_H
#define SERVER_CORE_ASSIGNOR_ASSIGN_PLAN_H

#include "server/core/assignor/assign_pool.h"

struct assign_plan {
    const struct assignor_input *input;
    struct arena *arena;
    int32_t member_count;
    int32_t *order; /* by rank, index into input->members */
    struct assign_pool pool;

    int32_t class_count;
    int32_t *class_of;    /* by rank */
    int32_t *class_start; /* [class_count + 1] into class_ranks, ascending within a class */
    int32_t *class_ranks;

    int32_t group_count;
    int32_t *group_of;    /* by topic; -1: none */
    int32_t *group_start; /* [group_count + 1] into group_topics, ascending within a group */
    int32_t *group_topics;
    int64_t *group_size; /* partitions to hand out */

    int32_t edge_count;
    int32_t *edge_class;
    int32_t *edge_group;
    int32_t *class_edge_start; /* [class_count + 1]: a class's edges are contiguous, by group */
    int32_t *group_edge_start; /* [group_count + 1] into group_edges, ascending within a group */
    int32_t *group_edges;
};

void assign_plan_init(struct assign_plan *plan,
                      const struct assignor_input *input,
                      struct arena *arena);

/* The edge of a class and a group, -1 if the class may not have it. */
int32_t assign_plan_edge(const struct assign_plan *plan, int32_t class, int32_t group);

static inline int32_t assign_plan_class_size(const struct assign_plan *plan, int32_t class)
{
    return plan->class_start[class + 1] - plan->class_start[class];
}

static inline int32_t assign_plan_edges_of_group(const struct assign_plan *plan, int32_t group)
{
    return plan->group_edge_start[group + 1] - plan->group_edge_start[group];
}

/* A group of one class that has no other: nothing is to be decided between classes. */
static inline bool assign_plan_is_alone(const struct assign_plan *plan, int32_t edge)
{
    int32_t class = plan->edge_class[edge];
    return plan->class_edge_start[class + 1] - plan->class_edge_start[class] == 1 &&
           assign_plan_edges_of_group(plan, plan->edge_group[edge]) == 1;
}

static inline const struct assignor_member *assign_plan_member(const struct assign_plan *plan,
                                                               int32_t rank)
{
    return &plan->input->members[plan->order[rank]];
}

/* Zeroed, of the plan's arena. */
static inline int32_t *assign_plan_ints(const struct assign_plan *plan, int64_t n)
{
    return arena_alloc(plan->arena, (size_t)n * sizeof(int32_t));
}

#endif
