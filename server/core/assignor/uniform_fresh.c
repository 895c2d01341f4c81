#include "rpc/ensure.h"
#include "server/core/assignor/uniform_plan.h"

/* As many runs as there can be: a topic in one piece has one more than members that end in it. */
static int64_t most_runs(const struct assign_plan *plan,
                         const struct assign_walk *walk,
                         int32_t size)
{
    int64_t runs = size;
    for (int32_t i = 0; i < walk->topic_count; i++) {
        int32_t topic = walk->topics[i];
        runs += plan->pool.is_whole[topic] ? 1 : plan->pool.assignable[topic];
    }
    return runs;
}

/* All partitions of the class's only group, dealt out member after member. */
static void deal_all(struct uniform_plan *uniform, int32_t class, int32_t edge)
{
    const struct assign_plan *plan = uniform->plan;
    int32_t group = plan->edge_group[edge];
    int32_t size = assign_plan_class_size(plan, class);
    int32_t quota = (int32_t)(plan->group_size[group] / size);
    int32_t longer = (int32_t)(plan->group_size[group] % size);
    const int32_t *ranks = plan->class_ranks + plan->class_start[class];
    struct assign_walk walk = {
        .topics = plan->group_topics + plan->group_start[group],
        .topic_count = plan->group_start[group + 1] - plan->group_start[group],
    };
    struct assign_runs runs;
    assign_runs_init(&runs, plan->arena, most_runs(plan, &walk, size));
    struct assignor_run *next = runs.at;
    /* Free and not yet dealt; no struct, so that they stay in registers. */
    int32_t topic = 0;
    int32_t at = 0;
    int32_t end = 0;
    for (int32_t i = 0; i < size; i++) {
        struct assignor_run *first = next;
        int32_t share = quota + (i < longer);
        for (int32_t left = share; left > 0; next++) {
            if (at == end) {
                struct assignor_run piece = {0, 0, 0};
                ensure(assign_pool_next(&plan->pool, &walk, INT32_MAX, &piece));
                topic = piece.topic;
                at = piece.first;
                end = at + piece.count;
            }
            int32_t count = end - at < left ? end - at : left;
            *next = (struct assignor_run){topic, at, count};
            at += count;
            left -= count;
        }
        *uniform_share(uniform, ranks[i]) =
            (struct assignor_share){first, (int32_t)(next - first), share};
    }
}

/* Classes without anything to keep, which have a group to themselves and no racks to mind: those of
 * every new group. Nothing is to be decided for them, so they go past all the other steps. */
bool uniform_fresh(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    bool is_all = true;
    for (int32_t c = 0; c < plan->class_count; c++) {
        int32_t edge = plan->class_edge_start[c];
        if (!uniform->has_racks && edge < plan->class_edge_start[c + 1] &&
            assign_plan_is_alone(plan, edge) && uniform->kept_of[edge] == 0) {
            deal_all(uniform, c, edge);
            uniform->is_fresh[c] = true;
        } else {
            is_all = false;
        }
    }
    return is_all;
}
