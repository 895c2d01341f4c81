/* The order of the members: static ones by instance id, then dynamic ones by member id. */
#ifndef SERVER_CORE_ASSIGNOR_ASSIGN_ORDER_H
#define SERVER_CORE_ASSIGNOR_ASSIGN_ORDER_H

#include "server/core/assignor/assignor.h"

/* The members of [input], as indices, in order; the array is the arena's. Linear for ids that
 * differ within a few bytes behind what all have in common, as generated ones do; never worse than
 * a sort by comparison. */
int32_t *assign_order_make(const struct assignor_input *input, struct arena *arena);

#endif
