#include "server/core/topics.h"

#include <stdlib.h>

#include "rpc/errors.h"
#include "server/core/reply.h"

struct entry {
    struct span name;
    int32_t place;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = span_compare(x->name, y->name);
    if (order != 0) {
        return order;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

bool *topics_find_duplicates(struct arena *arena, const struct span *names, int32_t count)
{
    bool *is_duplicate = arena_alloc(arena, sizeof *is_duplicate * (size_t)count);
    struct entry *entries = arena_alloc(arena, sizeof *entries * (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct entry){.name = names[i], .place = i};
    }
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    for (int32_t i = 1; i < count; i++) {
        if (span_compare(entries[i - 1].name, entries[i].name) == 0) {
            is_duplicate[entries[i - 1].place] = true;
            is_duplicate[entries[i].place] = true;
        }
    }
    return is_duplicate;
}

int16_t topics_replication(const struct coordinator *c)
{
    int16_t nodes = 0;
    uint64_t at = 0;
    while (nodes < INT16_MAX && state_next_node(c->state, &at) != NULL) {
        nodes++;
    }
    return nodes == 0 ? 1 : nodes;
}

int16_t topics_check_partitions(struct coordinator *c,
                                struct call *call,
                                int64_t partitions,
                                struct span *text)
{
    int64_t have = (int64_t)state_totals(c->state)->partitions;
    if (have + partitions <= c->limits.partitions_max) {
        return KAFKA_NONE;
    }
    c->counters.limit_partitions++;
    *text = reply_text(call,
                       "The cluster has %lld partitions and may have %lld: delete topics or raise "
                       "coordinator.max.partitions.",
                       (long long)have, (long long)c->limits.partitions_max);
    return KAFKA_POLICY_VIOLATION;
}
