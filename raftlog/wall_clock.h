/* The wall clock that a leader stamps batches with (R19): never far ahead of the median of a
 * majority's clocks, and trusted for expiry only while a majority is known and agrees.
 *
 * Pure: clocks come in. */
#ifndef RAFTLOG_WALL_CLOCK_H
#define RAFTLOG_WALL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WALL_CLOCK_AHEAD_MS_MAX = 60000,  /* of the median */
    WALL_CLOCK_SPREAD_MS_MAX = 60000, /* within which a majority must agree */
    WALL_CLOCK_STALE_MS = 10000,      /* a measurement older than this is not known any more */
    WALL_CLOCK_NODES_MAX = 32
};

/* Of the nodes whose clocks are known, this one included: theirs minus ours. */
struct wall_clock {
    size_t nodes_count; /* of the cluster */
    size_t known_count;
    int64_t offsets_ms[WALL_CLOCK_NODES_MAX]; /* sorted */
};

/* Starts with our own clock. */
void wall_clock_init(struct wall_clock *clock, size_t nodes_count);
void wall_clock_add(struct wall_clock *clock, int64_t offset_ms);

bool wall_clock_has_majority(const struct wall_clock *clock);

/* Of all known; with an even number of them the lower one. */
int64_t wall_clock_median_ms(const struct wall_clock *clock);

/* A majority is known, one agrees to within the spread, and ours is not off its median. */
bool wall_clock_is_trusted(const struct wall_clock *clock);

/* For a batch submitted at [now_ms] of our clock, behind one stamped [last_ms] (0: it is the first)
 * that this node has known of for [since_ms]. Without a majority's clocks time goes on from there,
 * as fast as the monotonic clock does: our own may be days ahead. */
int64_t wall_clock_stamp_ms(const struct wall_clock *clock,
                            int64_t now_ms,
                            int64_t last_ms,
                            int64_t since_ms);

#endif
