/* A problem for the assignors in the plainest form, an owner per partition, and its answer in the
 * same form. Everything that judges works on these tables and shares nothing with the assignors. */
#ifndef TESTS_CORE_ASSIGNOR_INSTANCE_H
#define TESTS_CORE_ASSIGNOR_INSTANCE_H

#include "server/core/assignor/assignor.h"

enum { NOBODY = -1 };

struct instance {
    struct arena arena; /* of the tables, and of one input and result at a time */
    struct arena scratch;
    int32_t member_count;
    int32_t topic_count;
    int32_t partition_count; /* of all topics */
    int32_t *topic_sizes;
    int32_t *topic_first; /* [topic_count + 1]: a topic's partitions are numbered from here */
    int32_t *topic_of;    /* by partition */
    bool *subscribed;     /* [member * topic_count + topic] */
    bool *withheld;       /* by partition */
    int32_t *owner;       /* by partition: before */
    uint64_t *racks;      /* by partition; NULL: unknown */
    int32_t *member_rack; /* by member; -1 */
    bool *is_static;      /* by member */
    uint64_t id_salt;     /* of the members' ids; 0: ids in the order of the members */
    int32_t *position;    /* by member: where it stands in the input */
    int64_t steps;

    int32_t *answer; /* by partition: after */
    struct assignor_result result;
    int32_t *loads; /* by member: after */
};

/* All unsubscribed, nothing owned; member i stands at i. */
void instance_init(struct instance *instance,
                   int32_t member_count,
                   int32_t topic_count,
                   const int32_t *topic_sizes);
void instance_close(struct instance *instance);

void instance_subscribe_all(struct instance *instance);

/* Runs the assignor and decodes its answer. Fails the test where the answer is not well formed, not
 * complete, not to subscribers alone, or hands out what is withheld. */
void instance_solve(struct instance *instance, enum assignor_kind kind);

/* The answer becomes what is owned. */
void instance_keep(struct instance *instance);

bool instance_is_homogeneous(const struct instance *instance);

/* Whether a member may have a partition. */
bool instance_may(const struct instance *instance, int32_t member, int32_t partition);

/* Partitions whose owner could have kept them and did not. */
int32_t instance_moves(const struct instance *instance);

/* The sum of the squares of the loads. */
int64_t instance_squares(const struct instance *instance);

int32_t instance_load_max(const struct instance *instance);
int32_t instance_load_min(const struct instance *instance);

/* A small generator with a state of its own, the same everywhere. */
uint64_t instance_random(uint64_t *state);
int32_t instance_below(uint64_t *state, int32_t limit);

#endif
