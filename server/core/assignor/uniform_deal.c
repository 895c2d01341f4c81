#include "rpc/ensure.h"
#include "server/core/assignor/uniform_plan.h"

/* The members of a class take, one after the other, what each still lacks, out of the class's
 * groups one after the other. So each gets few and long runs. */
void uniform_deal(struct uniform_plan *uniform)
{
    const struct assign_plan *plan = uniform->plan;
    struct assign_walk *walks = arena_alloc(plan->arena, (size_t)plan->group_count * sizeof *walks);
    for (int32_t g = 0; g < plan->group_count; g++) {
        walks[g].topics = plan->group_topics + plan->group_start[g];
        walks[g].topic_count = plan->group_start[g + 1] - plan->group_start[g];
    }
    assign_runs_init(&uniform->dealt, plan->arena,
                     (int64_t)plan->member_count + plan->edge_count + plan->input->topic_count);
    for (int32_t c = 0; c < plan->class_count; c++) {
        int32_t edge = plan->class_edge_start[c];
        for (int32_t i = plan->class_start[c];
             i < plan->class_start[c + 1] && !uniform->is_fresh[c]; i++) {
            struct seat *seat = &uniform->seats[plan->class_ranks[i]];
            seat->dealt_begin = uniform->dealt.count;
            while (seat->held < seat->quota) {
                int64_t lacking = uniform->wanted_of[edge] - uniform->kept_of[edge];
                if (lacking <= 0) {
                    edge++;
                    continue;
                }
                int32_t most = seat->quota - seat->held;
                most = lacking < most ? (int32_t)lacking : most;
                struct assignor_run run = {0, 0, 0};
                assign_pool_next(&plan->pool, &walks[plan->edge_group[edge]], most, &run);
                ensure(run.count > 0);
                assign_runs_push(&uniform->dealt, run);
                uniform->kept_of[edge] += run.count;
                seat->held += run.count;
            }
            seat->dealt_end = uniform->dealt.count;
        }
    }
}
