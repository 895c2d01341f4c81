#include "server/core/assignor/uniform_plan.h"

/* What a class can take until each of its members has [level]. */
static int64_t room_below(const struct assign_plan *plan,
                          const int64_t *totals,
                          int32_t class,
                          int64_t level)
{
    int64_t room = level * assign_plan_class_size(plan, class) - totals[class];
    return room > 0 ? room : 0;
}

static int64_t room_of_group(const struct assign_plan *plan,
                             const int64_t *totals,
                             int32_t group,
                             int64_t level)
{
    int64_t room = 0;
    for (int32_t i = plan->group_edge_start[group]; i < plan->group_edge_start[group + 1]; i++) {
        room += room_below(plan, totals, plan->edge_class[plan->group_edges[i]], level);
    }
    return room;
}

/* The highest level up to which all of the group's classes can be filled with [orphans]. */
static int64_t find_level(const struct assign_plan *plan,
                          const int64_t *totals,
                          int32_t group,
                          int64_t orphans)
{
    int64_t low = INT64_MAX;
    for (int32_t i = plan->group_edge_start[group]; i < plan->group_edge_start[group + 1]; i++) {
        int32_t class = plan->edge_class[plan->group_edges[i]];
        int64_t level = totals[class] / assign_plan_class_size(plan, class);
        low = level < low ? level : low;
    }
    int64_t high = low + orphans; /* would take more than there are, for one class at least */
    while (low < high) {
        int64_t middle = high - (high - low) / 2;
        if (room_of_group(plan, totals, group, middle) <= orphans) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static void spread_group(struct uniform_plan *uniform, int64_t *totals, int32_t group)
{
    const struct assign_plan *plan = uniform->plan;
    const int32_t *edges = plan->group_edges + plan->group_edge_start[group];
    int32_t edge_count = assign_plan_edges_of_group(plan, group);
    int64_t orphans = plan->group_size[group];
    for (int32_t i = 0; i < edge_count; i++) {
        orphans -= uniform->kept_of[edges[i]];
    }
    if (orphans == 0) {
        return;
    }
    int64_t level = edge_count == 1 ? 0 : find_level(plan, totals, group, orphans);
    /* Up to the level, then up to the next one as far as they reach: to the first classes. */
    for (int64_t top = level; orphans > 0; top++) {
        for (int32_t i = 0; i < edge_count && orphans > 0; i++) {
            int32_t class = plan->edge_class[edges[i]];
            int64_t n = edge_count == 1 ? orphans : room_below(plan, totals, class, top);
            n = n < orphans ? n : orphans;
            uniform->wanted_of[edges[i]] += n;
            totals[class] += n;
            orphans -= n;
        }
    }
}

/* Groups with the fewest classes first: the others can still even things out. */
void uniform_spread(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    int64_t *totals = arena_alloc(plan->arena, (size_t)plan->class_count * sizeof *totals);
    for (int32_t e = 0; e < plan->edge_count; e++) {
        uniform->wanted_of[e] = uniform->kept_of[e];
        totals[plan->edge_class[e]] += uniform->kept_of[e];
    }
    int32_t *start = assign_plan_ints(plan, plan->class_count + 2);
    for (int32_t g = 0; g < plan->group_count; g++) {
        start[assign_plan_edges_of_group(plan, g) + 1]++;
    }
    for (int32_t n = 0; n <= plan->class_count; n++) {
        start[n + 1] += start[n];
    }
    int32_t *groups = assign_plan_ints(plan, plan->group_count);
    for (int32_t g = 0; g < plan->group_count; g++) {
        groups[start[assign_plan_edges_of_group(plan, g)]++] = g;
    }
    for (int32_t i = 0; i < plan->group_count; i++) {
        spread_group(uniform, totals, groups[i]);
    }
}
