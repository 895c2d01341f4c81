/* Hands leadership over: first what was accepted is submitted and applied, then the voter that is
 * most up to date is asked to stand for election, then the next one. */
#include <inttypes.h>
#include <stdlib.h>

#include "raftlog/internal.h"
#include "rpc/ensure.h"

static void finish(struct raftlog *log, bool transferred)
{
    struct handover *handover = &log->handover;
    handover->is_active = false;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_handover transferred=%d leader=%llu",
               transferred, log->guard.leader_id);
    if (handover->done != NULL) {
        handover->done(handover->ctx, transferred);
    }
}

/* A node that would make a leader. Rejoining nodes do not stand for election; one whose disk is
 * nearly full would hand leadership back. */
static bool is_fit(const struct raftlog *log, const struct peer *peer)
{
    return peer->is_known && peer->standing == HELLO_VOTER && !peer->is_disk_low &&
           uv_now(log->loop) - peer->heard_at_ms <= PEER_CONTROL_SILENCE_MS;
}

bool raftlog_handover_is_possible(const struct raftlog *log)
{
    for (size_t i = 0; i < log->peers.count; i++) {
        if (is_fit(log, &log->peers.items[i])) {
            return true;
        }
    }
    return false;
}

/* The fit one that is most up to date; 0: nobody. */
static uint64_t choose(const struct raftlog *log, uint64_t except)
{
    const struct raft *raft = &log->raft;
    uint64_t best_id = 0;
    raft_index best_index = 0;
    for (unsigned i = 0; i < raft->configuration.n; i++) {
        const struct raft_progress *progress = &raft->leader_state.progress[i];
        uint64_t id = raft->configuration.servers[i].id;
        const struct peer *peer = peers_find(&log->peers, id);
        if (peer == NULL || id == except || !is_fit(log, peer)) {
            continue;
        }
        if (best_id == 0 || progress->match_index > best_index) {
            best_id = id;
            best_index = progress->match_index;
        }
    }
    return best_id;
}

static void on_library_done(struct raft_transfer *request)
{
    struct raftlog *log = request->data;
    log->handover.is_requested = false;
}

static void ask_next(struct raftlog *log)
{
    struct handover *handover = &log->handover;
    uint64_t id = choose(log, handover->tried_id);
    if (id == 0) {
        id = choose(log, 0);
    }
    handover->next_try_ms = uv_now(log->loop) + log->options.heartbeat_ms;
    if (id == 0) {
        return;
    }
    struct handover_request *request = calloc(1, sizeof *request);
    ensure(request != NULL);
    request->next = handover->requests;
    handover->requests = request;
    request->request.data = log;
    handover->tried_id = id;
    handover->is_requested = true;
    int rv = raft_transfer(&log->raft, &request->request, id, on_library_done);
    if (rv != 0) {
        handover->is_requested = false;
        report_log(&log->report, RAFTLOG_WARN,
                   "raftlog_handover_refused node=%" PRIu64 " error='%s'", id, raft_strerror(rv));
    }
}

void raftlog_handover_turn(struct raftlog *log)
{
    struct handover *handover = &log->handover;
    if (!handover->is_active) {
        return;
    }
    guard_poll(&log->guard);
    uint64_t now_ms = uv_now(log->loop);
    bool is_leader = log->raft.state == RAFT_LEADER;
    if (!is_leader && log->guard.leader_id != 0) {
        finish(log, true);
        return;
    }
    if (now_ms >= handover->deadline_ms) {
        finish(log, false);
        return;
    }
    bool has_work = log->submission.is_in_flight || log->submission.queue.count > 0;
    if (is_leader && !handover->is_requested && !has_work && log->raft.transfer == NULL &&
        now_ms >= handover->next_try_ms) {
        ask_next(log);
    }
}

void raftlog_transfer(struct raftlog *log,
                      unsigned timeout_ms,
                      void (*done)(void *ctx, bool transferred),
                      void *ctx)
{
    struct handover *handover = &log->handover;
    if (!log->is_started || log->raft.state != RAFT_LEADER || log->peers.count == 0 ||
        handover->is_active) {
        if (done != NULL) {
            done(ctx, false);
        }
        return;
    }
    handover->is_active = true;
    handover->deadline_ms = uv_now(log->loop) + timeout_ms;
    handover->next_try_ms = 0;
    handover->tried_id = 0;
    handover->done = done;
    handover->ctx = ctx;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_handover_begun timeout_ms=%u", timeout_ms);
    raftlog_handover_turn(log);
}

void raftlog_handover_close(struct raftlog *log)
{
    while (log->handover.requests != NULL) {
        struct handover_request *request = log->handover.requests;
        log->handover.requests = request->next;
        free(request);
    }
}
