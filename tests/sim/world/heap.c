#include "tests/sim/world/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

/* Stands before each block. Its size is a multiple of 16, so what follows is aligned. */
struct heap_block {
    struct heap_block *next;
    struct heap_block **link; /* what points to this one */
    struct heap *heap;        /* NULL: the world's, and in no list */
    void *base;               /* what malloc() gave */
    size_t size;
    size_t unused;
};
_Static_assert(sizeof(struct heap_block) % 16 == 0, "blocks would be misaligned");

static struct heap *current;

struct heap *heap_switch(struct heap *to)
{
    struct heap *from = current;
    current = to;
    return from;
}

static struct heap_block *block_of(void *memory)
{
    return (struct heap_block *)memory - 1;
}

static void link_block(struct heap_block *block, struct heap *heap)
{
    block->heap = heap;
    block->next = NULL;
    block->link = NULL;
    if (heap != NULL) {
        block->next = heap->first;
        block->link = &heap->first;
        if (block->next != NULL) {
            block->next->link = &block->next;
        }
        heap->first = block;
        heap->bytes += block->size;
        heap->blocks++;
    }
}

static void unlink_block(struct heap_block *block)
{
    if (block->heap != NULL) {
        *block->link = block->next;
        if (block->next != NULL) {
            block->next->link = block->link;
        }
        block->heap->bytes -= block->size;
        block->heap->blocks--;
    }
}

static void *make(void *base, size_t offset, size_t size, struct heap *heap)
{
    if (base == NULL) {
        return NULL;
    }
    struct heap_block *block = (struct heap_block *)(void *)((char *)base + offset) - 1;
    block->base = base;
    block->size = size;
    link_block(block, heap);
    return block + 1;
}

/* A node's memory is zeros: libraft sends and writes the padding of its messages as it finds it. */
void *__wrap_malloc(size_t size)
{
    size_t head = sizeof(struct heap_block);
    if (size > SIZE_MAX - head) {
        errno = ENOMEM;
        return NULL;
    }
    void *base = current == NULL ? __real_malloc(head + size) : __real_calloc(1, head + size);
    return make(base, head, size, current);
}

void *__wrap_calloc(size_t count, size_t size)
{
    size_t head = sizeof(struct heap_block);
    if (size != 0 && count > (SIZE_MAX - head) / size) {
        errno = ENOMEM;
        return NULL;
    }
    return make(__real_calloc(1, head + count * size), head, count * size, current);
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (memory == NULL) {
        return __wrap_malloc(size);
    }
    struct heap_block *block = block_of(memory);
    struct heap *heap = block->heap;
    size_t head = sizeof *block;
    ensure((char *)block->base + head == (char *)memory); /* none of aligned_alloc() */
    size_t old_size = block->size;
    unlink_block(block);
    char *base = __real_realloc(block->base, head + size);
    ensure(base != NULL);
    if (heap != NULL && size > old_size) {
        memset(base + head + old_size, 0, size - old_size);
    }
    return make(base, head, size, heap);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    size_t head = sizeof(struct heap_block);
    head = alignment > head ? alignment : head;
    char *base = __real_aligned_alloc(alignment, head + size);
    if (base != NULL) {
        memset(base, 0, head + size);
    }
    return make(base, head, size, current);
}

char *__wrap_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = __wrap_malloc(size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

void __wrap_free(void *memory)
{
    if (memory != NULL) {
        struct heap_block *block = block_of(memory);
        unlink_block(block);
        __real_free(block->base);
    }
}

void heap_end(struct heap *heap)
{
    while (heap->first != NULL) {
        struct heap_block *block = heap->first;
        unlink_block(block);
        __real_free(block->base);
    }
}

void *heap_world_calloc(size_t size)
{
    struct heap *from = heap_switch(NULL);
    void *memory = __wrap_calloc(1, size);
    heap_switch(from);
    ensure(memory != NULL);
    return memory;
}

void *heap_world_realloc(void *memory, size_t size)
{
    struct heap *from = heap_switch(NULL);
    memory = __wrap_realloc(memory, size);
    heap_switch(from);
    ensure(memory != NULL);
    return memory;
}

void heap_world_free(void *memory)
{
    __wrap_free(memory);
}
