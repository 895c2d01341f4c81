/* A cluster without a network: coordinators that apply one log, driven step by step. Proposals wait
 * until rig_commit(); a takeover keeps some of those that wait and loses the rest. */
#ifndef TESTS_CORE_CLASSIC_RIG_H
#define TESTS_CORE_CLASSIC_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "server/core/coordinator.h"

enum { RIG_NODES = 3 };

struct rig_entry {
    uint64_t term;
    uint64_t number;
    int maker;
    struct buf records;
};

struct rig {
    struct coordinator *nodes[RIG_NODES];
    int leader; /* -1: none */
    uint64_t term;
    uint64_t index;
    int64_t now_ms;
    struct rig_entry *waiting; /* proposed, not committed */
    size_t waiting_count;
    size_t waiting_cap;
    int refusals; /* so many of the next proposals find no room */
    void (*reply)(void *ctx, struct call *call, const void *response);
    void (*log)(void *ctx, const char *line); /* may be NULL */
    void *ctx;
};

void rig_init(struct rig *rig, const struct coordinator_limits *limits);
void rig_close(struct rig *rig);
extern const struct coordinator_limits rig_limits;

/* Inputs, each with the effects that follow from it. */
void rig_request(struct rig *rig, struct call *call);
void rig_gone(struct rig *rig, int node, struct call *call);
void rig_tick(struct rig *rig, int64_t to_ms);
void rig_suspend(struct rig *rig, int64_t gap_ms);
/* The first [most] that wait. */
void rig_commit(struct rig *rig, size_t most);
/* [node] leads in a new term, after the first [kept] of what waits. */
void rig_takeover(struct rig *rig, int node, size_t kept);
/* Aborts unless all nodes have the same state and what they count is what they hold. */
void rig_check(struct rig *rig);

#endif
