/* Time, chance and the list of what is to happen; the transcript is in transcript.c. */
#include "tests/sim/world/world.h"

#include "rpc/ensure.h"
#include "tests/sim/world/heap.h"
#include "tests/sim/world/parts.h"

/* An event keeps its slot until its time has come, also when it was cancelled. */
struct slot {
    world_fn *fn; /* NULL: cancelled, or free */
    void *ctx;
    uint64_t what;
    uint32_t uses; /* so that a number is never given twice */
    uint32_t next_free;
};

struct due {
    int64_t at_us;
    uint64_t order;
    uint32_t slot;
};

static struct {
    struct world_setting setting;
    int64_t now_us;
    struct chance chances[WORLD_STREAMS];
    struct due *heap;
    size_t count, cap;
    struct slot *slots;
    uint32_t slots_count, slots_cap, free_slot; /* slot 0 is none */
    uint64_t next_order;
    uint64_t events;
    bool is_halted;
} world;

uint64_t world_seed(void)
{
    return world.setting.seed;
}

int world_nodes(void)
{
    return world.setting.nodes;
}

int64_t world_now_us(void)
{
    return world.now_us;
}

struct chance *world_chance(enum world_stream stream)
{
    return &world.chances[stream];
}

uint64_t world_events(void)
{
    return world.events;
}

/* ---- The heap ---- */

static bool is_before(const struct due *a, const struct due *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void push(struct due due)
{
    if (world.count == world.cap) {
        world.cap = world.cap * 2 + 64;
        world.heap = heap_world_realloc(world.heap, world.cap * sizeof *world.heap);
    }
    size_t at = world.count++;
    while (at > 0 && is_before(&due, &world.heap[(at - 1) / 2])) {
        world.heap[at] = world.heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    world.heap[at] = due;
}

static struct due pop(void)
{
    struct due first = world.heap[0];
    struct due last = world.heap[--world.count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < world.count; at = child) {
        if (child + 1 < world.count && is_before(&world.heap[child + 1], &world.heap[child])) {
            child++;
        }
        if (!is_before(&world.heap[child], &last)) {
            break;
        }
        world.heap[at] = world.heap[child];
    }
    world.heap[at] = last;
    return first;
}

static uint32_t take_slot(void)
{
    uint32_t slot = world.free_slot;
    if (slot != 0) {
        world.free_slot = world.slots[slot].next_free;
        return slot;
    }
    if (world.slots_count == world.slots_cap) {
        world.slots_cap = world.slots_cap * 2 + 64;
        world.slots = heap_world_realloc(world.slots, world.slots_cap * sizeof *world.slots);
    }
    slot = world.slots_count++;
    world.slots[slot] = (struct slot){.uses = 0};
    return slot == 0 ? take_slot() : slot;
}

uint64_t world_at(int64_t at_us, world_fn *fn, void *ctx, uint64_t what)
{
    uint32_t number = take_slot();
    struct slot *slot = &world.slots[number];
    slot->fn = fn;
    slot->ctx = ctx;
    slot->what = what;
    push((struct due){at_us < world.now_us ? world.now_us : at_us, world.next_order++, number});
    return (uint64_t)slot->uses << 32 | number;
}

uint64_t world_after(int64_t wait_us, world_fn *fn, void *ctx, uint64_t what)
{
    return world_at(world.now_us + wait_us, fn, ctx, what);
}

void world_cancel(uint64_t number)
{
    uint32_t at = (uint32_t)number;
    if (at != 0 && at < world.slots_count && world.slots[at].uses == number >> 32) {
        world.slots[at].fn = NULL;
    }
}

bool world_step(int64_t until_us)
{
    if (world.count == 0 || world.heap[0].at_us > until_us) {
        world.now_us = until_us > world.now_us ? until_us : world.now_us;
        return false;
    }
    struct due due = pop();
    struct slot slot = world.slots[due.slot];
    world.slots[due.slot].fn = NULL;
    world.slots[due.slot].uses++;
    world.slots[due.slot].next_free = world.free_slot;
    world.free_slot = due.slot;
    world.now_us = due.at_us;
    if (slot.fn != NULL) {
        world.events++;
        slot.fn(slot.ctx, slot.what);
    }
    return true;
}

void world_run_until(int64_t at_us)
{
    world.is_halted = false;
    while (!world.is_halted && world_step(at_us)) {
    }
}

void world_halt(void)
{
    world.is_halted = true;
}

/* ---- Beginning and end ---- */

void world_open(const struct world_setting *setting)
{
    ensure(setting->nodes >= 1 && setting->nodes <= WORLD_NODES_MAX);
    world.setting = *setting;
    struct chance chance = {setting->seed};
    for (int i = 0; i < WORLD_STREAMS; i++) {
        world.chances[i].state = chance_next(&chance) ^ (uint64_t)i << 56;
    }
    transcript_open(setting->is_traced);
    disks_open();
    network_open();
    machines_open();
}

void world_close(void)
{
    machines_close();
    network_close_all();
    disks_close();
    transcript_close();
    heap_world_free(world.heap);
    heap_world_free(world.slots);
}
