/* Watches the free space: a write that fails ends the process (S3, S4), so a leader gives up
 * leadership and proposals while there is still room for what is under way. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

#include "raftlog/internal.h"

/* Room is back when there is this much more than the least: no flapping. */
enum { RECOVERY_PART = 8 };

static void hand_over(struct raftlog *log)
{
    if (log->raft.state == RAFT_LEADER && !log->handover.is_active &&
        raftlog_handover_is_possible(log)) {
        raftlog_transfer(log, RAFTLOG_HANDOVER_RETRY_MS, NULL, NULL);
    }
}

void raftlog_disk_space_second(struct raftlog *log)
{
    struct statvfs found;
    if (statvfs(log->data.raft_dir, &found) != 0) {
        int error = errno;
        uint64_t suppressed = 0;
        if (report_limit_allows(&log->disk_unknown, uv_now(log->loop), RAFTLOG_WAIT_LOG_MS,
                                &suppressed)) {
            report_log(&log->report, RAFTLOG_WARN,
                       "raftlog_disk_unknown dir=%s error='%s' more_before=%" PRIu64,
                       log->data.raft_dir, strerror(error), suppressed);
        }
        return;
    }
    uint64_t free_bytes = (uint64_t)found.f_bavail * found.f_frsize;
    uint64_t least = log->options.free_bytes_min;
    if (!log->is_disk_low && free_bytes < least) {
        log->is_disk_low = true;
        report_log(&log->report, RAFTLOG_ERROR,
                   "raftlog_disk_low dir=%s free_bytes=%" PRIu64 " min_bytes=%" PRIu64
                   ": free space; until then this node accepts no proposals and does not lead if "
                   "another one can",
                   log->data.raft_dir, free_bytes, least);
    } else if (log->is_disk_low && free_bytes >= least + least / RECOVERY_PART) {
        log->is_disk_low = false;
        report_log(&log->report, RAFTLOG_INFO, "raftlog_disk_recovered dir=%s free_bytes=%" PRIu64,
                   log->data.raft_dir, free_bytes);
    }
    if (log->is_disk_low && log->is_started) {
        hand_over(log);
    }
}
