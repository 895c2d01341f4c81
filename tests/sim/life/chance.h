/* Chance that comes out the same for the same seed (splitmix64, Vigna). */
#ifndef TESTS_SIM_LIFE_CHANCE_H
#define TESTS_SIM_LIFE_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

struct chance {
    uint64_t state;
};

static inline uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to below - 1. */
static inline int64_t chance_below(struct chance *chance, int64_t below)
{
    return below <= 1 ? 0 : (int64_t)(chance_next(chance) % (uint64_t)below);
}

/* From [least] to [most]. */
static inline int64_t chance_between(struct chance *chance, int64_t least, int64_t most)
{
    return least + chance_below(chance, most - least + 1);
}

/* True in so many of 1000 cases. */
static inline bool chance_in(struct chance *chance, int per_mille)
{
    return chance_below(chance, 1000) < per_mille;
}

#endif
