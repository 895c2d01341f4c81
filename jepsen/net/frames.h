/* Frames that are on their way: what is due next comes first, and what is due at the same moment in
 * the order in which it was put in. */
#ifndef JEPSEN_NET_FRAMES_H
#define JEPSEN_NET_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
    uint64_t due_ns;
    uint64_t number;
    uint32_t link; /* the caller's */
    uint32_t len;
    uint8_t *bytes; /* owned */
};

struct frames {
    struct frame *items; /* a heap */
    size_t count;
    size_t room;
    uint64_t number;
};

void frames_close(struct frames *frames);

/* Copies the bytes. */
void frames_put(struct frames *frames,
                uint64_t due_ns,
                uint32_t link,
                const uint8_t *bytes,
                size_t len);

/* Takes out the first one if it is due. The caller frees its bytes. */
bool frames_take(struct frames *frames, uint64_t now_ns, struct frame *frame);

/* UINT64_MAX: none. */
uint64_t frames_next_ns(const struct frames *frames);

/* Makes all frames of a link due at once, in their order. */
void frames_hurry(struct frames *frames, uint32_t link);

#endif
