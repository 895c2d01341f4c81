/* The assignor `uniform` (assignor.h). It goes through these steps, each a file:
 *
 *   keep     who still holds what it may have; all else is in the pool
 *   spread   the pool's partitions, as numbers per edge, to the least loaded classes
 *   balance  the numbers per edge, by chains of moves, until no class can be relieved
 *   fresh    classes that hold nothing and share nothing have their result here
 *   release  what members hold beyond their class's numbers or their own quota
 *   racks    pool to members below their quota, where a rank's rack holds a replica
 *   deal     the rest of the pool, in order
 */
#ifndef SERVER_CORE_ASSIGNOR_UNIFORM_H
#define SERVER_CORE_ASSIGNOR_UNIFORM_H

#include "server/core/assignor/assign_plan.h"

/* Fills in the shares, by the input's members, and what the search took. */
void uniform_assign(struct assign_plan *plan, struct assignor_result *result);

#endif
