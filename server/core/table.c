#include "server/core/table.h"

#include <stdlib.h>

#include "rpc/ensure.h"

enum { CAP_MIN = 8 };

void table_close(struct table *table)
{
    free(table->entries);
    *table = (struct table){0};
}

static size_t place_of(const struct table *table, uint64_t hash)
{
    return (size_t)hash & (table->cap - 1);
}

static void insert(struct table *table, uint64_t hash, void *item)
{
    size_t at = place_of(table, hash);
    while (table->entries[at].item != NULL) {
        at = (at + 1) & (table->cap - 1);
    }
    table->entries[at] = (struct table_entry){hash, item};
    table->count++;
}

static void resize(struct table *table, size_t cap)
{
    struct table old = *table;
    *table = (struct table){.entries = calloc(cap, sizeof *table->entries), .cap = cap};
    ensure(table->entries != NULL);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.entries[i].item != NULL) {
            insert(table, old.entries[i].hash, old.entries[i].item);
        }
    }
    free(old.entries);
}

/* Three quarters full at most: linear probing stays short. */
void table_reserve(struct table *table, size_t count)
{
    size_t cap = table->cap < CAP_MIN ? CAP_MIN : table->cap;
    ensure(count <= SIZE_MAX / 64);
    while (count > cap / 4 * 3) {
        cap *= 2;
    }
    if (cap != table->cap) {
        resize(table, cap);
    }
}

void *table_find(const struct table *table, uint64_t hash, table_match_fn *match, const void *key)
{
    if (table->cap == 0) {
        return NULL;
    }
    size_t at = place_of(table, hash);
    for (; table->entries[at].item != NULL; at = (at + 1) & (table->cap - 1)) {
        const struct table_entry *entry = &table->entries[at];
        if (entry->hash == hash && match(entry->item, key)) {
            return entry->item;
        }
    }
    return NULL;
}

void table_put(struct table *table, uint64_t hash, void *item)
{
    ensure(item != NULL);
    table_reserve(table, table->count + 1);
    insert(table, hash, item);
}

void table_remove(struct table *table, uint64_t hash, const void *item)
{
    ensure(table->count > 0);
    size_t mask = table->cap - 1;
    size_t hole = place_of(table, hash);
    while (table->entries[hole].item != item) {
        ensure(table->entries[hole].item != NULL);
        hole = (hole + 1) & mask;
    }
    /* Entries behind the hole that belong at or before it move up, so that no marks are needed. */
    for (size_t at = (hole + 1) & mask; table->entries[at].item != NULL; at = (at + 1) & mask) {
        size_t home = place_of(table, table->entries[at].hash);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole] = (struct table_entry){0};
    table->count--;
}
