/* An orderly end: hand leadership over, answer every call, let replies leave, close the log.
 *
 *   RUNNING --SIGTERM--> TRANSFERRING --> ANSWERING --> LINGERING --> PARTING --> FLUSHING
 *                                             |                                    ^  |
 *                                             '-------(nobody took over)-----------'  v
 *                                                                                  CLOSING
 *
 * Why not close all connections when the calls are answered: a client whose connections all break
 * in one moment may ask for the coordinator over one of them that it does not know to be broken
 * yet, and repeat the question there until this node is back (librdkafka does); its session is over
 * by then. So clients are given time to hear of the new coordinator from this node; and of the
 * connections that are left, those of members are closed last.
 *
 * Each phase has its share of shutdown.timeout.ms and ends with it, whatever is left; where even
 * closing the log takes longer the process ends itself: it is crash-only, so nothing is lost. */
#include <unistd.h>

#include "rpc/ensure.h"
#include "server/log.h"
#include "server/server.h"
#include "server/signals.h"

/* Between the last goodbye to others and that to members: a client's threads learn of both. */
enum { PARTING_MS = 100 };

static int64_t now_of(const struct server *server)
{
    return (int64_t)uv_now(&server->loop);
}

static void enter(struct server *server, enum stop_phase phase, int64_t most_ms)
{
    server->stop_phase = phase;
    server->stop_due_ms = now_of(server) + most_ms;
    alarm_ask(&server->stop_alarm, server->stop_due_ms);
}

static int64_t share_of(const struct server *server)
{
    return server->config->shutdown_timeout_ms / 4;
}

/* It takes milliseconds, or there is nobody to take over. */
static int64_t transfer_of(const struct server *server)
{
    int64_t enough_ms = 6 * server->config->election_timeout_ms;
    return enough_ms < share_of(server) ? enough_ms : share_of(server);
}

static void on_transferred(void *ctx, bool transferred)
{
    struct server *server = ctx;
    if (server->stop_phase == STOP_TRANSFERRING) {
        log_event(LOG_LEVEL_INFO, "leadership_handed_over success=%d", transferred);
        server->is_handed_over = transferred;
        enter(server, STOP_ANSWERING, share_of(server));
    }
}

void stop_begin(struct server *server)
{
    if (server->stop_phase != STOP_RUNNING) {
        log_event(LOG_LEVEL_WARN, "stopped_at_once reason=\"second signal\"");
        _exit(1);
    }
    log_event(LOG_LEVEL_INFO, "stopping connections=%zu parked=%zu", server->conns.count,
              driver_parked_calls(&server->driver));
    server->stop_limit_ms = now_of(server) + server->config->shutdown_timeout_ms;
    listener_close_all(&server->listeners);
    driver_stopping(&server->driver);
    enter(server, STOP_TRANSFERRING, share_of(server));
    if (driver_is_leading(&server->driver) && server->config->peers_count > 1) {
        raftlog_transfer(server->driver.log, (unsigned)transfer_of(server), on_transferred, server);
    } else {
        enter(server, STOP_ANSWERING, share_of(server));
    }
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* The log is closed: everything else follows, and the loop has nothing left. */
static void on_log_closed(void *ctx)
{
    struct server *server = ctx;
    conns_close_all(&server->conns);
    conns_end_turn(&server->conns);
    conns_close(&server->conns);
    driver_close(&server->driver);
    alarm_close(&server->stop_alarm);
    close_handle((uv_handle_t *)&server->prepare);
    close_handle((uv_handle_t *)&server->check);
    signals_hold();
    for (size_t i = 0; i < SIGNALS_COUNT; i++) {
        close_handle((uv_handle_t *)&server->signals[i]);
    }
}

static void close_log(struct server *server)
{
    conns_close_all(&server->conns);
    enter(server, STOP_CLOSING, server->stop_limit_ms - now_of(server));
    driver_close_log(&server->driver, on_log_closed, server);
}

static void flush(struct server *server)
{
    conns_finish(&server->conns);
    enter(server, STOP_FLUSHING, share_of(server));
}

static void after_answers(struct server *server)
{
    int64_t linger_ms = server->config->shutdown_linger_ms;
    if (server->is_handed_over) {
        enter(server, STOP_LINGERING, linger_ms < share_of(server) ? linger_ms : share_of(server));
    } else {
        flush(server);
    }
}

void stop_turn(struct server *server)
{
    bool is_due = now_of(server) >= server->stop_due_ms;
    switch (server->stop_phase) {
        case STOP_RUNNING:
            break;
        case STOP_TRANSFERRING:
            if (is_due) {
                enter(server, STOP_ANSWERING, share_of(server));
            }
            break;
        case STOP_ANSWERING:
            if (is_due || driver_parked_calls(&server->driver) == 0) {
                after_answers(server);
            }
            break;
        case STOP_LINGERING:
            if (is_due || server->conns.count == 0) {
                conns_finish_others(&server->conns);
                enter(server, STOP_PARTING, PARTING_MS);
            }
            break;
        case STOP_PARTING:
            if (is_due || server->conns.count == 0) {
                flush(server);
            }
            break;
        case STOP_FLUSHING:
            if (is_due || server->conns.count == 0) {
                close_log(server);
            }
            break;
        case STOP_CLOSING:
            if (is_due) {
                log_event(LOG_LEVEL_ERROR, "stop_timeout effect=\"ends without closing the log\"");
                _exit(1);
            }
            break;
    }
    if (server->stop_phase != STOP_RUNNING) {
        alarm_ask(&server->stop_alarm, server->stop_due_ms);
    }
}

static void on_alarm(void *ctx)
{
    (void)ctx; /* stop_turn() does the work, at the end of this turn */
}

void stop_init(struct server *server)
{
    server->stop_phase = STOP_RUNNING;
    alarm_init(&server->stop_alarm, &server->loop, on_alarm, server);
}
