/* Structs of messages and records as lines of a transcript. */
#ifndef TESTS_SCENARIOS_PRINT_H
#define TESTS_SCENARIOS_PRINT_H

#include "rpc/buf.h"
#include "rpc/schema.h"
#include "tests/scenarios/names.h"

void print_format(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All fields that the version has and that are not null: " name=value name=value". Where that is
 * long, elements of arrays get a line each. */
void print_struct(struct buf *out,
                  struct names *names,
                  const struct kafka_schema *schema,
                  int version,
                  const void *value);

/* Each record of a proposal on a line of its own, behind [prefix]. */
void print_records(struct buf *out, struct names *names, const char *prefix, struct span records);

#endif
