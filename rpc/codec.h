/* The interpreter of the message tables (schema.h), one direction each.
 *
 * Depth is the schema's, so it is bounded by the tables; sizes are bounded by the bytes that are
 * there, by limits.h and by the arena. A heartbeat touches no heap in either direction once the
 * buffer has its size. */
#ifndef RPC_CODEC_H
#define RPC_CODEC_H

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/reader.h"
#include "rpc/schema.h"

/* All but CODEC_OK mean that the connection is to be closed, as Kafka does: there is no generic
 * error reply. The exception is ApiVersions in a version that is not served (frame.h). */
enum codec_error {
    CODEC_OK,
    CODEC_UNKNOWN_API,
    CODEC_UNSUPPORTED_VERSION,
    CODEC_MALFORMED, /* truncated, or bytes that no value has */
    CODEC_LIMIT,     /* well-formed so far, but more than limits.h or the arena allows */
};

/* For logs; never NULL. */
const char *codec_error_name(enum codec_error error);

/* Reads one message of [schema] into [out], a struct of schema->size bytes. Strings and bytes
 * borrow from the reader's bytes, arrays are the arena's. Every field has a value afterwards: what
 * the version lacks has its default. Bytes that follow the message stay in the reader; Kafka
 * ignores them. After an error [out] is not to be used. */
enum codec_error codec_decode(const struct kafka_schema *schema,
                              int version,
                              struct reader *reader,
                              struct arena *arena,
                              void *out);

/* Appends one message. The version is one the schema has. What the version lacks is left out; null
 * where the version has no null is written as empty. Strings must be within RPC_STRING_BYTES_MAX.
 */
void codec_encode(const struct kafka_schema *schema, int version, const void *in, struct buf *buf);

/* Gives every field of [out] its default, as a reply's struct should start. Elements of arrays are
 * structs with a schema of their own: <type>_schema(). */
void codec_set_defaults(const struct kafka_schema *schema, void *out);

#endif
