#include "rpc/arena.h"

#include <stdlib.h>

#include "rpc/ensure.h"

/* Under AddressSanitizer what was not handed out, or was taken back, may not be touched. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#endif
#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#define poison(at, n) ASAN_POISON_MEMORY_REGION(at, n)
#define unpoison(at, n) ASAN_UNPOISON_MEMORY_REGION(at, n)
#else
#define poison(at, n) ((void)(at), (void)(n))
#define unpoison(at, n) ((void)(at), (void)(n))
#endif

enum { ALIGNMENT = 16, BLOCK_MIN = 4096, BLOCK_MAX = 65536 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size; /* of bytes */
    _Alignas(ALIGNMENT) uint8_t bytes[];
};

void arena_init(struct arena *arena, size_t limit)
{
    *arena = (struct arena){.limit = limit};
}

static void free_block(struct arena *arena, struct arena_block *block)
{
    arena->held -= sizeof *block + block->size;
    unpoison(block->bytes, block->size);
    free(block);
}

void arena_close(struct arena *arena)
{
    for (struct arena_block *block = arena->first, *next; block != NULL; block = next) {
        next = block->next;
        free_block(arena, block);
    }
    ensure(arena->held == 0);
    *arena = (struct arena){.limit = arena->limit};
}

void arena_reset(struct arena *arena, size_t keep)
{
    size_t kept = 0;
    struct arena_block **link = &arena->first;
    while (*link != NULL) {
        struct arena_block *block = *link;
        size_t size = sizeof *block + block->size;
        if (size <= keep - kept) {
            kept += size;
            block->used = 0;
            poison(block->bytes, block->size);
            link = &block->next;
        } else {
            *link = block->next;
            free_block(arena, block);
        }
    }
    arena->current = arena->first;
    arena->used = 0;
}

/* A block with room for [size], behind the current one: the next that is kept, if it suffices. */
static struct arena_block *next_block(struct arena *arena, size_t size)
{
    struct arena_block **link = arena->current == NULL ? &arena->first : &arena->current->next;
    if (*link != NULL && (*link)->size >= size) {
        return *link;
    }
    /* Twice what there was, within bounds: one large block must not beget others. */
    size_t whole = arena->held < BLOCK_MIN ? BLOCK_MIN : arena->held;
    whole = whole > BLOCK_MAX ? BLOCK_MAX : whole;
    size_t usual = whole - sizeof(struct arena_block);
    size_t bytes = size > usual ? size : usual;
    struct arena_block *block = malloc(sizeof *block + bytes);
    ensure(block != NULL);
    *block = (struct arena_block){.next = *link, .size = bytes};
    poison(block->bytes, block->size);
    arena->held += sizeof *block + bytes;
    *link = block;
    return block;
}

static size_t aligned(size_t size)
{
    ensure(size <= SIZE_MAX / 2);
    return size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t taken = aligned(size);
    struct arena_block *block = arena->current;
    if (block == NULL || taken > block->size - block->used) {
        block = next_block(arena, taken);
        arena->current = block;
    }
    uint8_t *at = block->bytes + block->used;
    block->used += taken;
    arena->used += taken;
    unpoison(at, size);
    return memset(at, 0, size);
}

void *arena_try_alloc(struct arena *arena, size_t size)
{
    if (size > arena->limit || arena->used > arena->limit ||
        aligned(size) > arena->limit - arena->used) {
        return NULL;
    }
    return arena_alloc(arena, size);
}

struct span arena_copy(struct arena *arena, struct span from)
{
    if (span_is_null(from)) {
        return from;
    }
    uint8_t *to = arena_alloc(arena, from.len);
    if (from.len > 0) {
        memcpy(to, from.data, from.len);
    }
    return span_of(to, from.len);
}
