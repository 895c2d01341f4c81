/* What the three calls about topics share: telling duplicates in a request apart, and the size of
 * the registry against its limits. */
#ifndef SERVER_CORE_TOPICS_H
#define SERVER_CORE_TOPICS_H

#include "server/core/internal.h"

/* For each of [names] whether another one is equal; in [arena]. O(n log n). */
bool *topics_find_duplicates(struct arena *arena, const struct span *names, int32_t count);

/* The number of nodes that are known, at least 1: the replication factor of everything. */
int16_t topics_replication(const struct coordinator *c);

/* Room for [partitions] more: 0, or POLICY_VIOLATION with a text that names the limit's key. */
int16_t topics_check_partitions(struct coordinator *c,
                                struct call *call,
                                int64_t partitions,
                                struct span *text);

#endif
