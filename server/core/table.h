/* An index over things that live elsewhere: hash -> pointer, open addressing, no order. It never
 * iterates, since nothing may depend on hash order; what must be walked is in a struct roll. */
#ifndef SERVER_CORE_TABLE_H
#define SERVER_CORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_entry {
    uint64_t hash;
    void *item; /* NULL: free */
};

struct table {
    struct table_entry *entries;
    size_t count;
    size_t cap; /* a power of two, or 0 */
};

/* Whether [item] has the key. */
typedef bool table_match_fn(const void *item, const void *key);

void table_close(struct table *table);
void table_reserve(struct table *table, size_t count);

/* NULL: none. [hash] is the key's. */
void *table_find(const struct table *table, uint64_t hash, table_match_fn *match, const void *key);

/* The item, not NULL, must not be in it yet, nor another with the same key. */
void table_put(struct table *table, uint64_t hash, void *item);

/* The very item, which must be in it. */
void table_remove(struct table *table, uint64_t hash, const void *item);

#endif
