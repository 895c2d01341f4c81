/* Clients that behave as Kafka's do: members of groups; and what is left of a member that was
 * thought dead and goes on all the same (a ghost). */
#ifndef TESTS_SIM_CLIENTS_WORKER_H
#define TESTS_SIM_CLIENTS_WORKER_H

#include "tests/sim/clients/lane.h"

enum worker_state {
    WORKER_OFF,
    WORKER_JOINING,
    WORKER_SYNCING,
    WORKER_STABLE,
    WORKER_LEAVING,
    WORKER_GHOST
};

struct worker {
    struct life *life;
    int number;
    int group;
    bool is_static;
    int16_t join_version, sync_version, beat_version, leave_version, commit_version, fetch_version;
    int flavour; /* which protocols it speaks */
    enum worker_state state;
    uint64_t plan;     /* wakes of older plans are void */
    int64_t until_ms;  /* a ghost's end */
    int64_t paused_ms; /* sleeps until then */
    char member_id[TEXT];
    char protocol[TEXT];
    int32_t generation;
    bool leads;
    char (*others)[TEXT];
    int32_t others_count;
    int change; /* its subscription */
    struct finder finder;
    struct lane lane, data;
};

void workers_init(struct life *life);
void workers_close(struct life *life);
void worker_start(struct worker *worker);
/* It ends without a word; [leaves_ghost]: but not quite. */
void worker_die(struct worker *worker, bool leaves_ghost);
void worker_leave(struct worker *worker);
/* It does nothing for so long, and then goes on as if nothing had happened. */
void worker_pause(struct worker *worker, int64_t ms);
/* An OffsetCommit of one to three partitions. */
void worker_commit(struct life *life,
                   struct lane *lane,
                   int16_t version,
                   const char *client,
                   const char *group,
                   int32_t generation,
                   const char *member_id,
                   const char *instance_id,
                   message_fn *done,
                   void *owner);
void worker_fetch(struct life *life,
                  struct lane *lane,
                  int16_t version,
                  const char *client,
                  const char *group,
                  message_fn *done,
                  void *owner);

#endif
