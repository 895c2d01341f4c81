/* Between driver and coordinator. */
#include "tests/sim/world/inputs.h"

#include "server/core/effect.h"
#include "server/server.h"
#include "tests/sim/world/parts.h"

static struct input_events listener;
static void *listener_ctx;

void inputs_listen(const struct input_events *events, void *ctx)
{
    listener = events == NULL ? (struct input_events){NULL, NULL, NULL} : *events;
    listener_ctx = ctx;
}

/* The running node's; an oracle may have others of its own. */
static struct coordinator *node_coordinator(void)
{
    const struct process *process = process_current();
    return process == NULL || process->server == NULL ? NULL : process->server->driver.coordinator;
}

static void tell(void (*hook)(void *ctx, const struct input *input), const struct input *input)
{
    if (hook != NULL && input->node != 0) {
        struct heap *from = heap_switch(NULL);
        hook(listener_ctx, input);
        heap_switch(from);
    }
}

static struct input begin(enum input_kind kind, struct coordinator *coordinator, int64_t now_ms)
{
    const struct process *process = process_current();
    if (node_coordinator() != coordinator) {
        return (struct input){.node = 0};
    }
    return (struct input){.kind = kind,
                          .node = process->node,
                          .incarnation = process->incarnation,
                          .coordinator = coordinator,
                          .now_ms = now_ms};
}

/* Declares both names of a function, and defines the one that is called instead. */
#define INPUT(name, parameters, arguments, kind_of, now_ms, member, value) \
    void __real_coordinator_##name parameters;                             \
    void __wrap_coordinator_##name parameters;                             \
    void __wrap_coordinator_##name parameters                              \
    {                                                                      \
        struct input input = begin(kind_of, c, now_ms);                    \
        input.member = value;                                              \
        tell(listener.before, &input);                                     \
        __real_coordinator_##name arguments;                               \
        tell(listener.after, &input);                                      \
    }

/* Where no time comes with it. */
#define NOW (node_current() == 0 ? 0 : node_monotonic_ms(node_current()))

INPUT(request,
      (struct coordinator * c, struct call *call, int64_t now_ms),
      (c, call, now_ms),
      INPUT_REQUEST,
      now_ms,
      call,
      call)
INPUT(gone,
      (struct coordinator * c, struct call *call, int64_t now_ms),
      (c, call, now_ms),
      INPUT_GONE,
      now_ms,
      call,
      call)
INPUT(apply,
      (struct coordinator * c, const struct applied *applied, int64_t now_ms),
      (c, applied, now_ms),
      INPUT_APPLY,
      now_ms,
      applied,
      applied)
INPUT(tick,
      (struct coordinator * c, int64_t now_ms, int64_t wall_ms),
      (c, now_ms, wall_ms),
      INPUT_TICK,
      now_ms,
      wall_ms,
      wall_ms)
INPUT(winning,
      (struct coordinator * c, uint64_t term, int64_t now_ms),
      (c, term, now_ms),
      INPUT_WINNING,
      now_ms,
      term,
      term)
INPUT(elected,
      (struct coordinator * c, uint64_t term, int64_t now_ms),
      (c, term, now_ms),
      INPUT_ELECTED,
      now_ms,
      term,
      term)
INPUT(suspended,
      (struct coordinator * c, int64_t now_ms),
      (c, now_ms),
      INPUT_SUSPENDED,
      now_ms,
      number,
      0)
INPUT(deposed,
      (struct coordinator * c, int64_t now_ms),
      (c, now_ms),
      INPUT_DEPOSED,
      now_ms,
      number,
      0)
INPUT(refused,
      (struct coordinator * c, uint64_t number, bool full, int64_t now_ms),
      (c, number, full, now_ms),
      INPUT_REFUSED,
      now_ms,
      number,
      number)
INPUT(leader,
      (struct coordinator * c, uint64_t node_id),
      (c, node_id),
      INPUT_LEADER,
      NOW,
      node_id,
      node_id)
INPUT(node,
      (struct coordinator * c, uint64_t node_id, struct span card, int64_t now_ms),
      (c, node_id, card, now_ms),
      INPUT_NODE,
      now_ms,
      node_id,
      node_id)
INPUT(stopping,
      (struct coordinator * c, int64_t now_ms),
      (c, now_ms),
      INPUT_STOPPING,
      now_ms,
      number,
      0)

int __real_coordinator_restore(struct coordinator *c, struct span snapshot);
int __wrap_coordinator_restore(struct coordinator *c, struct span snapshot);
int __wrap_coordinator_restore(struct coordinator *c, struct span snapshot)
{
    struct input input = begin(INPUT_RESTORE, c, NOW);
    input.snapshot = &snapshot;
    tell(listener.before, &input);
    int failed = __real_coordinator_restore(c, snapshot);
    tell(listener.after, &input);
    return failed;
}

struct effect *__real_effects_next(struct effects *effects);
struct effect *__wrap_effects_next(struct effects *effects);
struct effect *__wrap_effects_next(struct effects *effects)
{
    struct effect *effect = __real_effects_next(effects);
    struct coordinator *coordinator = node_coordinator();
    if (effect != NULL && listener.effect != NULL && coordinator != NULL &&
        effects == coordinator_effects(coordinator)) {
        struct heap *from = heap_switch(NULL);
        listener.effect(listener_ctx, node_current(), coordinator, effect);
        heap_switch(from);
    }
    return effect;
}
