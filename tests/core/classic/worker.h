/* A simulated Kafka client: one member of one classic group, as a well-behaved library would be. It
 * joins, syncs, beats every three seconds, joins again when told to, looks for the leader when that
 * is gone, and counts what a client should never see. */
#ifndef TESTS_CORE_CLASSIC_WORKER_H
#define TESTS_CORE_CLASSIC_WORKER_H

#include "rpc/schema.h"
#include "tests/core/classic/rig.h"

enum { WORKER_TEXT = 64 };

enum worker_state {
    WORKER_OFF,     /* not running */
    WORKER_JOINING, /* is to send, or has sent, a JoinGroup */
    WORKER_SYNCING,
    WORKER_BEATING,
    WORKER_LEAVING
};

struct worker_call {
    struct call call;
    struct arena arena;
    struct worker *worker; /* who waits for it; NULL: nobody any more */
    struct worker_call *next;
    int answers;
};

struct world;

struct worker {
    struct world *world;
    int number;
    int group;
    bool is_static;
    int16_t join_version;
    enum worker_state state;
    struct worker_call *waiting;
    int64_t next_ms; /* when to send next; while nothing waits */
    char member_id[WORKER_TEXT];
    char metadata[WORKER_TEXT];
    int32_t generation;
    bool must_assign; /* leads this generation */
    char (*others)[WORKER_TEXT];
    int32_t others_count;
    char assignment[WORKER_TEXT];
};

/* What all of them share. */
struct world {
    struct rig rig;
    uint64_t random;
    struct worker *workers;
    int workers_count;
    struct worker_call *calls; /* all that were not answered */
    uint64_t next_entropy;
    struct facts *facts;
    uint64_t unrest;    /* how often things happen: 1 to 4 times the usual */
    bool drops_replies; /* the connection is cut: replies reach nobody */
    bool is_gentle;     /* nothing has happened that may cost a live client its membership */
    uint64_t surprises; /* 22, 25, 82 or 79 that a client did not cause */
    uint64_t joins, syncs, beats;
};

uint64_t world_random(struct world *w, uint64_t below);
int64_t world_unanswered(const struct world *w);

void worker_start(struct worker *worker);
/* Ends without a word; its connection closes. */
void worker_crash(struct worker *worker);
void worker_leave(struct worker *worker);
/* Its subscription changes: it joins again with other metadata. */
void worker_change(struct worker *worker);
/* Its connection breaks: what waits is lost for it, and it asks again. */
void worker_disconnect(struct worker *worker);
/* Sends what is due. */
void worker_step(struct worker *worker);
/* A reply of the rig's. */
void worker_reply(void *ctx, struct call *call, const void *response);

/* What replies have said so far, so that two that disagree are found (facts.c): one member list and
 * leader per (group, generation), one assignment per member in it. */
struct facts *facts_new(void);
void facts_free(struct facts *facts);
void facts_say(struct facts *facts, const char *key, const char *value);

#endif
