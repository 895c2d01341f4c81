#include "tests/load/fill.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "tests/load/crowd.h"
#include "tests/load/link.h"

enum { COMMIT_VERSION = 8, FETCH_VERSION = 8, PAUSE_MS = 50, TIMEOUT_MS = 10000 };

struct lane;

struct fill {
    struct directory *directory;
    const struct fill_options *options;
    struct lane *lanes;
    struct offset_commit_request_partition *partitions;
    int next; /* group to be begun */
    int done;
    uint64_t wrong;
    uint64_t retries;
};

/* A connection; one group at a time. */
struct lane {
    struct fill *fill;
    struct link *link;
    struct directory_question question;
    uv_timer_t timer;
    int group;
    char name[GROUP_NAME_BYTES + 1];
};

static void find(struct lane *lane);

static int64_t offset_of(int group, int partition)
{
    return (int64_t)group * 1000 + partition;
}

static void on_pause(uv_timer_t *timer)
{
    find(timer->data);
}

static void retry(struct lane *lane)
{
    if (lane->link != NULL) {
        link_close(lane->link);
        lane->link = NULL;
    }
    lane->fill->retries++;
    uv_timer_start(&lane->timer, on_pause, PAUSE_MS, 0);
}

static void begin_next(struct lane *lane);

static void complete(struct lane *lane)
{
    struct fill *fill = lane->fill;
    if (++fill->done == fill->options->groups) {
        uv_stop(fill->directory->loop);
    } else if (fill->next < fill->options->groups) {
        begin_next(lane);
    }
}

/* ---- Writing ---- */

static void on_committed(void *ctx, const struct link_outcome *outcome)
{
    struct lane *lane = ctx;
    const struct offset_commit_response *response = outcome->response;
    if (outcome->end != LINK_REPLY) {
        retry(lane);
        return;
    }
    const struct offset_commit_response_topic *topic = &response->topics[0];
    ensure(response->topics_count == 1);
    for (int32_t p = 0; p < topic->partitions_count; p++) {
        int16_t error = topic->partitions[p].error_code;
        if (error == KAFKA_NOT_COORDINATOR || error == KAFKA_COORDINATOR_NOT_AVAILABLE ||
            error == KAFKA_REQUEST_TIMED_OUT) {
            retry(lane);
            return;
        }
        if (error != KAFKA_NONE) {
            fprintf(stderr, "fill group=%s error=%s\n", lane->name, kafka_error_name(error));
            lane->fill->wrong++;
            break;
        }
    }
    complete(lane);
}

static void send_commit(struct lane *lane)
{
    struct fill *fill = lane->fill;
    for (int p = 0; p < fill->options->partitions; p++) {
        fill->partitions[p] =
            (struct offset_commit_request_partition){.partition_index = p,
                                                     .committed_offset = offset_of(lane->group, p),
                                                     .committed_leader_epoch = -1,
                                                     .committed_metadata = SPAN_EMPTY};
    }
    struct offset_commit_request_topic topic = {.name = span_of(crowd_topic, TOPIC_NAME_BYTES),
                                                .partitions = fill->partitions,
                                                .partitions_count = fill->options->partitions};
    struct offset_commit_request request = {.group_id = span_of(lane->name, GROUP_NAME_BYTES),
                                            .generation_id_or_member_epoch = -1,
                                            .member_id = SPAN_EMPTY,
                                            .topics = &topic,
                                            .topics_count = 1};
    link_send(lane->link, &(struct link_request){.api_key = API_OffsetCommit,
                                                 .version = COMMIT_VERSION,
                                                 .body = &request,
                                                 .timeout_ms = TIMEOUT_MS,
                                                 .done = on_committed,
                                                 .ctx = lane});
}

/* ---- Checking ---- */

static uint64_t count_right(const struct lane *lane,
                            const struct offset_fetch_response_group *answer)
{
    uint64_t right = 0;
    for (int32_t t = 0; t < answer->topics_count; t++) {
        const struct offset_fetch_response_topic *topic = &answer->topics[t];
        for (int32_t p = 0; p < topic->partitions_count; p++) {
            const struct offset_fetch_response_partition *one = &topic->partitions[p];
            right += one->committed_offset == offset_of(lane->group, one->partition_index);
        }
    }
    return right;
}

static void on_fetched(void *ctx, const struct link_outcome *outcome)
{
    struct lane *lane = ctx;
    const struct offset_fetch_response *response = outcome->response;
    if (outcome->end != LINK_REPLY || response->groups_count != 1 ||
        response->groups[0].error_code != 0) {
        retry(lane);
        return;
    }
    uint64_t right = count_right(lane, &response->groups[0]);
    lane->fill->wrong += right != (uint64_t)lane->fill->options->partitions;
    complete(lane);
}

static void send_fetch(struct lane *lane)
{
    struct offset_fetch_request_group group = {.group_id = span_of(lane->name, GROUP_NAME_BYTES),
                                               .topics_count = -1};
    struct offset_fetch_request request = {
        .groups = &group, .groups_count = 1, .require_stable = true};
    link_send(lane->link, &(struct link_request){.api_key = API_OffsetFetch,
                                                 .version = FETCH_VERSION,
                                                 .body = &request,
                                                 .timeout_ms = TIMEOUT_MS,
                                                 .done = on_fetched,
                                                 .ctx = lane});
}

/* ---- Lanes ---- */

static void send_request(struct lane *lane)
{
    if (lane->fill->options->checks) {
        send_fetch(lane);
    } else {
        send_commit(lane);
    }
}

static void begin_next(struct lane *lane)
{
    lane->group = lane->fill->next++;
    snprintf(lane->name, sizeof lane->name, "fill-%011d", lane->group);
    send_request(lane);
}

static void on_found(void *ctx, int error, const struct sockaddr_in *address)
{
    struct lane *lane = ctx;
    if (error != 0) {
        retry(lane);
        return;
    }
    lane->link = link_open(lane->fill->directory->loop, address);
    if (lane->group >= 0) {
        send_request(lane);
    } else if (lane->fill->next < lane->fill->options->groups) {
        begin_next(lane);
    }
}

static void find(struct lane *lane)
{
    lane->question.found = on_found;
    lane->question.ctx = lane;
    directory_ask(lane->fill->directory, &lane->question, SPAN_LITERAL("fill"));
}

bool fill_run(struct directory *directory, const struct fill_options *options)
{
    struct fill fill = {.directory = directory, .options = options};
    fill.lanes = calloc((size_t)options->connections, sizeof *fill.lanes);
    fill.partitions = calloc((size_t)options->partitions, sizeof *fill.partitions);
    ensure(fill.lanes != NULL && fill.partitions != NULL);
    uint64_t begun_ns = uv_hrtime();
    for (int i = 0; i < options->connections; i++) {
        struct lane *lane = &fill.lanes[i];
        *lane = (struct lane){.fill = &fill, .group = -1};
        uv_timer_init(directory->loop, &lane->timer);
        lane->timer.data = lane;
        find(lane);
    }
    uv_run(directory->loop, UV_RUN_DEFAULT);
    double seconds = (double)(uv_hrtime() - begun_ns) / 1e9;
    printf("done groups=%d offsets=%lld wrong=%llu retries=%llu seconds=%.3f groups_per_s=%.0f\n",
           options->groups, (long long)options->groups * options->partitions,
           (unsigned long long)fill.wrong, (unsigned long long)fill.retries, seconds,
           options->groups / seconds);
    return fill.wrong == 0;
}
