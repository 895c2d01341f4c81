/* The editing half of offsets.h. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/offsets_place.h"
#include "server/core/state_internal.h"

enum {
    SEARCHED_MAX = 16, /* rows without an index: they fit a few cache lines */
};

static uint32_t place_of(const struct offsets *offsets, const struct offset_row *row)
{
    return offsets_place(row->topic, row->partition) & (offsets->index_cap - 1);
}

static void index_row(struct offsets *offsets, uint32_t row)
{
    uint32_t at = place_of(offsets, &offsets->rows[row]);
    while (offsets->index[at] != 0) {
        at = (at + 1) & (offsets->index_cap - 1);
    }
    offsets->index[at] = row + 1;
}

/* Three quarters full at most. */
static void grow_index(struct offsets *offsets)
{
    uint32_t cap = offsets->index_cap == 0 ? 4 * SEARCHED_MAX : offsets->index_cap * 2;
    ensure(cap != 0);
    free(offsets->index);
    offsets->index = memory_new(cap * sizeof *offsets->index);
    offsets->index_cap = cap;
    for (uint32_t row = 0; row < offsets->count; row++) {
        index_row(offsets, row);
    }
}

/* Dense: an eighth more at a time, since most rows there are stand in tables that do not grow. */
static void grow_rows(struct offsets *offsets)
{
    uint32_t least = offsets->cap < 4 ? 1 : 2;
    uint32_t more = offsets->cap / 8 < least ? least : offsets->cap / 8;
    ensure(offsets->cap < UINT32_MAX / 2);
    offsets->cap += more;
    offsets->rows = memory_resize(offsets->rows, offsets->cap * sizeof *offsets->rows);
}

struct offset_row *offsets_put(struct offsets *offsets, uint64_t topic, int32_t partition)
{
    const struct offset_row *found = offsets_find(offsets, topic, partition);
    if (found != NULL) {
        return &offsets->rows[found - offsets->rows];
    }
    if (offsets->count == offsets->cap) {
        grow_rows(offsets);
    }
    struct offset_row *row = &offsets->rows[offsets->count++];
    *row = (struct offset_row){.topic = topic, .partition = partition};
    if (offsets->count > SEARCHED_MAX && offsets->count > offsets->index_cap / 4 * 3) {
        grow_index(offsets);
    } else if (offsets->index != NULL) {
        index_row(offsets, offsets->count - 1);
    }
    return row;
}

/* Where the index has the row. */
static uint32_t find_place(const struct offsets *offsets, uint32_t row)
{
    uint32_t at = place_of(offsets, &offsets->rows[row]);
    while (offsets->index[at] != row + 1) {
        ensure(offsets->index[at] != 0);
        at = (at + 1) & (offsets->index_cap - 1);
    }
    return at;
}

static void unindex_row(struct offsets *offsets, uint32_t row)
{
    uint32_t mask = offsets->index_cap - 1;
    uint32_t hole = find_place(offsets, row);
    for (uint32_t at = (hole + 1) & mask; offsets->index[at] != 0; at = (at + 1) & mask) {
        uint32_t home = place_of(offsets, &offsets->rows[offsets->index[at] - 1]);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            offsets->index[hole] = offsets->index[at];
            hole = at;
        }
    }
    offsets->index[hole] = 0;
}

void offsets_remove(struct offsets *offsets, const struct offset_row *row)
{
    uint32_t at = (uint32_t)(row - offsets->rows);
    uint32_t last = offsets->count - 1;
    ensure(at < offsets->count);
    if (offsets->index != NULL) {
        unindex_row(offsets, at);
        if (at != last) {
            offsets->index[find_place(offsets, last)] = at + 1;
        }
    }
    offsets->rows[at] = offsets->rows[last];
    offsets->count--;
    if (offsets->count == 0) {
        free(offsets->rows);
        free(offsets->index);
        *offsets = (struct offsets){0};
    } else if (offsets->count < offsets->cap / 4) {
        offsets->cap /= 2;
        offsets->rows = memory_resize(offsets->rows, offsets->cap * sizeof *offsets->rows);
    }
}

void offsets_drop(struct offsets *offsets, struct editions *editions, uint32_t made)
{
    editions_drop(editions, offsets->rows, made);
    editions_drop(editions, offsets->index, made);
    *offsets = (struct offsets){0};
}

struct offsets offsets_copy(const struct offsets *offsets)
{
    struct offsets copy = *offsets;
    copy.cap = offsets->count;
    copy.rows = memory_copy(offsets->rows, offsets->count * sizeof *offsets->rows);
    copy.index = memory_copy(offsets->index, offsets->index_cap * sizeof *offsets->index);
    return copy;
}

uint64_t offset_row_hash(uint64_t group, const struct offset_row *row)
{
    uint64_t hash = hash_begin(1);
    hash = hash_word(hash, group);
    hash = hash_word(hash, row->topic);
    hash = hash_word(hash, (uint64_t)(uint32_t)row->partition << 32 | (uint32_t)row->leader_epoch);
    hash = hash_word(hash, (uint64_t)row->offset);
    hash = hash_word(hash, (uint64_t)row->commit_ms);
    hash = hash_word(hash, (uint64_t)row->expire_ms);
    hash = hash_word(hash, row->version);
    hash = hash_span(hash, offset_row_metadata(row));
    return hash_end(hash);
}
