/* Chance from a seed (splitmix64): the same seed, the same draws. */
#ifndef JEPSEN_LAB_CHANCE_H
#define JEPSEN_LAB_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t chance_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15U;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

/* Below [n], which is not 0. The bias is below n / 2^64. */
static inline uint64_t chance_below(uint64_t *state, uint64_t n)
{
    return chance_next(state) % n;
}

/* True in [ppm] of a million draws. Draws nothing where the answer is certain. */
static inline bool chance_hits(uint64_t *state, uint32_t ppm)
{
    return ppm != 0 && (ppm >= 1000000 || chance_below(state, 1000000) < ppm);
}

#endif
