/* A decoded message as text, in the form of tests/golden/: only what the version has on the wire,
 * fields in order of their names. Null and empty arrays and bytes look alike here; the bytes tell
 * them apart. */
#ifndef TESTS_RPC_DUMP_H
#define TESTS_RPC_DUMP_H

#include "rpc/buf.h"
#include "rpc/schema.h"

void dump_struct(const struct kafka_schema *schema, int version, const void *in, struct buf *text);

#endif
