/* Where a key's search begins in the index of offsets.h. */
#ifndef SERVER_CORE_OFFSETS_PLACE_H
#define SERVER_CORE_OFFSETS_PLACE_H

#include "server/core/hash.h"

static inline uint32_t offsets_place(uint64_t topic, int32_t partition)
{
    return (uint32_t)hash_end(hash_word(topic, (uint64_t)(uint32_t)partition));
}

#endif
