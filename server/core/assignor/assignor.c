#include "server/core/assignor/assignor.h"

#include "rpc/ensure.h"
#include "server/core/assignor/assign_plan.h"
#include "server/core/assignor/range.h"
#include "server/core/assignor/uniform.h"

bool assignor_find(struct span name, enum assignor_kind *kind)
{
    if (span_equal(name, SPAN_LITERAL("uniform"))) {
        *kind = ASSIGNOR_UNIFORM;
        return true;
    }
    if (span_equal(name, SPAN_LITERAL("range"))) {
        *kind = ASSIGNOR_RANGE;
        return true;
    }
    return false;
}

struct assignor_result assignor_assign(enum assignor_kind kind,
                                       const struct assignor_input *input,
                                       struct arena *arena)
{
    struct assign_plan plan;
    assign_plan_init(&plan, input, arena);
    struct assignor_result result = {
        .shares = arena_alloc(arena, (size_t)input->member_count * sizeof *result.shares),
    };
    if (kind == ASSIGNOR_RANGE) {
        range_assign(&plan, &result);
    } else {
        ensure(kind == ASSIGNOR_UNIFORM);
        uniform_assign(&plan, &result);
    }
    return result;
}
