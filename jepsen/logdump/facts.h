/* The rows of a snapshot as lines. */
#ifndef JEPSEN_LOGDUMP_FACTS_H
#define JEPSEN_LOGDUMP_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"
#include "server/core/state.h"

/* Appends a line per row of [snapshot], which [state] was restored from (or encoded as). [*lines]
 * counts on. */
void facts_print(struct buf *out,
                 struct span snapshot,
                 const struct state *state,
                 uint64_t index,
                 uint64_t *lines);

#endif
