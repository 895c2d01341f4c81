/* The committed facts of the whole coordinator, and the only code that changes them.
 *
 * Apply is total and deterministic: no clock, no chance, no hash order; it never refuses a batch,
 * but a record may have no effect, which its verdict says. Decisions read const struct state. */
#ifndef SERVER_CORE_STATE_H
#define SERVER_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"
#include "rpc/uuid.h"
#include "server/core/group.h"
#include "server/core/node.h"
#include "server/core/topic.h"

struct state;

struct state *state_new(void);
void state_free(struct state *state);

/* ---- Lookup; NULL: none ---- */
struct group_slot *state_group(const struct state *state, struct span name);
struct group_slot *state_group_by_id(const struct state *state, uint64_t id);
const struct topic *state_topic(const struct state *state, struct span name);
const struct topic *state_topic_by_id(const struct state *state, uint64_t id);
const struct topic *state_topic_by_uuid(const struct state *state, const struct uuid *uuid);
const struct node *state_node(const struct state *state, uint64_t id);

/* Iteration in a fixed order that is equal on all nodes (of creation; nodes by id). [*at] starts at
 * 0 and is only meaningful to these functions; it stays valid over changes in between (a group
 * created meanwhile may or may not be seen, one that was deleted is skipped). NULL: the end. */
struct group_slot *state_next_group(const struct state *state, uint64_t *at);
const struct topic *state_next_topic(const struct state *state, uint64_t *at);
const struct node *state_next_node(const struct state *state, uint64_t *at);

struct state_totals {
    uint64_t index;   /* of the batch applied last */
    uint64_t term;    /* of the same */
    int64_t stamp_ms; /* of the same */
    int32_t feature_level;
    uint64_t groups;
    uint64_t members;
    uint64_t offsets;
    uint64_t topics;
    uint64_t partitions;
    uint64_t hash;
};
const struct state_totals *state_totals(const struct state *state);

/* ---- Apply ---- */

/* What a record did. */
struct verdict {
    int16_t error;  /* Kafka's code; 0: it took effect */
    uint64_t group; /* group.id it was about, 0: none; also right after its creation */
    uint64_t id;    /* of what it created: group, member, topic */
};

struct state_events {
    /* A group is about to go. Its slot is freed on return. */
    void (*group_deleted)(void *ctx, struct group_slot *slot);
};
/* Also for a slot that has a round when all facts are replaced (state_restore()) or freed. */
void state_set_events(struct state *state, const struct state_events *events, void *ctx);

/* One proposal's records, in order. Up to [verdicts_max] verdicts are stored; returns the number of
 * records, or -1 where the bytes are malformed or of an unknown version, which a cluster that obeys
 * its feature level never sees: the process must stop. */
int state_apply(struct state *state,
                uint64_t index,
                uint64_t term,
                int64_t stamp_ms,
                struct span records,
                struct verdict *verdicts,
                int verdicts_max);

/* ---- Snapshots (records/snapshot.def) ---- */

/* The facts as they are, which no apply changes any more; O(groups + topics). One at a time. */
void *state_freeze(struct state *state);
/* Appends the snapshot. Any thread; equal facts give equal bytes. */
void state_encode(void *frozen, struct buf *out);
void state_release(struct state *state, void *frozen);
/* Replaces all facts, 0; or leaves them as they are, -1: these bytes are no snapshot, or one that
 * was damaged: its facts must be sound and have the hash that is written in it. */
int state_restore(struct state *state, struct span snapshot);

/* Recomputes hash and totals from the rows; aborts where they differ. */
void state_check(const struct state *state);

#endif
