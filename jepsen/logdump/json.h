/* JSON of what the tables of rpc/schema.h describe. */
#ifndef JEPSEN_LOGDUMP_JSON_H
#define JEPSEN_LOGDUMP_JSON_H

#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/schema.h"
#include "rpc/span.h"

/* Appends; the text must be JSON, or a part of it. */
void json_print(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A string: JSON where its bytes are UTF-8, else {"hex": ...}; null for the null span. */
void json_string(struct buf *out, struct span text);

/* The name of an interned id in a field of this name, or the null span. */
typedef struct span json_name_fn(void *ctx, const char *field, uint64_t id);

/* A struct as an object; behind each interned id its name (README.md). */
void json_struct(struct buf *out,
                 const struct kafka_schema *schema,
                 int version,
                 const void *in,
                 json_name_fn *name,
                 void *ctx);

/* Whether a field of this name and kind holds interned ids. */
bool json_is_id(const struct kafka_field *field);

/* Calls [fn] for each interned id in the struct and in the structs in it. */
void json_visit_ids(const struct kafka_schema *schema,
                    const void *in,
                    void (*fn)(void *ctx, const char *field, uint64_t id),
                    void *ctx);

#endif
