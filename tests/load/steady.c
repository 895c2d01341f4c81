#include "tests/load/steady.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/ensure.h"
#include "rpc/schema.h"
#include "tests/load/link.h"
#include "tests/load/member.h"
#include "tests/load/requests.h"

struct steady;

/* A connection, its members one after the other. */
struct lane {
    struct steady *steady;
    struct link *link;
    int next; /* member, counted over all groups */
};

struct steady {
    struct crowd *crowd;
    const struct steady_options *options;
    struct lane *lanes;
    struct member **members;
    struct histogram latency;
    uint64_t begun_ns;
    uint64_t ends_ns;
    uint64_t errors;
    int open; /* requests on all lanes */
};

static void send_next(struct lane *lane);

static void finish(struct lane *lane, const struct link_outcome *outcome, int error)
{
    struct steady *steady = lane->steady;
    uint64_t now_ns = uv_hrtime();
    steady->open--;
    if (outcome->end != LINK_REPLY || error != 0) {
        if (steady->errors++ == 0) {
            fprintf(stderr, "steady loop: end=%d error=%d\n", (int)outcome->end, error);
        }
        if (steady->open == 0) {
            uv_stop(steady->crowd->loop);
        }
        return;
    }
    histogram_add(&steady->latency, (now_ns - outcome->sent_ns) / 1000);
    if (now_ns < steady->ends_ns) {
        send_next(lane);
    } else if (steady->open == 0) {
        uv_stop(steady->crowd->loop);
    }
}

static void on_heartbeat(void *ctx, const struct link_outcome *outcome)
{
    const struct heartbeat_response *response = outcome->response;
    finish(ctx, outcome, outcome->end == LINK_REPLY ? response->error_code : 0);
}

static int commit_error(const struct offset_commit_response *response)
{
    /* A floor program's reply is all zero: it has no topics. */
    bool has_one = response->topics_count == 1 && response->topics[0].partitions_count == 1;
    return has_one ? response->topics[0].partitions[0].error_code : 0;
}

static void on_commit(void *ctx, const struct link_outcome *outcome)
{
    finish(ctx, outcome, outcome->end == LINK_REPLY ? commit_error(outcome->response) : 0);
}

static void send_next(struct lane *lane)
{
    struct steady *steady = lane->steady;
    struct member *member = steady->members[lane->next];
    lane->next += steady->options->connections;
    if (lane->next >= steady->crowd->options.members) {
        lane->next %= steady->options->connections;
    }
    steady->open++;
    if (steady->options->commits) {
        member->commit.partition = 0;
        member->commit.offset++;
        requests_commit_on(lane->link, member, on_commit, lane);
    } else {
        requests_heartbeat_on(lane->link, member, on_heartbeat, lane);
    }
}

static void list_members(struct steady *steady)
{
    struct crowd *crowd = steady->crowd;
    int count = 0;
    steady->members = calloc((size_t)crowd->options.members, sizeof *steady->members);
    ensure(steady->members != NULL);
    for (int g = 0; g < crowd->options.groups; g++) {
        for (int m = 0; m < crowd->groups[g].members_count; m++) {
            struct member *member = &crowd->groups[g].members[m];
            steady->members[count++] = member;
            if (steady->options->raw) {
                /* As long as those that a coordinator hands out. */
                int len = snprintf(member->id, sizeof member->id, "load-client1-%036d", count);
                member->id_len = (size_t)len;
                member->generation = 1;
            }
        }
    }
    ensure(count == crowd->options.members && count >= steady->options->connections);
}

static void begin(struct steady *steady, const struct sockaddr_in *address)
{
    const struct steady_options *options = steady->options;
    for (int i = 0; i < options->connections; i++) {
        struct lane *lane = &steady->lanes[i];
        *lane = (struct lane){.steady = steady, .next = i};
        lane->link = link_open(steady->crowd->loop, address);
    }
    steady->begun_ns = uv_hrtime();
    steady->ends_ns = steady->begun_ns + (uint64_t)(options->seconds * 1e9);
    printf("start\n");
    for (int i = 0; i < options->connections; i++) {
        for (int d = 0; d < options->depth; d++) {
            send_next(&steady->lanes[i]);
        }
    }
}

static void on_found(void *ctx, int error, const struct sockaddr_in *address)
{
    struct steady *steady = ctx;
    ensure(error == 0);
    begin(steady, address);
}

static void print(const struct steady *steady, double seconds)
{
    const struct histogram *latency = &steady->latency;
    printf(
        "done ops=%llu errors=%llu seconds=%.3f rate=%.0f p50_us=%llu p99_us=%llu "
        "p999_us=%llu max_us=%llu\n",
        (unsigned long long)latency->count, (unsigned long long)steady->errors, seconds,
        (double)latency->count / seconds, (unsigned long long)histogram_percentile(latency, 0.5),
        (unsigned long long)histogram_percentile(latency, 0.99),
        (unsigned long long)histogram_percentile(latency, 0.999),
        (unsigned long long)latency->max_us);
}

bool steady_run(struct crowd *crowd, const struct steady_options *options)
{
    static struct steady steady; /* its histogram is large */
    static struct directory_question question;
    steady = (struct steady){.crowd = crowd, .options = options};
    steady.lanes = calloc((size_t)options->connections, sizeof *steady.lanes);
    ensure(steady.lanes != NULL);
    list_members(&steady);
    if (options->raw) {
        begin(&steady, &crowd->directory.nodes[0].address);
    } else {
        question.found = on_found;
        question.ctx = &steady;
        directory_ask(&crowd->directory, &question, SPAN_LITERAL("load"));
    }
    uv_run(crowd->loop, UV_RUN_DEFAULT);
    print(&steady, (double)(uv_hrtime() - steady.begun_ns) / 1e9);
    bool succeeded = steady.errors == 0 && steady.latency.count > 0;
    free(steady.lanes);
    free(steady.members);
    return succeeded;
}
