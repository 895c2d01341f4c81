#include "tests/load/verify.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "tests/load/link.h"
#include "tests/load/member.h"

enum { BATCH = 50, FETCH_VERSION = 8, DESCRIBE_VERSION = 5, PAUSE_MS = 50, TIMEOUT_MS = 10000 };

struct verify {
    struct crowd *crowd;
    bool members; /* is to describe, too */
    bool describes;
    int next; /* group */
    struct link *link;
    struct directory_question question;
    uv_timer_t timer;
    struct verify_result result;
    void (*done)(void *ctx, const struct verify_result *result);
    void *ctx;
};

static void find(struct verify *verify);

static int batch_len(const struct verify *verify)
{
    int left = verify->crowd->options.groups - verify->next;
    return left < BATCH ? left : BATCH;
}

static struct span name_of(const struct crowd_group *group)
{
    return span_of(group->name, GROUP_NAME_BYTES);
}

static void on_pause(uv_timer_t *timer)
{
    find(timer->data);
}

static void retry(struct verify *verify)
{
    if (verify->link != NULL) {
        link_close(verify->link);
        verify->link = NULL;
    }
    uv_timer_start(&verify->timer, on_pause, PAUSE_MS, 0);
}

/* ---- Offsets ---- */

/* -1: none. [is_own]: with the metadata that came with it. */
static int64_t fetched_offset(const struct offset_fetch_response_group *answer,
                              int partition,
                              bool *is_own)
{
    for (int32_t t = 0; t < answer->topics_count; t++) {
        const struct offset_fetch_response_topic *topic = &answer->topics[t];
        for (int32_t p = 0; p < topic->partitions_count; p++) {
            if (topic->partitions[p].partition_index == partition) {
                char expected[32];
                int64_t offset = topic->partitions[p].committed_offset;
                snprintf(expected, sizeof expected, "op=%lld", (long long)offset);
                *is_own = span_equal(topic->partitions[p].metadata, span_from_cstr(expected));
                return offset;
            }
        }
    }
    return -1;
}

static void compare_offsets(struct verify *verify,
                            const struct crowd_group *group,
                            const struct offset_fetch_response_group *answer)
{
    for (int p = 0; p < verify->crowd->options.partitions; p++) {
        const struct crowd_offset *known = &group->offsets[p];
        if (known->attempted == 0) {
            continue;
        }
        bool is_own = true;
        int64_t offset = fetched_offset(answer, p, &is_own);
        verify->result.offsets += known->acked > 0;
        bool is_lost = known->acked > 0 && offset < known->acked;
        if (is_lost) {
            fprintf(stderr, "lost group=%s partition=%d acked=%lld found=%lld\n", group->name, p,
                    (long long)known->acked, (long long)offset);
        }
        verify->result.lost += is_lost;
        verify->result.invented += offset > known->attempted || !is_own;
    }
}

/* ---- Members ---- */

static bool has_member(const struct describe_groups_response_group *answer, struct span id)
{
    for (int32_t i = 0; i < answer->members_count; i++) {
        if (span_equal(answer->members[i].member_id, id)) {
            return true;
        }
    }
    return false;
}

static void compare_members(struct verify *verify,
                            const struct crowd_group *group,
                            const struct describe_groups_response_group *answer)
{
    for (int i = 0; i < group->members_count; i++) {
        const struct member *member = &group->members[i];
        if (member->phase != MEMBER_STABLE) {
            continue;
        }
        verify->result.members++;
        if (!has_member(answer, member_id(member))) {
            fprintf(stderr, "evicted group=%s member=%.*s state=%.*s\n", group->name,
                    (int)member->id_len, member->id, (int)answer->group_state.len,
                    (const char *)answer->group_state.data);
            verify->result.evicted++;
        }
    }
}

/* ---- Batches ---- */

static void on_close(uv_handle_t *handle)
{
    free(handle->data);
}

static void send_batch(struct verify *verify);

static void advance(struct verify *verify, int count)
{
    verify->next += count;
    if (verify->next == verify->crowd->options.groups && verify->members && !verify->describes) {
        verify->describes = true;
        verify->next = 0;
    }
    if (verify->next < verify->crowd->options.groups) {
        send_batch(verify);
        return;
    }
    link_close(verify->link);
    verify->done(verify->ctx, &verify->result);
    uv_close((uv_handle_t *)&verify->timer, on_close);
}

static void on_fetched(void *ctx, const struct link_outcome *outcome)
{
    struct verify *verify = ctx;
    const struct offset_fetch_response *response = outcome->response;
    int count = batch_len(verify);
    if (outcome->end != LINK_REPLY || response->groups_count != count ||
        response->groups[0].error_code != 0) {
        retry(verify);
        return;
    }
    for (int i = 0; i < count; i++) {
        compare_offsets(verify, &verify->crowd->groups[verify->next + i], &response->groups[i]);
    }
    advance(verify, count);
}

static void on_described(void *ctx, const struct link_outcome *outcome)
{
    struct verify *verify = ctx;
    const struct describe_groups_response *response = outcome->response;
    int count = batch_len(verify);
    if (outcome->end != LINK_REPLY || response->groups_count != count ||
        response->groups[0].error_code != 0) {
        retry(verify);
        return;
    }
    for (int i = 0; i < count; i++) {
        compare_members(verify, &verify->crowd->groups[verify->next + i], &response->groups[i]);
    }
    advance(verify, count);
}

static void send_fetch(struct verify *verify)
{
    struct offset_fetch_request_group groups[BATCH] = {0};
    int count = batch_len(verify);
    for (int i = 0; i < count; i++) {
        groups[i].group_id = name_of(&verify->crowd->groups[verify->next + i]);
        groups[i].topics_count = -1; /* all */
    }
    struct offset_fetch_request request = {
        .groups = groups, .groups_count = count, .require_stable = true};
    link_send(verify->link, &(struct link_request){.api_key = API_OffsetFetch,
                                                   .version = FETCH_VERSION,
                                                   .body = &request,
                                                   .timeout_ms = TIMEOUT_MS,
                                                   .done = on_fetched,
                                                   .ctx = verify});
}

static void send_describe(struct verify *verify)
{
    struct span groups[BATCH];
    int count = batch_len(verify);
    for (int i = 0; i < count; i++) {
        groups[i] = name_of(&verify->crowd->groups[verify->next + i]);
    }
    struct describe_groups_request request = {.groups = groups, .groups_count = count};
    link_send(verify->link, &(struct link_request){.api_key = API_DescribeGroups,
                                                   .version = DESCRIBE_VERSION,
                                                   .body = &request,
                                                   .timeout_ms = TIMEOUT_MS,
                                                   .done = on_described,
                                                   .ctx = verify});
}

static void send_batch(struct verify *verify)
{
    if (verify->describes) {
        send_describe(verify);
    } else {
        send_fetch(verify);
    }
}

static void on_found(void *ctx, int error, const struct sockaddr_in *address)
{
    struct verify *verify = ctx;
    if (error != 0) {
        retry(verify);
        return;
    }
    verify->link = link_open(verify->crowd->loop, address);
    send_batch(verify);
}

static void find(struct verify *verify)
{
    verify->question.found = on_found;
    verify->question.ctx = verify;
    directory_ask(&verify->crowd->directory, &verify->question, SPAN_LITERAL("load"));
}

void verify_begin(struct crowd *crowd,
                  bool members,
                  void (*done)(void *ctx, const struct verify_result *result),
                  void *ctx)
{
    struct verify *verify = calloc(1, sizeof *verify);
    ensure(verify != NULL);
    *verify = (struct verify){.crowd = crowd, .members = members, .done = done, .ctx = ctx};
    uv_timer_init(crowd->loop, &verify->timer);
    verify->timer.data = verify;
    find(verify);
}
