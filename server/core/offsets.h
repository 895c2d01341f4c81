/* The committed offsets of one group: (topic, partition) -> row. The rows stand densely in one
 * array; above a few an index of 4 bytes a place leads to them. At most 70 bytes a row, metadata
 * apart. */
#ifndef SERVER_CORE_OFFSETS_H
#define SERVER_CORE_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

struct blob;

struct offset_row {
    uint64_t topic; /* topic.id: one incarnation of the topic, so a recreated one has no offsets */
    int32_t partition;
    int32_t leader_epoch; /* -1: none */
    int64_t offset;
    int64_t commit_ms;     /* the batch's stamp, or what OffsetCommit v1 asked for */
    int64_t expire_ms;     /* explicit expiry (OffsetCommit v2-4); -1: by retention */
    uint64_t version;      /* index of the batch that wrote the row (R5) */
    struct blob *metadata; /* offset_row_metadata(); NULL: empty */
};

struct offsets {
    struct offset_row *rows;
    uint32_t count;
    uint32_t cap;
    uint32_t *index; /* open addressing: row's place + 1, 0: free; NULL while there are few rows */
    uint32_t index_cap; /* a power of two, or 0 */
};

const struct offset_row *offsets_find(const struct offsets *offsets,
                                      uint64_t topic,
                                      int32_t partition);
struct span offset_row_metadata(const struct offset_row *row);

/* Iteration in table order, which differs between nodes: never let it decide anything.
 * [*at] starts at 0; NULL at the end. */
const struct offset_row *offsets_next(const struct offsets *offsets, uint32_t *at);

struct arena;
/* Pointers to all rows by (topic, partition), in [arena]. */
const struct offset_row **offsets_sorted(const struct offsets *offsets, struct arena *arena);

#endif
