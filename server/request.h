/* One request of a connection: its frame, its call, its reply if that must wait for its turn.
 *
 *   READ     the frame is there; nothing has been done with it
 *   RUNNING  decoded, with its handler; answered by conn_reply() now or later
 *   HELD     answered with a delay (Fetch): leaves when the time is up or another request waits
 *   DONE     encoded in [reply], behind requests that are not answered yet
 *
 * Requests and their memory come from a pool, so that one in steady use allocates nothing. */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/api.h"
#include "rpc/arena.h"
#include "rpc/buf.h"
#include "server/core/call.h"
#include "server/core/deadline.h"

struct conn;
struct conns;
struct outbuf;

enum request_state { REQUEST_READ, REQUEST_RUNNING, REQUEST_HELD, REQUEST_DONE };

struct request {
    struct call call; /* first: request_of_call() */
    struct arena arena;
    struct buf frame; /* with its length prefix */
    struct conns *conns;
    struct conn *conn;    /* NULL: the connection is closed */
    struct request *next; /* of the connection in order of arrival, or in the pool */
    const struct api *api;
    int32_t correlation_id;
    enum request_state state;
    bool is_refused;      /* DONE: the connection ends here */
    struct outbuf *reply; /* HELD and DONE; NULL: no reply at all */
    struct deadline hold; /* HELD */
    size_t charged;       /* to the budget */
    char client_host[48]; /* call.client_host, which outlives the connection */
};

enum {
    REQUEST_POOL = 1024,      /* kept for reuse */
    REQUEST_KEEP_BYTES = 4096 /* of arena, and of frame, each */
};

struct request_pool {
    struct request *first;
    size_t count;
    size_t in_use;
    deadline_fn *hold_over;
};

/* [hold_over]: what each request's hold fires. */
void request_pool_init(struct request_pool *pool, deadline_fn *hold_over);
void request_pool_close(struct request_pool *pool);

struct request *request_take(struct request_pool *pool);
/* It must be in no list and have no reply. */
void request_give(struct request_pool *pool, struct request *request);

static inline struct request *request_of_call(struct call *call)
{
    return (struct request *)(void *)call;
}

/* Memory beyond the struct. */
static inline size_t request_bytes(const struct request *request)
{
    return request->frame.cap + request->arena.held;
}

/* The key, as the frame claims it; -1: the frame is too short to have one. */
int request_peek_key(const struct request *request);

#endif
