#include "server/core/assignor/range.h"

/* A topic on its way through its subscribers. */
struct lane {
    int32_t topic;
    int32_t quota;
    int32_t longer; /* how many more subscribers get one more */
    int32_t next;   /* the first partition not given away */
};

static struct lane lane_of(const struct assign_plan *plan, int32_t topic, int32_t subscribers)
{
    int32_t partitions = plan->pool.assignable[topic];
    return (struct lane){topic, partitions / subscribers, partitions % subscribers, 0};
}

/* The next subscriber's block. Returns how many partitions that is; 0: neither it nor any after it
 * gets one. */
static inline int32_t take_block(const struct assign_plan *plan,
                                 struct lane *lane,
                                 struct assign_runs *runs)
{
    int32_t left = lane->quota + (lane->longer > 0);
    int32_t count = left;
    lane->longer -= lane->longer > 0;
    if (plan->pool.is_whole[lane->topic]) {
        if (left > 0) {
            assign_runs_push(runs, (struct assignor_run){lane->topic, lane->next, left});
            lane->next += left;
        }
        return count;
    }
    struct assign_walk walk = {&lane->topic, 1, 0, lane->next};
    struct assignor_run run;
    while (left > 0 && assign_pool_next(&plan->pool, &walk, left, &run)) {
        assign_runs_push(runs, run);
        left -= run.count;
    }
    lane->next = walk.partition;
    return count;
}

/* A class and a group that have only each other: member by member, so that each one's runs are
 * written where they stay. */
static void assign_alone(const struct assign_plan *plan,
                         int32_t edge,
                         struct assign_runs *runs,
                         int32_t *begin,
                         struct assignor_result *result)
{
    int32_t class = plan->edge_class[edge];
    int32_t group = plan->edge_group[edge];
    int32_t subscribers = assign_plan_class_size(plan, class);
    int32_t first = plan->group_start[group];
    int32_t lane_count = plan->group_start[group + 1] - first;
    struct lane *lanes = arena_alloc(plan->arena, (size_t)lane_count * sizeof *lanes);
    for (int32_t i = 0; i < lane_count; i++) {
        lanes[i] = lane_of(plan, plan->group_topics[first + i], subscribers);
    }
    for (int32_t i = 0; i < subscribers && lane_count > 0; i++) {
        int32_t rank = plan->class_ranks[plan->class_start[class] + i];
        int32_t partitions = 0;
        int32_t kept = 0;
        begin[rank] = runs->count;
        for (int32_t l = 0; l < lane_count; l++) {
            int32_t count = take_block(plan, &lanes[l], runs);
            partitions += count;
            if (kept != l) {
                lanes[kept] = lanes[l];
            }
            kept += count > 0;
        }
        lane_count = kept;
        struct assignor_share *share = &result->shares[plan->order[rank]];
        share->run_count = runs->count - begin[rank];
        share->partition_count = partitions;
    }
}

/* The subscribers of every group of several edges, by rank. Starts at [group + 1]. */
static int32_t *list_subscribers(const struct assign_plan *plan, int64_t **starts)
{
    int64_t *start = arena_alloc(plan->arena, (size_t)(plan->group_count + 1) * sizeof *start);
    for (int32_t e = 0; e < plan->edge_count; e++) {
        if (!assign_plan_is_alone(plan, e)) {
            start[plan->edge_group[e] + 1] += assign_plan_class_size(plan, plan->edge_class[e]);
        }
    }
    for (int32_t g = 0; g < plan->group_count; g++) {
        start[g + 1] += start[g];
    }
    int32_t *ranks = assign_plan_ints(plan, start[plan->group_count]);
    int32_t *next = assign_plan_ints(plan, plan->group_count);
    for (int32_t i = 0; i < plan->member_count; i++) {
        int32_t class = plan->class_of[i];
        for (int32_t e = plan->class_edge_start[class]; e < plan->class_edge_start[class + 1];
             e++) {
            int32_t g = plan->edge_group[e];
            if (!assign_plan_is_alone(plan, e)) {
                ranks[start[g] + next[g]++] = i;
            }
        }
    }
    *starts = start;
    return ranks;
}

/* Blocks topic by topic, each with the rank that it is for. */
struct blocks {
    struct assign_runs runs;
    int32_t *ranks;
    int32_t capacity;
};

static void name_blocks(const struct assign_plan *plan,
                        struct blocks *blocks,
                        int32_t from,
                        int32_t rank)
{
    if (blocks->runs.capacity != blocks->capacity) {
        int32_t *old = blocks->ranks;
        blocks->capacity = blocks->runs.capacity;
        blocks->ranks = assign_plan_ints(plan, blocks->capacity);
        memcpy(blocks->ranks, old, (size_t)from * sizeof *old);
    }
    for (int32_t b = from; b < blocks->runs.count; b++) {
        blocks->ranks[b] = rank;
    }
}

static void cut_topics(const struct assign_plan *plan,
                       const int32_t *subscribers,
                       const int64_t *start,
                       struct blocks *blocks,
                       struct assignor_result *result)
{
    for (int32_t t = 0; t < plan->input->topic_count; t++) {
        int32_t group = plan->group_of[t];
        if (group < 0 || start[group + 1] == start[group]) {
            continue;
        }
        int32_t count = (int32_t)(start[group + 1] - start[group]);
        struct lane lane = lane_of(plan, t, count);
        for (int32_t i = 0; i < count; i++) {
            int32_t rank = subscribers[start[group] + i];
            int32_t from = blocks->runs.count;
            int32_t partitions = take_block(plan, &lane, &blocks->runs);
            if (partitions == 0) {
                break;
            }
            name_blocks(plan, blocks, from, rank);
            struct assignor_share *share = &result->shares[plan->order[rank]];
            share->run_count += blocks->runs.count - from;
            share->partition_count += partitions;
        }
    }
}

/* Classes that share topics: topic by topic, then sorted by member, which keeps the topics'
 * order. */
static void assign_shared(const struct assign_plan *plan,
                          struct assign_runs *runs,
                          int32_t *begin,
                          struct assignor_result *result)
{
    int64_t *start;
    int32_t *subscribers = list_subscribers(plan, &start);
    if (start[plan->group_count] == 0) {
        return;
    }
    struct blocks blocks;
    assign_runs_init(&blocks.runs, plan->arena, plan->member_count);
    blocks.capacity = blocks.runs.capacity;
    blocks.ranks = assign_plan_ints(plan, blocks.capacity);
    cut_topics(plan, subscribers, start, &blocks, result);
    int32_t count = blocks.runs.count;
    int32_t *next = assign_plan_ints(plan, plan->member_count + 1);
    for (int32_t b = 0; b < count; b++) {
        next[blocks.ranks[b] + 1]++;
    }
    int32_t base = runs->count;
    for (int32_t i = 0; i < plan->member_count; i++) {
        if (next[i + 1] != 0) {
            begin[i] = base + next[i];
        }
        next[i + 1] += next[i];
    }
    for (int32_t b = 0; b < count; b++) {
        assign_runs_push(runs, (struct assignor_run){0, 0, 0});
    }
    for (int32_t b = 0; b < count; b++) {
        runs->at[base + next[blocks.ranks[b]]++] = blocks.runs.at[b];
    }
}

/* About how many runs there will be: one per member and topic that has enough partitions. */
static int64_t expected_runs(const struct assign_plan *plan)
{
    int64_t runs = 0;
    for (int32_t e = 0; e < plan->edge_count; e++) {
        if (!assign_plan_is_alone(plan, e)) {
            continue;
        }
        int32_t subscribers = assign_plan_class_size(plan, plan->edge_class[e]);
        int32_t group = plan->edge_group[e];
        for (int32_t i = plan->group_start[group]; i < plan->group_start[group + 1]; i++) {
            int32_t partitions = plan->pool.assignable[plan->group_topics[i]];
            runs += partitions < subscribers ? partitions : subscribers;
        }
    }
    return runs;
}

void range_assign(struct assign_plan *plan, struct assignor_result *result)
{
    int32_t *begin = assign_plan_ints(plan, plan->member_count);
    struct assign_runs runs;
    assign_runs_init(&runs, plan->arena, expected_runs(plan));
    for (int32_t e = 0; e < plan->edge_count; e++) {
        if (assign_plan_is_alone(plan, e)) {
            assign_alone(plan, e, &runs, begin, result);
        }
    }
    assign_shared(plan, &runs, begin, result);
    for (int32_t i = 0; i < plan->member_count; i++) {
        result->shares[plan->order[i]].runs = runs.at + begin[i];
    }
}
