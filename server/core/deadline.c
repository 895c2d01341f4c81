#include "server/core/deadline.h"

#include <stdlib.h>

#include "rpc/ensure.h"

void deadlines_init(struct deadlines *deadlines)
{
    *deadlines = (struct deadlines){0};
}

void deadlines_close(struct deadlines *deadlines)
{
    free(deadlines->heap);
    *deadlines = (struct deadlines){0};
}

void deadline_init(struct deadline *deadline, deadline_fn *fire)
{
    *deadline = (struct deadline){.at_ms = INT64_MAX, .fire = fire};
}

static bool is_before(const struct deadline *a, const struct deadline *b)
{
    return a->heap_ms != b->heap_ms ? a->heap_ms < b->heap_ms : a->order < b->order;
}

static void put(struct deadlines *deadlines, size_t at, struct deadline *deadline)
{
    deadlines->heap[at] = deadline;
    deadline->place = at + 1;
}

static void sift_up(struct deadlines *deadlines, size_t at)
{
    struct deadline *moving = deadlines->heap[at];
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!is_before(moving, deadlines->heap[parent])) {
            break;
        }
        put(deadlines, at, deadlines->heap[parent]);
        at = parent;
    }
    put(deadlines, at, moving);
}

static void sift_down(struct deadlines *deadlines, size_t at)
{
    struct deadline *moving = deadlines->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= deadlines->count) {
            break;
        }
        if (child + 1 < deadlines->count &&
            is_before(deadlines->heap[child + 1], deadlines->heap[child])) {
            child++;
        }
        if (!is_before(deadlines->heap[child], moving)) {
            break;
        }
        put(deadlines, at, deadlines->heap[child]);
        at = child;
    }
    put(deadlines, at, moving);
}

static void grow(struct deadlines *deadlines)
{
    size_t cap = deadlines->cap == 0 ? 64 : deadlines->cap * 2;
    struct deadline **heap = realloc(deadlines->heap, cap * sizeof *heap);
    ensure(heap != NULL);
    deadlines->heap = heap;
    deadlines->cap = cap;
}

/* Its heap_ms or order has changed, or it is new at the end. */
static void settle(struct deadlines *deadlines, struct deadline *deadline)
{
    sift_up(deadlines, deadline->place - 1);
    sift_down(deadlines, deadline->place - 1);
}

void deadline_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ms)
{
    ensure(deadline->fire != NULL);
    deadline->at_ms = at_ms;
    if (deadline->place != 0 && at_ms >= deadline->heap_ms) {
        return;
    }
    deadline->heap_ms = at_ms;
    deadline->order = deadlines->next_order++;
    if (deadline->place == 0) {
        if (deadlines->count == deadlines->cap) {
            grow(deadlines);
        }
        put(deadlines, deadlines->count++, deadline);
    }
    settle(deadlines, deadline);
}

void deadline_clear(struct deadlines *deadlines, struct deadline *deadline)
{
    deadline->at_ms = INT64_MAX;
    if (deadline->place == 0) {
        return;
    }
    size_t at = deadline->place - 1;
    ensure(at < deadlines->count && deadlines->heap[at] == deadline);
    deadline->place = 0;
    struct deadline *last = deadlines->heap[--deadlines->count];
    if (last != deadline) {
        put(deadlines, at, last);
        settle(deadlines, last);
    }
}

bool deadlines_run(struct deadlines *deadlines, struct coordinator *c, int64_t now_ms, size_t most)
{
    for (size_t i = 0; i < most; i++) {
        if (deadlines->count == 0 || deadlines->heap[0]->heap_ms > now_ms) {
            return false;
        }
        struct deadline *first = deadlines->heap[0];
        if (first->at_ms > first->heap_ms) { /* was moved later meanwhile */
            first->heap_ms = first->at_ms;
            first->order = deadlines->next_order++;
            sift_down(deadlines, 0);
            continue;
        }
        deadline_clear(deadlines, first);
        first->fire(c, first);
    }
    return true;
}

void deadlines_shift(struct deadlines *deadlines, int64_t by_ms)
{
    ensure(by_ms >= 0);
    for (size_t i = 0; i < deadlines->count; i++) {
        deadlines->heap[i]->heap_ms += by_ms;
        deadlines->heap[i]->at_ms += by_ms;
    }
}

void deadlines_check(const struct deadlines *deadlines)
{
    for (size_t i = 0; i < deadlines->count; i++) {
        const struct deadline *deadline = deadlines->heap[i];
        ensure(deadline->place == i + 1);
        ensure(deadline->heap_ms <= deadline->at_ms);
        ensure(i == 0 || !is_before(deadline, deadlines->heap[(i - 1) / 2]));
    }
}

int64_t deadlines_next(const struct deadlines *deadlines)
{
    return deadlines->count == 0 ? INT64_MAX : deadlines->heap[0]->heap_ms;
}
