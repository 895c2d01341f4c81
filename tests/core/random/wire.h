/* Connections: requests and replies as bytes of their versions, one after the other. A connection
 * (a lane) is what a client holds; the server's side works as the shell does (R12): commits may be
 * in flight together, any other call waits for those before it, replies leave in order. */
#ifndef TESTS_CORE_RANDOM_WIRE_H
#define TESTS_CORE_RANDOM_WIRE_H

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/schema.h"
#include "tests/core/random/life.h"

struct message;

/* [response]: decoded, good until the return. NULL: the connection is gone, what became of the call
 * is unknown. */
typedef void message_fn(struct life *life, struct message *message, const void *response);

struct lane {
    int machine;          /* -1: closed */
    uint64_t incarnation; /* of the machine's process */
    uint64_t epoch;       /* of this lane: rises when it breaks */
    struct message *first;
    struct message **last;
    int64_t arrival_ms, reply_ms; /* nothing overtakes */
    int64_t timeout_ms;
    int64_t deaf_until_ms; /* its owner sleeps */
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
    int64_t started_ms;
    int64_t pauses_ms;     /* of its machine until then */
    uint64_t low_position; /* a read must be as new as this */
    uint64_t first_op;     /* OffsetCommit: op ids, one per partition, ascending */
    int ops;
    uint64_t parked_term, parked_group, parked_member; /* whose join or sync it is; 0: nobody's */
    void *response;
    struct message *next;                 /* in its lane */
    struct message *next_all, **link_all; /* those with a coordinator */
};

struct wire {
    struct lane *lanes;
    struct message *started;
    uint64_t next_entropy;
};

void lane_init(struct life *life, struct lane *lane, int64_t timeout_ms);
static inline bool lane_is_busy(const struct lane *lane)
{
    return lane->first != NULL;
}
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

/* ---- For cluster.c ---- */

void wire_answered(struct life *life, int machine, struct call *call, const void *response);
/* The machine's process is gone: its connections break. */
void wire_crashed(struct life *life, int machine);
/* The machine is cut off from the others: half of its clients are on their side. */
void wire_cut(struct life *life, int machine);
/* Calls that should have been answered by now. */
void wire_check(struct life *life);
void wire_close(struct life *life);

#endif
