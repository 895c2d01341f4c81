/* What the guard notices, told to the owner. */
#include <inttypes.h>
#include <sys/random.h>

#include "raftlog/internal.h"
#include "raftlog/raft_dir.h"
#include "rpc/ensure.h"

static void on_fatal(void *ctx, const char *what)
{
    struct raftlog *log = ctx;
    report_fatal(&log->report,
                 "raftlog_stopped dir=%s error='%s' detail='%s': it will be sound "
                 "after a restart, unless the disk is full or broken",
                 log->data.raft_dir, what, log->io.errmsg);
}

static void on_rejoined(void *ctx)
{
    struct raftlog *log = ctx;
    int rv = data_dir_set_marker(&log->data, DATA_DIR_MARKER_VOTER);
    if (rv != 0) {
        report_fatal(&log->report, "raftlog_marker_failed dir=%s error='%s'", log->data.dir,
                     uv_strerror(rv));
    }
    log->startup.standing = HELLO_VOTER;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_rejoined last_index=%" PRIu64,
               raftlog_node_last_index(log));
}

/* Proposals of one leadership are told from all others by it. */
static uint64_t new_session(void)
{
    uint64_t session = 0;
    while (session == 0) {
        ensure(getrandom(&session, sizeof session, 0) == sizeof session);
    }
    return session;
}

static void on_stepped_up(void *ctx, raft_term term)
{
    struct raftlog *log = ctx;
    log->fsm.session = new_session();
    log->elections_won++;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_election_won term=%llu", term);
    log->report.events->winning(log->report.ctx, term);
}

static void on_serving(void *ctx, raft_term term)
{
    struct raftlog *log = ctx;
    report_log(&log->report, RAFTLOG_INFO, "raftlog_elected term=%llu applied_index=%" PRIu64, term,
               log->fsm.index);
    log->report.events->elected(log->report.ctx, term);
}

static void on_stepped_down(void *ctx)
{
    struct raftlog *log = ctx;
    log->fsm.session = 0;
    raftlog_submission_drop(log);
    report_log(&log->report, RAFTLOG_INFO, "raftlog_deposed term=%llu", log->raft.current_term);
    log->report.events->deposed(log->report.ctx);
}

static void on_leader(void *ctx, raft_id id)
{
    struct raftlog *log = ctx;
    report_log(&log->report, RAFTLOG_DEBUG, "raftlog_leader node=%llu term=%llu", id,
               log->raft.current_term);
    log->report.events->leader(log->report.ctx, id);
}

static int on_truncating(void *ctx, raft_index index)
{
    struct raftlog *log = ctx;
    int rv = truncation_prepare(log->data.raft_dir);
    return rv == 0 ? truncation_note(&log->truncation, index) : rv;
}

static int on_truncated(void *ctx, raft_index index)
{
    struct raftlog *log = ctx;
    int rv = truncation_is_done(log->data.raft_dir, index);
    int noted = rv == 1 ? truncation_note(&log->truncation, 0) : 0;
    return noted == 0 ? rv : noted;
}

static int on_ballot(void *ctx, raft_term term, raft_id vote)
{
    struct raftlog *log = ctx;
    return ballot_write(&log->ballot, term, vote);
}

const struct guard_events raftlog_guard_events = {
    .fatal = on_fatal,
    .rejoined = on_rejoined,
    .stepped_up = on_stepped_up,
    .serving = on_serving,
    .stepped_down = on_stepped_down,
    .leader = on_leader,
    .truncating = on_truncating,
    .truncated = on_truncated,
    .ballot = on_ballot,
};
