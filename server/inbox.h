/* Requests out of the pieces in which they arrive.
 *
 * Bytes come in chunks, in the loop's one read buffer. A frame that lies in a chunk whole is copied
 * out of it; only the beginning of one that does not is kept here, in memory that grows with what
 * has arrived, never with what the length prefix claims. An idle connection keeps nothing. */
#ifndef SERVER_INBOX_H
#define SERVER_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "rpc/buf.h"
#include "rpc/frame.h"
#include "rpc/span.h"

struct inbox {
    struct buf kept;
    size_t at; /* [kept] is used up to here */
};

void inbox_init(struct inbox *inbox);
void inbox_close(struct inbox *inbox);

/* Takes the next frame, length prefix included, into [frame], which must be empty (it may have
 * memory). Uses what was kept, then [chunk], which is advanced.
 * FRAME_INCOMPLETE: all of [chunk] is kept and empty now. FRAME_INVALID: close the connection. */
enum frame_status inbox_next(struct inbox *inbox,
                             struct span *chunk,
                             size_t size_max,
                             struct buf *frame);

/* Keeps the rest of a chunk of which no frame can be taken now. */
void inbox_keep(struct inbox *inbox, struct span rest);

static inline bool inbox_is_empty(const struct inbox *inbox)
{
    return inbox->at == inbox->kept.len;
}

/* Memory in use. */
static inline size_t inbox_bytes(const struct inbox *inbox)
{
    return inbox->kept.cap;
}

#endif
