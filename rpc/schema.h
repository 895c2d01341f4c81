/* Kafka's messages as tables. The rows of messages/<api>.def are included twice: here they become
 * the C structs (schema_structs.h), in schema.c the descriptors that the interpreter (codec.h)
 * walks (schema_tables.h); so the two cannot drift apart. The rows are the documentation of the
 * structs:
 *
 *   MESSAGE(name)                        struct name; its versions stand in api.def
 *   STRUCT(name)                         struct name, an element or a part of a message
 *   FIELD(kind, name, ...)               a scalar, struct span or struct uuid
 *   ARRAY(type, name, ...)               struct type *name; int32_t name_count  (-1: null)
 *   LIST(kind, name, ...)                the same of scalars, spans or uuids
 *   NESTED(type, name, ...)              struct type name
 *   OPTIONAL(type, name, ...)            struct type *name, NULL: null
 *   TAGGED_FIELD, _ARRAY, _NESTED        the same in the tagged section; the number follows the
 *                                        name. They close their struct, numbers ascending.
 *
 * Columns behind the name: first and last version that has the field, first version in which it
 * may be null (NEVER: in none), value where it is not on the wire. */
#ifndef RPC_SCHEMA_H
#define RPC_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"
#include "rpc/uuid.h"

enum kafka_kind {
    KIND_bool,
    KIND_i8,
    KIND_i16,
    KIND_u16,
    KIND_i32,
    KIND_i64,
    KIND_uvarint, /* our own records only: LEB128, at most 64 bits */
    KIND_varint,  /* the same in zig-zag form */
    KIND_uuid,
    KIND_string,  /* UTF-8 that nobody checks: the bytes go back as they came */
    KIND_bytes,   /* opaque, 32-bit length */
    KIND_records, /* on the wire as bytes */
    KIND_array,   /* of structs */
    KIND_list,    /* of one of the kinds above */
    KIND_nested,
    KIND_optional,
};

struct kafka_schema;

struct kafka_field {
    uint8_t kind;      /* enum kafka_kind */
    uint8_t item_kind; /* KIND_list: of what */
    int8_t since;      /* versions in which the field is on the wire: first */
    int8_t until;      /* and last */
    int8_t nullable_since;
    int8_t tag;            /* -1 unless in the tagged section */
    uint16_t offset;       /* of the member in its struct */
    uint16_t count_offset; /* arrays and lists: of the count */
    int64_t initial;       /* scalars: the default; spans, arrays: -1 if the default is null */
    const struct kafka_schema *(*element)(void); /* arrays, nested, optional: of what */
    const char *name;
};

struct kafka_schema {
    const char *name;
    const struct kafka_field *fields; /* those of the tagged section last */
    size_t size;                      /* of the struct */
    uint8_t field_count;
    int8_t min_version; /* messages: the versions in which it is served; parts: 0 and 127 */
    int8_t max_version;
    int8_t flexible_since;
};

/* The C type of each kind. */
#define KIND_TYPE_bool bool
#define KIND_TYPE_i8 int8_t
#define KIND_TYPE_i16 int16_t
#define KIND_TYPE_u16 uint16_t
#define KIND_TYPE_i32 int32_t
#define KIND_TYPE_i64 int64_t
#define KIND_TYPE_uvarint uint64_t
#define KIND_TYPE_varint int64_t
#define KIND_TYPE_uuid struct uuid
#define KIND_TYPE_string struct span
#define KIND_TYPE_bytes struct span
#define KIND_TYPE_records struct span

#define SCHEMA_ROWS "rpc/messages/all.def"
#include "rpc/schema_structs.h"

#endif
