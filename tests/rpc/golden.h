/* The entries of tests/golden/, whose README.md tells their form. */
#ifndef TESTS_RPC_GOLDEN_H
#define TESTS_RPC_GOLDEN_H

#include <stdbool.h>

#include "rpc/buf.h"
#include "rpc/schema.h"

struct golden {
    char name[64]; /* of the message's struct */
    int version;
    char variant[16];
    struct buf bytes;
    struct buf text; /* the values */
    const struct kafka_schema *schema;
};

/* Every entry of every file, one by one; false behind the last. Start with a zeroed struct; the
 * buffers are reused and closed at the end. Fails the test on a file that it cannot read. */
struct golden_cursor;
struct golden_cursor *golden_open(void);
bool golden_next(struct golden_cursor *cursor, struct golden *entry);
void golden_close(struct golden_cursor *cursor, struct golden *entry);

/* By the name of the struct, "join_group_request"; NULL if there is none. */
const struct kafka_schema *golden_schema(const char *name);

/* All messages, in the order of the tables; NULL behind the last. */
const struct kafka_schema *golden_message(unsigned i);

#endif
