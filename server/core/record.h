/* The records of the log and their bytes. records/records.def is the table of them; the structs and
 * schemas are made from it.
 *
 * A proposal is records, one behind the other: type u8, version u8, body in the flexible encoding
 * of rpc/codec.h. Which version is written follows from the cluster's feature level, so that nodes
 * of two neighbouring releases can share a log; what can be read is every version up to the last.
 */
#ifndef SERVER_CORE_RECORD_H
#define SERVER_CORE_RECORD_H

#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/reader.h"
#include "rpc/schema.h"

/* clang-format off */
#define RECORD(name_, ...) struct name_ {
/* clang-format on */
#define SCHEMA_ROWS "server/core/records/records.def"
#include "rpc/schema_structs.h"
#undef RECORD

enum record_type {
#define RECORD(name_, type_, number_, version_) RECORD_##type_ = (number_),
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/records.def"
#undef RECORD
#undef STRUCT
#undef FIELD
#undef ARRAY
#undef LIST
#undef END
    RECORD_TYPES_END,
};

/* Why a generation began or a member went: in records for the flight recorder, never acted on. */
enum rebalance_cause {
    CAUSE_NONE,
    CAUSE_JOIN,     /* a member joined */
    CAUSE_CHANGE,   /* a member changed its protocols, or the leader rejoined */
    CAUSE_LEAVE,    /* LeaveGroup */
    CAUSE_SESSION,  /* a session ended */
    CAUSE_REJOIN,   /* a member did not rejoin in time */
    CAUSE_SYNC,     /* a member's SyncGroup did not come in time */
    CAUSE_OPERATOR, /* removed by instance id from outside the group */
    CAUSE_TAKEOVER, /* the facts ask for it, found by a new leader (R1) */
    CAUSE_SIZE,     /* the group is larger than group.max.size */
};

/* The version in which records of [type] are written at a feature level. */
uint8_t record_version(enum record_type type, int32_t feature_level);

/* Appends one record; [body] is a struct record_<type>, whose null spans and arrays are written as
 * empty where the field has no null. */
void record_append_at(struct buf *out,
                      enum record_type type,
                      int32_t feature_level,
                      const void *body);

/* The same at the lowest feature level, which every node of a cluster can read. */
void record_append(struct buf *out, enum record_type type, const void *body);

struct record {
    enum record_type type;
    uint8_t version;
    struct span bytes; /* of the body */
    const void *body;  /* struct record_<type>, borrowing from the bytes, arrays in the arena */
};

/* The next record: 1; 0 at the end of the bytes; -1 where they are no record that this build
 * knows. */
int record_read(struct reader *reader, struct arena *arena, struct record *record);

/* A body by itself, as staging keeps it; NULL: malformed. */
const void *record_decode(enum record_type type,
                          uint8_t version,
                          struct span bytes,
                          struct arena *arena);

#endif
