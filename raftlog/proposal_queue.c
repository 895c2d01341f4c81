#include "raftlog/proposal_queue.h"

#include <string.h>

#include "raftlog/batch.h"
#include "raftlog/bytes.h"

/* What was taken is moved out once it is this much, so that a busy queue moves little. */
enum { KEEP_TAKEN_BYTES_MAX = 1 << 20 };

void proposal_queue_close(struct proposal_queue *queue)
{
    buf_close(&queue->bytes);
    *queue = (struct proposal_queue){.bytes = BUF_EMPTY};
}

size_t proposal_queue_bytes(const struct proposal_queue *queue)
{
    return queue->bytes.len - queue->taken;
}

size_t proposal_queue_cost(struct span data)
{
    return BATCH_ITEM_LEN + data.len;
}

static void drop_taken(struct proposal_queue *queue)
{
    size_t left = proposal_queue_bytes(queue);
    if (left > 0) {
        memmove(queue->bytes.data, queue->bytes.data + queue->taken, left);
    }
    queue->bytes.len = left;
    queue->taken = 0;
}

void proposal_queue_push(struct proposal_queue *queue, uint64_t number, struct span data)
{
    if (queue->taken == queue->bytes.len || queue->taken > KEEP_TAKEN_BYTES_MAX) {
        drop_taken(queue);
    }
    batch_put(&queue->bytes, number, data);
    queue->count++;
}

struct span proposal_queue_take(struct proposal_queue *queue, size_t bytes_max, uint32_t *count)
{
    *count = 0;
    if (queue->count == 0) {
        return SPAN_NULL;
    }
    const uint8_t *start = queue->bytes.data + queue->taken;
    size_t len = 0;
    while (*count < queue->count) {
        size_t cost = BATCH_ITEM_LEN + bytes_be32(start + len + 8);
        if (*count > 0 && len + cost > bytes_max) {
            break;
        }
        len += cost;
        ++*count;
    }
    queue->taken += len;
    queue->count -= *count;
    return span_of(start, len);
}

void proposal_queue_clear(struct proposal_queue *queue)
{
    queue->bytes.len = 0;
    queue->taken = 0;
    queue->count = 0;
}
