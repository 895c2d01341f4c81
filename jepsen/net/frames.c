#include "jepsen/net/frames.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

void frames_close(struct frames *frames)
{
    for (size_t i = 0; i < frames->count; i++) {
        free(frames->items[i].bytes);
    }
    free(frames->items);
}

static bool is_before(const struct frame *a, const struct frame *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void swap(struct frames *frames, size_t a, size_t b)
{
    struct frame kept = frames->items[a];
    frames->items[a] = frames->items[b];
    frames->items[b] = kept;
}

static void sift_up(struct frames *frames, size_t at)
{
    while (at > 0 && is_before(&frames->items[at], &frames->items[(at - 1) / 2])) {
        swap(frames, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct frames *frames, size_t at)
{
    for (;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < frames->count; child++) {
            if (is_before(&frames->items[child], &frames->items[first])) {
                first = child;
            }
        }
        if (first == at) {
            return;
        }
        swap(frames, at, first);
        at = first;
    }
}

void frames_put(struct frames *frames,
                uint64_t due_ns,
                uint32_t link,
                const uint8_t *bytes,
                size_t len)
{
    if (frames->count == frames->room) {
        frames->room = frames->room == 0 ? 256 : frames->room * 2;
        frames->items = realloc(frames->items, frames->room * sizeof *frames->items);
        ensure(frames->items != NULL);
    }
    uint8_t *copy = malloc(len);
    ensure(copy != NULL);
    memcpy(copy, bytes, len);
    frames->items[frames->count] = (struct frame){.due_ns = due_ns,
                                                  .number = frames->number++,
                                                  .link = link,
                                                  .len = (uint32_t)len,
                                                  .bytes = copy};
    sift_up(frames, frames->count++);
}

bool frames_take(struct frames *frames, uint64_t now_ns, struct frame *frame)
{
    if (frames->count == 0 || frames->items[0].due_ns > now_ns) {
        return false;
    }
    *frame = frames->items[0];
    frames->items[0] = frames->items[--frames->count];
    sift_down(frames, 0);
    return true;
}

uint64_t frames_next_ns(const struct frames *frames)
{
    return frames->count == 0 ? UINT64_MAX : frames->items[0].due_ns;
}

void frames_hurry(struct frames *frames, uint32_t link)
{
    for (size_t i = 0; i < frames->count; i++) {
        if (frames->items[i].link == link) {
            frames->items[i].due_ns = 0;
        }
    }
    for (size_t i = frames->count / 2; i-- > 0;) {
        sift_down(frames, i);
    }
}
