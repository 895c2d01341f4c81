/* The members of a decoded struct, by the rows that describe them: what codec_decode.c,
 * codec_encode.c and other walkers of schemas share. [in] and [out] are the struct. */
#ifndef RPC_VALUE_H
#define RPC_VALUE_H

#include "rpc/schema.h"

/* Bytes of the member; of scalars but varints and of uuids this is the width on the wire, too. 0
 * for the kinds that a list cannot have. */
static inline size_t value_size(enum kafka_kind kind)
{
    static const uint8_t sizes[KIND_optional + 1] = {
        [KIND_bool] = sizeof(bool),
        [KIND_i8] = 1,
        [KIND_i16] = 2,
        [KIND_u16] = 2,
        [KIND_i32] = 4,
        [KIND_i64] = 8,
        [KIND_uvarint] = 8,
        [KIND_varint] = 8,
        [KIND_uuid] = sizeof(struct uuid),
        [KIND_string] = sizeof(struct span),
        [KIND_bytes] = sizeof(struct span),
        [KIND_records] = sizeof(struct span),
    };
    return sizes[kind];
}

static inline bool value_is_span(enum kafka_kind kind)
{
    return kind == KIND_string || kind == KIND_bytes || kind == KIND_records;
}

static inline bool value_is_varint(enum kafka_kind kind)
{
    return kind == KIND_uvarint || kind == KIND_varint;
}

static inline bool value_is_on_wire(const struct kafka_field *f, int version)
{
    return version >= f->since && version <= f->until;
}

/* Of arrays and lists; -1 is null. */
static inline int32_t *value_count(const struct kafka_field *f, uint8_t *out)
{
    return (int32_t *)(void *)(out + f->count_offset);
}

static inline int32_t value_get_count(const struct kafka_field *f, const uint8_t *in)
{
    return *(const int32_t *)(const void *)(in + f->count_offset);
}

/* Of arrays, lists and optional structs. */
static inline const uint8_t *value_pointer(const struct kafka_field *f, const uint8_t *in)
{
    return *(const uint8_t *const *)(const void *)(in + f->offset);
}

/* A scalar at [at], the member itself. */
void value_store(enum kafka_kind kind, uint8_t *at, int64_t v);
int64_t value_load(enum kafka_kind kind, const uint8_t *at);

/* The default of the field's row. */
void value_set_initial(const struct kafka_field *f, uint8_t *out);
bool value_is_initial(const struct kafka_field *f, const uint8_t *in);

#endif
