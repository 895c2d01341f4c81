#include "tests/load/histogram.h"

enum { SUB_BITS = 6, SUBS = 1 << SUB_BITS };

static unsigned bucket_of(uint64_t us)
{
    if (us < SUBS) {
        return (unsigned)us;
    }
    unsigned shift = 63u - (unsigned)__builtin_clzll(us) - SUB_BITS;
    unsigned bucket = (shift + 1) * SUBS + (unsigned)(us >> shift) - SUBS;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static uint64_t upper_end(unsigned bucket)
{
    if (bucket < SUBS) {
        return bucket;
    }
    unsigned shift = bucket / SUBS - 1;
    return ((uint64_t)(bucket % SUBS + SUBS + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t us)
{
    histogram->count++;
    histogram->buckets[bucket_of(us)]++;
    if (us > histogram->max_us) {
        histogram->max_us = us;
    }
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
    uint64_t wanted = (uint64_t)((double)histogram->count * share);
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen > 0 && seen >= wanted) {
            uint64_t end = upper_end(i);
            return end < histogram->max_us ? end : histogram->max_us;
        }
    }
    return 0;
}
