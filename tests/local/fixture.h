/* A node's facts, built from records as the log would, and requests to the APIs it answers alone.
 *
 * Requests and replies go through the codec in the version asked for, so a test sees what a client
 * sees: fields that the version lacks have their defaults. */
#ifndef TESTS_LOCAL_FIXTURE_H
#define TESTS_LOCAL_FIXTURE_H

#include "rpc/api.h"
#include "rpc/arena.h"
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/node.h"
#include "server/local.h"

enum { FIXTURE_PORT = 9092 };

struct fixture {
    struct state *state;
    struct arena arena;
    struct local_context ctx; /* node 1 of "cluster", which leads; listener PLAINTEXT */
    struct local_reply reply; /* of the last request, before the codec */
    uint64_t index;
    int hints;           /* lines that were logged */
    char hint_event[64]; /* of the last one */
    char hint_key[64];
    const uint8_t *entropy; /* 16 bytes for the next calls; NULL: zero */
};

void fixture_init(struct fixture *f);
void fixture_close(struct fixture *f);

/* Registers a node at "host<id>":FIXTURE_PORT; [listener] NULL: PLAINTEXT. */
void fixture_node(struct fixture *f, uint64_t id, const char *listener);
/* The topic's uuid is 16 times [mark]. */
void fixture_topic(struct fixture *f, const char *name, int32_t partitions, uint8_t mark);
/* A commit of a group without members. */
void fixture_commit(struct fixture *f, const char *topic, int32_t partition, int64_t offset);

struct uuid fixture_uuid(uint8_t mark);

/* The reply as a client decodes it; NULL: none. */
const void *fixture_ask(struct fixture *f,
                        enum api_key api_key,
                        int16_t version,
                        const void *request);

#endif
