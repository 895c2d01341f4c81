#include "server/core/offsets.h"

#include <stdlib.h>

#include "rpc/arena.h"
#include "server/core/offsets_place.h"
#include "server/core/state_editions.h"

static bool is_row(const struct offset_row *row, uint64_t topic, int32_t partition)
{
    return row->topic == topic && row->partition == partition;
}

const struct offset_row *offsets_find(const struct offsets *offsets,
                                      uint64_t topic,
                                      int32_t partition)
{
    if (offsets->index == NULL) {
        for (uint32_t i = 0; i < offsets->count; i++) {
            if (is_row(&offsets->rows[i], topic, partition)) {
                return &offsets->rows[i];
            }
        }
        return NULL;
    }
    uint32_t mask = offsets->index_cap - 1;
    uint32_t at = offsets_place(topic, partition) & mask;
    for (; offsets->index[at] != 0; at = (at + 1) & mask) {
        const struct offset_row *row = &offsets->rows[offsets->index[at] - 1];
        if (is_row(row, topic, partition)) {
            return row;
        }
    }
    return NULL;
}

struct span offset_row_metadata(const struct offset_row *row)
{
    return row->metadata == NULL ? SPAN_EMPTY : blob_span(row->metadata);
}

const struct offset_row *offsets_next(const struct offsets *offsets, uint32_t *at)
{
    return *at < offsets->count ? &offsets->rows[(*at)++] : NULL;
}

/* Keys are unique, so the order is total. */
static int compare_rows(const void *a, const void *b)
{
    const struct offset_row *left = *(const struct offset_row *const *)a;
    const struct offset_row *right = *(const struct offset_row *const *)b;
    if (left->topic != right->topic) {
        return left->topic < right->topic ? -1 : 1;
    }
    return left->partition < right->partition ? -1 : left->partition > right->partition;
}

const struct offset_row **offsets_sorted(const struct offsets *offsets, struct arena *arena)
{
    const struct offset_row **sorted =
        arena_alloc(arena, offsets->count * sizeof(const struct offset_row *));
    for (uint32_t i = 0; i < offsets->count; i++) {
        sorted[i] = &offsets->rows[i];
    }
    if (offsets->count > 1) {
        qsort(sorted, offsets->count, sizeof *sorted, compare_rows);
    }
    return sorted;
}
