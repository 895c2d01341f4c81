/* A state under test, and short ways to put records to it. */
#ifndef TESTS_CORE_FACTS_TRIAL_H
#define TESTS_CORE_FACTS_TRIAL_H

#include "rpc/buf.h"
#include "server/core/record.h"
#include "server/core/state.h"

struct trial {
    struct state *state;
    struct buf records; /* of the next proposal */
    uint64_t index;     /* of the batch applied last */
    uint64_t term;
    int64_t stamp_ms;
    struct verdict verdicts[16];
    int count; /* of the last proposal's records */
};

void trial_init(struct trial *trial);
void trial_close(struct trial *trial);

/* Applies what is in [records] as a batch of its own and checks the state. The last record's
 * verdict. */
struct verdict trial_apply(struct trial *trial);
/* One record. */
struct verdict trial_put(struct trial *trial, enum record_type type, const void *body);

static inline struct span text(const char *cstr)
{
    return span_from_cstr(cstr);
}

/* Each a proposal of its own. */
uint64_t trial_topic(struct trial *trial, const char *name, int32_t partitions);
uint64_t trial_group(struct trial *trial, const char *name);
/* A generation of new members that are named in [names], up to a NULL; the first leads. */
struct verdict trial_generation(struct trial *trial,
                                uint64_t group,
                                int32_t generation,
                                const char *const *names);
/* Every member gets its own member id as assignment. */
struct verdict trial_assign(struct trial *trial, uint64_t group, int32_t generation);
struct verdict trial_commit(struct trial *trial,
                            uint64_t group,
                            uint64_t member,
                            int32_t generation,
                            uint64_t topic,
                            int32_t partition,
                            int64_t offset,
                            const char *metadata);

const struct group *trial_facts(const struct trial *trial, uint64_t group);
const struct member *trial_member(const struct trial *trial, uint64_t group, const char *member_id);
/* NULL: none. */
const struct offset_row *trial_offset(const struct trial *trial,
                                      uint64_t group,
                                      uint64_t topic,
                                      int32_t partition);

/* The state's snapshot. */
struct buf trial_snapshot(struct trial *trial);

#endif
