/* The registry of stand-alone topics: their partitions are shards of anything (DESIGN section 5). */
#ifndef SERVER_CORE_TOPIC_H
#define SERVER_CORE_TOPIC_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/span.h"
#include "rpc/uuid.h"

/* One allocation but for the high offsets. A version of it is never changed while a snapshot holds
 * it, so pointers are good until the next apply. */
struct topic {
    uint64_t id; /* interned, never reused: names one incarnation, as the uuid does */
    struct span name;
    struct uuid uuid;
    uint64_t version; /* index of the batch that created or enlarged it */
    int32_t partitions_count;
    /* Per partition the highest offset that any group ever committed: what ListOffsets answers as
     * latest, so that it is never below a committed offset (protocol D.2). */
    int64_t *high_offsets; /* 0: none above it */

    /* Bookkeeping. */
    uint64_t hash;
    uint32_t made; /* in which edition (copy on write) */
};

/* 1-249 of [a-zA-Z0-9._-], not "." or "..". */
bool topic_name_is_legal(struct span name);

#endif
