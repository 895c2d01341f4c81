#include "server/core/assignor/uniform_plan.h"

/* Divide and conquer over the classes. Of a set of classes whose members' loads lie more than one
 * apart, as much as possible is moved from above some level to below it (a maximum flow: from class
 * to group as far as the class has something of it, from group to any of its classes). What then
 * can still be reached from classes above the level cannot give anything to the rest, and the rest
 * has nobody above the level: the two parts are sets for themselves. A set within one needs
 * nothing. The flow is Dinic's: only shortest chains, so that few partitions move. */
struct search {
    struct uniform_plan *uniform;
    const struct assign_plan *plan;
    int64_t *totals;  /* per class */
    int32_t *classes; /* the sets, one after the other */
    int32_t *spare;
    int32_t *set_of; /* per class, the number of its set */
    int32_t sets;    /* numbers used so far */
    int64_t level;   /* of the present flow */

    /* By node, a class or, behind the classes, a group. */
    int32_t *round_of; /* when it was last reached */
    int32_t *distance;
    int32_t *next; /* the first of its edges not yet tried */
    int32_t round;
    int32_t *queue;
    int32_t *path; /* edges, class to group and group to class in turn */
};

struct set {
    int32_t begin; /* in classes */
    int32_t end;
};

static int64_t at_level(const struct search *search, int32_t class)
{
    return search->level * assign_plan_class_size(search->plan, class);
}

/* Of a class: what it has above the level (negative: below). */
static int64_t excess(const struct search *search, int32_t class)
{
    return search->totals[class] - at_level(search, class);
}

/* Every look at an edge is a step. False: there is none left. */
static bool take_step(struct search *search)
{
    if (search->uniform->steps >= search->plan->input->steps) {
        search->uniform->is_exhausted = true;
        return false;
    }
    search->uniform->steps++;
    return true;
}

static int32_t edge_at(const struct search *search, int32_t node, int32_t index)
{
    return node < search->plan->class_count ? index : search->plan->group_edges[index];
}

static int32_t edges_begin(const struct search *search, int32_t node)
{
    const struct assign_plan *plan = search->plan;
    return node < plan->class_count ? plan->class_edge_start[node]
                                    : plan->group_edge_start[node - plan->class_count];
}

static int32_t edges_end(const struct search *search, int32_t node)
{
    const struct assign_plan *plan = search->plan;
    return node < plan->class_count ? plan->class_edge_start[node + 1]
                                    : plan->group_edge_start[node - plan->class_count + 1];
}

/* Where an edge leads from a node; -1: not to be gone now. */
static int32_t go(const struct search *search, int32_t node, int32_t edge, int32_t set)
{
    const struct assign_plan *plan = search->plan;
    if (node < plan->class_count) {
        return search->uniform->wanted_of[edge] > 0 ? plan->class_count + plan->edge_group[edge]
                                                    : -1;
    }
    int32_t class = plan->edge_class[edge];
    return search->set_of[class] == set ? class : -1;
}

static void reach(struct search *search, int32_t node, int32_t distance, int32_t *queued)
{
    search->round_of[node] = search->round;
    search->distance[node] = distance;
    search->next[node] = edges_begin(search, node);
    search->queue[(*queued)++] = node;
}

/* Breadth first from all classes above the level, until one below it is found. */
static bool find_distances(struct search *search, struct set set)
{
    int32_t number = search->set_of[search->classes[set.begin]];
    int32_t queued = 0;
    int32_t nearest = INT32_MAX;
    search->round++;
    for (int32_t i = set.begin; i < set.end; i++) {
        if (excess(search, search->classes[i]) > 0) {
            reach(search, search->classes[i], 0, &queued);
        }
    }
    for (int32_t q = 0; q < queued && search->distance[search->queue[q]] < nearest; q++) {
        int32_t node = search->queue[q];
        for (int32_t i = edges_begin(search, node); i < edges_end(search, node); i++) {
            if (!take_step(search)) {
                return false;
            }
            int32_t to = go(search, node, edge_at(search, node, i), number);
            if (to < 0 || search->round_of[to] == search->round) {
                continue;
            }
            reach(search, to, search->distance[node] + 1, &queued);
            if (to < search->plan->class_count && excess(search, to) < 0) {
                nearest = search->distance[to];
            }
        }
    }
    return nearest != INT32_MAX;
}

/* Moves along the path as much as source, target and what the classes on it have allow. */
static void push(struct search *search, int32_t length, int32_t source, int32_t target)
{
    int64_t *wanted_of = search->uniform->wanted_of;
    int64_t most = excess(search, source);
    most = -excess(search, target) < most ? -excess(search, target) : most;
    for (int32_t i = 0; i < length; i += 2) {
        most = wanted_of[search->path[i]] < most ? wanted_of[search->path[i]] : most;
    }
    for (int32_t i = 0; i < length; i += 2) {
        wanted_of[search->path[i]] -= most;
        wanted_of[search->path[i + 1]] += most;
    }
    search->totals[source] -= most;
    search->totals[target] += most;
}

/* The next node one further on the way; its edge is put onto the path. -1: a dead end. */
static int32_t advance(struct search *search, int32_t node, int32_t set, int32_t length)
{
    for (; search->next[node] < edges_end(search, node); search->next[node]++) {
        if (!take_step(search)) {
            return -1;
        }
        int32_t edge = edge_at(search, node, search->next[node]);
        int32_t to = go(search, node, edge, set);
        if (to >= 0 && search->round_of[to] == search->round &&
            search->distance[to] == search->distance[node] + 1) {
            search->path[length] = edge;
            return to;
        }
    }
    return -1;
}

/* Depth first from one class, along growing distances only, until it is down at the level or has
 * no way left. */
static void drain(struct search *search, int32_t source)
{
    const struct assign_plan *plan = search->plan;
    int32_t set = search->set_of[source];
    int32_t node = source;
    int32_t length = 0;
    while (!search->uniform->is_exhausted && excess(search, source) > 0) {
        if (node < plan->class_count && excess(search, node) < 0) {
            push(search, length, source, node);
            node = source;
            length = 0;
            continue;
        }
        int32_t to = advance(search, node, set, length);
        if (to >= 0) {
            node = to;
            length++;
            continue;
        }
        if (length == 0) {
            return;
        }
        int32_t edge = search->path[--length];
        node =
            length % 2 == 0 ? plan->edge_class[edge] : plan->class_count + plan->edge_group[edge];
        search->next[node]++;
    }
}

/* A level with somebody above and somebody below it, near the mean; false: all are within one. */
static bool find_level(struct search *search, struct set set)
{
    int64_t low = INT64_MAX;
    int64_t high = 0;
    int64_t members = 0;
    int64_t partitions = 0;
    for (int32_t i = set.begin; i < set.end; i++) {
        int32_t class = search->classes[i];
        int64_t size = assign_plan_class_size(search->plan, class);
        int64_t total = search->totals[class];
        low = total / size < low ? total / size : low;
        high = (total + size - 1) / size > high ? (total + size - 1) / size : high;
        members += size;
        partitions += total;
    }
    if (members == 0 || high - low <= 1) {
        return false;
    }
    search->level = partitions / members > low ? partitions / members : low + 1;
    return true;
}

/* What the last search reached comes first. Returns where the rest begins. */
static int32_t part(struct search *search, struct set set)
{
    int32_t reached = set.begin;
    int32_t others = 0;
    search->sets += 2;
    for (int32_t i = set.begin; i < set.end; i++) {
        int32_t class = search->classes[i];
        if (search->round_of[class] == search->round) {
            search->classes[reached++] = class;
            search->set_of[class] = search->sets - 1;
        } else {
            search->spare[others++] = class;
            search->set_of[class] = search->sets;
        }
    }
    memcpy(search->classes + reached, search->spare, (size_t)others * sizeof *search->spare);
    return reached;
}

static void init(struct search *search, struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    int64_t nodes = (int64_t)plan->class_count + plan->group_count;
    *search = (struct search){
        .uniform = uniform,
        .plan = plan,
        .totals = arena_alloc(plan->arena, (size_t)plan->class_count * sizeof(int64_t)),
        .classes = assign_plan_ints(plan, plan->class_count),
        .spare = assign_plan_ints(plan, plan->class_count),
        .set_of = assign_plan_ints(plan, plan->class_count),
        .round_of = assign_plan_ints(plan, nodes),
        .distance = assign_plan_ints(plan, nodes),
        .next = assign_plan_ints(plan, nodes),
        .queue = assign_plan_ints(plan, nodes),
        .path = assign_plan_ints(plan, nodes),
    };
}

/* Classes that share groups with others; set 0 is all of them, and nobody else is looked at. */
static int32_t list_classes(struct search *search)
{
    const struct assign_plan *plan = search->plan;
    int32_t n = 0;
    for (int32_t c = 0; c < plan->class_count; c++) {
        int32_t first = plan->class_edge_start[c];
        if (first < plan->class_edge_start[c + 1] && !assign_plan_is_alone(plan, first)) {
            search->classes[n++] = c;
            search->totals[c] = uniform_wanted_of_class(search->uniform, c);
        }
    }
    return n;
}

void uniform_balance(struct uniform_plan *uniform)
{
    if (!uniform->has_shared) {
        return;
    }
    struct search search;
    init(&search, uniform);
    /* A set is parted into two smaller ones, so there are never more sets than classes. */
    struct set *sets =
        arena_alloc(uniform->plan->arena, (size_t)(uniform->plan->class_count + 1) * sizeof *sets);
    sets[0] = (struct set){0, list_classes(&search)};
    for (int32_t left = 1; left > 0 && !uniform->is_exhausted;) {
        struct set set = sets[left - 1];
        if (!find_level(&search, set)) {
            left--;
            continue;
        }
        while (find_distances(&search, set)) {
            for (int32_t i = set.begin; i < set.end; i++) {
                drain(&search, search.classes[i]);
            }
        }
        if (uniform->is_exhausted) {
            return;
        }
        int32_t middle = part(&search, set);
        left--;
        if (middle > set.begin) {
            sets[left++] = (struct set){set.begin, middle};
        }
        if (middle < set.end) {
            sets[left++] = (struct set){middle, set.end};
        }
    }
}
