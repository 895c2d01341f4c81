/* What goes in and out of a node's coordinator, for an oracle that judges every event. The calls
 * between driver and coordinator are taken at link time; the product knows nothing of it. */
#ifndef TESTS_SIM_WORLD_INPUTS_H
#define TESTS_SIM_WORLD_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/core/coordinator.h"
#include "tests/sim/world/world.h"

struct call;
struct effect;

enum input_kind {
    INPUT_REQUEST,
    INPUT_GONE,
    INPUT_APPLY,
    INPUT_TICK,
    INPUT_WINNING,
    INPUT_ELECTED,
    INPUT_SUSPENDED,
    INPUT_DEPOSED,
    INPUT_REFUSED,
    INPUT_LEADER,
    INPUT_NODE,
    INPUT_STOPPING,
    INPUT_RESTORE
};

struct input {
    enum input_kind kind;
    int node;
    uint64_t incarnation;
    struct coordinator *coordinator;
    int64_t now_ms; /* the node's */
    union {
        struct call *call;             /* request, gone */
        const struct applied *applied; /* apply */
        uint64_t term;                 /* winning, elected */
        uint64_t number;               /* refused */
        uint64_t node_id;              /* leader, node */
        int64_t wall_ms;               /* tick */
        const struct span *snapshot;   /* restore */
    };
};

/* Called within the node: they must not wait, and must not call node.h but for its questions.
 * Memory that they allocate is the world's. Any may be NULL. */
struct input_events {
    void (*before)(void *ctx, const struct input *input);
    void (*after)(void *ctx, const struct input *input);
    /* Each effect as the driver takes it. */
    void (*effect)(void *ctx,
                   int node,
                   struct coordinator *coordinator,
                   const struct effect *effect);
};
void inputs_listen(const struct input_events *events, void *ctx);

#endif
