#include "server/core/seat_table.h"

#include <stdlib.h>

#include "rpc/ensure.h"

/* FNV-1a. A client chooses at most the instance ids of a group that it may join anyway. */
static uint64_t hash_of(struct span key)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < key.len; i++) {
        hash = (hash ^ key.data[i]) * 1099511628211u;
    }
    return hash ^ (hash >> 32);
}

void seat_table_close(struct seat_table *table)
{
    free(table->entries);
    *table = (struct seat_table){0};
}

/* Where the key is, or the free entry where it would be. */
static size_t place_of(const struct seat_table *table, uint64_t hash, struct span key)
{
    size_t at = (size_t)hash & (table->cap - 1);
    while (table->entries[at].seat != NULL) {
        const struct seat_entry *entry = &table->entries[at];
        if (entry->hash == hash && span_equal(entry->key, key)) {
            break;
        }
        at = (at + 1) & (table->cap - 1);
    }
    return at;
}

struct seat *seat_table_find(const struct seat_table *table, struct span key)
{
    if (table->count == 0) {
        return NULL;
    }
    return table->entries[place_of(table, hash_of(key), key)].seat;
}

static void grow(struct seat_table *table)
{
    struct seat_table old = *table;
    table->cap = old.cap == 0 ? 8 : old.cap * 2;
    table->entries = calloc(table->cap, sizeof *table->entries);
    ensure(table->entries != NULL);
    for (size_t i = 0; i < old.cap; i++) {
        const struct seat_entry *entry = &old.entries[i];
        if (entry->seat != NULL) {
            table->entries[place_of(table, entry->hash, entry->key)] = *entry;
        }
    }
    free(old.entries);
}

void seat_table_add(struct seat_table *table, struct span key, struct seat *seat)
{
    if (4 * (table->count + 1) > 3 * table->cap) {
        grow(table);
    }
    uint64_t hash = hash_of(key);
    size_t at = place_of(table, hash, key);
    ensure(table->entries[at].seat == NULL);
    table->entries[at] = (struct seat_entry){.hash = hash, .key = key, .seat = seat};
    table->count++;
}

void seat_table_remove(struct seat_table *table, struct span key)
{
    ensure(table->count > 0);
    size_t mask = table->cap - 1;
    size_t hole = place_of(table, hash_of(key), key);
    ensure(table->entries[hole].seat != NULL);
    table->count--;
    /* Entries behind the hole move up unless their own place lies behind it. */
    for (size_t at = (hole + 1) & mask; table->entries[at].seat != NULL; at = (at + 1) & mask) {
        size_t home = (size_t)table->entries[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole] = (struct seat_entry){0};
}
