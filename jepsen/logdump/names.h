/* What interned ids mean while a log is replayed: as they are right after a proposal, or, where it
 * removed them, as they were before it. */
#ifndef JEPSEN_LOGDUMP_NAMES_H
#define JEPSEN_LOGDUMP_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/span.h"
#include "server/core/state.h"

struct names_item {
    struct span name; /* in the arena */
    uint64_t id;      /* of a group, topic or member: one counter gives them all (R7) */
};

struct names {
    const struct state *state;
    struct arena arena;
    struct names_item *before; /* of the ids in this proposal */
    size_t count;
    size_t cap;
    struct span created; /* the group of the last group_created (group 0) */
    uint64_t group;      /* of the record at hand */
};

void names_init(struct names *names, const struct state *state);
void names_close(struct names *names);

/* A new proposal. */
void names_reset(struct names *names);

/* A record of it: what members and group 0 are looked for in. [created]: the name in a
 * group_created, else null. */
void names_begin_record(struct names *names, uint64_t group, struct span created);

/* Remembers what an id means before the proposal is applied; for json_visit_ids(). */
void names_note(void *ctx, const char *field, uint64_t id);

/* For json_struct(). */
struct span names_find(void *ctx, const char *field, uint64_t id);

#endif
