/* Proposals: queued, packed, submitted one batch at a time. With several in flight the library can
 * starve (L1): it looks for a quorum only at its own last entry.
 *
 * What a batch costs on three nodes is the price of twenty commits, so it should hold all that can
 * be had. When one has been committed, half of the busy clients have a proposal in the queue and
 * the other half are just being answered; submitting at once keeps these halves apart for ever. So
 * a submission waits while each turn of the loop brings more: a turn costs microseconds then, and a
 * lone client one look at the sockets. */
#include <inttypes.h>
#include <string.h>

#include "raftlog/batch.h"
#include "raftlog/internal.h"
#include "rpc/build.h"
#include "rpc/ensure.h"

static bool is_accepting(const struct raftlog *log)
{
    return log->is_started && !log->is_closing && log->fsm.session != 0 &&
           guard_is_serving(&log->guard);
}

enum raftlog_error raftlog_propose(struct raftlog *log, uint64_t number, struct span data)
{
    if (!is_accepting(log)) {
        return RAFTLOG_NOT_LEADER;
    }
    if (data.len > log->options.proposal_bytes_max) {
        return RAFTLOG_TOO_LARGE;
    }
    struct proposal_queue *queue = &log->submission.queue;
    size_t bytes_max = log->options.queue_bytes_max;
#if ROSTER_BUG == 2114 /* what is proposed and not submitted yet has no limit */
    bytes_max = SIZE_MAX;
#endif
    if (log->is_disk_low || proposal_queue_bytes(queue) + proposal_queue_cost(data) > bytes_max) {
        return RAFTLOG_FULL;
    }
    if (log->handover.is_active) {
        return RAFTLOG_NOT_LEADER;
    }
    proposal_queue_push(queue, number, data);
    return RAFTLOG_OK;
}

/* May run while the library's state is neither leader nor follower: it only takes note. What was
 * applied has been told by the state machine, what was not has an unknown outcome. */
static void on_applied(struct raft_apply *request, int status, void *result)
{
    (void)status;
    (void)result;
    struct raftlog *log = request->data;
    log->submission.is_in_flight = false;
}

static struct raft_buffer pack(struct raftlog *log)
{
    struct submission *submission = &log->submission;
    struct batch_header header = {.origin = log->options.node_id,
                                  .session = log->fsm.session,
                                  .term = log->raft.current_term,
                                  .stamp_ms = raftlog_stamp_ms(log)};
    struct span body =
        proposal_queue_take(&submission->queue, log->options.batch_bytes_max, &header.count);
    submission->scratch.len = 0;
    batch_seal(&header, body, &submission->scratch);
    submission->last_stamp_ms = header.stamp_ms;
    submission->last_stamp_at_ms = uv_now(log->loop);
    submission->batches++;
    submission->proposals += header.count;
    struct raft_buffer buffer = {.base = raft_malloc(submission->scratch.len),
                                 .len = submission->scratch.len};
    ensure(buffer.base != NULL);
    memcpy(buffer.base, submission->scratch.data, buffer.len);
    return buffer;
}

static void submit(struct raftlog *log)
{
    struct submission *submission = &log->submission;
    if (submission->is_in_flight || submission->queue.count == 0 || !is_accepting(log) ||
        log->raft.transfer != NULL) {
        return;
    }
    struct raft_buffer buffer = pack(log);
    submission->request.data = log;
    submission->is_in_flight = true;
    int rv = raft_apply(&log->raft, &submission->request, &buffer, 1, on_applied);
    if (rv != 0) {
        report_fatal(&log->report, "raftlog_submit_failed error='%s'", raft_strerror(rv));
    }
    guard_poll(&log->guard); /* a single node may have committed already */
}

/* The loop does not wait for events while an idle handle is active; that is all it is for. */
static void on_idle(uv_idle_t *gatherer)
{
    (void)gatherer;
}

void raftlog_submission_open(struct raftlog *log)
{
    ensure(uv_idle_init(log->loop, &log->submission.gatherer) == 0);
    log->submission.gatherer.data = log;
}

/* Whether more proposals have come since the last look and there is time for another. */
static bool is_worth_waiting(const struct raftlog *log)
{
    const struct submission *submission = &log->submission;
    return submission->queue.count > submission->gathered &&
           proposal_queue_bytes(&submission->queue) < log->options.batch_bytes_max &&
           uv_now(log->loop) - submission->gather_ms <= RAFTLOG_GATHER_MS;
}

void raftlog_submission_check(struct raftlog *log)
{
    struct submission *submission = &log->submission;
    bool is_open = !submission->is_in_flight && submission->queue.count > 0;
    if (is_open && submission->gathered == 0) {
        submission->gather_ms = uv_now(log->loop);
    }
    if (is_open && is_worth_waiting(log)) {
        submission->gathered = submission->queue.count;
        uv_idle_start(&submission->gatherer, on_idle);
        return;
    }
    submission->gathered = 0;
    uv_idle_stop(&submission->gatherer);
    if (is_open) {
        submit(log);
    }
}

/* What timers and others proposed must not wait for the next event. */
void raftlog_submission_prepare(struct raftlog *log)
{
    struct submission *submission = &log->submission;
    if (submission->gathered == 0) {
        raftlog_submission_check(log);
    }
}

void raftlog_submission_drop(struct raftlog *log)
{
    proposal_queue_clear(&log->submission.queue);
}

int64_t raftlog_stamp_ms(struct raftlog *log)
{
    struct submission *submission = &log->submission;
    if (log->fsm.stamp_ms > submission->last_stamp_ms) { /* another leader's */
        submission->last_stamp_ms = log->fsm.stamp_ms;
        submission->last_stamp_at_ms = uv_now(log->loop);
    }
    struct wall_clock clock;
    raftlog_node_clock(log, &clock);
    return wall_clock_stamp_ms(&clock, raftlog_node_wall_ms(), submission->last_stamp_ms,
                               (int64_t)(uv_now(log->loop) - submission->last_stamp_at_ms));
}

bool raftlog_clock_is_trusted(const struct raftlog *log)
{
    struct wall_clock clock;
    raftlog_node_clock(log, &clock);
    return wall_clock_is_trusted(&clock);
}
