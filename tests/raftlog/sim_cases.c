#include "sim_cases.h"

#include <stdio.h>
#include <string.h>

/* The seeds were found by running many; each shows its fault as long as the order of the random
 * numbers stays as it is. S2 is too rare for a seed: figure8.c tells it. */
static const struct sim_case cases[] = {
    {.name = "S1",
     .fault = "an entry is acknowledged that one disk holds",
     .setting = {.seed = 31015,
                 .seconds = 120,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED & ~GUARD_CLAMP_SYNC,
                 .faults = SIM_COMMON & ~SIM_DISK,
                 .prevote = 2,
                 .one = 1,
                 .hostile = 2,
                 .ask = true},
     .seed_last = 31015,
     .rules_with = GUARD_VALIDATED,
     .one_with = 1},
    {.name = "S3",
     .fault = "the library goes on after a failed write",
     .setting = {.seed = 7,
                 .seconds = 120,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED & ~GUARD_FAIL_STOP,
                 .faults = SIM_COMMON,
                 .prevote = 2,
                 .one = 1,
                 .hostile = 1,
                 .ask = true},
     .seed_last = 7,
     .rules_with = GUARD_VALIDATED,
     .one_with = 1},
    {.name = "S5",
     .fault = "two leaders in one term",
     .setting = {.seed = 30178,
                 .seconds = 120,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED & ~GUARD_ONE_VOTE,
                 .faults = SIM_COMMON & ~SIM_DISK,
                 .prevote = 2,
                 .one = 1,
                 .hostile = 2,
                 .ask = true},
     .seed_last = 30178,
     .rules_with = GUARD_VALIDATED,
     .one_with = 1},
    {.name = "L1",
     .fault = "many submissions in flight starve",
     .setting = {.seed = 5,
                 .seconds = 60,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED,
                 .faults = SIM_COMMON & ~SIM_DISK,
                 .prevote = 2,
                 .one = 0,
                 .hostile = 1,
                 .ask = true},
     .seed_last = 5,
     .rules_with = GUARD_VALIDATED,
     .one_with = 1},
    {.name = "L2",
     .fault = "two of three alive and no leader, with pre-vote",
     .setting = {.seed = 30005,
                 .seconds = 120,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED & ~GUARD_REAL_TERM,
                 .faults = SIM_COMMON & ~SIM_DISK,
                 .prevote = 1,
                 .one = 1,
                 .hostile = 2,
                 .ask = true},
     .seed_last = 30005,
     .rules_with = GUARD_VALIDATED,
     .one_with = 1},
    {.name = "G8",
     .fault = "a node with an emptied disk votes, and what was acknowledged is lost",
     .setting = {.seed = 25,
                 .seconds = 120,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED & ~GUARD_REJOIN,
                 .faults = (SIM_COMMON & ~SIM_DISK) | SIM_WIPE,
                 .prevote = 2,
                 .one = 1,
                 .hostile = 1,
                 .ask = true},
     .seed_last = 25,
     .rules_with = GUARD_VALIDATED,
     .one_with = 1},
    {.name = "G9",
     .fault = "an old message is taken for a new one behind a snapshot",
     .setting = {.seed = 27,
                 .seconds = 120,
                 .nodes = 3,
                 .rules = GUARD_VALIDATED & ~GUARD_COMPACTED,
                 .faults = SIM_CRASH | SIM_NET | SIM_SKEW | SIM_WIPE_QUIET,
                 .prevote = 2,
                 .one = 2,
                 .hostile = 1,
                 .ask = true},
     .seed_last = 27,
     .rules_with = GUARD_VALIDATED,
     .one_with = 2},
};

const struct sim_case *sim_case_find(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

void sim_case_list(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        printf("%s\n", cases[i].name);
    }
}
