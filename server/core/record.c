#include "server/core/record.h"

#include "rpc/codec.h"
#include "rpc/ensure.h"

#define RECORD(name_, type_, number_, version_) HEAD(name_, 0, version_, 0)
#define SCHEMA_ROWS "server/core/records/records.def"
#include "rpc/schema_tables.h"
#undef RECORD

typedef const struct kafka_schema *schema_fn(void);

static schema_fn *const schemas[RECORD_TYPES_END] = {
#undef STRUCT
#undef FIELD
#undef ARRAY
#undef LIST
#undef END
#define RECORD(name_, type_, number_, version_) [number_] = name_##_schema,
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/records.def"
#undef RECORD
};

static const struct kafka_schema *schema_of(unsigned type)
{
    return type < RECORD_TYPES_END && schemas[type] != NULL ? schemas[type]() : NULL;
}

uint8_t record_version(enum record_type type, int32_t feature_level)
{
    /* All records have but one version. A level that allows a second one of a type adds a case. */
    (void)type;
    (void)feature_level;
    return 0;
}

void record_append_at(struct buf *out,
                      enum record_type type,
                      int32_t feature_level,
                      const void *body)
{
    const struct kafka_schema *schema = schema_of(type);
    ensure(schema != NULL);
    uint8_t version = record_version(type, feature_level);
    buf_put_u8(out, (uint8_t)type);
    buf_put_u8(out, version);
    codec_encode(schema, version, body, out);
}

void record_append(struct buf *out, enum record_type type, const void *body)
{
    record_append_at(out, type, 0, body);
}

static const void *decode(const struct kafka_schema *schema,
                          uint8_t version,
                          struct reader *reader,
                          struct arena *arena)
{
    void *body = arena_alloc(arena, schema->size);
    enum codec_error error = codec_decode(schema, version, reader, arena, body);
    return error == CODEC_OK ? body : NULL;
}

int record_read(struct reader *reader, struct arena *arena, struct record *record)
{
    if (!reader_is_failed(reader) && reader_left(reader) == 0) {
        return 0;
    }
    uint8_t type = reader_u8(reader);
    uint8_t version = reader_u8(reader);
    const struct kafka_schema *schema = schema_of(type);
    const uint8_t *at = reader->at;
    if (schema == NULL || reader_is_failed(reader)) {
        return -1;
    }
    const void *body = decode(schema, version, reader, arena);
    if (body == NULL) {
        return -1;
    }
    *record = (struct record){
        .type = (enum record_type)type,
        .version = version,
        .bytes = span_of(at, (size_t)(reader->at - at)),
        .body = body,
    };
    return 1;
}

const void *record_decode(enum record_type type,
                          uint8_t version,
                          struct span bytes,
                          struct arena *arena)
{
    const struct kafka_schema *schema = schema_of((unsigned)type);
    struct reader reader = reader_of(bytes);
    const void *body = schema == NULL ? NULL : decode(schema, version, &reader, arena);
    return body != NULL && reader_left(&reader) == 0 ? body : NULL;
}
