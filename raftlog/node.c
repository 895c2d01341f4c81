/* This node among its peers: what it says of itself, what it takes from what they say, and how it
 * starts (startup.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "raftlog/internal.h"
#include "rpc/build.h"
#include "rpc/ensure.h"

int64_t raftlog_node_wall_ms(void)
{
    struct timespec now;
    ensure(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* While a snapshot is installed the library says 0 for what it has stored; the snapshot's index is
 * on the way to the disk then. */
uint64_t raftlog_node_last_index(const struct raftlog *log)
{
    uint64_t index = log->raft.last_stored;
    if (index < log->raft.log.snapshot.last_index) {
        index = log->raft.log.snapshot.last_index;
    }
    return index > log->raft.commit_index ? index : log->raft.commit_index;
}

static uint64_t term_of(const struct raftlog *log)
{
    return log->is_started ? log->raft.current_term : log->startup.term;
}

/* What the others acknowledged to us and is committed, they must have for ever (R18). */
static void remember_acks(struct raftlog *log)
{
    const struct raft *raft = &log->raft;
    if (!log->is_started || raft->state != RAFT_LEADER) {
        return;
    }
    for (unsigned i = 0; i < raft->configuration.n; i++) {
        struct peer *peer = peers_find(&log->peers, raft->configuration.servers[i].id);
        raft_index index = raft->leader_state.progress[i].match_index;
        index = index < raft->commit_index ? index : raft->commit_index;
        if (peer != NULL && index > peer->remembered) {
            peer->remembered = index;
        }
    }
}

/* A node without a part of its log may have acknowledged what it lost, and must not vote. */
static void check_memory(struct raftlog *log, uint64_t peer_id, uint64_t remembered)
{
#if ROSTER_BUG == 2184 /* what a peer remembers is not believed */
    remembered = 0;
#endif
    if (!log->is_started || log->startup.standing != HELLO_VOTER ||
        remembered <= raftlog_node_last_index(log)) {
        return;
    }
    int rv = data_dir_set_marker(&log->data, DATA_DIR_MARKER_REJOIN);
    report_fatal(&log->report,
                 "raftlog_entries_lost dir=%s last_index=%" PRIu64 " acknowledged=%" PRIu64
                 " to_node=%" PRIu64
                 " marker=%s: the disk has lost entries; after a restart this "
                 "node catches up before it votes again",
                 log->data.raft_dir, raftlog_node_last_index(log), remembered, peer_id,
                 rv == 0 ? "rejoin" : uv_strerror(rv));
}

/* Hellos. */

static void describe(void *ctx, uint64_t peer_id, struct hello *hello)
{
    struct raftlog *log = ctx;
    remember_acks(log);
    const struct peer *peer = peers_find(&log->peers, peer_id);
    *hello = (struct hello){.node_id = log->options.node_id,
                            .peer_id = peer_id,
                            .boot_id = log->boot_id,
                            .term = term_of(log),
                            .last_index = raftlog_node_last_index(log),
                            .remembered = peer == NULL ? 0 : peer->remembered,
                            .wall_ms = raftlog_node_wall_ms(),
                            .standing = log->startup.standing,
                            .cluster_id = span_from_cstr(log->options.cluster_id),
                            .card = log->options.card};
    memcpy(hello->config_hash, log->config_hash, HELLO_HASH_LEN);
}

static enum hello_verdict judge(void *ctx, const struct hello *hello)
{
    const struct raftlog *log = ctx;
    if (!span_equal(hello->cluster_id, span_from_cstr(log->options.cluster_id))) {
        return HELLO_WRONG_CLUSTER;
    }
    if (peers_find(&log->peers, hello->node_id) == NULL) {
        return HELLO_UNKNOWN_NODE;
    }
    if (memcmp(hello->config_hash, log->config_hash, HELLO_HASH_LEN) != 0) {
        return HELLO_WRONG_CONFIG;
    }
    return hello->peer_id == log->options.node_id ? HELLO_OK : HELLO_WRONG_NODE;
}

/* Votes are held back after a start until all others have been asked what they remember of us, or
 * for one election timeout. */
static void maybe_release_votes(struct raftlog *log)
{
    size_t known = 0;
    for (size_t i = 0; i < log->peers.count; i++) {
        known += log->peers.items[i].is_known;
    }
    if (known == log->peers.count) {
        log->guard.hold_votes = false;
    }
}

static void advance(struct raftlog *log)
{
    char message[REPORT_LINE_MAX / 2];
    if (!raftlog_node_advance(log, message, sizeof message)) {
        report_fatal(&log->report, "raftlog_start_failed: %s", message);
    }
}

static void note(struct raftlog *log,
                 struct peer *peer,
                 enum hello_standing standing,
                 uint64_t term,
                 uint64_t last_index,
                 uint64_t remembered)
{
    peer->is_known = true;
    peer->standing = standing;
    peer->term = term;
    peer->last_index = last_index;
    peer->heard_at_ms = uv_now(log->loop);
    check_memory(log, peer->id, remembered);
    maybe_release_votes(log);
    advance(log);
}

/* The clock in a hello may be older by as long as the handshake took: good enough, for want of one
 * that was measured. So whoever is elected knows a majority's, however young it is (R19). */
static void note_hello_clock(const struct raftlog *log, struct peer *peer, int64_t wall_ms)
{
    uint64_t now_ms = uv_now(log->loop);
    if (peer->clock_at_ms == 0 || now_ms - peer->clock_at_ms > WALL_CLOCK_STALE_MS) {
        peer->clock_ms = wall_ms;
        peer->clock_at_ms = now_ms;
    }
}

static void note_hello(struct raftlog *log, const struct handshake_result *result)
{
    const struct hello *hello = &result->peer;
    struct peer *peer = peers_find(&log->peers, hello->node_id);
    ensure(peer != NULL); /* judge() saw to it */
    if (peer->boot_id != hello->boot_id) {
        report_log(&log->report, RAFTLOG_INFO,
                   "raftlog_peer_met node=%" PRIu64 " term=%" PRIu64 " last_index=%" PRIu64
                   " standing=%d",
                   peer->id, hello->term, hello->last_index, (int)hello->standing);
    }
    peer->boot_id = hello->boot_id;
    note_hello_clock(log, peer, hello->wall_ms);
    if (result->purpose == HELLO_CONTROL) {
        log->report.events->peer_card(log->report.ctx, peer->id, hello->card);
    }
    note(log, peer, hello->standing, hello->term, hello->last_index, hello->remembered);
}

static void on_accepted(void *ctx, const struct handshake_result *result)
{
    struct raftlog *log = ctx;
    struct handshake_result copy = *result; /* the note may start the library, which may end */
    note_hello(log, &copy);
    if (copy.purpose == HELLO_RAFT) {
        peer_transport_accept(&log->transport, &copy);
    } else {
        peer_control_accept(&log->control, &copy);
    }
}

static void on_refused(void *ctx, const char *from, const struct handshake_result *result)
{
    struct raftlog *log = ctx;
    log->peers_refused++;
    uint64_t suppressed = 0;
    if (report_limit_allows(&log->strangers, uv_now(log->loop), RAFTLOG_WAIT_LOG_MS, &suppressed)) {
        report_log(
            &log->report, RAFTLOG_WARN,
            "raftlog_peer_refused from=%s reason=%s said_node=%" PRIu64 " more_before=%" PRIu64,
            from,
            result->error != 0 ? uv_strerror(result->error) : hello_verdict_text(result->verdict),
            result->peer.node_id, suppressed);
    }
}

static void on_dialed(void *ctx, uint64_t node_id, const struct handshake_result *result)
{
    struct raftlog *log = ctx;
    if (log->is_closing) {
        return;
    }
    if (result->tcp != NULL) {
        note_hello(log, result);
        return;
    }
    struct peer *peer = peers_find(&log->peers, node_id);
    bool is_io = result->error != 0;
    uint64_t suppressed = 0;
    if (report_limit_allows(is_io ? &peer->unreachable : &peer->refused, uv_now(log->loop),
                            RAFTLOG_WAIT_LOG_MS, &suppressed)) {
        report_log(&log->report, RAFTLOG_WARN,
                   "%s node=%" PRIu64 " host=%s port=%u reason='%s' by=%s more_before=%" PRIu64,
                   is_io ? "raftlog_peer_unreachable" : "raftlog_peer_unfit", node_id, peer->host,
                   (unsigned)peer->port,
                   is_io ? uv_strerror(result->error) : hello_verdict_text(result->verdict),
                   is_io               ? "network"
                   : result->is_theirs ? "peer"
                                       : "us",
                   suppressed);
    }
}

static void on_ended(void *ctx, uint64_t node_id, enum peer_frame_error error, const char *reason)
{
    struct raftlog *log = ctx;
    struct peer *peer = peers_find(&log->peers, node_id);
    enum raftlog_level level = error != PEER_FRAME_OK ? RAFTLOG_ERROR : RAFTLOG_DEBUG;
    uint64_t suppressed = 0;
    if (error == PEER_FRAME_OK ||
        report_limit_allows(&peer->broken, uv_now(log->loop), RAFTLOG_WAIT_LOG_MS, &suppressed)) {
        report_log(&log->report, level,
                   "raftlog_peer_ended node=%" PRIu64 " reason='%s' more_before=%" PRIu64, node_id,
                   reason, suppressed);
    }
}

static bool find_target(void *ctx, uint64_t node_id, struct dial_target *target)
{
    struct raftlog *log = ctx;
    const struct peer *peer = peers_find(&log->peers, node_id);
    if (peer == NULL) {
        return false;
    }
    *target = (struct dial_target){.node_id = node_id,
                                   .host = peer->host,
                                   .port = peer->port,
                                   .bind_host = log->options.bind_host};
    return true;
}

/* Status messages. */

static void describe_status(void *ctx, uint64_t node_id, struct peer_status *status)
{
    struct raftlog *log = ctx;
    remember_acks(log);
    const struct peer *peer = peers_find(&log->peers, node_id);
    *status = (struct peer_status){.term = term_of(log),
                                   .last_index = raftlog_node_last_index(log),
                                   .remembered = peer == NULL ? 0 : peer->remembered,
                                   .applied_index = log->fsm.index,
                                   .wall_ms = raftlog_node_wall_ms(),
                                   .standing = log->startup.standing,
                                   .is_disk_low = log->is_disk_low};
    divergence_fill(&log->fsm.divergence, status);
}

static void compare_hashes(struct raftlog *log, uint64_t node_id, const struct peer_status *status)
{
    for (uint8_t i = 0; i < status->checkpoints_count; i++) {
        const struct peer_status_checkpoint *theirs = &status->checkpoints[i];
        switch (divergence_note_other(&log->fsm.divergence, node_id, theirs->index, theirs->hash)) {
            case DIVERGENCE_NONE:
                break;
            case DIVERGENCE_ALARM:
                report_log(
                    &log->report, RAFTLOG_ERROR,
                    "raftlog_states_differ index=%" PRIu64 " node=%" PRIu64
                    ": two nodes hold different states at the same index, and it is not known "
                    "which is right; compare them with a third one",
                    theirs->index, node_id);
                break;
            case DIVERGENCE_ODD:
                report_fatal(
                    &log->report,
                    "raftlog_state_diverged index=%" PRIu64
                    " dir=%s: this node's state "
                    "differs from that of the others, which agree; keep its data directory "
                    "for analysis, then remove it, the node rejoins by itself",
                    theirs->index, log->data.dir);
        }
    }
}

static void on_heard(void *ctx,
                     uint64_t node_id,
                     const struct peer_status *status,
                     int64_t round_trip_ms)
{
    struct raftlog *log = ctx;
    struct peer *peer = peers_find(&log->peers, node_id);
    if (round_trip_ms >= 0 && round_trip_ms < PEER_CONTROL_SILENCE_MS) {
        peer->clock_ms = status->wall_ms + round_trip_ms / 2;
        peer->clock_at_ms = uv_now(log->loop);
    }
    peer->is_disk_low = status->is_disk_low;
    compare_hashes(log, node_id, status);
    note(log, peer, status->standing, status->term, status->last_index, status->remembered);
}

static void on_died(void *ctx, uint64_t node_id)
{
    struct raftlog *log = ctx;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_peer_died node=%" PRIu64, node_id);
    if (log->is_started) {
        guard_leader_died(&log->guard, node_id);
    }
}

static const struct peer_control_events control_events = {
    .died = on_died,
    .find = find_target,
    .describe = describe_status,
    .heard = on_heard,
    .dialed = on_dialed,
};

void raftlog_node_init(struct raftlog *log)
{
    log->self = (struct handshake_self){
        .secret = log->options.secret, .describe = describe, .judge = judge, .ctx = log};
    log->transport.loop = log->loop;
    log->transport.self = &log->self;
    log->transport.configuration = span_of(log->configuration.base, log->configuration.len);
    log->transport.find = find_target;
    log->transport.dialed = on_dialed;
    log->transport.ended = on_ended;
    log->transport.ctx = log;
    peer_transport_init(&log->transport);
    log->listener.self = &log->self;
    log->listener.accepted = on_accepted;
    log->listener.refused = on_refused;
    log->listener.ctx = log;
    log->control.loop = log->loop;
    log->control.self = &log->self;
    log->control.events = &control_events;
    log->control.ctx = log;
}

void raftlog_node_clock(const struct raftlog *log, struct wall_clock *clock)
{
    wall_clock_init(clock, log->peers.count + 1);
    uint64_t now_ms = uv_now(log->loop);
    int64_t wall_ms = raftlog_node_wall_ms();
    for (size_t i = 0; i < log->peers.count; i++) {
        const struct peer *peer = &log->peers.items[i];
        uint64_t age_ms = now_ms - peer->clock_at_ms;
        if (peer->clock_at_ms != 0 && age_ms <= WALL_CLOCK_STALE_MS) {
            wall_clock_add(clock, peer->clock_ms + (int64_t)age_ms - wall_ms);
        }
    }
}

/* The alarm of R19. */
static void watch_clock(struct raftlog *log)
{
    struct wall_clock clock;
    raftlog_node_clock(log, &clock);
    bool is_suspect = wall_clock_has_majority(&clock) && !wall_clock_is_trusted(&clock);
    if (is_suspect != log->is_clock_suspect) {
        log->is_clock_suspect = is_suspect;
        report_log(&log->report, is_suspect ? RAFTLOG_ERROR : RAFTLOG_INFO,
                   "%s known=%zu median_ahead_ms=%" PRId64 "%s",
                   is_suspect ? "raftlog_clocks_disagree" : "raftlog_clocks_agree",
                   clock.known_count, wall_clock_median_ms(&clock),
                   is_suspect ? ": nothing expires by time until the nodes' clocks are set" : "");
    }
}

void raftlog_node_second(struct raftlog *log)
{
    remember_acks(log);
    watch_clock(log);
    if (!log->is_started) {
        advance(log);
    }
}
