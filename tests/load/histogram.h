/* Times, counted in buckets that are at most 1.6 % wide: exact enough for percentiles, and adding
 * one costs no allocation. */
#ifndef LOAD_HISTOGRAM_H
#define LOAD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 64 * 40 };

struct histogram {
    uint64_t count;
    uint64_t max_us;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t us);

/* The upper end of the bucket that holds the part [share] (0 to 1) of all; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

#endif
