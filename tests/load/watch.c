#include "tests/load/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "tests/load/crowd.h"
#include "tests/load/link.h"
#include "tests/load/member.h"

static const int uncaused_codes[] = {KAFKA_ILLEGAL_GENERATION, KAFKA_UNKNOWN_MEMBER_ID,
                                     KAFKA_REBALANCE_IN_PROGRESS, KAFKA_MEMBER_ID_REQUIRED};
enum { CODES = sizeof uncaused_codes / sizeof uncaused_codes[0] };

void watch_uncaused(struct watch *watch, int error)
{
    for (int i = 0; i < CODES; i++) {
        if (uncaused_codes[i] == error) {
            watch->uncaused[i]++;
            return;
        }
    }
    watch->other_errors++;
}

/* ---- Faults ---- */

static void look_at_group(const struct crowd_group *group, struct watch_fault *fault)
{
    bool joining = false;
    bool syncing = false;
    for (int i = 0; i < group->members_count; i++) {
        const struct member *member = &group->members[i];
        joining |= member->phase == MEMBER_JOINING;
        syncing |= member->phase == MEMBER_SYNCING || member->phase == MEMBER_DELAYING;
        fault->commits_in_flight += member->commit.is_open;
        /* The line that says so comes a little later than the fault. */
        fault->waiting += group->settled_at >= 0 && member->heard_ns < fault->at_ns;
    }
    fault->joining += joining;
    fault->syncing += syncing && !joining;
}

void watch_fault_begins(struct crowd *crowd, const char *kind, uint64_t at_ns)
{
    struct watch *watch = &crowd->watch;
    if (watch->faults == NULL) {
        watch->faults = calloc(WATCH_FAULTS_MAX, sizeof *watch->faults);
    }
    ensure(watch->faults != NULL && watch->faults_count < WATCH_FAULTS_MAX);
    struct watch_fault *fault = &watch->faults[watch->faults_count++];
    *fault = (struct watch_fault){.at_ns = at_ns};
    snprintf(fault->kind, sizeof fault->kind, "%s", kind);
    for (int i = 0; i < crowd->options.groups; i++) {
        look_at_group(&crowd->groups[i], fault);
    }
}

static struct watch_fault *last_fault(struct watch *watch)
{
    return watch->faults_count == 0 ? NULL : &watch->faults[watch->faults_count - 1];
}

const struct watch_fault *watch_last_fault(const struct watch *watch)
{
    return watch->faults_count == 0 ? NULL : &watch->faults[watch->faults_count - 1];
}

static uint64_t since_us(uint64_t ns)
{
    return (uv_hrtime() - ns) / 1000;
}

static void complete(struct watch *watch, struct watch_fault *fault)
{
    bool is_complete = fault->heartbeat_us > 0 && fault->commit_us > 0 && fault->everyone_us > 0;
    if (is_complete && !fault->is_told) {
        fault->is_told = true;
        watch_print_fault(fault, watch->faults_count);
    }
}

void watch_heartbeat(struct watch *watch, uint64_t sent_ns, uint64_t opened_ns, bool is_first)
{
    watch->heartbeats++;
    histogram_add(&watch->heartbeat_latency, since_us(sent_ns));
    struct watch_fault *fault = last_fault(watch);
    if (fault == NULL || fault->is_told) {
        return;
    }
    if (fault->heartbeat_us == 0 && opened_ns > fault->at_ns) {
        fault->heartbeat_us = since_us(fault->at_ns);
    }
    if (is_first && --fault->waiting == 0) {
        fault->everyone_us = since_us(fault->at_ns);
    }
    complete(watch, fault);
}

void watch_commit(struct watch *watch, uint64_t begun_ns, uint64_t opened_ns)
{
    watch->commits_acked++;
    histogram_add(&watch->commit_latency, since_us(begun_ns));
    struct watch_fault *fault = last_fault(watch);
    if (fault != NULL && fault->commit_us == 0 && opened_ns > fault->at_ns) {
        fault->commit_us = since_us(fault->at_ns);
        complete(watch, fault);
    }
}

/* ---- What is printed ---- */

void watch_print_fault(const struct watch_fault *fault, int number)
{
    printf(
        "fault n=%d kind=%s joining=%d syncing=%d commits_in_flight=%d heartbeat_ms=%.1f "
        "commit_ms=%.1f everyone_ms=%.1f\n",
        number, fault->kind, fault->joining, fault->syncing, fault->commits_in_flight,
        (double)fault->heartbeat_us / 1000, (double)fault->commit_us / 1000,
        (double)fault->everyone_us / 1000);
}

static void print_latency(const char *name, const struct histogram *histogram)
{
    printf("latency of=%s count=%llu p50_us=%llu p99_us=%llu p999_us=%llu max_us=%llu\n", name,
           (unsigned long long)histogram->count,
           (unsigned long long)histogram_percentile(histogram, 0.5),
           (unsigned long long)histogram_percentile(histogram, 0.99),
           (unsigned long long)histogram_percentile(histogram, 0.999),
           (unsigned long long)histogram->max_us);
}

void watch_print_totals(const struct watch *watch)
{
    print_latency("heartbeat", &watch->heartbeat_latency);
    print_latency("commit", &watch->commit_latency);
    printf(
        "totals heartbeats=%llu commits_acked=%llu commits_fenced=%llu commits_dropped=%llu "
        "retries=%llu joins=%llu rounds=%llu\n",
        (unsigned long long)watch->heartbeats, (unsigned long long)watch->commits_acked,
        (unsigned long long)watch->commits_fenced, (unsigned long long)watch->commits_dropped,
        (unsigned long long)watch->retries, (unsigned long long)watch->joins,
        (unsigned long long)watch->rounds);
    for (int i = 0; i < CODES; i++) {
        printf("must_be_zero uncaused_%d=%llu\n", uncaused_codes[i],
               (unsigned long long)watch->uncaused[i]);
    }
    printf("must_be_zero other_errors=%llu\n", (unsigned long long)watch->other_errors);
    printf("must_be_zero generations_changed=%llu\n",
           (unsigned long long)watch->generations_changed);
    printf("must_be_zero generation_conflicts=%llu\n",
           (unsigned long long)watch->generation_conflicts);
    printf("must_be_zero unanswered=%llu\n", (unsigned long long)link_debts().unanswered);
}

bool watch_is_clean(const struct watch *watch)
{
    uint64_t sum = watch->other_errors + watch->generations_changed + watch->generation_conflicts +
                   link_debts().unanswered;
    for (int i = 0; i < CODES; i++) {
        sum += watch->uncaused[i];
    }
    return sum == 0;
}
