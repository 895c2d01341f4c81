/* What a life is made of, besides its world: clients, faults, oracle. main.c opens the world, calls
 * the play, closes the world and prints the hash. */
#ifndef TESTS_SIM_WORLD_PLAY_H
#define TESTS_SIM_WORLD_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct play_setting {
    uint64_t seed;
    int nodes;       /* 0: the play's choice */
    int64_t seconds; /* 0: the same */
    bool is_traced;
    const char *const *words; /* of the command line that main.c did not know: "key=value" */
    size_t words_count;
};

struct play {
    const char *name;
    const char *help;
    /* How many nodes this seed has, before the world is opened. */
    int (*nodes)(const struct play_setting *setting);
    /* One whole life in an open world; all that must not be goes to world_fail(). */
    void (*run)(const struct play_setting *setting);
    /* A line of figures about the life that has ended, or NULL. */
    void (*figures)(FILE *out);
};

extern const struct play play_smoke; /* smoke.c */

#endif
