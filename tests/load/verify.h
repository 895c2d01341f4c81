/* Asks the coordinator what it knows and compares: no acknowledged commit may be lost, no member
 * that is stable may be missing. */
#ifndef LOAD_VERIFY_H
#define LOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/load/crowd.h"

struct verify_result {
    uint64_t offsets;  /* acknowledged ones that were looked at */
    uint64_t lost;     /* of those: not there, or an earlier offset */
    uint64_t invented; /* offsets that nobody committed, or with other metadata */
    uint64_t members;  /* stable ones that were looked for */
    uint64_t evicted;  /* of those: not in the group any more */
};

/* No commit may be open. With [members] the groups are described as well. [done] is called once. */
void verify_begin(struct crowd *crowd,
                  bool members,
                  void (*done)(void *ctx, const struct verify_result *result),
                  void *ctx);

#endif
