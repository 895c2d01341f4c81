#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "rpc/ensure.h"
#include "server/clock.h"
#include "server/core/node.h"
#include "server/log.h"

/* Descriptors that are not clients' connections: the log's files, peers, listeners, the loop. */
enum { DESCRIPTORS_RESERVED = 128 };

/* Raises the limit on open files as far as it goes and holds it against max.connections. */
static bool check_descriptors(const struct config *config,
                              rlim_t *most,
                              char *message,
                              size_t message_len)
{
    struct rlimit limit;
    ensure(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        ensure(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    *most = limit.rlim_cur > INT32_MAX ? INT32_MAX : limit.rlim_cur;
    rlim_t needed = (rlim_t)config->connections_max + DESCRIPTORS_RESERVED;
    if (*most >= needed) {
        return true;
    }
    snprintf(
        message, message_len,
        "max.connections=%lld needs %llu open files, the limit is %llu; raise it (LimitNOFILE= "
        "in a systemd unit, ulimit -Hn in a shell) or lower max.connections",
        (long long)config->connections_max, (unsigned long long)needed, (unsigned long long)*most);
    return false;
}

static void make_card(struct server *server)
{
    const struct config *config = server->config;
    struct node_listener listeners[CONFIG_LISTENERS_MAX];
    struct node node = {
        .id = (uint64_t)config->node_id,
        .rack = config->broker_rack[0] == '\0' ? SPAN_NULL : span_from_cstr(config->broker_rack),
        .listeners = listeners,
        .listeners_count = (int32_t)config->listeners_count,
    };
    for (size_t i = 0; i < config->listeners_count; i++) {
        const struct endpoint_listener *told = &config->advertised[i];
        listeners[i] = (struct node_listener){.name = span_from_cstr(told->name),
                                              .host = span_from_cstr(told->at.host),
                                              .port = told->at.port};
    }
    server->card = BUF_EMPTY;
    node_encode_card(&node, &server->card);
    server->self = node_new(node.id, buf_span(&server->card));
    ensure(server->self != NULL);
}

static bool open_log(struct server *server, char *message, size_t message_len)
{
    const struct config *config = server->config;
    struct raftlog_peer *peers = server->peers;
    for (size_t i = 0; i < config->peers_count; i++) {
        const struct endpoint_peer *peer = &config->peers[i];
        peers[i] =
            (struct raftlog_peer){.id = peer->id, .host = peer->at.host, .port = peer->at.port};
    }
    bool is_alone = config->cluster_nodes[0] == '\0';
    const char *bind_host = config->peer_listen[0] != '\0' ? config->peer_listen : NULL;
    struct raftlog_options options = {
        .dir = server->datadir.raft,
        .cluster_id = config->cluster_id,
        .node_id = (uint64_t)config->node_id,
        .peers = peers,
        .peers_count = config->peers_count,
        .bind_host = bind_host == NULL && is_alone ? "127.0.0.1" : bind_host,
        .secret = span_of(config->secret, config->secret_len),
        .card = buf_span(&server->card),
        .election_timeout_ms = (unsigned)config->election_timeout_ms,
        .heartbeat_ms = (unsigned)config->heartbeat_ms,
        .proposal_bytes_max = LIMIT_PROPOSAL_BYTES,
        .batch_bytes_max = (size_t)config->raft_batch_bytes_max,
        .queue_bytes_max = (size_t)config->raft_queue_bytes_max,
        .snapshot_threshold_bytes = (size_t)config->snapshot_threshold_bytes,
        .snapshot_trailing_bytes = (size_t)config->snapshot_trailing_bytes,
        .free_bytes_min = (uint64_t)config->disk_free_min_bytes,
    };
    return driver_open(&server->driver, &options, message, message_len);
}

static void end_turn(struct server *server)
{
    conns_end_turn(&server->conns);
    driver_turn(&server->driver);
    stop_turn(server);
    /* What stopping did may have readied connections. */
    if (server->stop_phase != STOP_RUNNING && server->stop_phase != STOP_CLOSING) {
        conns_end_turn(&server->conns);
    }
}

static void on_check(uv_check_t *check)
{
    struct server *server = check->data;
    server->turn_began_ms = (int64_t)uv_now(&server->loop);
    end_turn(server);
}

/* Timers have run; the loop is about to wait. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct server *server = prepare->data;
    end_turn(server);
    int64_t turn_ms = clock_monotonic_ms() - server->turn_began_ms;
    if (server->turn_began_ms != 0 && turn_ms > server->longest_turn_ms) {
        server->longest_turn_ms = turn_ms;
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    switch (number) {
        case SIGUSR1:
            status_log(server);
            break;
        case SIGHUP:
            log_event(LOG_LEVEL_INFO,
                      "ignored signal=HUP reason=\"nothing is reloaded; the log "
                      "goes to stderr\"");
            break;
        default:
            stop_begin(server);
            break;
    }
}

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

static void done_nothing(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
}

/* Its threads are to be started while signals are held, which they inherit. */
static void start_pool(struct server *server)
{
    ensure(uv_queue_work(&server->loop, &server->first_work, do_nothing, done_nothing) == 0);
}

static void watch_loop(struct server *server)
{
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SIGNALS_COUNT; i++) {
        ensure(uv_signal_init(&server->loop, &server->signals[i]) == 0);
        server->signals[i].data = server;
        ensure(uv_signal_start(&server->signals[i], on_signal, signals_numbers[i]) == 0);
    }
    ensure(uv_prepare_init(&server->loop, &server->prepare) == 0);
    server->prepare.data = server;
    ensure(uv_prepare_start(&server->prepare, on_prepare) == 0);
    ensure(uv_check_init(&server->loop, &server->check) == 0);
    server->check.data = server;
    ensure(uv_check_start(&server->check, on_check) == 0);
}

static struct conns_limits limits_of(const struct config *config, rlim_t descriptors)
{
    return (struct conns_limits){
        .request_bytes_max = (size_t)config->request_bytes_max,
        .connections_max = (size_t)config->connections_max,
        .connections_per_ip_max = (size_t)config->connections_per_ip_max,
        .pipeline_max = (size_t)config->pipeline_max,
        .unsent_bytes_max = (size_t)config->unsent_bytes_max,
        .queued_bytes_max = (size_t)config->queued_bytes_max,
        .idle_ms = config->connection_idle_ms,
        .descriptors_max = (int)descriptors - DESCRIPTORS_RESERVED / 4,
    };
}

bool server_open(struct server *server,
                 const struct config *config,
                 char *message,
                 size_t message_len)
{
    static const struct conns_events events = {dispatch_request, dispatch_gone};
    rlim_t descriptors;
    memset(server, 0, sizeof *server);
    server->config = config;
    if (!check_descriptors(config, &descriptors, message, message_len) ||
        !datadir_open(&server->datadir, config->data_dir, config->cluster_id,
                      (uint64_t)config->node_id, message, message_len)) {
        return false;
    }
    ensure(uv_loop_init(&server->loop) == 0);
    start_pool(server);
    struct coordinator_limits core_limits = config_limits(config);
    struct conns_limits conns_limits = limits_of(config, descriptors);
    driver_init(&server->driver, &server->loop, &core_limits, (uint64_t)config->node_id,
                dispatch_reply);
    dispatch_init(&server->dispatch, &server->driver, config->cluster_id,
                  (uint64_t)config->node_id);
    conns_init(&server->conns, &server->loop, &conns_limits, &events, &server->dispatch);
    stop_init(server);
    watch_loop(server);
    make_card(server);
    server->dispatch.self = server->self;
    driver_set_card(&server->driver, buf_span(&server->card));
    return open_log(server, message, message_len) &&
           listener_open_all(&server->listeners, &server->loop, config, &server->conns, message,
                             message_len);
}

void server_run(struct server *server)
{
    uv_run(&server->loop, UV_RUN_DEFAULT);
    ensure(uv_loop_close(&server->loop) == 0);
    buf_close(&server->card);
    free(server->self);
    datadir_close(&server->datadir);
}
