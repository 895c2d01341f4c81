#include "server/core/assignor/uniform.h"

#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/assignor/uniform_plan.h"

static bool has_racks(const struct assign_plan *plan)
{
    bool of_topic = false;
    for (int32_t t = 0; t < plan->input->topic_count; t++) {
        of_topic = of_topic || plan->input->topics[t].racks != NULL;
    }
    bool of_member = false;
    for (int32_t i = 0; of_topic && i < plan->member_count; i++) {
        ensure(assign_plan_member(plan, i)->rack < ASSIGNOR_RACKS);
        of_member = of_member || assign_plan_member(plan, i)->rack >= 0;
    }
    return of_member;
}

static void init(struct uniform_plan *uniform,
                 struct assign_plan *plan,
                 struct assignor_share *shares)
{
    size_t edges = (size_t)plan->edge_count;
    *uniform = (struct uniform_plan){
        .plan = plan,
        .shares = shares,
        .is_fresh = arena_alloc(plan->arena, (size_t)plan->class_count),
        .kept_of = arena_alloc(plan->arena, edges * sizeof(int64_t)),
        .wanted_of = arena_alloc(plan->arena, edges * sizeof(int64_t)),
        .has_racks = has_racks(plan),
    };
    for (int32_t e = 0; e < plan->edge_count; e++) {
        uniform->has_shared = uniform->has_shared || !assign_plan_is_alone(plan, e);
    }
}

static int compare_runs(const void *left, const void *right)
{
    const struct assignor_run *a = left;
    const struct assignor_run *b = right;
    if (a->topic != b->topic) {
        return a->topic < b->topic ? -1 : 1;
    }
    return (a->first > b->first) - (a->first < b->first);
}

static bool is_ascending(const struct assignor_run *runs, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        if (compare_runs(&runs[i - 1], &runs[i]) > 0) {
            return false;
        }
    }
    return true;
}

/* In place: ascending, none empty, none that touch. Returns how many are left. */
static int32_t tidy(struct assignor_run *runs, int32_t n)
{
    if (!is_ascending(runs, n)) {
        qsort(runs, (size_t)n, sizeof *runs, compare_runs);
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < n; i++) {
        struct assignor_run *last = kept == 0 ? NULL : &runs[kept - 1];
        if (last != NULL && last->topic == runs[i].topic &&
            last->first + last->count == runs[i].first) {
            last->count += runs[i].count;
        } else if (runs[i].count > 0) {
            runs[kept++] = runs[i];
        }
    }
    return kept;
}

/* What one member has is in up to three places. If it is in one only, it stays there. */
static struct assignor_share collect(struct uniform_plan *uniform,
                                     int32_t rank,
                                     const struct assignor_run *matches,
                                     int32_t match_count)
{
    const struct seat *seat = &uniform->seats[rank];
    struct assignor_run *kept = uniform->kept.at + seat->kept_begin;
    struct assignor_run *dealt = uniform->dealt.at + seat->dealt_begin;
    size_t kept_count = (size_t)(seat->kept_end - seat->kept_begin);
    size_t dealt_count = (size_t)(seat->dealt_end - seat->dealt_begin);
    size_t n = kept_count + dealt_count + (size_t)match_count;
    struct assignor_run *runs;
    if (n == dealt_count) {
        runs = dealt;
    } else if (n == kept_count) {
        runs = kept;
    } else {
        runs = arena_alloc(uniform->plan->arena, n * sizeof *runs);
        memcpy(runs, kept, kept_count * sizeof *runs);
        memcpy(runs + kept_count, dealt, dealt_count * sizeof *runs);
        if (match_count > 0) {
            memcpy(runs + kept_count + dealt_count, matches, (size_t)match_count * sizeof *runs);
        }
    }
    return (struct assignor_share){runs, tidy(runs, (int32_t)n), seat->held};
}

/* The matches by rank: starts at [rank], [member_count + 1] of them. */
static int32_t *sort_matches(const struct uniform_plan *uniform, struct assignor_run **sorted)
{
    const struct assign_plan *plan = uniform->plan;
    int32_t n = uniform->matches.count;
    int32_t *start = assign_plan_ints(plan, plan->member_count + 2);
    *sorted = arena_alloc(plan->arena, (size_t)n * sizeof **sorted);
    for (int32_t i = 0; i < n; i++) {
        start[uniform->match_ranks[i] + 2]++;
    }
    for (int32_t r = 0; r < plan->member_count; r++) {
        start[r + 2] += start[r + 1];
    }
    for (int32_t i = 0; i < n; i++) {
        (*sorted)[start[uniform->match_ranks[i] + 1]++] = uniform->matches.at[i];
    }
    return start;
}

static void collect_all(struct uniform_plan *uniform)
{
    struct assignor_run *matches = NULL;
    int32_t *start = uniform->matches.count == 0 ? NULL : sort_matches(uniform, &matches);
    for (int32_t i = 0; i < uniform->plan->member_count; i++) {
        if (uniform->is_fresh[uniform->plan->class_of[i]]) {
            continue;
        }
        *uniform_share(uniform, i) =
            start == NULL ? collect(uniform, i, NULL, 0)
                          : collect(uniform, i, matches + start[i], start[i + 1] - start[i]);
    }
}

void uniform_assign(struct assign_plan *plan, struct assignor_result *result)
{
    struct uniform_plan uniform;
    init(&uniform, plan, result->shares);
    uniform_keep(&uniform);
    uniform_spread(&uniform);
    uniform_balance(&uniform);
    if (!uniform_fresh(&uniform)) {
        uniform_seat(&uniform);
        uniform_release(&uniform);
        uniform_racks(&uniform);
        uniform_deal(&uniform);
        collect_all(&uniform);
    }
    result->steps = uniform.steps;
    result->is_exhausted = uniform.is_exhausted;
}
