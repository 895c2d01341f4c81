#include "tests/load/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "tests/load/crowd.h"
#include "tests/load/link.h"
#include "tests/load/requests.h"

static void proceed(struct member *member);
static void find(struct member *member);
static void on_beat_due(uv_timer_t *timer);
static void send_commit(struct member *member);

static struct crowd *crowd_of(const struct member *member)
{
    return member->group->crowd;
}

static struct watch *watch_of(const struct member *member)
{
    return &member->group->crowd->watch;
}

static bool is_settled(const struct member *member)
{
    return member->group->settled_at >= 0;
}

static void set_phase(struct member *member, enum member_phase phase)
{
    bool was_stable = member->phase == MEMBER_STABLE;
    member->phase = phase;
    if (was_stable != (phase == MEMBER_STABLE)) {
        crowd_member_stable(member, !was_stable);
    }
}

static void uncaused(struct member *member, int error, const char *request)
{
    fprintf(stderr, "uncaused error=%s request=%s group=%s generation=%d member=%.*s\n",
            kafka_error_name(error), request, member->group->name, (int)member->generation,
            (int)member->id_len, member->id);
    watch_uncaused(watch_of(member), error);
}

/* The one timer of a member, for what its phase waits for. */
static void after(struct member *member, unsigned ms, uv_timer_cb then)
{
    uv_timer_start(&member->timer, then, ms, 0);
}

/* ---- Losing and finding the coordinator ---- */

static void on_backoff(uv_timer_t *timer)
{
    find(timer->data);
}

static void back_off(struct member *member)
{
    const struct crowd_options *options = &crowd_of(member)->options;
    unsigned ms = member->backoff_ms;
    member->backoff_ms = ms * 2 < options->backoff_max_ms ? ms * 2 : options->backoff_max_ms;
    watch_of(member)->retries++;
    after(member, ms + crowd_chance(crowd_of(member), ms / 2 + 1), on_backoff);
}

static void drop_link(struct member *member, enum link_end end)
{
    if (member->link != NULL && end == LINK_TIMEOUT) {
        link_linger(member->link);
    } else if (member->link != NULL) {
        link_close(member->link);
    }
    member->link = NULL;
    member->beats = false;
    member->commit.is_sent = false;
}

/* The coordinator is gone or is another one. */
static void lose(struct member *member, enum link_end end)
{
    drop_link(member, end);
    uv_timer_stop(&member->timer);
    if (member->phase == MEMBER_DELAYING) {
        set_phase(member, MEMBER_SYNCING);
    }
    back_off(member);
}

static void on_found(void *ctx, int error, const struct sockaddr_in *address)
{
    struct member *member = ctx;
    member->is_asking = false;
    if (error != 0) {
        back_off(member);
        return;
    }
    member->link = directory_take_link(&crowd_of(member)->directory, address);
    proceed(member);
}

static void find(struct member *member)
{
    ensure(member->link == NULL && !member->is_asking);
    member->is_asking = true;
    member->question.found = on_found;
    member->question.ctx = member;
    directory_ask(&crowd_of(member)->directory, &member->question,
                  span_of(member->group->name, GROUP_NAME_BYTES));
}

/* Whether the outcome is a reply of a coordinator that does its work. Otherwise the member is on
 * its way elsewhere already. */
static bool has_reply(struct member *member, const struct link_outcome *outcome)
{
    if (outcome->end != LINK_REPLY) {
        lose(member, outcome->end);
        return false;
    }
    return true;
}

static bool is_served(struct member *member, int error)
{
    if (error == KAFKA_NOT_COORDINATOR || error == KAFKA_COORDINATOR_NOT_AVAILABLE ||
        error == KAFKA_COORDINATOR_LOAD_IN_PROGRESS) {
        lose(member, LINK_REPLY);
        return false;
    }
    member->backoff_ms = crowd_of(member)->options.backoff_min_ms;
    return true;
}

/* ---- Joining ---- */

static void rejoin(struct member *member)
{
    uv_timer_stop(&member->timer);
    set_phase(member, MEMBER_JOINING);
    if (member->link != NULL) {
        proceed(member);
    }
}

/* After an error that ends the membership or the generation; any other one is not for a consumer to
 * handle, so it tries again as if the coordinator were gone. */
static void expelled(struct member *member, int error)
{
    if (error == KAFKA_UNKNOWN_MEMBER_ID) {
        member->id_len = 0;
        rejoin(member);
    } else if (error == KAFKA_REBALANCE_IN_PROGRESS || error == KAFKA_ILLEGAL_GENERATION) {
        rejoin(member);
    } else {
        set_phase(member, MEMBER_JOINING);
        lose(member, LINK_REPLY);
    }
}

static void keep_others(struct member *member, const struct join_group_response *response)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < response->members_count; i++) {
        bytes += response->members[i].member_id.len;
    }
    size_t spans = (size_t)response->members_count * sizeof *member->others;
    free(member->others);
    member->others = malloc(spans + bytes + 1);
    ensure(member->others != NULL);
    member->others_count = response->members_count;
    uint8_t *at = (uint8_t *)member->others + spans;
    for (int32_t i = 0; i < response->members_count; i++) {
        struct span id = response->members[i].member_id;
        memcpy(at, id.data, id.len);
        member->others[i] = span_of(at, id.len);
        at += id.len;
    }
}

/* A generation names one thing for ever (promise 2 of DESIGN). */
static void check_generation(struct member *member, int32_t generation, struct span leader)
{
    struct crowd_group *group = member->group;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < leader.len; i++) {
        hash = (hash ^ leader.data[i]) * UINT64_C(1099511628211);
    }
    if (generation > group->generation) {
        watch_of(member)->rounds++;
        group->generation = generation;
        group->leader_hash = hash;
    } else if (generation == group->generation && hash != group->leader_hash) {
        watch_of(member)->generation_conflicts++;
    }
    if (is_settled(member) && generation != group->settled_at) {
        watch_of(member)->generations_changed++;
        group->settled_at = generation;
    }
}

static void take_id(struct member *member, struct span id)
{
    ensure(id.len <= sizeof member->id);
    memcpy(member->id, id.data, id.len);
    member->id_len = id.len;
}

static void on_delay(uv_timer_t *timer)
{
    struct member *member = timer->data;
    set_phase(member, MEMBER_SYNCING);
    if (member->link != NULL) {
        proceed(member);
    }
}

static void joined(struct member *member, const struct join_group_response *response)
{
    check_generation(member, response->generation_id, response->leader);
    take_id(member, response->member_id);
    member->generation = response->generation_id;
    member->is_leader = span_equal(response->leader, member_id(member));
    if (member->commit.is_open && member->commit.generation != member->generation) {
        member->commit.is_open = false;
        watch_of(member)->commits_dropped++;
    }
    unsigned delay_ms = crowd_of(member)->options.sync_delay_ms;
    if (member->is_leader) {
        keep_others(member, response);
    }
    if (member->is_leader && member->group->churns && delay_ms > 0) {
        set_phase(member, MEMBER_DELAYING);
        after(member, crowd_chance(crowd_of(member), delay_ms), on_delay);
        return;
    }
    set_phase(member, MEMBER_SYNCING);
    proceed(member);
}

static void on_join(void *ctx, const struct link_outcome *outcome)
{
    struct member *member = ctx;
    const struct join_group_response *response = outcome->response;
    if (!has_reply(member, outcome) || !is_served(member, response->error_code)) {
        return;
    }
    switch (response->error_code) {
        case KAFKA_NONE:
            joined(member, response);
            break;
        case KAFKA_MEMBER_ID_REQUIRED:
            if (member->id_len > 0) {
                uncaused(member, response->error_code, "join");
            }
            take_id(member, response->member_id);
            proceed(member);
            break;
        case KAFKA_REBALANCE_IN_PROGRESS:
            rejoin(member);
            break;
        default:
            uncaused(member, response->error_code, "join");
            expelled(member, response->error_code);
    }
}

static void synced(struct member *member, struct span assignment)
{
    member->partitions_count = requests_parse_assignment(assignment, member->partitions);
    set_phase(member, MEMBER_STABLE);
    if (member->link == NULL) {
        return; /* parked by what this completed */
    }
    unsigned heartbeat_ms = crowd_of(member)->options.heartbeat_ms;
    after(member, crowd_chance(crowd_of(member), heartbeat_ms), on_beat_due);
    if (member->commit.is_open && !member->commit.is_sent) {
        send_commit(member);
    }
}

static void on_sync(void *ctx, const struct link_outcome *outcome)
{
    struct member *member = ctx;
    const struct sync_group_response *response = outcome->response;
    if (!has_reply(member, outcome) || !is_served(member, response->error_code)) {
        return;
    }
    int error = response->error_code;
    if (error == KAFKA_NONE) {
        synced(member, response->assignment);
        return;
    }
    if (error != KAFKA_REBALANCE_IN_PROGRESS || is_settled(member)) {
        uncaused(member, error, "sync");
    }
    expelled(member, error);
}

/* ---- Beating ---- */

static void on_heartbeat(void *ctx, const struct link_outcome *outcome)
{
    struct member *member = ctx;
    const struct heartbeat_response *response = outcome->response;
    member->beats = false;
    if (!has_reply(member, outcome) || !is_served(member, response->error_code)) {
        return;
    }
    int error = response->error_code;
    if (error == KAFKA_NONE) {
        const struct watch_fault *fault = watch_last_fault(watch_of(member));
        bool is_first = fault != NULL && is_settled(member) && member->heard_ns < fault->at_ns;
        watch_heartbeat(watch_of(member), outcome->sent_ns, link_opened_ns(member->link), is_first);
        member->heard_ns = uv_hrtime();
        return;
    }
    if (member->phase != MEMBER_STABLE) {
        return; /* it crossed a rejoin */
    }
    if (error != KAFKA_REBALANCE_IN_PROGRESS || is_settled(member)) {
        uncaused(member, error, "heartbeat");
    }
    expelled(member, error);
}

static void send_heartbeat(struct member *member)
{
    member->beats = true;
    requests_heartbeat(member, on_heartbeat);
}

static void on_beat_due(uv_timer_t *timer)
{
    struct member *member = timer->data;
    after(member, crowd_of(member)->options.heartbeat_ms, on_beat_due);
    if (!member->beats) {
        send_heartbeat(member);
    }
}

/* ---- Committing ---- */

static void refused_commit(struct member *member, int error)
{
    bool is_over = error == KAFKA_ILLEGAL_GENERATION || error == KAFKA_REBALANCE_IN_PROGRESS;
    if (is_over && !is_settled(member)) {
        watch_of(member)->commits_fenced++;
    } else {
        uncaused(member, error, "commit");
    }
    member->commit.is_open = false;
}

static void on_commit(void *ctx, const struct link_outcome *outcome)
{
    struct member *member = ctx;
    const struct offset_commit_response *response = outcome->response;
    member->commit.is_sent = false;
    if (!has_reply(member, outcome)) {
        return;
    }
    ensure(response->topics_count == 1 && response->topics[0].partitions_count == 1);
    int error = response->topics[0].partitions[0].error_code;
    if (error == KAFKA_REQUEST_TIMED_OUT) {
        lose(member, LINK_REPLY); /* outcome unknown: again, as after a timeout of our own */
        return;
    }
    if (!is_served(member, error)) {
        return;
    }
    struct member_commit *commit = &member->commit;
    if (error != KAFKA_NONE) {
        refused_commit(member, error);
        return;
    }
    struct crowd_offset *offset = &member->group->offsets[commit->partition];
    if (commit->offset > offset->acked) {
        offset->acked = commit->offset;
    }
    commit->is_open = false;
    watch_commit(watch_of(member), commit->begun_ns, link_opened_ns(member->link));
}

static void send_commit(struct member *member)
{
    member->commit.is_sent = true;
    requests_commit(member, on_commit);
}

bool member_commit(struct member *member)
{
    struct member_commit *commit = &member->commit;
    if (member->phase != MEMBER_STABLE || commit->is_open || member->partitions_count == 0) {
        return false;
    }
    unsigned pick = crowd_chance(crowd_of(member), (unsigned)member->partitions_count);
    commit->partition = member->partitions[pick];
    commit->offset = ++member->group->offsets[commit->partition].attempted;
    commit->generation = member->generation;
    commit->begun_ns = uv_hrtime();
    commit->is_open = true;
    if (member->link != NULL) {
        send_commit(member);
    }
    return true;
}

/* ---- Leaving ---- */

static void on_leave(void *ctx, const struct link_outcome *outcome)
{
    struct member *member = ctx;
    const struct leave_group_response *response = outcome->response;
    if (!has_reply(member, outcome) || !is_served(member, response->error_code)) {
        return;
    }
    drop_link(member, LINK_REPLY);
    uv_timer_stop(&member->timer);
    member->commit.is_open = false;
    member->id_len = 0;
    set_phase(member, MEMBER_AWAY);
}

/* ---- The way on ---- */

static void resume(struct member *member)
{
    send_heartbeat(member);
    after(member, crowd_of(member)->options.heartbeat_ms, on_beat_due);
    if (member->commit.is_open && member->commit.generation == member->generation) {
        send_commit(member);
    }
}

/* Sends what the phase asks for over a link that is there. */
static void proceed(struct member *member)
{
    switch (member->phase) {
        case MEMBER_JOINING:
            watch_of(member)->joins++;
            requests_join(member, on_join);
            break;
        case MEMBER_SYNCING:
            requests_sync(member, on_sync);
            break;
        case MEMBER_STABLE:
            resume(member);
            break;
        case MEMBER_LEAVING:
            requests_leave(member, on_leave);
            break;
        case MEMBER_DELAYING:
        case MEMBER_AWAY:
            break;
    }
}

void member_init(struct member *member, struct crowd_group *group, int number)
{
    *member = (struct member){
        .group = group,
        .number = number,
        .generation = -1,
        .backoff_ms = group->crowd->options.backoff_min_ms,
    };
    uv_timer_init(group->crowd->loop, &member->timer);
    member->timer.data = member;
}

void member_start(struct member *member)
{
    ensure(member->phase == MEMBER_AWAY && member->link == NULL);
    member->id_len = 0;
    set_phase(member, MEMBER_JOINING);
    find(member);
}

void member_leave(struct member *member)
{
    ensure(member->phase == MEMBER_STABLE);
    set_phase(member, MEMBER_LEAVING);
    if (member->link != NULL) {
        uv_timer_stop(&member->timer);
        proceed(member);
    }
}

void member_park(struct member *member)
{
    ensure(member->phase == MEMBER_STABLE);
    uv_timer_stop(&member->timer);
    if (member->link != NULL && !member->beats && !member->commit.is_sent) {
        directory_give_link(&crowd_of(member)->directory, member->link);
    } else if (member->link != NULL) {
        link_close(member->link);
    }
    member->link = NULL;
}
