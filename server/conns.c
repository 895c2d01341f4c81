#include "server/conns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "rpc/ensure.h"
#include "server/conn.h"

enum { SWEEP_MS_MAX = 1000, SWEEP_MS_MIN = 50, RELEASES_PER_TURN = 10000 };

static int64_t now_of(const struct conns *conns)
{
    return (int64_t)uv_now(conns->loop);
}

/* ---- Held replies ---- */

static void on_hold_over(struct coordinator *unused, struct deadline *deadline)
{
    (void)unused;
    conn_release((struct request *)(void *)((char *)deadline - offsetof(struct request, hold)));
}

static void release_due(void *ctx)
{
    struct conns *conns = ctx;
    deadlines_run(&conns->holds, NULL, now_of(conns), RELEASES_PER_TURN);
}

void conns_stop_holding(struct conns *conns)
{
    conns->is_stopping = true;
    while (deadlines_run(&conns->holds, NULL, INT64_MAX - 1, RELEASES_PER_TURN)) {
    }
}

/* ---- Idle connections, and the budget ---- */

static bool is_idle(const struct conn *conn, int64_t now_ms)
{
    bool has_running = conn->first != conn->todo;
    return !has_running && now_ms - conn->active_ms >= conn->conns->limits.idle_ms;
}

static void close_idle(struct conns *conns)
{
    int64_t now_ms = now_of(conns);
    for (struct conn *conn = conns->first, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (is_idle(conn, now_ms)) {
            conns->counters.limit_idle++;
            log_limited(&conns->rates.limit_idle, LOG_LEVEL_INFO,
                        "limit key=connections.max.idle.ms effect=closed client=%s",
                        conn->client_host);
            conn_close(conn);
        }
    }
}

static struct conn *find_largest(const struct conns *conns)
{
    struct conn *largest = NULL;
    for (struct conn *conn = conns->first; conn != NULL; conn = conn->next) {
        if (conn->charged > BUDGET_ALLOWANCE_BYTES &&
            (largest == NULL || conn->charged > largest->charged)) {
            largest = conn;
        }
    }
    return largest;
}

void conns_shed(struct conns *conns)
{
    while (budget_is_over(&conns->budget)) {
        struct conn *conn = find_largest(conns);
        if (conn == NULL) {
            return;
        }
        conns->counters.limit_budget_closed++;
        log_limited(&conns->rates.limit_budget_closed, LOG_LEVEL_WARN,
                    "limit key=queued.max.bytes effect=closed client=%s holds=%zu used=%zu",
                    conn->client_host, conn->charged, conns->budget.used);
        conn_close(conn);
    }
}

/* libuv closes what it cannot accept for want of descriptors and tells nobody. */
static void probe_descriptors(struct conns *conns)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    } else if (errno == EMFILE || errno == ENFILE) {
        conns->counters.descriptors_used_up++;
        log_limited(&conns->rates.descriptors_used_up, LOG_LEVEL_ERROR,
                    "descriptors_used_up connections=%zu effect=\"connections are closed unseen\" "
                    "error=\"%s\"",
                    conns->count, strerror(errno));
    }
}

static void ask_sweep(struct conns *conns)
{
    int64_t wait_ms = conns->limits.idle_ms / 8;
    wait_ms = wait_ms > SWEEP_MS_MAX ? SWEEP_MS_MAX : wait_ms;
    wait_ms = wait_ms < SWEEP_MS_MIN ? SWEEP_MS_MIN : wait_ms;
    alarm_ask(&conns->sweep_alarm, now_of(conns) + wait_ms);
}

static void sweep(void *ctx)
{
    struct conns *conns = ctx;
    close_idle(conns);
    probe_descriptors(conns);
    /* Whoever could go on has had the time since the last sweep. */
    if (conns->is_over) {
        conns_shed(conns);
    }
    conns->is_over = budget_is_over(&conns->budget);
    ask_sweep(conns);
}

/* ---- Beginning and end ---- */

void conns_init(struct conns *conns,
                uv_loop_t *loop,
                const struct conns_limits *limits,
                const struct conns_events *events,
                void *events_ctx)
{
    memset(conns, 0, sizeof *conns);
    conns->loop = loop;
    conns->limits = *limits;
    conns->events = *events;
    conns->events_ctx = events_ctx;
    addresses_init(&conns->addresses);
    budget_init(&conns->budget, limits->queued_bytes_max);
    request_pool_init(&conns->requests, on_hold_over);
    outbox_pool_init(&conns->outbufs);
    deadlines_init(&conns->holds);
    alarm_init(&conns->hold_alarm, loop, release_due, conns);
    alarm_init(&conns->sweep_alarm, loop, sweep, conns);
    ask_sweep(conns);
}

void conns_close(struct conns *conns)
{
    ensure(conns->count == 0 && conns->ready == NULL && conns->dirty == NULL);
    ensure(conns->budget.used == 0);
    alarm_close(&conns->hold_alarm);
    alarm_close(&conns->sweep_alarm);
    request_pool_close(&conns->requests);
    outbox_pool_close(&conns->outbufs);
    deadlines_close(&conns->holds);
    addresses_close(&conns->addresses);
}

/* ---- Accepting ---- */

/* Why a connection is not wanted; NULL: it is. */
static const char *find_limit(struct conns *conns, const struct conn *conn, struct log_rate **rate)
{
    const struct conns_limits *limits = &conns->limits;
    uv_os_fd_t fd = -1;
    uv_fileno((const uv_handle_t *)&conn->tcp, &fd);
    if (fd >= limits->descriptors_max) {
        conns->counters.limit_descriptors++;
        *rate = &conns->rates.limit_descriptors;
        return "open-files";
    }
    if (conns->count > limits->connections_max) {
        conns->counters.limit_connections++;
        *rate = &conns->rates.limit_connections;
        return "max.connections";
    }
    if (addresses_count(&conns->addresses, &conn->address) > limits->connections_per_ip_max) {
        conns->counters.limit_per_ip++;
        *rate = &conns->rates.limit_per_ip;
        return "max.connections.per.ip";
    }
    return NULL;
}

void conns_accept(struct conns *conns, uv_stream_t *server, struct span listener)
{
    struct conn *conn = conn_accept(conns, server, listener);
    if (conn == NULL) {
        conns->counters.accept_failed++;
        return;
    }
    conns->counters.accepted++;
    struct log_rate *rate;
    const char *limit = find_limit(conns, conn, &rate);
    if (limit != NULL) {
        log_limited(rate, LOG_LEVEL_WARN, "limit key=%s effect=refused client=%s connections=%zu",
                    limit, conn->client_host, conns->count - 1);
        conn_close(conn);
        return;
    }
    conn_start(conn);
}

/* ---- The turn ---- */

static void run_ready(struct conns *conns)
{
    while (conns->ready != NULL) {
        struct conn *conn = conns->ready;
        conns->ready = conn->next_ready;
        conn->is_ready = false;
        if (!conn->is_closed) {
            conn_resume(conn);
        }
    }
}

static void run_dirty(struct conns *conns)
{
    while (conns->dirty != NULL) {
        struct conn *conn = conns->dirty;
        conns->dirty = conn->next_dirty;
        conn->is_dirty = false;
        if (!conn->is_closed) {
            conn_flush(conn);
        }
    }
}

static void wake_paused(struct conns *conns)
{
    for (struct conn *conn = conns->first; conn != NULL; conn = conn->next) {
        if (conn->is_paused) {
            conn_mark_ready(conn);
        }
    }
}

void conns_end_turn(struct conns *conns)
{
    if (conns->paused > 0 && !budget_is_over(&conns->budget)) {
        wake_paused(conns);
    }
    while (conns->ready != NULL || conns->dirty != NULL) {
        run_ready(conns);
        run_dirty(conns);
    }
    alarm_ask(&conns->hold_alarm, deadlines_next(&conns->holds));
}

void conns_finish_others(struct conns *conns)
{
    conns_stop_holding(conns);
    for (struct conn *conn = conns->first; conn != NULL; conn = conn->next) {
        if (!conn->is_members) {
            conn_end(conn);
        }
    }
}

void conns_finish(struct conns *conns)
{
    conns_stop_holding(conns);
    for (struct conn *conn = conns->first; conn != NULL; conn = conn->next) {
        conn_end(conn);
    }
}

void conns_close_all(struct conns *conns)
{
    while (conns->first != NULL) {
        conn_close(conns->first);
    }
}
