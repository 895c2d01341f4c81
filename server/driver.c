#include "server/driver.h"

#include <string.h>
#include <unistd.h>

#include "rpc/build.h"
#include "rpc/ensure.h"
#include "server/clock.h"
#include "server/core/coordinator.h"
#include "server/log.h"

/* sysexits.h's EX_SOFTWARE: the service manager starts the node again. */
enum { EXIT_FATAL = 70 };

static void propose(struct driver *driver, const struct effect *effect, int64_t now_ms)
{
    enum raftlog_error refused =
        driver->log == NULL ? RAFTLOG_NOT_LEADER
                            : raftlog_propose(driver->log, effect->number, effect->records);
    if (refused == RAFTLOG_TOO_LARGE) {
        log_limited(&driver->refusals, LOG_LEVEL_ERROR, "proposal_too_large number=%llu bytes=%zu",
                    (unsigned long long)effect->number, effect->records.len);
    } else if (refused == RAFTLOG_FULL) {
        log_limited(&driver->refusals, LOG_LEVEL_WARN,
                    "proposal_refused limit=raft.queue.max.bytes bytes=%zu "
                    "reason=\"the log is slow, or its disk nearly full\"",
                    effect->records.len);
    }
    if (refused != RAFTLOG_OK) {
        coordinator_refused(driver->coordinator, effect->number, refused != RAFTLOG_NOT_LEADER,
                            now_ms);
    }
}

static void drain(struct driver *driver, int64_t now_ms)
{
    struct effects *effects = coordinator_effects(driver->coordinator);
    const struct effect *effect;
    ensure(!driver->is_draining);
    driver->is_draining = true;
    while ((effect = effects_next(effects)) != NULL) {
        switch (effect->kind) {
            case EFFECT_REPLY:
                driver->reply(effect->call, effect->response);
                break;
            case EFFECT_PROPOSE:
                propose(driver, effect, now_ms);
                break;
            case EFFECT_LOG:
                effect_log_write(&driver->effect_log, now_ms, effect);
                break;
        }
    }
    effects_reset(effects);
    driver->is_draining = false;
}

int64_t driver_now_ms(const struct driver *driver)
{
#if ROSTER_BUG == 9 /* sessions end by the wall clock */
    (void)driver;
    return clock_wall_ms();
#else
    return (int64_t)uv_now(driver->loop);
#endif
}

/* When the coordinator wants to be called, by the loop's clock. */
static int64_t next_deadline_ms(const struct driver *driver)
{
    int64_t at_ms = coordinator_next_deadline(driver->coordinator);
#if ROSTER_BUG == 9
    if (at_ms != INT64_MAX) {
        at_ms -= clock_wall_ms() - (int64_t)uv_now(driver->loop);
    }
#endif
    return at_ms;
}

static void notice_gap(struct driver *driver, int64_t gap_ms)
{
    const struct coordinator_counters *counters = coordinator_counters(driver->coordinator);
    uint64_t before = counters->suspensions;
    int64_t now_ms = driver_now_ms(driver);
    coordinator_suspended(driver->coordinator, now_ms);
    if (counters->suspensions != before) {
        log_event(LOG_LEVEL_WARN, "stood_still ms=%lld effect=\"serves after a new barrier\"",
                  (long long)gap_ms);
    }
    drain(driver, now_ms);
}

/* Now, for an input; the gap that R9 is about is told before the input is. The loop's own clock
 * would not do: where the process was stopped in the middle of a turn it goes on with the time of
 * before, and with sockets that have received requests ever since. */
static int64_t begin_input(struct driver *driver)
{
    int64_t gap_ms = clock_monotonic_ms() - driver->turn_ms;
    ensure(!driver->is_draining);
#if ROSTER_BUG == 2091 /* goes on as if nothing had been */
    gap_ms = 0;
#endif
    if (gap_ms > driver->election_timeout_ms) {
        driver->turn_ms += gap_ms;
        uv_update_time(driver->loop);
        notice_gap(driver, gap_ms);
    }
    return driver_now_ms(driver);
}

void driver_turn(struct driver *driver)
{
    begin_input(driver);
    driver->turn_ms = clock_monotonic_ms();
    alarm_ask(&driver->alarm, next_deadline_ms(driver));
}

static void on_alarm(void *ctx)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    int64_t wall_ms = driver->log != NULL && raftlog_clock_is_trusted(driver->log)
                          ? raftlog_stamp_ms(driver->log)
                          : -1;
    coordinator_tick(driver->coordinator, now_ms, wall_ms);
    drain(driver, now_ms);
}

/* ---- The log's events ---- */

static void on_apply(void *ctx, const struct raftlog_entry *entry)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    struct applied applied = {
        .index = entry->index,
        .term = entry->term,
        .number = entry->number,
        .stamp_ms = entry->stamp_ms,
        .own = entry->own,
        .records = entry->data,
    };
    coordinator_apply(driver->coordinator, &applied, now_ms);
    drain(driver, now_ms);
}

/* Replies leave at the end of the turn, with those of other batches. */
static void on_batch_end(void *ctx, uint64_t index)
{
    (void)ctx;
    (void)index;
}

static void on_winning(void *ctx, uint64_t term)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    coordinator_winning(driver->coordinator, term, now_ms);
    drain(driver, now_ms);
}

static void on_elected(void *ctx, uint64_t term)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    coordinator_elected(driver->coordinator, term, now_ms);
    drain(driver, now_ms);
    log_event(LOG_LEVEL_INFO, "leading term=%llu", (unsigned long long)term);
}

static void on_deposed(void *ctx)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    coordinator_deposed(driver->coordinator, now_ms);
    drain(driver, now_ms);
    log_event(LOG_LEVEL_INFO, "deposed");
}

static void on_leader(void *ctx, uint64_t node_id)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    if (driver->leader_id != node_id) {
        log_event(LOG_LEVEL_INFO, "leader node=%llu", (unsigned long long)node_id);
    }
    driver->leader_id = node_id;
    coordinator_leader(driver->coordinator, node_id);
    drain(driver, now_ms);
}

static void on_peer_card(void *ctx, uint64_t node_id, struct span card)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    coordinator_node(driver->coordinator, node_id, card, now_ms);
    drain(driver, now_ms);
}

static void *on_freeze(void *ctx)
{
    struct driver *driver = ctx;
    return coordinator_freeze(driver->coordinator);
}

static void on_release(void *ctx, void *frozen)
{
    struct driver *driver = ctx;
    coordinator_release(driver->coordinator, frozen);
}

static int on_restore(void *ctx, struct span snapshot)
{
    struct driver *driver = ctx;
    int64_t now_ms = begin_input(driver);
    int failed = coordinator_restore(driver->coordinator, snapshot);
    drain(driver, now_ms);
    return failed;
}

static uint64_t on_state_hash(void *ctx)
{
    struct driver *driver = ctx;
    return coordinator_state_hash(driver->coordinator);
}

static void on_log(void *ctx, enum raftlog_level level, const char *line)
{
    static const enum log_level levels[] = {
        [RAFTLOG_DEBUG] = LOG_LEVEL_DEBUG,
        [RAFTLOG_INFO] = LOG_LEVEL_INFO,
        [RAFTLOG_WARN] = LOG_LEVEL_WARN,
        [RAFTLOG_ERROR] = LOG_LEVEL_ERROR,
    };
    (void)ctx;
    log_event(levels[level], "%s", line);
}

/* At once: neither exit handlers nor anything queued may run. */
static void on_fatal(void *ctx, const char *message)
{
    (void)ctx;
    log_event(LOG_LEVEL_ERROR, "fatal message=\"%s\"", message);
    _exit(EXIT_FATAL);
}

/* ---- Beginning and end ---- */

void driver_init(struct driver *driver,
                 uv_loop_t *loop,
                 const struct coordinator_limits *limits,
                 uint64_t node_id,
                 void (*reply)(struct call *call, const void *response))
{
    memset(driver, 0, sizeof *driver);
    driver->loop = loop;
    driver->node_id = node_id;
    driver->reply = reply;
    driver->election_timeout_ms = limits->election_timeout_ms;
    driver->turn_ms = clock_monotonic_ms();
    effect_log_init(&driver->effect_log);
    driver->coordinator = coordinator_new(limits, node_id);
    driver->events = (struct raftlog_events){
        .apply = on_apply,
        .batch_end = on_batch_end,
        .winning = on_winning,
        .elected = on_elected,
        .deposed = on_deposed,
        .leader = on_leader,
        .peer_card = on_peer_card,
        .freeze = on_freeze,
        .encode = coordinator_encode,
        .release = on_release,
        .restore = on_restore,
        .state_hash = on_state_hash,
        .log = on_log,
        .fatal = on_fatal,
    };
    alarm_init(&driver->alarm, loop, on_alarm, driver);
}

void driver_close(struct driver *driver)
{
    alarm_close(&driver->alarm);
    coordinator_free(driver->coordinator);
    driver->coordinator = NULL;
}

bool driver_open(struct driver *driver,
                 struct raftlog_options *options,
                 char *message,
                 size_t message_len)
{
    options->loop = driver->loop;
    return raftlog_open(&driver->log, options, &driver->events, driver, message, message_len) ==
           RAFTLOG_OK;
}

void driver_set_card(struct driver *driver, struct span card)
{
    int64_t now_ms = begin_input(driver);
    coordinator_node(driver->coordinator, driver->node_id, card, now_ms);
    drain(driver, now_ms);
}

/* ---- Inputs of the shell ---- */

void driver_request(struct driver *driver, struct call *call)
{
    int64_t now_ms = begin_input(driver);
    coordinator_request(driver->coordinator, call, now_ms);
    drain(driver, now_ms);
}

void driver_gone(struct driver *driver, struct call *call)
{
    int64_t now_ms = begin_input(driver);
    coordinator_gone(driver->coordinator, call, now_ms);
    drain(driver, now_ms);
}

void driver_stopping(struct driver *driver)
{
    int64_t now_ms = begin_input(driver);
    coordinator_stopping(driver->coordinator, now_ms);
    drain(driver, now_ms);
}

static void on_log_closed(void *ctx)
{
    struct driver *driver = ctx;
    driver->log = NULL; /* begin_input() may want to propose */
    int64_t now_ms = begin_input(driver);
    if (coordinator_parked_calls(driver->coordinator) > 0) {
        coordinator_deposed(driver->coordinator, now_ms);
        drain(driver, now_ms);
    }
    driver->closed(driver->closed_ctx);
}

void driver_close_log(struct driver *driver, void (*closed)(void *ctx), void *ctx)
{
    driver->closed = closed;
    driver->closed_ctx = ctx;
    raftlog_close(driver->log, on_log_closed);
}

/* ---- Questions ---- */

const struct state *driver_state(const struct driver *driver)
{
    return coordinator_state(driver->coordinator);
}

bool driver_is_leading(const struct driver *driver)
{
    return coordinator_is_leading(driver->coordinator);
}

uint64_t driver_leader_id(const struct driver *driver)
{
    bool is_self = driver->leader_id == driver->node_id;
    return is_self && !driver_is_leading(driver) ? 0 : driver->leader_id;
}

size_t driver_parked_calls(const struct driver *driver)
{
    return coordinator_parked_calls(driver->coordinator);
}
