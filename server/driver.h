/* Between the replicated log and the coordinator, which never see each other: the log's events
 * become the coordinator's inputs, the coordinator's effects become proposals, replies and log
 * lines. After each input the effects are drained, before the next input.
 *
 * It also is the coordinator's clock (the loop's, read once per turn) and its one timer, and it
 * notices when the process stood still for longer than an election timeout (R9). That is the one
 * place where it is noticed: what has been committed stays true however late it is answered, and a
 * proposal from before the gap is applied as ours only if no other node led meanwhile. */
#ifndef SERVER_DRIVER_H
#define SERVER_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "raftlog/raftlog.h"
#include "rpc/buf.h"
#include "rpc/span.h"
#include "server/alarm.h"
#include "server/core/call.h"
#include "server/core/limits.h"
#include "server/effect_log.h"

struct coordinator;
struct state;

struct driver {
    uv_loop_t *loop;
    struct raftlog *log; /* NULL: not open */
    struct coordinator *coordinator;
    void (*reply)(struct call *call, const void *response);
    uint64_t node_id;
    uint64_t leader_id; /* as the log knows; 0: nobody */
    int64_t election_timeout_ms;
    int64_t turn_ms;  /* when the loop was last seen running, by the monotonic clock itself */
    bool is_draining; /* between an input and the end of its effects */
    struct effect_log effect_log;
    struct alarm alarm;
    struct raftlog_events events;

    struct log_rate refusals; /* of the log's */

    void (*closed)(void *ctx); /* of driver_close_log() */
    void *closed_ctx;
};

void driver_init(struct driver *driver,
                 uv_loop_t *loop,
                 const struct coordinator_limits *limits,
                 uint64_t node_id,
                 void (*reply)(struct call *call, const void *response));
void driver_close(struct driver *driver); /* the log must be closed */

/* Opens the log; [options] are complete but for the loop. False: [message] says why. */
bool driver_open(struct driver *driver,
                 struct raftlog_options *options,
                 char *message,
                 size_t message_len);

/* What this node says of itself. */
void driver_set_card(struct driver *driver, struct span card);

/* ---- Inputs of the shell ---- */
void driver_request(struct driver *driver, struct call *call);
void driver_gone(struct driver *driver, struct call *call);
void driver_stopping(struct driver *driver);

/* Closes the log, answers what is still parked, then calls [closed] once. */
void driver_close_log(struct driver *driver, void (*closed)(void *ctx), void *ctx);

/* Tell it twice per turn: when the loop goes to wait for events, and when all have been handled. */
void driver_turn(struct driver *driver);

/* ---- Questions ---- */
int64_t driver_now_ms(const struct driver *driver);
const struct state *driver_state(const struct driver *driver);
/* This node only while it serves; 0: nobody known. */
uint64_t driver_leader_id(const struct driver *driver);
bool driver_is_leading(const struct driver *driver);
size_t driver_parked_calls(const struct driver *driver);

#endif
