/* Copy on write (R17). A freeze begins a new edition; what was made in an earlier one belongs to
 * the snapshot as well, so it is not changed and not freed until the snapshot is released: a row is
 * replaced by a copy, and what falls away is held. Without a snapshot everything is changed in
 * place and freed at once. */
#ifndef SERVER_CORE_STATE_EDITIONS_H
#define SERVER_CORE_STATE_EDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

struct editions {
    uint32_t current;
    bool is_frozen;
    void **held; /* of malloc(), freed at release */
    size_t count;
    size_t cap;
};

void editions_close(struct editions *editions);

void editions_freeze(struct editions *editions);
void editions_release(struct editions *editions);

/* Whether a snapshot holds what was made in edition [made]. */
static inline bool editions_holds(const struct editions *editions, uint32_t made)
{
    return editions->is_frozen && made != editions->current;
}

/* Frees [memory], of malloc(), now or at release. NULL is fine. */
void editions_drop(struct editions *editions, void *memory, uint32_t made);

/* Bytes that are made once, never changed and dropped. */
struct blob {
    uint32_t made;
    uint32_t len;
    uint8_t bytes[];
};

/* NULL for null; the span is then null again. */
struct blob *blob_new(const struct editions *editions, struct span bytes);
void blob_drop(struct editions *editions, struct blob *blob);
static inline struct span blob_span(const struct blob *blob)
{
    return blob == NULL ? SPAN_NULL : span_of(blob->bytes, blob->len);
}
/* The blob around a span of blob_span(). */
static inline struct blob *blob_of(struct span span)
{
    return span_is_null(span)
               ? NULL
               : (struct blob *)(uintptr_t)(span.data - offsetof(struct blob, bytes));
}

/* malloc() that aborts instead of failing; zeroed. */
void *memory_new(size_t size);
void *memory_resize(void *memory, size_t size);
void *memory_copy(const void *from, size_t size); /* NULL for size 0 */

#endif
