#include "server/core/assignor/assign_plan.h"

#include "rpc/ensure.h"
#include "server/core/assignor/assign_classes.h"
#include "server/core/assignor/assign_order.h"

/* Turns counts at [i + 1] into starts at [i]. */
static void add_up(int32_t *starts, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        starts[i + 1] += starts[i];
    }
}

static void list_ranks(struct assign_plan *plan)
{
    plan->class_start = assign_plan_ints(plan, plan->class_count + 1);
    plan->class_ranks = assign_plan_ints(plan, plan->member_count);
    if (plan->class_count == 1) {
        for (int32_t i = 0; i < plan->member_count; i++) {
            plan->class_ranks[i] = i;
        }
        plan->class_start[1] = plan->member_count;
        return;
    }
    for (int32_t i = 0; i < plan->member_count; i++) {
        plan->class_start[plan->class_of[i] + 1]++;
    }
    add_up(plan->class_start, plan->class_count);
    int32_t *next = assign_plan_ints(plan, plan->class_count);
    for (int32_t i = 0; i < plan->member_count; i++) {
        int32_t class = plan->class_of[i];
        plan->class_ranks[plan->class_start[class] + next[class]++] = i;
    }
}

static void list_topics(struct assign_plan *plan)
{
    int32_t topics = plan->input->topic_count;
    plan->group_start = assign_plan_ints(plan, plan->group_count + 1);
    plan->group_size = arena_alloc(plan->arena, (size_t)plan->group_count * sizeof(int64_t));
    for (int32_t t = 0; t < topics; t++) {
        if (plan->group_of[t] >= 0) {
            plan->group_start[plan->group_of[t] + 1]++;
            plan->group_size[plan->group_of[t]] += plan->pool.assignable[t];
        }
    }
    add_up(plan->group_start, plan->group_count);
    plan->group_topics = assign_plan_ints(plan, topics);
    int32_t *next = assign_plan_ints(plan, plan->group_count);
    for (int32_t t = 0; t < topics; t++) {
        int32_t group = plan->group_of[t];
        if (group >= 0) {
            plan->group_topics[plan->group_start[group] + next[group]++] = t;
        }
    }
}

/* Calls of one class, in the order of its topics, which is that of its groups: a class has all
 * topics of a group or none. With [edges] the edges are written, else counted. */
static int32_t walk_class(struct assign_plan *plan,
                          const struct assignor_subscription *subscription,
                          int32_t class,
                          int32_t edge,
                          bool writes)
{
    for (int32_t i = 0; i < subscription->topic_count; i++) {
        int32_t topic = subscription->topics[i];
        int32_t group = plan->group_of[topic];
        if (group < 0 || plan->group_topics[plan->group_start[group]] != topic) {
            continue;
        }
        if (writes) {
            plan->edge_class[edge] = class;
            plan->edge_group[edge] = group;
            plan->group_edge_start[group + 1]++;
        }
        edge++;
    }
    return edge;
}

static void list_edges(struct assign_plan *plan, const struct assignor_subscription **subscriptions)
{
    plan->class_edge_start = assign_plan_ints(plan, plan->class_count + 1);
    plan->group_edge_start = assign_plan_ints(plan, plan->group_count + 1);
    for (int32_t c = 0; c < plan->class_count; c++) {
        plan->class_edge_start[c + 1] =
            walk_class(plan, subscriptions[c], c, plan->class_edge_start[c], false);
    }
    plan->edge_count = plan->class_edge_start[plan->class_count];
    plan->edge_class = assign_plan_ints(plan, plan->edge_count);
    plan->edge_group = assign_plan_ints(plan, plan->edge_count);
    for (int32_t c = 0; c < plan->class_count; c++) {
        walk_class(plan, subscriptions[c], c, plan->class_edge_start[c], true);
    }
    add_up(plan->group_edge_start, plan->group_count);
    plan->group_edges = assign_plan_ints(plan, plan->edge_count);
    int32_t *next = assign_plan_ints(plan, plan->group_count);
    for (int32_t e = 0; e < plan->edge_count; e++) {
        int32_t group = plan->edge_group[e];
        plan->group_edges[plan->group_edge_start[group] + next[group]++] = e;
    }
}

void assign_plan_init(struct assign_plan *plan,
                      const struct assignor_input *input,
                      struct arena *arena)
{
    ensure(input->member_count >= 0 && input->topic_count >= 0 && input->subscription_count >= 0);
    *plan =
        (struct assign_plan){.input = input, .arena = arena, .member_count = input->member_count};
    plan->order = assign_order_make(input, arena);
    assign_pool_init(&plan->pool, input, arena);
    const struct assignor_subscription **subscriptions = assign_classes_make(plan);
    assign_classes_group_topics(plan, subscriptions);
    list_ranks(plan);
    list_topics(plan);
    list_edges(plan, subscriptions);
}

int32_t assign_plan_edge(const struct assign_plan *plan, int32_t class, int32_t group)
{
    int32_t low = plan->class_edge_start[class];
    int32_t high = plan->class_edge_start[class + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (plan->edge_group[middle] == group) {
            return middle;
        }
        if (plan->edge_group[middle] < group) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}
