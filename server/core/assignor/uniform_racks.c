#include "server/core/assignor/uniform_plan.h"

/* Who lacks something, by class and rack: [class * ASSIGNOR_RACKS + rack]. */
struct demand {
    uint64_t racks; /* of all members */
    int32_t *lacking;
    int32_t *next; /* index into the class's ranks: nobody of that rack before it lacks anything */
};

static struct demand demand_of(const struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    int64_t cells = (int64_t)plan->class_count * ASSIGNOR_RACKS;
    struct demand demand = {0, assign_plan_ints(plan, cells), assign_plan_ints(plan, cells)};
    for (int32_t i = 0; i < plan->member_count; i++) {
        int32_t rack = assign_plan_member(plan, i)->rack;
        if (rack >= 0) {
            demand.racks |= (uint64_t)1 << rack;
            demand.lacking[plan->class_of[i] * ASSIGNOR_RACKS + rack] +=
                uniform->seats[i].quota - uniform->seats[i].held;
        }
    }
    return demand;
}

/* The cell of the class and rack that lack most and may have a partition with these racks; -1:
 * none. */
static int32_t find_cell(const struct uniform_plan *uniform,
                         const struct demand *demand,
                         int32_t group,
                         uint64_t racks,
                         int32_t *edge)
{
    const struct assign_plan *plan = uniform->plan;
    int32_t best = -1;
    for (int32_t i = plan->group_edge_start[group]; i < plan->group_edge_start[group + 1]; i++) {
        int32_t e = plan->group_edges[i];
        if (uniform->kept_of[e] >= uniform->wanted_of[e]) {
            continue;
        }
        for (uint64_t left = racks; left != 0; left &= left - 1) {
            int32_t cell = plan->edge_class[e] * ASSIGNOR_RACKS + __builtin_ctzll(left);
            if (demand->lacking[cell] > (best < 0 ? 0 : demand->lacking[best])) {
                best = cell;
                *edge = e;
            }
        }
    }
    return best;
}

static int32_t member_of(const struct uniform_plan *uniform, struct demand *demand, int32_t cell)
{
    const struct assign_plan *plan = uniform->plan;
    const int32_t *ranks = plan->class_ranks + plan->class_start[cell / ASSIGNOR_RACKS];
    for (;; demand->next[cell]++) {
        int32_t rank = ranks[demand->next[cell]];
        const struct seat *seat = &uniform->seats[rank];
        if (assign_plan_member(plan, rank)->rack == cell % ASSIGNOR_RACKS &&
            seat->held < seat->quota) {
            return rank;
        }
    }
}

static void add_match(struct uniform_plan *uniform, int32_t rank, struct assignor_run run)
{
    struct assign_plan *plan = uniform->plan;
    int32_t capacity = uniform->matches.capacity;
    int32_t at = uniform->matches.count;
    assign_pool_claim(&plan->pool, run, &uniform->matches);
    if (uniform->matches.capacity != capacity) {
        int32_t *old = uniform->match_ranks;
        uniform->match_ranks = assign_plan_ints(plan, uniform->matches.capacity);
        memcpy(uniform->match_ranks, old, (size_t)at * sizeof *old);
    }
    uniform->match_ranks[at] = rank;
    uniform->seats[rank].held++;
}

/* Those with one replica's rack to choose from first: the others find somebody more easily. Those
 * that are everywhere need not look for anybody. */
static void match_topic(struct uniform_plan *uniform,
                        struct demand *demand,
                        int32_t topic,
                        bool is_choosy)
{
    const struct assign_plan *plan = uniform->plan;
    const uint64_t *racks = plan->input->topics[topic].racks;
    struct assign_walk walk = {&topic, 1, 0, 0};
    struct assignor_run run;
    while (assign_pool_next(&plan->pool, &walk, 1, &run)) {
        uint64_t of = racks[run.first];
        bool is_everywhere = (of & demand->racks) == demand->racks;
        bool has_one = (of & (of - 1)) == 0;
        if (is_everywhere || has_one != is_choosy) {
            continue;
        }
        int32_t edge = -1;
        int32_t cell = find_cell(uniform, demand, plan->group_of[topic], of, &edge);
        if (cell >= 0) {
            add_match(uniform, member_of(uniform, demand, cell), run);
            uniform->kept_of[edge]++;
            demand->lacking[cell]--;
        }
    }
}

void uniform_racks(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    if (!uniform->has_racks) {
        return;
    }
    struct demand demand = demand_of(uniform);
    assign_runs_init(&uniform->matches, plan->arena, plan->member_count);
    uniform->match_ranks = assign_plan_ints(plan, uniform->matches.capacity);
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t t = 0; t < plan->input->topic_count; t++) {
            if (plan->group_of[t] >= 0 && plan->input->topics[t].racks != NULL) {
                match_topic(uniform, &demand, t, pass == 0);
            }
        }
    }
}
