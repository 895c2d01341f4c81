/* The bytes of a snapshot: what snapshot_encode.c writes and snapshot_restore.c reads. */
#ifndef SERVER_CORE_SNAPSHOT_H
#define SERVER_CORE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "server/core/record.h"
#include "server/core/state.h"

/* clang-format off */
#define SNAPSHOT(name_, ...) struct name_ {
/* clang-format on */
#define SCHEMA_ROWS "server/core/records/snapshot.def"
#include "rpc/schema_structs.h"
#undef SNAPSHOT

enum snapshot_row {
#define SNAPSHOT(name_, type_, number_, version_) SNAPSHOT_##type_ = (number_),
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/snapshot.def"
#undef SNAPSHOT
#undef STRUCT
#undef FIELD
#undef ARRAY
#undef LIST
#undef END
    SNAPSHOT_ROWS_END,
};

/* Before the rows; the version tells a format that a row's own version cannot. */
#define SNAPSHOT_MAGIC "rostsnap"
enum { SNAPSHOT_MAGIC_BYTES = 8, SNAPSHOT_VERSION = 0, SNAPSHOT_OFFSETS_MAX = 1024 };

/* NULL: no such row. */
const struct kafka_schema *snapshot_schema(unsigned row);

enum snapshot_quality {
    SNAPSHOT_UNSOUND, /* not a snapshot, or cut */
    SNAPSHOT_DAMAGED, /* sound facts, but not those that were written */
    SNAPSHOT_WHOLE,
};

/* Reads into a new state; what state_restore() does before it accepts. The state may be freed
 * whatever the result; its facts are sound unless it is SNAPSHOT_UNSOUND. */
enum snapshot_quality snapshot_read(struct state *state, struct span snapshot);

struct staged;

/* What a freeze holds. Only encoding reads it, perhaps in another thread. */
struct frozen {
    struct state_totals totals;
    uint64_t next_id;
    const struct node **nodes;
    size_t nodes_count;
    const struct topic **topics;
    size_t topics_count;
    const struct group **groups;
    size_t groups_count;
    const struct staged **staged;
    size_t staged_count;
};

#endif
