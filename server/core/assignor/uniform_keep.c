#include "rpc/ensure.h"
#include "server/core/assignor/uniform_plan.h"

/* A run of the present target, cut to what its topic has; empty if the topic is not there. */
static struct assignor_run clip(const struct assign_plan *plan, struct assignor_run run)
{
    if (run.topic < 0 || run.topic >= plan->input->topic_count || run.first < 0 || run.count < 0) {
        return (struct assignor_run){0, 0, 0};
    }
    int32_t room = plan->input->topics[run.topic].partition_count - run.first;
    run.count = run.count > room ? room : run.count;
    run.count = run.count < 0 ? 0 : run.count;
    return run;
}

static void keep_of_member(struct uniform_plan *uniform, int32_t rank)
{
    struct assign_plan *plan = uniform->plan;
    const struct assignor_member *member = assign_plan_member(plan, rank);
    struct seat *seat = &uniform->seats[rank];
    seat->kept_begin = uniform->kept.count;
    for (int32_t i = 0; i < member->current_count; i++) {
        const struct assignor_run *given = &member->current[i];
        ensure(i == 0 || given->topic > given[-1].topic ||
               (given->topic == given[-1].topic &&
                given->first >= (int64_t)given[-1].first + given[-1].count));
        struct assignor_run run = clip(plan, *given);
        int32_t edge = run.count == 0 ? -1 : uniform_edge_of(uniform, rank, run.topic);
        if (edge < 0) {
            continue;
        }
        int32_t claimed = assign_pool_claim(&plan->pool, run, &uniform->kept);
        uniform->kept_of[edge] += claimed;
        seat->held += claimed;
    }
    seat->kept_end = uniform->kept.count;
}

void uniform_keep(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    int64_t runs = 0;
    for (int32_t i = 0; i < plan->member_count; i++) {
        runs += plan->input->members[i].current_count;
    }
    assign_runs_init(&uniform->kept, plan->arena, runs);
    if (runs == 0) {
        return;
    }
    uniform_seat(uniform);
    for (int32_t i = 0; i < plan->member_count; i++) {
        keep_of_member(uniform, i);
    }
}
