/* What is recorded of a run: counts that must be zero, times after a fault, latencies. */
#ifndef LOAD_WATCH_H
#define LOAD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/load/histogram.h"

struct crowd;

enum { WATCH_FAULTS_MAX = 1000 };

struct watch_fault {
    char kind[24];
    uint64_t at_ns;
    /* What it hit. */
    int joining; /* groups in a join round */
    int syncing; /* groups between generation and assignment */
    int commits_in_flight;
    /* What came of it; 0: not yet. */
    uint64_t heartbeat_us; /* to the first accepted heartbeat on a connection opened since */
    uint64_t commit_us;
    uint64_t everyone_us; /* until every member that was stable was heard again */
    int waiting;          /* of those, not heard yet */
    bool is_told;
};

struct watch {
    uint64_t heartbeats;
    uint64_t commits_acked;
    uint64_t commits_fenced;  /* refused in a churning group: the generation had ended */
    uint64_t commits_dropped; /* outcome unknown, generation over */
    uint64_t retries;         /* lookups after a loss */
    uint64_t joins;
    uint64_t rounds; /* generations that members were told */

    /* Must be zero. */
    uint64_t uncaused[4];          /* 22, 25, 27, 79 that the member did nothing for */
    uint64_t other_errors;         /* codes that no client should get here */
    uint64_t generations_changed;  /* in groups that were settled */
    uint64_t generation_conflicts; /* one generation, two leaders; or one below an earlier one */

    struct histogram heartbeat_latency;
    struct histogram commit_latency;

    struct watch_fault *faults;
    int faults_count;
};

/* An error code in a reply that the member is not to blame for. */
void watch_uncaused(struct watch *watch, int error);

/* [at_ns]: when, as uv_hrtime() tells it, which is the system's monotonic clock. */
void watch_fault_begins(struct crowd *crowd, const char *kind, uint64_t at_ns);
/* An accepted heartbeat or commit over a link that was opened at [opened_ns]. [is_first]: of this
 * member since the last fault. */
void watch_heartbeat(struct watch *watch, uint64_t sent_ns, uint64_t opened_ns, bool is_first);
void watch_commit(struct watch *watch, uint64_t begun_ns, uint64_t opened_ns);

/* The fault whose consequences are being waited for, or NULL. */
const struct watch_fault *watch_last_fault(const struct watch *watch);

/* One line for each fault; key=value. */
void watch_print_fault(const struct watch_fault *fault, int number);
void watch_print_totals(const struct watch *watch);
/* Whether all that must be zero is. */
bool watch_is_clean(const struct watch *watch);

#endif
