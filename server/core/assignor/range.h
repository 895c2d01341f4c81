/* The assignor `range` (assignor.h). */
#ifndef SERVER_CORE_ASSIGNOR_RANGE_H
#define SERVER_CORE_ASSIGNOR_RANGE_H

#include "server/core/assignor/assign_plan.h"

/* Fills in the shares, by the input's members. */
void range_assign(struct assign_plan *plan, struct assignor_result *result);

#endif
