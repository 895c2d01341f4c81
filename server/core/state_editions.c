#include "server/core/state_editions.h"

#include <stdlib.h>

#include "rpc/ensure.h"

static void free_held(struct editions *editions)
{
    for (size_t i = 0; i < editions->count; i++) {
        free(editions->held[i]);
    }
    free(editions->held);
    editions->held = NULL;
    editions->count = 0;
    editions->cap = 0;
}

void editions_close(struct editions *editions)
{
    free_held(editions);
    *editions = (struct editions){0};
}

void editions_freeze(struct editions *editions)
{
    ensure(!editions->is_frozen);
    editions->is_frozen = true;
    editions->current++;
}

void editions_release(struct editions *editions)
{
    ensure(editions->is_frozen);
    editions->is_frozen = false;
    free_held(editions);
}

void editions_drop(struct editions *editions, void *memory, uint32_t made)
{
    if (memory == NULL) {
        return;
    }
    if (!editions_holds(editions, made)) {
        free(memory);
        return;
    }
    if (editions->count == editions->cap) {
        editions->cap = editions->cap == 0 ? 64 : editions->cap * 2;
        editions->held = memory_resize(editions->held, editions->cap * sizeof *editions->held);
    }
    editions->held[editions->count++] = memory;
}

struct blob *blob_new(const struct editions *editions, struct span bytes)
{
    if (span_is_null(bytes)) {
        return NULL;
    }
    ensure(bytes.len <= UINT32_MAX);
    struct blob *blob = malloc(sizeof *blob + bytes.len);
    ensure(blob != NULL);
    blob->made = editions->current;
    blob->len = (uint32_t)bytes.len;
    if (bytes.len > 0) {
        memcpy(blob->bytes, bytes.data, bytes.len);
    }
    return blob;
}

void blob_drop(struct editions *editions, struct blob *blob)
{
    if (blob != NULL) {
        editions_drop(editions, blob, blob->made);
    }
}

void *memory_new(size_t size)
{
    void *memory = calloc(1, size);
    ensure(memory != NULL);
    return memory;
}

void *memory_resize(void *memory, size_t size)
{
    ensure(size > 0);
    memory = realloc(memory, size);
    ensure(memory != NULL);
    return memory;
}

void *memory_copy(const void *from, size_t size)
{
    if (size == 0) {
        return NULL;
    }
    void *memory = malloc(size);
    ensure(memory != NULL);
    return memcpy(memory, from, size);
}
