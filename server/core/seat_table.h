/* Text -> seat: the members of one round by member id, the candidates by instance id. Open
 * addressing; lookup only, order is the round's. */
#ifndef SERVER_CORE_SEAT_TABLE_H
#define SERVER_CORE_SEAT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

struct seat;

struct seat_entry {
    uint64_t hash;
    struct span key;   /* borrowed; lives as long as the entry */
    struct seat *seat; /* NULL: free */
};

struct seat_table {
    struct seat_entry *entries;
    size_t count;
    size_t cap; /* a power of two, or 0 */
};

void seat_table_close(struct seat_table *table);
struct seat *seat_table_find(const struct seat_table *table, struct span key);
/* The key must not be there yet. */
void seat_table_add(struct seat_table *table, struct span key, struct seat *seat);
/* The key must be there. */
void seat_table_remove(struct seat_table *table, struct span key);

#endif
