/* The library's faults, each as lives that show it without its rule and not with it. */
#ifndef TESTS_RAFTLOG_SIM_CASES_H
#define TESTS_RAFTLOG_SIM_CASES_H

#include "sim.h"

#define SIM_SETTING_DEFAULT                     \
    ((struct sim_setting){.rules = GUARD_ALL,   \
                          .faults = SIM_COMMON, \
                          .prevote = 2,         \
                          .one = 2,             \
                          .hostile = 1,         \
                          .ask = true})

struct sim_case {
    const char *name;
    const char *fault;
    struct sim_setting setting; /* with the first seed, and without the rule */
    uint64_t seed_last;
    unsigned rules_with;
    unsigned one_with;
};

const struct sim_case *sim_case_find(const char *name);
void sim_case_list(void);

#endif
