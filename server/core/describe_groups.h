/* What the group calls show of a group. */
#ifndef SERVER_CORE_DESCRIBE_GROUPS_H
#define SERVER_CORE_DESCRIBE_GROUPS_H

#include "server/core/group.h"

/* Kafka's word: "Empty", "PreparingRebalance", "CompletingRebalance", "Stable". */
struct span describe_groups_state(enum group_phase phase);

#endif
