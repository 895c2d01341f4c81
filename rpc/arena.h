/* Memory that lives exactly as long as one call: the decoded request, its reply, and what was
 * made in between. Nothing in it is freed singly.
 *
 * Blocks are kept over arena_reset(), so an arena in steady use allocates nothing (a heartbeat
 * must cost no heap allocation). Allocation failure aborts: limits, not the allocator, say no. */
#ifndef RPC_ARENA_H
#define RPC_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

struct arena_block;

struct arena {
    struct arena_block *first;   /* all blocks, in order of use */
    struct arena_block *current; /* the one that is being filled */
    size_t used;                 /* bytes handed out since the last reset, padding included */
    size_t held;                 /* bytes of all blocks */
    size_t limit;                /* arena_try_alloc() refuses beyond it; SIZE_MAX: none */
};

/* [limit]: most bytes that arena_try_alloc() hands out between two resets. */
void arena_init(struct arena *arena, size_t limit);
void arena_close(struct arena *arena);

/* Takes back all that was handed out. Keeps up to [keep] bytes of blocks, frees the others. */
void arena_reset(struct arena *arena, size_t keep);

/* Zeroed, aligned to 16. Never NULL; size 0 gives a valid pointer. Ignores the limit. */
void *arena_alloc(struct arena *arena, size_t size);

/* As arena_alloc(), but NULL where it would pass the limit: for sizes that a peer chooses. */
void *arena_try_alloc(struct arena *arena, size_t size);

/* A copy that lives as long as the arena; null stays null. */
struct span arena_copy(struct arena *arena, struct span from);

#endif
