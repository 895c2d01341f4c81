/* Requests that are well-formed and odd: names that are none, counts that cannot be, things named
 * twice, more than a limit. Each has an answer of its own. */
#ifndef TESTS_SIM_CLIENTS_ODD_H
#define TESTS_SIM_CLIENTS_ODD_H

#include "tests/sim/clients/lane.h"

/* Of an operator's; the lane is open. */
void odd_administer(struct life *life, struct lane *lane, message_fn *done, void *owner);
/* A JoinGroup or SyncGroup that is refused in any case. */
void odd_join(struct life *life, struct lane *lane, message_fn *done, void *owner);

#endif
