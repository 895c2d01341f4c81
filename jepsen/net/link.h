/* What one direction between two ports does to a frame.
 *
 * In this order: drop (all), loss (by chance), duplication, then for each copy corruption of one
 * byte, hold (kept until released, in order), the rate (a queue of RULE_BACKLOG_MS, what is more is
 * dropped), delay and jitter. Frames keep their order, except those that reorder delays further.
 *
 * Pure: the time comes in, and what is to be done goes out. */
#ifndef JEPSEN_NET_LINK_H
#define JEPSEN_NET_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/buf.h"

enum {
    LINK_COPIES_MAX = 2,
    LINK_BACKLOG_MS = 500,          /* of a rate cap's queue */
    LINK_HELD_BYTES_MAX = 16 << 20, /* what a hold keeps */
    LINK_PROTECTED_BYTES = 14,      /* Ethernet's header: corruption leaves the address alone */
};

struct link_rule {
    bool drop;
    bool hold;
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    uint32_t reorder_ppm;
    uint32_t corrupt_ppm;
    uint64_t delay_us;
    uint64_t jitter_us;
    uint64_t reorder_us; /* what a reordered frame waits in addition */
    uint64_t rate_bytes; /* per second; 0: any */
};

struct link_counters {
    uint64_t frames; /* offered */
    uint64_t bytes;
    uint64_t delivered;
    uint64_t dropped;
    uint64_t lost;
    uint64_t duplicated;
    uint64_t reordered;
    uint64_t corrupted;
    uint64_t held;
    uint64_t overflowed;
};

struct link {
    struct link_rule rule;
    struct link_counters counters;
    uint64_t line_free_ns; /* when the rate allows the next frame */
    uint64_t last_due_ns;
    struct buf held; /* u32 length in host order, frame; again */
};

enum link_fate { LINK_GONE, LINK_HELD, LINK_DUE };

struct link_copy {
    enum link_fate fate;
    uint64_t due_ns;     /* LINK_DUE: not before then */
    size_t corrupt_at;   /* 0: not */
    uint8_t corrupt_xor; /* not 0 */
};

void link_close(struct link *link);

/* Decides on one frame; returns how many copies there are. LINK_HELD ones are for link_hold(). */
size_t link_decide(struct link *link,
                   size_t len,
                   uint64_t now_ns,
                   uint64_t *chance,
                   struct link_copy copies[LINK_COPIES_MAX]);

/* Keeps a frame. */
void link_hold(struct link *link, const uint8_t *frame, size_t len);

/* Reads the held frame at [*at] and moves on; false at the end. link_forget() when all are out. */
bool link_next_held(const struct link *link, size_t *at, const uint8_t **frame, size_t *len);
void link_forget(struct link *link);

/* A key of the rule from its text: drop, hold (0 or 1), loss, duplicate, reorder, corrupt (ppm),
 * delay_us, jitter_us, reorder_us, rate_bytes. False: no such key or value. */
bool link_set(struct link_rule *rule, const char *key, const char *value);

/* Back to a line without faults; backlogs are forgotten, held frames are the caller's to send. */
void link_clear(struct link *link);

#endif
