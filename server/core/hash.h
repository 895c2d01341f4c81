/* The 64-bit hash of rows and table keys. It has a fixed seed and reads bytes one order only, so it
 * is equal on every machine and for every compiler: nodes compare state hashes (R22), snapshots
 * carry one. Not for secrets. */
#ifndef SERVER_CORE_HASH_H
#define SERVER_CORE_HASH_H

#include <stdint.h>

#include "rpc/span.h"

/* A row's hash is begun with a number of its own, fed words and byte strings, and finished. */
static inline uint64_t hash_begin(uint64_t kind)
{
    return kind * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

/* The length is part of it; null differs from empty. */
uint64_t hash_span(uint64_t hash, struct span bytes);

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014; public domain): all bits depend on all. */
static inline uint64_t hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static inline uint64_t hash_of_id(uint64_t id)
{
    return hash_end(hash_word(hash_begin(0), id));
}

static inline uint64_t hash_of_span(struct span bytes)
{
    return hash_end(hash_span(hash_begin(0), bytes));
}

#endif
