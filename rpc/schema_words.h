/* Words of the tables' columns; only for the source files that own tables. */
#ifndef RPC_SCHEMA_WORDS_H
#define RPC_SCHEMA_WORDS_H

#include <stdint.h>

enum {
    LAST = INT8_MAX,
    NEVER = INT8_MAX,
    EMPTY = 0,
    NIL = -1,
};

#endif
