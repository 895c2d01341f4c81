/* Connections, as clients hold them: requests of real versions go out in order, answers come back
 * in order, or the lane breaks and what became of the calls is unknown. Each simulation has its
 * own: tests/core/random/wire.c, tests/sim/clients/lane.c. */
#ifndef TESTS_SIM_CLIENTS_LANE_H
#define TESTS_SIM_CLIENTS_LANE_H

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/schema.h"
#include "server/core/call.h"
#include "tests/sim/life/life.h"

/* [response]: decoded, good until the return. NULL: the connection is gone, what became of the call
 * is unknown. */
typedef void message_fn(struct life *life, struct message *message, const void *response);

struct tube; /* the simulation's side of it */

struct lane {
    int host;             /* of its owner */
    int machine;          /* -1: closed */
    uint64_t incarnation; /* of the machine's process */
    uint64_t epoch;       /* of this lane: rises when it breaks */
    struct message *first;
    struct message **last;
    int64_t arrival_ms, reply_ms; /* nothing overtakes */
    int64_t timeout_ms;
    int64_t deaf_until_ms; /* its owner sleeps */
    struct tube *tube;
    struct lane *next;
};

enum message_state { MESSAGE_TRAVELS, MESSAGE_WAITS, MESSAGE_STARTED, MESSAGE_ANSWERED };

struct message {
    struct call call;
    struct arena arena;
    struct buf bytes;
    struct lane *lane; /* NULL: nobody waits for it any more */
    uint64_t epoch;
    message_fn *done;
    void *owner;
    uint64_t tag;
    int machine;
    uint64_t incarnation;
    enum message_state state;
    bool is_leaving; /* its reply is on its way */
    int refs;
    int64_t sent_ms, started_ms;
    int64_t timeout_ms;    /* its lane's, if it has none of its own */
    int64_t pauses_ms;     /* of its machine until then */
    uint64_t low_position; /* a read must be as new as this */
    uint64_t first_op;     /* OffsetCommit: op ids, one per partition, ascending */
    int ops;
    uint64_t parked_term, parked_group, parked_member; /* whose join or sync it is; 0: nobody's */
    void *response;
    int32_t correlation_id;
    struct buf reply;                     /* the bytes that were made of it */
    struct message *next;                 /* in its lane */
    struct message *next_all, **link_all; /* those with a coordinator */
};

/* ---- Lanes ---- */

void lane_init(struct life *life, struct lane *lane, int host, int64_t timeout_ms);
void lane_close(struct lane *lane);
static inline bool lane_is_busy(const struct lane *lane)
{
    return lane->first != NULL;
}
/* It must be closed. */
void lane_open(struct life *life, struct lane *lane, int machine);
/* What is under way gets no answer. */
void lane_break(struct life *life, struct lane *lane);

/* A message to fill in and send; the lane is open. */
struct message *message_new(struct life *life,
                            struct lane *lane,
                            int16_t key,
                            int16_t version,
                            const char *client_id);
void message_send(struct life *life,
                  struct message *message,
                  const void *request,
                  message_fn *done,
                  void *owner,
                  uint64_t tag);

/* ---- message.c: what both simulations do with them ---- */

struct message *message_alloc(struct life *life, int16_t key, int16_t version, const char *client);
/* Encodes the request into message->bytes and decodes it again into message->call. */
void message_set_request(struct life *life, struct message *message, const void *request);
/* The same for the response, as the client will see it. */
void *message_through_bytes(struct life *life,
                            struct message *message,
                            const void *response,
                            struct buf *bytes);
/* A coordinator has it from now on. */
void message_start(struct life *life, struct message *message, const struct machine *machine);
/* No coordinator has it any more. */
void message_unlink(struct message *message);
void message_unref(struct message *message);

/* ---- Where the leader is ---- */

/* Who leads, as a client knows: it asks some node, and believes the answer until it is told that it
 * is wrong. */
struct finder {
    int machine; /* -1: not known */
    bool is_asking;
    int avoided;      /* it did not answer the last time */
    int64_t again_ms; /* not before */
    struct lane lane;
};

void finder_init(struct life *life, struct finder *finder, int host);
void finder_close(struct finder *finder);
/* -1: not known yet; ask again later. */
int finder_leader(struct life *life, struct finder *finder);
void finder_forget(struct finder *finder);

#endif
