#include "raftlog/fsm.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpc/build.h"
#include "rpc/ensure.h"

enum { TRAIL_CAP_MIN = 1024 };

static struct fsm *fsm_of(struct raft_fsm *raft)
{
    return raft->data;
}

/* The trail. */

static void trail_grow(struct fsm_trail *trail)
{
    size_t cap = trail->cap == 0 ? TRAIL_CAP_MIN : trail->cap * 2;
    uint32_t *sizes = malloc(cap * sizeof *sizes);
    ensure(sizes != NULL);
    for (size_t i = 0; i < trail->count; i++) {
        sizes[i] = trail->sizes[(trail->first + i) & (trail->cap - 1)];
    }
    free(trail->sizes);
    *trail = (struct fsm_trail){
        .sizes = sizes, .cap = cap, .count = trail->count, .bytes = trail->bytes};
}

static void trail_add(struct fsm_trail *trail, size_t size, size_t bytes_max)
{
    if (trail->count == trail->cap) {
        trail_grow(trail);
    }
    trail->sizes[(trail->first + trail->count++) & (trail->cap - 1)] = (uint32_t)size;
    trail->bytes += size;
    while (trail->count > 1 && trail->bytes > bytes_max) {
        trail->bytes -= trail->sizes[trail->first];
        trail->first = (trail->first + 1) & (trail->cap - 1);
        trail->count--;
    }
}

/* Applying. */

static void apply_batch(struct fsm *fsm, struct batch *batch)
{
    const struct raftlog_events *events = fsm->report->events;
    void *ctx = fsm->report->ctx;
    int64_t last_ms = fsm->stamp_ms;
    if (batch->header.stamp_ms > fsm->stamp_ms) {
        fsm->stamp_ms = batch->header.stamp_ms;
    }
    fsm->index++;
#if ROSTER_BUG == 2161 /* the library's index, which counts what no command is */
    fsm->index = fsm->library->last_applied + 1;
#endif
    struct raftlog_entry entry = {.index = fsm->index,
                                  .term = batch->header.term,
                                  .stamp_ms = fsm->stamp_ms,
                                  .own = fsm->session != 0 &&
                                         batch->header.session == fsm->session &&
                                         batch->header.origin == fsm->node_id};
    while (batch_next(batch, &entry.number, &entry.data)) {
        events->apply(ctx, &entry);
    }
    if (divergence_is_checkpoint(last_ms, fsm->stamp_ms)) {
        divergence_note_ours(&fsm->divergence, fsm->index, events->state_hash(ctx));
    }
    events->batch_end(ctx, fsm->index);
}

static int on_apply(struct raft_fsm *raft, const struct raft_buffer *buf, void **result)
{
    struct fsm *fsm = fsm_of(raft);
    *result = NULL;
    /* The library may have stepped down earlier in the very call that applies this. */
    guard_poll_step_down(fsm->guard);
    struct batch batch;
    enum batch_error error = batch_open(&batch, span_of(buf->base, buf->len), &fsm->scratch);
    if (error != BATCH_OK) {
        report_fatal(fsm->report,
                     "raftlog_entry_bad index=%llu error='%s': a committed entry cannot be read; "
                     "%s",
                     fsm->library->last_applied + 1, batch_error_text(error),
                     error == BATCH_NEWER
                         ? "install a newer release"
                         : "remove this node's data directory, it rejoins by itself");
    }
    apply_batch(fsm, &batch);
    size_t cost = buf->len + FSM_ENTRY_OVERHEAD;
    fsm->log_bytes += cost;
    trail_add(&fsm->trail, cost, fsm->trailing_bytes);
    if (fsm->log_bytes >= fsm->threshold_bytes) {
        raft_set_snapshot_threshold(fsm->library, 1); /* takes one when this call returns */
    }
    return 0;
}

/* Taking a snapshot: on_snapshot() and on_finalize() on the loop, on_encode() in the pool. */

static int on_snapshot(struct raft_fsm *raft, struct raft_buffer *bufs[], unsigned *n_bufs)
{
    struct fsm *fsm = fsm_of(raft);
    const struct raftlog_events *events = fsm->report->events;
    *bufs = NULL;
    *n_bufs = 0;
    if (fsm->job.is_running) {
        return RAFT_BUSY;
    }
    raft_set_snapshot_threshold(fsm->library, UINT_MAX);
    raft_set_snapshot_trailing(fsm->library, (unsigned)fsm->trail.count);
    fsm->job = (struct fsm_job){.is_running = true,
                                .header = {.index = fsm->index,
                                           .stamp_ms = fsm->stamp_ms,
                                           .state_hash = events->state_hash(fsm->report->ctx)},
                                .out = BUF_EMPTY};
    fsm->job.frozen = events->freeze(fsm->report->ctx);
    fsm->log_bytes = 0;
    return 0;
}

static int on_encode(struct raft_fsm *raft, struct raft_buffer *bufs[], unsigned *n_bufs)
{
    struct fsm *fsm = fsm_of(raft);
    struct fsm_job *job = &fsm->job;
    struct buf state = BUF_EMPTY;
    fsm->report->events->encode(job->frozen, &state);
    log_snapshot_encode(&job->header, buf_span(&state), &job->out);
    buf_close(&state);
    job->is_too_large = job->out.len > LOG_SNAPSHOT_BYTES_MAX;
    *bufs = raft_malloc(sizeof **bufs);
    ensure(*bufs != NULL);
    **bufs = (struct raft_buffer){.base = job->out.data, .len = job->out.len};
    *n_bufs = 1;
    return job->is_too_large ? RAFT_TOOBIG : 0;
}

static int on_finalize(struct raft_fsm *raft, struct raft_buffer *bufs[], unsigned *n_bufs)
{
    struct fsm *fsm = fsm_of(raft);
    struct fsm_job *job = &fsm->job;
    raft_free(*bufs);
    *bufs = NULL;
    *n_bufs = 0;
    fsm->report->events->release(fsm->report->ctx, job->frozen);
    if (job->is_too_large) {
        report_fatal(fsm->report,
                     "raftlog_snapshot_too_large bytes=%zu max=%" PRIu64
                     ": the state does not fit; delete groups or topics",
                     job->out.len, LOG_SNAPSHOT_BYTES_MAX);
    }
    report_log(
        fsm->report, RAFTLOG_INFO,
        "raftlog_snapshot_taken index=%" PRIu64 " bytes=%zu raw_bytes=%" PRIu64 " trailing=%u",
        job->header.index, job->out.len, job->header.raw_len, fsm->library->snapshot.trailing);
    fsm->snapshots_taken++;
    buf_close(&job->out);
    job->is_running = false;
    return 0;
}

/* Restoring one, at the start or from a leader. */

static bool restore(struct fsm *fsm, struct span snapshot, const char **why)
{
    const struct raftlog_events *events = fsm->report->events;
    struct log_snapshot_header header;
    struct buf state = BUF_EMPTY;
    bool is_good = log_snapshot_decode(snapshot, &header, &state);
    *why = "it is damaged or of a newer release";
    if (is_good) {
        *why = "its content is not a state";
        is_good = events->restore(fsm->report->ctx, buf_span(&state)) == 0;
    }
    buf_close(&state);
    if (is_good) {
        *why = "the restored state has another hash than the one that was saved";
        is_good = events->state_hash(fsm->report->ctx) == header.state_hash;
    }
    if (is_good) {
#if ROSTER_BUG != 2162 /* else counted from where this process began */
        fsm->index = header.index;
#endif
        fsm->stamp_ms = header.stamp_ms;
        fsm->log_bytes = 0;
        fsm->trail.count = 0;
        fsm->trail.bytes = 0;
        raft_set_snapshot_threshold(fsm->library, UINT_MAX);
        divergence_clear(&fsm->divergence);
    }
    return is_good;
}

static int on_restore(struct raft_fsm *raft, struct raft_buffer *buf)
{
    struct fsm *fsm = fsm_of(raft);
    const char *why = NULL;
    if (!restore(fsm, span_of(buf->base, buf->len), &why)) {
        snprintf(fsm->failure, sizeof fsm->failure,
                 "the snapshot cannot be restored: %s; remove this node's data directory, it "
                 "rejoins by itself",
                 why);
        if (fsm->is_started) {
            report_fatal(fsm->report, "raftlog_restore_failed: %s", fsm->failure);
        }
        return RAFT_CORRUPT;
    }
    fsm->snapshots_installed += fsm->is_started;
    report_log(fsm->report, RAFTLOG_INFO,
               "raftlog_snapshot_restored index=%" PRIu64 " bytes=%zu installed=%d", fsm->index,
               buf->len, fsm->is_started);
    raft_free(buf->base);
    return 0;
}

void fsm_init(struct fsm *fsm)
{
    fsm->raft = (struct raft_fsm){.version = 3,
                                  .data = fsm,
                                  .apply = on_apply,
                                  .snapshot = on_snapshot,
                                  .restore = on_restore,
                                  .snapshot_finalize = on_finalize,
                                  .snapshot_async = on_encode};
}

/* The library counts entries, we count bytes: it takes a snapshot when on_apply() says so. */
void fsm_set_thresholds(struct fsm *fsm)
{
    raft_set_snapshot_threshold(fsm->library, UINT_MAX);
    raft_set_snapshot_trailing(fsm->library, 1);
}

void fsm_close(struct fsm *fsm)
{
    free(fsm->trail.sizes);
    buf_close(&fsm->scratch);
    buf_close(&fsm->job.out);
}
