#include "server/core/assignor/uniform_plan.h"

enum give_back {
    GIVE_BACK_EXCESS, /* only what its class holds beyond the edge's number */
    GIVE_BACK_ANY,
};

/* How many of the run's partitions may go. */
static int64_t allowed(const struct uniform_plan *uniform, int32_t edge, enum give_back which)
{
    return which == GIVE_BACK_ANY ? INT32_MAX : uniform->kept_of[edge] - uniform->wanted_of[edge];
}

static bool is_mismatch(const struct uniform_plan *uniform, int32_t topic, int32_t at, int32_t rack)
{
    const uint64_t *racks = uniform->plan->input->topics[topic].racks;
    return racks != NULL && (racks[at] >> rack & 1) == 0;
}

static void reverse(struct assignor_run *runs, int32_t n)
{
    for (int32_t i = 0; i < n / 2; i++) {
        struct assignor_run swap = runs[i];
        runs[i] = runs[n - 1 - i];
        runs[n - 1 - i] = swap;
    }
}

/* Takes partitions out of the middle of runs, so the member's runs are written anew. */
static int64_t give_back_mismatches(struct uniform_plan *uniform,
                                    int32_t rank,
                                    enum give_back which,
                                    int64_t most)
{
    struct assign_plan *plan = uniform->plan;
    struct assign_runs *kept = &uniform->kept;
    struct seat *seat = &uniform->seats[rank];
    int64_t given = 0;
    int32_t begin = kept->count;
    for (int32_t r = seat->kept_end - 1; r >= seat->kept_begin; r--) {
        struct assignor_run run = kept->at[r];
        int32_t edge = uniform_edge_of(uniform, rank, run.topic);
        int32_t end = run.first + run.count;
        for (int32_t at = end - 1; at >= run.first && given < most; at--) {
            if (allowed(uniform, edge, which) <= 0 ||
                !is_mismatch(uniform, run.topic, at, assign_plan_member(plan, rank)->rack)) {
                continue;
            }
            assign_runs_push(kept, (struct assignor_run){run.topic, at + 1, end - at - 1});
            assign_pool_free(&plan->pool, (struct assignor_run){run.topic, at, 1});
            uniform->kept_of[edge]--;
            given++;
            end = at;
        }
        assign_runs_push(kept, (struct assignor_run){run.topic, run.first, end - run.first});
    }
    reverse(kept->at + begin, kept->count - begin);
    seat->kept_begin = begin;
    seat->kept_end = kept->count;
    return given;
}

/* Gives back up to [most] of the member's partitions, its last ones first, those without a replica
 * in its rack before all others. Returns how many. */
static int64_t give_back(struct uniform_plan *uniform,
                         int32_t rank,
                         enum give_back which,
                         int64_t most)
{
    struct seat *seat = &uniform->seats[rank];
    int64_t given = 0;
    if (uniform->has_racks && assign_plan_member(uniform->plan, rank)->rack >= 0) {
        given = give_back_mismatches(uniform, rank, which, most);
    }
    for (int32_t r = seat->kept_end - 1; r >= seat->kept_begin && given < most; r--) {
        struct assignor_run *run = &uniform->kept.at[r];
        int32_t edge = uniform_edge_of(uniform, rank, run->topic);
        int64_t n = allowed(uniform, edge, which);
        n = n < most - given ? n : most - given;
        n = n < run->count ? n : run->count;
        if (n > 0) {
            run->count -= (int32_t)n;
            assign_pool_free(
                &uniform->plan->pool,
                (struct assignor_run){run->topic, run->first + run->count, (int32_t)n});
            uniform->kept_of[edge] -= n;
            given += n;
        }
    }
    seat->held -= (int32_t)given;
    return given;
}

/* Gives back what the members of a class hold beyond its numbers, from those with the most. A
 * first pass takes nobody below the longer share, a second nobody below the shorter, a third takes
 * it where it is. */
static void release_of_edges(struct uniform_plan *uniform, int32_t class, int64_t wanted)
{
    const struct assign_plan *plan = uniform->plan;
    int64_t excess = 0;
    for (int32_t e = plan->class_edge_start[class]; e < plan->class_edge_start[class + 1]; e++) {
        int64_t more = uniform->kept_of[e] - uniform->wanted_of[e];
        excess += more > 0 ? more : 0;
    }
    int64_t share = wanted / assign_plan_class_size(plan, class);
    const int64_t floors[] = {share + 1, share, 0};
    for (int pass = 0; pass < 3; pass++) {
        for (int32_t i = plan->class_start[class]; i < plan->class_start[class + 1] && excess > 0;
             i++) {
            int32_t rank = plan->class_ranks[i];
            int64_t above = uniform->seats[rank].held - floors[pass];
            if (above > 0) {
                excess -= give_back(uniform, rank, GIVE_BACK_EXCESS, above);
            }
        }
    }
}

/* The quotient each, and one more for the first of those that hold one more; if these are too few,
 * for the first others too. */
static void set_quotas(struct uniform_plan *uniform, int32_t class, int64_t wanted)
{
    const struct assign_plan *plan = uniform->plan;
    int32_t size = assign_plan_class_size(plan, class);
    const int32_t *ranks = plan->class_ranks + plan->class_start[class];
    int32_t share = (int32_t)(wanted / size);
    int32_t longer = (int32_t)(wanted % size);
    for (int32_t i = 0; i < size; i++) {
        struct seat *seat = &uniform->seats[ranks[i]];
        bool is_longer = longer > 0 && seat->held > share;
        seat->quota = share + is_longer;
        longer -= is_longer;
    }
    for (int32_t i = 0; i < size && longer > 0; i++) {
        struct seat *seat = &uniform->seats[ranks[i]];
        if (seat->quota == share) {
            seat->quota++;
            longer--;
        }
    }
}

void uniform_release(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    for (int32_t c = 0; c < plan->class_count; c++) {
        if (uniform->is_fresh[c]) {
            continue;
        }
        int64_t wanted = uniform_wanted_of_class(uniform, c);
        release_of_edges(uniform, c, wanted);
        set_quotas(uniform, c, wanted);
        for (int32_t i = plan->class_start[c]; i < plan->class_start[c + 1]; i++) {
            int32_t rank = plan->class_ranks[i];
            struct seat *seat = &uniform->seats[rank];
            if (seat->held > seat->quota) {
                give_back(uniform, rank, GIVE_BACK_ANY, seat->held - seat->quota);
            }
        }
    }
}
