#include "server/request.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "rpc/frame.h"
#include "rpc/limits.h"

void request_pool_init(struct request_pool *pool, deadline_fn *hold_over)
{
    *pool = (struct request_pool){.hold_over = hold_over};
}

static void free_request(struct request *request)
{
    arena_close(&request->arena);
    buf_close(&request->frame);
    free(request);
}

void request_pool_close(struct request_pool *pool)
{
    ensure(pool->in_use == 0);
    while (pool->first != NULL) {
        struct request *request = pool->first;
        pool->first = request->next;
        free_request(request);
    }
    pool->count = 0;
}

static struct request *new_request(deadline_fn *hold_over)
{
    struct request *request = calloc(1, sizeof *request);
    ensure(request != NULL);
    arena_init(&request->arena, RPC_CALL_ARENA_BYTES);
    deadline_init(&request->hold, hold_over);
    return request;
}

struct request *request_take(struct request_pool *pool)
{
    struct request *request = pool->first;
    if (request == NULL) {
        request = new_request(pool->hold_over);
    } else {
        pool->first = request->next;
        pool->count--;
    }
    pool->in_use++;
    request->next = NULL;
    request->conn = NULL;
    request->api = NULL;
    request->reply = NULL;
    request->charged = 0;
    request->state = REQUEST_READ;
    request->is_refused = false;
    return request;
}

void request_give(struct request_pool *pool, struct request *request)
{
    ensure(request->reply == NULL && request->charged == 0 && pool->in_use > 0);
    pool->in_use--;
    if (pool->count >= REQUEST_POOL) {
        free_request(request);
        return;
    }
    arena_reset(&request->arena, REQUEST_KEEP_BYTES);
    request->frame.len = 0;
    if (request->frame.cap > REQUEST_KEEP_BYTES) {
        buf_close(&request->frame);
    }
    request->next = pool->first;
    pool->first = request;
    pool->count++;
}

int request_peek_key(const struct request *request)
{
    if (request->frame.len < FRAME_PREFIX_BYTES + 2) {
        return -1;
    }
    const uint8_t *at = request->frame.data + FRAME_PREFIX_BYTES;
    return at[0] << 8 | at[1];
}
