/* Things in ascending order of their ids: what the state iterates, in the same order on all nodes.
 * New ids are higher than all before, so adding is appending; the few that are not (nodes) are
 * moved into place. */
#ifndef SERVER_CORE_STATE_ROLL_H
#define SERVER_CORE_STATE_ROLL_H

#include <stddef.h>
#include <stdint.h>

struct roll_entry {
    uint64_t id;
    void *item; /* NULL: removed */
};

struct roll {
    struct roll_entry *entries;
    size_t used; /* removed ones included */
    size_t count;
    size_t cap;
};

void roll_close(struct roll *roll);

/* [id] > 0, not in the roll. */
void roll_put(struct roll *roll, uint64_t id, void *item);
void roll_remove(struct roll *roll, uint64_t id);

/* NULL: none. O(log n). */
void *roll_find(const struct roll *roll, uint64_t id);
/* Another item under the same id. */
void roll_replace(struct roll *roll, uint64_t id, void *item);

/* The first with an id of at least [*at], which becomes the id after it; NULL: the end. Stays valid
 * over any change. */
void *roll_next(const struct roll *roll, uint64_t *at);

#endif
