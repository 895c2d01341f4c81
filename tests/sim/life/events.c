/* What is to happen, by time; at the same time in the order in which it was asked for. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "tests/sim/life/life.h"

struct event {
    int64_t at_ms;
    uint64_t order;
    event_fn *fn;
    void *who;
    uint64_t what;
};

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

void events_add(struct life *life, int64_t at_ms, event_fn *fn, void *who, uint64_t what)
{
    struct events *events = &life->events;
    if (events->count == events->cap) {
        events->cap = events->cap * 2 + 64;
        events->heap = realloc(events->heap, events->cap * sizeof *events->heap);
        ensure(events->heap != NULL);
    }
    struct event event = {at_ms < life->now_ms ? life->now_ms : at_ms, events->next_order++, fn,
                          who, what};
    size_t at = events->count++;
    while (at > 0 && is_before(&event, &events->heap[(at - 1) / 2])) {
        events->heap[at] = events->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    events->heap[at] = event;
}

int64_t events_next_ms(const struct events *events)
{
    return events->count == 0 ? INT64_MAX : events->heap[0].at_ms;
}

void events_run_one(struct life *life)
{
    struct events *events = &life->events;
    ensure(events->count > 0);
    struct event first = events->heap[0];
    struct event last = events->heap[--events->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < events->count; at = child) {
        bool has_right = child + 1 < events->count;
        if (has_right && is_before(&events->heap[child + 1], &events->heap[child])) {
            child++;
        }
        if (!is_before(&events->heap[child], &last)) {
            break;
        }
        events->heap[at] = events->heap[child];
    }
    events->heap[at] = last;
    first.fn(life, first.who, first.what);
}

void events_close(struct events *events)
{
    free(events->heap);
    *events = (struct events){0};
}
