/* Whose memory is whose. Everything that rosterd and libraft allocate while a node runs belongs to
 * that node and goes with it; what the simulation allocates is the world's. malloc() and its like
 * are taken at link time (--wrap). */
#ifndef TESTS_SIM_WORLD_HEAP_H
#define TESTS_SIM_WORLD_HEAP_H

#include <stddef.h>

struct heap_block;

struct heap {
    struct heap_block *first;
    size_t bytes;
    size_t blocks;
};

/* From now on malloc() is this heap's; NULL: the world's. Returns the one before. */
struct heap *heap_switch(struct heap *to);
/* Frees all of it. */
void heap_end(struct heap *heap);

/* The world's, whatever runs; never NULL. Zeroed. */
void *heap_world_calloc(size_t size);
void *heap_world_realloc(void *memory, size_t size);
void heap_world_free(void *memory);

#endif
