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

/* The topics of a group of one class, those of which there is something left. */
struct road {
    struct lane *lanes;
    int32_t lane_count;
    int32_t end;   /* the first subscriber that gets nothing of some lane */
    bool is_whole; /* all of them: a block is a run */
};

static struct road road_of(const struct assign_plan *plan, int32_t group, int32_t subscribers)
{
    int32_t first = plan->group_start[group];
    struct road road = {.lane_count = plan->group_start[group + 1] - first, .is_whole = true};
    road.lanes = arena_alloc(plan->arena, (size_t)road.lane_count * sizeof *road.lanes);
    for (int32_t i = 0; i < road.lane_count; i++) {
        int32_t topic = plan->group_topics[first + i];
        road.lanes[i] = lane_of(plan, topic, subscribers);
        road.is_whole = road.is_whole && plan->pool.is_whole[topic];
    }
    return road;
}

/* Forgets the topics of which subscriber [i] gets nothing. */
static void drop_ended(struct road *road, int32_t i)
{
    int32_t kept = 0;
    road->end = INT32_MAX;
    for (int32_t l = 0; l < road->lane_count; l++) {
        struct lane lane = road->lanes[l];
        if (lane.quota == 0 && lane.longer <= i) {
            continue;
        }
        road->lanes[kept++] = lane;
        if (lane.quota == 0 && lane.longer < road->end) {
            road->end = lane.longer;
        }
    }
    road->lane_count = kept;
}

/* A member's block of each topic. Returns how many partitions that is. */
static int32_t take_blocks(const struct assign_plan *plan,
                           struct road *road,
                           struct assign_runs *runs)
{
    int32_t partitions = 0;
    int32_t kept = 0;
    for (int32_t l = 0; l < road->lane_count; l++) {
        int32_t count = take_block(plan, &road->lanes[l], runs);
        partitions += count;
        road->lanes[kept] = road->lanes[l];
        kept += count > 0;
    }
    road->lane_count = kept;
    return partitions;
}

/* The same for the subscriber number [i] where all topics are whole. Nothing is carried along,
 * which is twice as fast: lanes change only where one of them ends. */
static int32_t take_whole_blocks(struct road *road, int32_t i, struct assign_runs *runs)
{
    if (i == road->end) {
        drop_ended(road, i);
    }
    assign_runs_reserve(runs, road->lane_count);
    struct assignor_run *next = runs->at + runs->count;
    int32_t partitions = 0;
    for (int32_t l = 0; l < road->lane_count; l++) {
        const struct lane *lane = &road->lanes[l];
        int32_t longer_before = i < lane->longer ? i : lane->longer;
        int32_t count = lane->quota + (i < lane->longer);
        next->topic = lane->topic;
        next->first = i * lane->quota + longer_before;
        next->count = count;
        next++;
        partitions += count;
    }
    runs->count += road->lane_count;
    return partitions;
}

/* A class and a group that have only each other: member by member, so that each one's runs are
 * written where they stay. */
static void assign_alone(const struct assign_plan *plan,
                         int32_t edge,
                         struct assign_runs *runs,
                         struct assignor_result *result)
{
    int32_t class = plan->edge_class[edge];
    int32_t subscribers = assign_plan_class_size(plan, class);
    const int32_t *ranks = plan->class_ranks + plan->class_start[class];
    struct road road = road_of(plan, plan->edge_group[edge], subscribers);
    for (int32_t i = 0; i < subscribers && road.lane_count > 0; i++) {
        int32_t begin = runs->count;
        int32_t partitions;
        if (road.is_whole) {
            partitions = take_whole_blocks(&road, i, runs);
        } else {
            partitions = take_blocks(plan, &road, runs);
        }
        /* If the list grows later, what is left behind stays as it is. */
        result->shares[plan->order[ranks[i]]] =
            (struct assignor_share){runs->at + begin, runs->count - begin, partitions};
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
static void assign_shared(const struct assign_plan *plan, struct assignor_result *result)
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
    struct assignor_run *sorted = arena_alloc(plan->arena, (size_t)count * sizeof *sorted);
    int32_t *next = assign_plan_ints(plan, plan->member_count + 1);
    for (int32_t b = 0; b < count; b++) {
        next[blocks.ranks[b] + 1]++;
    }
    for (int32_t i = 0; i < plan->member_count; i++) {
        if (next[i + 1] != 0) {
            result->shares[plan->order[i]].runs = sorted + next[i];
        }
        next[i + 1] += next[i];
    }
    for (int32_t b = 0; b < count; b++) {
        sorted[next[blocks.ranks[b]]++] = blocks.runs.at[b];
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
    struct assign_runs runs;
    assign_runs_init(&runs, plan->arena, expected_runs(plan));
    for (int32_t e = 0; e < plan->edge_count; e++) {
        if (assign_plan_is_alone(plan, e)) {
            assign_alone(plan, e, &runs, result);
        }
    }
    assign_shared(plan, result);
}
