#include "tests/load/failover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/load/console.h"
#include "tests/load/link.h"
#include "tests/load/member.h"
#include "tests/load/verify.h"

enum { COMMIT_TICK_MS = 5, WAIT_TICK_MS = 20, CALM_MAX_MS = 120000 };

struct failover {
    struct crowd *crowd;
    double commits_per_s;
    double seconds;
    double commits_due;
    uint64_t begun_ns;
    uint64_t calm_since_ns;
    bool is_formed;
    bool holds_commits;
    bool finishes;
    bool is_input_over;
    bool is_clean;
    uv_timer_t commit_timer;
    uv_timer_t wait_timer;
    uv_timer_t end_timer;
};

/* ---- Commits ---- */

static void on_commit_tick(uv_timer_t *timer)
{
    struct failover *run = timer->data;
    if (run->holds_commits) {
        return;
    }
    run->commits_due += run->commits_per_s * COMMIT_TICK_MS / 1000;
    int tries = 0;
    while (run->commits_due >= 1 && tries++ < 100) {
        if (member_commit(crowd_any_member(run->crowd))) {
            run->commits_due -= 1;
        }
    }
    if (run->commits_due > run->commits_per_s) {
        run->commits_due = run->commits_per_s; /* what nobody could take for a second is not due */
    }
}

static int open_commits(const struct crowd *crowd)
{
    int count = 0;
    for (int g = 0; g < crowd->options.groups; g++) {
        for (int m = 0; m < crowd->groups[g].members_count; m++) {
            count += crowd->groups[g].members[m].commit.is_open;
        }
    }
    return count;
}

/* ---- Verifying and the end ---- */

static void on_verified(void *ctx, const struct verify_result *result)
{
    struct failover *run = ctx;
    printf("verified offsets=%llu lost=%llu invented=%llu\n", (unsigned long long)result->offsets,
           (unsigned long long)result->lost, (unsigned long long)result->invented);
    run->is_clean &= result->lost == 0 && result->invented == 0;
    if (!run->finishes) {
        run->holds_commits = run->crowd->is_held;
        return;
    }
    watch_print_totals(&run->crowd->watch);
    printf("must_be_zero lost=%llu\n", (unsigned long long)result->lost);
    printf("must_be_zero invented=%llu\n", (unsigned long long)result->invented);
    printf("must_be_zero evicted=%llu\n", (unsigned long long)result->evicted);
    printf("must_be_zero unstable=%d\n", run->crowd->options.members - run->crowd->stable);
    printf("finished members=%llu open_debts=%llu\n", (unsigned long long)result->members,
           (unsigned long long)link_debts().open);
    run->is_clean &=
        result->evicted == 0 && crowd_is_stable(run->crowd) && watch_is_clean(&run->crowd->watch);
    uv_stop(run->crowd->loop);
}

/* Ready to be verified: nothing is under way; in the end, everybody is stable and every request on
 * a lingering link has got its answer or its close. */
static bool is_ready(const struct failover *run)
{
    if (open_commits(run->crowd) > 0) {
        return false;
    }
    if (!run->finishes) {
        return true;
    }
    bool gives_up = (uv_hrtime() - run->calm_since_ns) / 1000000 > CALM_MAX_MS;
    return gives_up || (crowd_is_stable(run->crowd) && link_debts().open == 0);
}

static void on_wait_tick(uv_timer_t *timer)
{
    struct failover *run = timer->data;
    if (is_ready(run)) {
        uv_timer_stop(timer);
        verify_begin(run->crowd, run->finishes, on_verified, run);
    }
}

static void verify(struct failover *run)
{
    run->holds_commits = true;
    uv_timer_start(&run->wait_timer, on_wait_tick, WAIT_TICK_MS, WAIT_TICK_MS);
}

static void finish(struct failover *run)
{
    if (run->finishes) {
        return;
    }
    run->finishes = true;
    run->calm_since_ns = uv_hrtime();
    crowd_calm(run->crowd);
    verify(run);
}

static void on_end(uv_timer_t *timer)
{
    finish(timer->data);
}

/* ---- Commands ---- */

static void print_status(const struct failover *run)
{
    const struct watch_fault *fault = watch_last_fault(&run->crowd->watch);
    printf(
        "status formed=%d stable=%d members=%d heartbeats=%llu commits_acked=%llu "
        "unheard=%d\n",
        run->is_formed, run->crowd->stable, run->crowd->options.members,
        (unsigned long long)run->crowd->watch.heartbeats,
        (unsigned long long)run->crowd->watch.commits_acked, fault == NULL ? 0 : fault->waiting);
}

static void end_when_due(struct failover *run)
{
    uint64_t spent_ms = (uv_hrtime() - run->begun_ns) / 1000000;
    uint64_t wanted_ms = (uint64_t)(run->seconds * 1000);
    uv_timer_start(&run->end_timer, on_end, wanted_ms > spent_ms ? wanted_ms - spent_ms : 0, 0);
}

static void begin_fault(struct failover *run, const char *text)
{
    char kind[sizeof run->crowd->watch.faults->kind];
    size_t len = strcspn(text, " ");
    snprintf(kind, sizeof kind, "%.*s", (int)len, text);
    uint64_t at_ns = strtoull(text + len, NULL, 10);
    watch_fault_begins(run->crowd, kind, at_ns == 0 ? uv_hrtime() : at_ns);
}

static void on_command(void *ctx, const char *line)
{
    struct failover *run = ctx;
    if (line == NULL) {
        run->is_input_over = true;
        if (run->is_formed) {
            end_when_due(run);
        }
    } else if (strncmp(line, "fault ", 6) == 0 && run->is_formed) {
        begin_fault(run, line + 6);
    } else if (strcmp(line, "status") == 0) {
        print_status(run);
    } else if (strcmp(line, "verify") == 0 && run->is_formed) {
        verify(run);
    } else if (strcmp(line, "hold") == 0 || strcmp(line, "resume") == 0) {
        run->holds_commits = line[0] == 'h';
        run->crowd->is_held = run->holds_commits;
    } else if (strcmp(line, "finish") == 0) {
        finish(run);
    } else {
        puts("error unknown command");
    }
}

static void on_formed(void *ctx)
{
    struct failover *run = ctx;
    run->is_formed = true;
    run->begun_ns = uv_hrtime();
    crowd_settle(run->crowd);
    uv_timer_start(&run->commit_timer, on_commit_tick, COMMIT_TICK_MS, COMMIT_TICK_MS);
    puts("ready");
    if (run->is_input_over) {
        end_when_due(run);
    }
}

bool failover_run(struct crowd *crowd, double commits_per_s, double seconds)
{
    struct failover run = {
        .crowd = crowd, .commits_per_s = commits_per_s, .seconds = seconds, .is_clean = true};
    uv_timer_t *timers[] = {&run.commit_timer, &run.wait_timer, &run.end_timer};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(crowd->loop, timers[i]);
        timers[i]->data = &run;
    }
    console_open(crowd->loop, on_command, &run);
    crowd_form(crowd, false, on_formed, &run);
    uv_run(crowd->loop, UV_RUN_DEFAULT);
    return run.is_clean;
}
