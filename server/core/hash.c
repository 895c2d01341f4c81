#include "server/core/hash.h"

/* Little-endian, whatever the machine is; compilers make one load of it. */
static uint64_t load_le64(const uint8_t *at)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++) {
        word |= (uint64_t)at[i] << (8 * i);
    }
    return word;
}

uint64_t hash_span(uint64_t hash, struct span bytes)
{
    if (span_is_null(bytes)) {
        return hash_word(hash, UINT64_MAX);
    }
    hash = hash_word(hash, bytes.len);
    const uint8_t *at = bytes.data;
    size_t left = bytes.len;
    for (; left >= 8; left -= 8, at += 8) {
        hash = hash_word(hash, load_le64(at));
    }
    if (left > 0) {
        uint8_t rest[8] = {0};
        memcpy(rest, at, left);
        hash = hash_word(hash, load_le64(rest));
    }
    return hash;
}
