/* Carries out what startup.h decides. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "raftlog/internal.h"

static const char *const standing_texts[] = {"pristine", "fresh", "voter", "rejoining"};

/* Says now and then for whom this node waits. */
static void log_wait(struct raftlog *log)
{
    uint64_t now_ms = uv_now(log->loop);
    if (log->wait_log_ms != 0 && now_ms < log->wait_log_ms) {
        return;
    }
    log->wait_log_ms = now_ms + RAFTLOG_WAIT_LOG_MS;
    char others[REPORT_LINE_MAX / 2] = "";
    size_t at = 0;
    for (size_t i = 0; i < log->peers.count && at < sizeof others; i++) {
        const struct peer *peer = &log->peers.items[i];
        int n = snprintf(others + at, sizeof others - at, "%s%" PRIu64 ":%s", i == 0 ? "" : ",",
                         peer->id, peer->is_known ? standing_texts[peer->standing] : "unknown");
        at += n > 0 ? (size_t)n : 0;
    }
    report_log(&log->report, RAFTLOG_INFO, "raftlog_waiting standing=%s peers=%s",
               standing_texts[log->startup.standing], others);
}

static bool set_marker(struct raftlog *log, enum data_dir_marker marker, char *message, size_t len)
{
    int rv = marker == DATA_DIR_MARKER_NONE ? data_dir_clear_marker(&log->data)
                                            : data_dir_set_marker(&log->data, marker);
    if (rv != 0) {
        snprintf(message, len, "cannot write %s/voter: %s", log->data.dir, uv_strerror(rv));
    }
    return rv == 0;
}

/* All voters, by ascending id so that every node writes the same entry; the address is the id. */
int raftlog_start_configuration(const struct raftlog *log, struct raft_configuration *to)
{
    uint64_t after = 0;
    for (size_t n = 0; n < log->options.peers_count; n++) {
        uint64_t id = UINT64_MAX;
        for (size_t i = 0; i < log->options.peers_count; i++) {
            uint64_t candidate = log->options.peers[i].id;
            id = candidate > after && candidate < id ? candidate : id;
        }
        char address[24];
        snprintf(address, sizeof address, "%" PRIu64, id);
        int rv = raft_configuration_add(to, id, address, RAFT_VOTER);
        if (rv != 0) {
            return rv;
        }
        after = id;
    }
    return 0;
}

void raftlog_start_votes(uv_timer_t *timer)
{
    struct raftlog *log = timer->data;
    log->guard.hold_votes = false;
}

static bool bootstrap(struct raftlog *log, char *message, size_t len)
{
    struct raft_configuration configuration;
    raft_configuration_init(&configuration);
    int rv = raftlog_start_configuration(log, &configuration);
    if (rv == 0) {
        rv = raft_bootstrap(&log->raft, &configuration);
    }
    raft_configuration_close(&configuration);
    if (rv != 0) {
        snprintf(message, len, "cannot bootstrap %s: %s (%s)", log->data.raft_dir,
                 raft_strerror(rv), log->io.errmsg);
        return false;
    }
    log->startup.standing = HELLO_FRESH;
    log->startup.term = 1;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_bootstrapped nodes=%zu", log->peers.count + 1);
    return set_marker(log, DATA_DIR_MARKER_FRESH, message, len);
}

/* The library's first load of a directory completes what a crash left half done, so that a second
 * one may succeed where the first did not. */
static int start_library(struct raftlog *log)
{
    int rv = raft_start(&log->raft);
    if (rv != 0 && log->fsm.failure[0] == '\0' && log->raft.state == RAFT_UNAVAILABLE) {
        report_log(&log->report, RAFTLOG_WARN, "raftlog_load_retried dir=%s error='%s' detail='%s'",
                   log->data.raft_dir, raft_strerror(rv), log->io.errmsg);
        rv = raft_start(&log->raft);
    }
    return rv;
}

static bool start(struct raftlog *log, char *message, size_t len)
{
    log->guard.is_rejoining = log->startup.standing == HELLO_REJOINING;
    log->guard.hold_votes = log->peers.count > 0;
    int rv = start_library(log);
    if (rv != 0) {
        snprintf(message, len, "cannot load %s: %s", log->data.raft_dir,
                 log->fsm.failure[0] != '\0' ? log->fsm.failure : raft_strerror(rv));
        if (log->fsm.failure[0] == '\0') {
            size_t at = strlen(message);
            snprintf(message + at, len - at,
                     " (%s); remove this node's data directory, it rejoins by itself",
                     log->io.errmsg);
        }
        return false;
    }
    log->is_started = true;
    log->fsm.is_started = true;
    report_log(&log->report, RAFTLOG_INFO,
               "raftlog_started node=%" PRIu64 " term=%llu last_index=%" PRIu64 " standing=%s",
               log->options.node_id, log->raft.current_term, raftlog_node_last_index(log),
               standing_texts[log->startup.standing]);
    if (log->has_control) {
        peer_control_set_period(&log->control, PEER_CONTROL_PERIOD_MS);
    }
    uv_timer_start(&log->starter, raftlog_start_votes, log->options.election_timeout_ms, 0);
    guard_poll(&log->guard);
    return true;
}

/* Durably takes a term above all in which a vote of this disk may have been given and forgotten;
 * it also deposes a leader that counts on what this disk once acknowledged. */
static bool take_term(struct raftlog *log, uint64_t term, char *message, size_t len)
{
    int rv = log->io.set_term(&log->io, term);
    if (rv != 0) {
        snprintf(message, len, "cannot write the term to %s: %s", log->data.raft_dir,
                 log->io.errmsg);
        return false;
    }
    report_log(&log->report, RAFTLOG_WARN,
               "raftlog_rejoining term=%" PRIu64
               ": this node's log was lost; it does not vote until it has caught up",
               term);
    log->startup.standing = HELLO_REJOINING;
    log->startup.needs_term = false;
    log->startup.term = term;
    return log->data.marker == DATA_DIR_MARKER_NONE ||
           set_marker(log, DATA_DIR_MARKER_NONE, message, len);
}

bool raftlog_node_advance(struct raftlog *log, char *message, size_t message_len)
{
    while (!log->is_started && !log->is_closing) {
        uint64_t term = 0;
        bool is_good = true;
        switch (startup_decide(&log->startup, &log->peers, &term)) {
            case STARTUP_WAIT:
                log_wait(log);
                return true;
            case STARTUP_BOOTSTRAP:
                is_good = bootstrap(log, message, message_len);
                break;
            case STARTUP_VOTE:
                log->startup.standing = HELLO_VOTER;
                is_good = set_marker(log, DATA_DIR_MARKER_VOTER, message, message_len);
                break;
            case STARTUP_TAKE_TERM:
                is_good = take_term(log, term, message, message_len);
                break;
            case STARTUP_START:
            case STARTUP_STEPS:
                is_good = start(log, message, message_len);
                break;
        }
        if (!is_good) {
            return false;
        }
    }
    return true;
}
