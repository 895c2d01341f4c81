/* Random numbers, time and the queue of events. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "sim_parts.h"

uint64_t sim_now;

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

void sim_seed(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15U + 0x1234567;
    for (int i = 0; i < 8; i++) {
        next_random();
    }
}

uint64_t sim_below(uint64_t n)
{
    return n == 0 ? 0 : next_random() % n;
}

bool sim_chance(uint64_t per_million)
{
    return sim_below(1000000) < per_million;
}

static struct sim_event *heap;
static size_t heap_count;
static size_t heap_cap;
static uint64_t sequence;

static bool is_before(size_t a, size_t b)
{
    return heap[a].time < heap[b].time ||
           (heap[a].time == heap[b].time && heap[a].sequence < heap[b].sequence);
}

static void swap(size_t a, size_t b)
{
    struct sim_event event = heap[a];
    heap[a] = heap[b];
    heap[b] = event;
}

void sim_push(struct sim_event event)
{
    if (heap_count == heap_cap) {
        heap_cap = heap_cap == 0 ? 4096 : 2 * heap_cap;
        heap = realloc(heap, heap_cap * sizeof *heap);
        ensure(heap != NULL);
    }
    event.sequence = sequence++;
    size_t i = heap_count++;
    heap[i] = event;
    for (; i > 0 && is_before(i, (i - 1) / 2); i = (i - 1) / 2) {
        swap(i, (i - 1) / 2);
    }
}

bool sim_pop(struct sim_event *event)
{
    if (heap_count == 0) {
        return false;
    }
    *event = heap[0];
    heap[0] = heap[--heap_count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap_count; child++) {
            least = is_before(child, least) ? child : least;
        }
        if (least == i) {
            return true;
        }
        swap(i, least);
        i = least;
    }
}

void sim_at(uint64_t time, enum sim_kind kind, struct sim_node *node, void *what, uint64_t number)
{
    sim_push((struct sim_event){.time = time,
                                .kind = kind,
                                .node = node,
                                .epoch = node == NULL ? 0 : node->epoch,
                                .what = what,
                                .number = number});
}

void sim_call_at(uint64_t time,
                 enum sim_kind kind,
                 struct sim_node *node,
                 void *what,
                 union sim_callback callback)
{
    sim_push((struct sim_event){.time = time,
                                .kind = kind,
                                .node = node,
                                .epoch = node->epoch,
                                .what = what,
                                .callback = callback});
}
