/* Opening and closing. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "raftlog/internal.h"
#include "raftlog/options.h"
#include "raftlog/raft_dir.h"
#include "rpc/build.h"
#include "rpc/ensure.h"

/* What the directory says about how this node stands (startup.h). */

static bool is_alone(const struct raftlog *log)
{
    return log->options.peers_count == 1;
}

static bool stand_without_marker(struct raftlog *log,
                                 const struct raft_dir *found,
                                 char *message,
                                 size_t len)
{
    if (found->term > 1) { /* it was taken for a rejoin */
        log->startup.standing = HELLO_REJOINING;
        return true;
    }
    if (found->has_log) {
        snprintf(message, len,
                 "%s holds a log but neither a term nor the file %s/voter: remove this node's data "
                 "directory, it rejoins by itself",
                 log->data.raft_dir, log->data.dir);
        return false;
    }
    int rv = data_dir_clear_raft(&log->data);
    if (rv != 0) {
        snprintf(message, len, "cannot clear %s: %s", log->data.raft_dir, uv_strerror(rv));
        return false;
    }
    log->startup = (struct startup_state){.standing = HELLO_PRISTINE};
    return true;
}

/* A voter whose disk lost a part of its log, or all. */
static bool stand_with_losses(struct raftlog *log, char *message, size_t len)
{
    int rv = data_dir_set_marker(&log->data, DATA_DIR_MARKER_REJOIN);
    if (rv != 0) {
        snprintf(message, len, "cannot write %s/voter: %s", log->data.dir, uv_strerror(rv));
        return false;
    }
    log->startup.standing = HELLO_REJOINING;
    log->startup.needs_term = true;
    return true;
}

static bool stand(struct raftlog *log, const struct raft_dir *found, char *message, size_t len)
{
    log->startup = (struct startup_state){.standing = HELLO_VOTER, .term = found->term};
    bool is_good = true;
    switch (log->data.marker) {
        case DATA_DIR_MARKER_NONE:
            is_good = stand_without_marker(log, found, message, len);
            break;
        case DATA_DIR_MARKER_FRESH:
            log->startup.standing = found->term == 0 ? HELLO_PRISTINE : HELLO_FRESH;
            break;
        case DATA_DIR_MARKER_VOTER:
            if (found->term == 0 || found->health == RAFT_DIR_LOST_END) {
                is_good = stand_with_losses(log, message, len);
            }
            break;
        case DATA_DIR_MARKER_REJOIN:
            log->startup.standing = HELLO_REJOINING;
            log->startup.needs_term = true;
            break;
    }
    if (is_good && is_alone(log) && log->startup.standing == HELLO_REJOINING) {
        snprintf(message, len,
                 "%s has lost entries (%s), and there is no other node to get them from: restore a "
                 "backup",
                 log->data.raft_dir, found->file);
        return false;
    }
    return is_good;
}

static bool remove_torn(struct raftlog *log,
                        const struct raft_dir *found,
                        char *message,
                        size_t len)
{
    if (found->torn[0] == '\0') {
        return true;
    }
    int rv = raft_dir_remove_torn(log->data.raft_dir, found);
    if (rv != 0) {
        snprintf(message, len, "cannot remove %s/%s, whose first write never ended: %s",
                 log->data.raft_dir, found->torn, uv_strerror(rv));
        return false;
    }
    report_log(&log->report, RAFTLOG_WARN,
               "raftlog_torn_file_removed dir=%s file=%s: its first write never ended",
               log->data.raft_dir, found->torn);
    return true;
}

static bool agree_on_ballot(struct raftlog *log, struct raft_dir *found, char *message, size_t len)
{
    int rv = ballot_open(&log->ballot, log->data.dir);
    if (rv == 0 && found->term != 0) {
        switch (ballot_compare(&log->ballot, found)) {
            case BALLOT_SAME:
                break;
            case BALLOT_UNKNOWN:
                rv = ballot_write(&log->ballot, found->term, found->vote);
                break;
            case BALLOT_NEWER:
                report_log(&log->report, RAFTLOG_WARN,
                           "raftlog_ballot_restored dir=%s term=%" PRIu64 " vote=%" PRIu64
                           " found_term=%" PRIu64 " found_vote=%" PRIu64,
                           log->data.dir, log->ballot.term, log->ballot.vote, found->term,
                           found->vote);
                rv = raft_dir_write_metadata(log->data.raft_dir, found, log->ballot.term,
                                             log->ballot.vote);
                break;
            case BALLOT_DAMAGED:
                snprintf(message, len,
                         "%s/metadata1 or metadata2 is damaged (term %" PRIu64
                         ", where %s/ballot says %" PRIu64
                         "): remove this node's data directory, it rejoins by itself",
                         log->data.raft_dir, found->term, log->data.dir, log->ballot.term);
                return false;
        }
    }
    if (rv != 0) {
        snprintf(message, len, "cannot write the term in %s: %s", log->data.dir, uv_strerror(rv));
    }
    return rv == 0;
}

/* Before anything else looks at the library's files. */
static bool finish_truncation(struct raftlog *log, char *message, size_t len)
{
    int rv = truncation_open(&log->truncation, log->data.dir);
    uint64_t index = log->truncation.index;
    int removed = rv == 0 && index != 0 ? truncation_finish(log->data.raft_dir, index) : 0;
    if (removed > 0) {
        report_log(&log->report, RAFTLOG_WARN,
                   "raftlog_truncation_finished dir=%s index=%" PRIu64
                   " files=%d: this node ended while it removed entries that never counted",
                   log->data.raft_dir, index, removed);
    }
    rv = removed < 0 ? removed : rv;
    rv = rv == 0 && index != 0 ? truncation_note(&log->truncation, 0) : rv;
    if (rv != 0) {
        snprintf(message, len, "cannot finish the truncation that %s/truncation tells of: %s",
                 log->data.dir, uv_strerror(rv));
    }
    return rv == 0;
}

static bool open_directory(struct raftlog *log, char *message, size_t len)
{
    if (!data_dir_open(&log->data, log->options.dir, log->options.cluster_id, log->options.node_id,
                       message, len) ||
        !finish_truncation(log, message, len)) {
        return false;
    }
    struct raft_dir found;
    int rv = raft_dir_inspect(log->data.raft_dir, &found);
    if (rv != 0) {
        snprintf(message, len, "cannot read %s/%s: %s", log->data.raft_dir, found.file,
                 uv_strerror(rv));
        return false;
    }
    if (found.health == RAFT_DIR_HOLED) {
        snprintf(message, len,
                 "%s/%s is damaged: remove this node's data directory, it rejoins by "
                 "itself",
                 log->data.raft_dir, found.file);
        return false;
    }
    if (found.health == RAFT_DIR_LOST_END) {
        report_log(&log->report, RAFTLOG_ERROR,
                   "raftlog_entries_damaged dir=%s file=%s: entries behind a damaged one are "
                   "dropped; this node catches up before it votes again",
                   log->data.raft_dir, found.file);
    }
    return agree_on_ballot(log, &found, message, len) && stand(log, &found, message, len) &&
           remove_torn(log, &found, message, len);
}

/* The library. */

static bool init_library(struct raftlog *log, char *message, size_t len)
{
    int rv = raft_uv_init(&log->io, log->loop, log->data.raft_dir, &log->transport.raft);
    if (rv != 0) {
        snprintf(message, len, "cannot use %s: %s (%s)", log->data.raft_dir, raft_strerror(rv),
                 log->io.errmsg);
        return false;
    }
    log->io.version = 2; /* it has async_work, and says 1 (T1) */

#if ROSTER_BUG != 18 /* what is damaged would be put aside in silence */
    raft_uv_set_auto_recovery(&log->io, false);
#endif
    raft_uv_set_snapshot_compression(&log->io, false);
    raft_uv_set_connect_retry_delay(&log->io, RAFTLOG_CONNECT_RETRY_MS);
    char address[24];
    snprintf(address, sizeof address, "%" PRIu64, log->options.node_id);
    rv = raft_init(&log->raft, &log->io, &log->fsm.raft, log->options.node_id, address);
    if (rv != 0) {
        snprintf(message, len,
                 "cannot open %s: %s (%s); if that persists, remove this node's data "
                 "directory, it rejoins by itself",
                 log->data.raft_dir, raft_strerror(rv), log->raft.errmsg);
        raft_uv_close(&log->io);
        return false;
    }
    log->has_library = true;
    log->open_parts++;
    raft_set_election_timeout(&log->raft, log->options.election_timeout_ms);
    raft_set_heartbeat_timeout(&log->raft, log->options.heartbeat_ms);
    raft_set_pre_vote(&log->raft, true);
    fsm_set_thresholds(&log->fsm);
    guard_attach(&log->guard, &log->raft, &log->io, GUARD_ALL, false, &raftlog_guard_events, log);
    return true;
}

/* The loop. */

static void close_if_asked(struct raftlog *log);

static void on_check(uv_check_t *check)
{
    struct raftlog *log = check->data;
    close_if_asked(log);
    if (!log->is_closing) {
        guard_turn(&log->guard);
        raftlog_handover_turn(log);
        raftlog_submission_check(log);
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct raftlog *log = prepare->data;
    if (!log->is_closing) {
        raftlog_handover_turn(log);
        raftlog_submission_prepare(log);
    }
}

static void on_second(uv_timer_t *timer)
{
    struct raftlog *log = timer->data;
    raftlog_disk_space_second(log);
    raftlog_node_second(log);
}

static void start_handles(struct raftlog *log)
{
    ensure(uv_check_init(log->loop, &log->check) == 0);
    ensure(uv_prepare_init(log->loop, &log->prepare) == 0);
    ensure(uv_timer_init(log->loop, &log->seconds) == 0);
    ensure(uv_timer_init(log->loop, &log->starter) == 0);
    raftlog_submission_open(log);
    log->check.data = log;
    log->prepare.data = log;
    log->seconds.data = log;
    log->starter.data = log;
    log->open_parts += 5;
    uv_check_start(&log->check, on_check);
    uv_prepare_start(&log->prepare, on_prepare);
    uv_timer_start(&log->seconds, on_second, 0, RAFTLOG_SECOND_MS);
}

static bool open_network(struct raftlog *log, char *message, size_t len)
{
    if (is_alone(log)) {
        return true;
    }
    const struct raftlog_peer *self = options_self(&log->options);
    int rv = peer_listener_open(&log->listener, log->loop, log->options.bind_host, self->port);
    if (rv != 0) {
        snprintf(message, len, "cannot listen for peers on %s port %u: %s",
                 log->options.bind_host == NULL ? "any address" : log->options.bind_host,
                 (unsigned)self->port, uv_strerror(rv));
        return false;
    }
    log->open_parts++;
    uint64_t ids[OPTIONS_PEERS_MAX];
    for (size_t i = 0; i < log->peers.count; i++) {
        ids[i] = log->peers.items[i].id;
    }
    peer_control_start(&log->control, ids, log->peers.count);
    log->has_control = true;
    log->open_parts++;
    return true;
}

/* Closing. */

static void came_back(void *ctx)
{
    struct raftlog *log = ctx;
    ensure(log->open_parts > 0);
    if (--log->open_parts > 0) {
        return;
    }
    void (*closed)(void *) = log->closed;
    void *closed_ctx = log->report.ctx;
    raftlog_handover_close(log);
    proposal_queue_close(&log->submission.queue);
    buf_close(&log->submission.scratch);
    ballot_close(&log->ballot);
    truncation_close(&log->truncation);
    fsm_close(&log->fsm);
    peers_close(&log->peers);
    raft_free(log->configuration.base);
    free(log);
    if (closed != NULL) {
        closed(closed_ctx);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    came_back(handle->data);
}

static void on_library_closed(struct raft *raft)
{
    struct guard *guard = raft->data;
    struct raftlog *log = guard->ctx;
    raft_uv_close(&log->io);
    came_back(log);
}

static void begin_close(struct raftlog *log, void (*closed)(void *ctx))
{
    log->is_closing = true;
    log->guard.is_closing = true;
    log->closed = closed;
    log->open_parts++; /* until all has been asked to close */
    if (log->check.data != NULL) {
        uv_close((uv_handle_t *)&log->check, on_handle_closed);
        uv_close((uv_handle_t *)&log->prepare, on_handle_closed);
        uv_close((uv_handle_t *)&log->seconds, on_handle_closed);
        uv_close((uv_handle_t *)&log->starter, on_handle_closed);
        uv_close((uv_handle_t *)&log->submission.gatherer, on_handle_closed);
    }
    if (log->listener.is_open) {
        peer_listener_close(&log->listener, came_back);
    }
    if (log->has_control) {
        peer_control_close(&log->control, came_back);
    }
    if (log->has_library) {
        raft_close(&log->raft, on_library_closed);
    }
    came_back(log);
}

/* Called between the loop's polling and its closing of handles, nowhere else. The library gives its
 * open segment to a thread, to be finalized, and closes its handles; when all of them are closed it
 * takes itself to be closed once that thread is done, although it may not have heard of the closing
 * of the segment's own handles. So it must not hear of the thread before them: were it closed ahead
 * of a poll, then on a disk that is fast enough (tmpfs) it would report its end twice, the second
 * time from memory that was freed at the first. */
static void close_if_asked(struct raftlog *log)
{
    if (log->is_close_asked && !log->is_closing && !guard_is_rewriting(&log->guard)) {
        begin_close(log, log->closed);
    }
}

void raftlog_close(struct raftlog *log, void (*closed)(void *ctx))
{
    log->is_close_asked = true;
    log->closed = closed;
    uv_timer_start(&log->seconds, on_second, 0, RAFTLOG_SECOND_MS); /* a turn of the loop, now */
}

/* How much of the library's encoding says something: version u8, count u64, and for each server an
 * id u64, an address that ends with a NUL, and a role u8. Padding follows. */
static size_t encoded_len(const struct raft_configuration *configuration)
{
    size_t len = 9;
    for (unsigned i = 0; i < configuration->n; i++) {
        len += 8 + strlen(configuration->servers[i].address) + 2;
    }
    return len;
}

static struct raftlog *new_log(const struct raftlog_options *options,
                               const struct raftlog_events *events,
                               void *ctx)
{
    struct raftlog *log = calloc(1, sizeof *log);
    ensure(log != NULL);
    log->options = *options;
    log->report = (struct report){.events = events, .ctx = ctx};
    log->loop = options->loop;
    ensure(getrandom(&log->boot_id, sizeof log->boot_id, 0) == sizeof log->boot_id);
    peers_init(&log->peers, options);
    uint64_t ids[OPTIONS_PEERS_MAX];
    for (size_t i = 0; i < options->peers_count; i++) {
        ids[i] = options->peers[i].id;
    }
    hello_config_hash(options->cluster_id, ids, options->peers_count, log->config_hash);
    struct raft_configuration configuration;
    raft_configuration_init(&configuration);
    ensure(raftlog_start_configuration(log, &configuration) == 0);
    ensure(raft_configuration_encode(&configuration, &log->configuration) == 0);
    log->configuration.len = encoded_len(&configuration);
    raft_configuration_close(&configuration);
    log->ballot.file.fd = -1;
    log->truncation.note.fd = -1;
    log->fsm.library = &log->raft;
    log->fsm.guard = &log->guard;
    log->fsm.report = &log->report;
    log->fsm.node_id = options->node_id;
    log->fsm.threshold_bytes = options->snapshot_threshold_bytes;
    log->fsm.trailing_bytes = options->snapshot_trailing_bytes;
    fsm_init(&log->fsm);
    return log;
}

enum raftlog_error raftlog_open(struct raftlog **out,
                                const struct raftlog_options *options,
                                const struct raftlog_events *events,
                                void *ctx,
                                char *message,
                                size_t message_len)
{
    *out = NULL;
    const char *error = options_check(options);
    if (error != NULL) {
        snprintf(message, message_len, "%s", error);
        return RAFTLOG_OPEN_FAILED;
    }
    signal(SIGPIPE, SIG_IGN); /* libuv writes to sockets whose peer may be gone */
    struct raftlog *log = new_log(options, events, ctx);
    *out = log; /* the owner may be told things, and ask back, before this returns */
    raftlog_node_init(log);
    bool is_good =
        open_directory(log, message, message_len) && init_library(log, message, message_len);
    if (is_good) {
        start_handles(log);
        is_good = open_network(log, message, message_len) &&
                  raftlog_node_advance(log, message, message_len);
    }
    if (!is_good) {
        *out = NULL;
        begin_close(log, NULL);
        return RAFTLOG_OPEN_FAILED;
    }
    return RAFTLOG_OK;
}

void raftlog_stats(const struct raftlog *log, struct raftlog_stats *stats)
{
    *stats =
        (struct raftlog_stats){.term = log->is_started ? log->raft.current_term : log->startup.term,
                               .leader_id = log->guard.leader_id,
                               .applied_index = log->fsm.index,
                               .log_bytes = log->fsm.log_bytes,
                               .batches_submitted = log->submission.batches,
                               .proposals_submitted = log->submission.proposals,
                               .snapshots_taken = log->fsm.snapshots_taken,
                               .snapshots_installed = log->fsm.snapshots_installed,
                               .elections_won = log->elections_won,
                               .peers_refused = log->peers_refused,
                               .queue_bytes = proposal_queue_bytes(&log->submission.queue),
                               .rejoining = log->startup.standing == HELLO_REJOINING};
}
