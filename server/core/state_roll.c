#include "server/core/state_roll.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

void roll_close(struct roll *roll)
{
    free(roll->entries);
    *roll = (struct roll){0};
}

/* Where [id] is or would be. */
static size_t lower_bound(const struct roll *roll, uint64_t id)
{
    size_t low = 0;
    size_t high = roll->used;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (roll->entries[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void roll_put(struct roll *roll, uint64_t id, void *item)
{
    ensure(id > 0 && item != NULL);
    size_t at = lower_bound(roll, id);
    if (at < roll->used && roll->entries[at].id == id) {
        ensure(roll->entries[at].item == NULL);
        roll->entries[at].item = item;
        roll->count++;
        return;
    }
    if (roll->used == roll->cap) {
        roll->cap = roll->cap == 0 ? 16 : roll->cap * 2;
        roll->entries = realloc(roll->entries, roll->cap * sizeof *roll->entries);
        ensure(roll->entries != NULL);
    }
    memmove(&roll->entries[at + 1], &roll->entries[at], (roll->used - at) * sizeof *roll->entries);
    roll->entries[at] = (struct roll_entry){id, item};
    roll->used++;
    roll->count++;
}

static struct roll_entry *find_entry(const struct roll *roll, uint64_t id)
{
    size_t at = lower_bound(roll, id);
    bool is_found = at < roll->used && roll->entries[at].id == id && roll->entries[at].item != NULL;
    return is_found ? &roll->entries[at] : NULL;
}

void roll_remove(struct roll *roll, uint64_t id)
{
    struct roll_entry *entry = find_entry(roll, id);
    ensure(entry != NULL);
    entry->item = NULL;
    roll->count--;
    if (roll->used - roll->count <= roll->count + 64) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < roll->used; i++) {
        if (roll->entries[i].item != NULL) {
            roll->entries[kept++] = roll->entries[i];
        }
    }
    roll->used = kept;
}

void *roll_find(const struct roll *roll, uint64_t id)
{
    const struct roll_entry *entry = find_entry(roll, id);
    return entry == NULL ? NULL : entry->item;
}

void roll_replace(struct roll *roll, uint64_t id, void *item)
{
    struct roll_entry *entry = find_entry(roll, id);
    ensure(entry != NULL && item != NULL);
    entry->item = item;
}

void *roll_next(const struct roll *roll, uint64_t *at)
{
    for (size_t i = lower_bound(roll, *at); i < roll->used; i++) {
        if (roll->entries[i].item != NULL) {
            *at = roll->entries[i].id + 1;
            return roll->entries[i].item;
        }
    }
    return NULL;
}
