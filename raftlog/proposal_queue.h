/* Proposals that wait for the next submission, in order, already in the form of a batch's body.
 * Pure: no clock, no I/O. */
#ifndef RAFTLOG_PROPOSAL_QUEUE_H
#define RAFTLOG_PROPOSAL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/buf.h"

struct proposal_queue {
    struct buf bytes;
    size_t taken; /* of bytes: what earlier batches took */
    size_t count; /* proposals that wait */
};

void proposal_queue_close(struct proposal_queue *queue);

/* Bytes that wait, a proposal's head included. */
size_t proposal_queue_bytes(const struct proposal_queue *queue);

/* The head of one proposal counts towards every limit in bytes. */
size_t proposal_queue_cost(struct span data);

void proposal_queue_push(struct proposal_queue *queue, uint64_t number, struct span data);

/* Takes the first proposals: as many as make at most [bytes_max] together, but at least one. The
 * result borrows from the queue until the next call. Nothing waits: count 0. */
struct span proposal_queue_take(struct proposal_queue *queue, size_t bytes_max, uint32_t *count);

void proposal_queue_clear(struct proposal_queue *queue);

#endif
