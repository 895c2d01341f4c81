/* The partitions that have no owner (yet), a bit each. Topics that nobody touched need no bits:
 * they are *whole*, all their partitions are free. */
#ifndef SERVER_CORE_ASSIGNOR_ASSIGN_POOL_H
#define SERVER_CORE_ASSIGNOR_ASSIGN_POOL_H

#include "server/core/assignor/assign_runs.h"

struct assign_pool {
    const struct assignor_topic *topics;
    uint64_t *words;
    int32_t *word_of;    /* per topic, where its bits begin */
    bool *is_whole;      /* per topic; its words are written when it ceases to be */
    int32_t *assignable; /* per topic, how many are not withheld */
};

/* All partitions that are not withheld are free. */
void assign_pool_init(struct assign_pool *pool,
                      const struct assignor_input *input,
                      struct arena *arena);

/* Takes what is free of [run], which lies within its topic, appends it to [taken], and returns how
 * many partitions that are. */
int32_t assign_pool_claim(struct assign_pool *pool,
                          struct assignor_run run,
                          struct assign_runs *taken);

/* Gives back what was claimed. */
void assign_pool_free(struct assign_pool *pool, struct assignor_run run);

/* A walk over the free partitions of some topics. It takes nothing: what it has passed is passed.
 */
struct assign_walk {
    const int32_t *topics;
    int32_t topic_count;
    int32_t at;        /* index of the topic it stands in */
    int32_t partition; /* the next to be looked at there */
};

bool assign_pool_seek(const struct assign_pool *pool,
                      struct assign_walk *walk,
                      int32_t most,
                      struct assignor_run *run);

/* The next free partitions of one topic, at most [most] (1 or more). False at the end. */
static inline bool assign_pool_next(const struct assign_pool *pool,
                                    struct assign_walk *walk,
                                    int32_t most,
                                    struct assignor_run *run)
{
    if (walk->at < walk->topic_count) {
        int32_t topic = walk->topics[walk->at];
        int32_t first = walk->partition;
        int32_t left = pool->topics[topic].partition_count - first;
        if (pool->is_whole[topic] && left > 0) {
            *run = (struct assignor_run){topic, first, left < most ? left : most};
            walk->partition = first + run->count;
            return true;
        }
    }
    return assign_pool_seek(pool, walk, most, run);
}

#endif
