#include "tests/sim/clients/loner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "tests/sim/clients/odd.h"
#include "tests/sim/clients/worker.h"
#include "tests/sim/oracle/machine.h"

static void answered(struct life *life, struct message *message, const void *response)
{
    struct loner *loner = message->owner;
    (void)life;
    if (response == NULL) { /* the oracle has looked at it otherwise */
        finder_forget(&loner->finder);
    }
}

static struct message *new_message(struct loner *loner, int16_t key)
{
    const struct api *api = api_find(key);
    char client[TEXT];
    snprintf(client, sizeof client, "x%d", loner->number);
    int16_t version =
        (int16_t)chance_between(&loner->life->chance, api->min_version, api->max_version);
    return message_new(loner->life, &loner->lane, key, version, client);
}

/* A group of members or a simple one. */
static void some_group(struct loner *loner, char text[TEXT])
{
    struct life *life = loner->life;
    bool is_simple = chance_in(&life->chance, 600);
    snprintf(text, TEXT, is_simple ? "s%d" : "g%d",
             (int)chance_below(&life->chance, is_simple ? 3 : life->options.groups));
}

static void some_topic(struct loner *loner, char text[TEXT])
{
    snprintf(text, TEXT, "t%d", (int)chance_below(&loner->life->chance, TOPICS));
}

/* ---- Simple consumers ---- */

static void be_simple(struct loner *loner)
{
    struct life *life = loner->life;
    char group[TEXT];
    some_group(loner, group);
    if (chance_in(&life->chance, 600)) {
        for (int64_t n = chance_between(&life->chance, 1, 4); n > 0; n--) {
            worker_commit(life, &loner->lane, (int16_t)chance_between(&life->chance, 1, 10),
                          "simple", group, -1, "", NULL, answered, loner);
        }
    } else {
        worker_fetch(life, &loner->lane, (int16_t)chance_between(&life->chance, 1, 10), "simple",
                     group, answered, loner);
    }
}

/* ---- Operators ---- */

static void create_topic(struct loner *loner, const char *name)
{
    struct message *message = new_message(loner, API_CreateTopics);
    struct create_topics_request_topic topic;
    struct create_topics_request request;
    codec_set_defaults(create_topics_request_topic_schema(), &topic);
    codec_set_defaults(create_topics_request_schema(), &request);
    topic.name = span_from_cstr(name);
    topic.num_partitions = (int32_t)chance_between(&loner->life->chance, 3, 6);
    topic.replication_factor = -1;
    request.topics = &topic;
    request.topics_count = 1;
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void delete_topic(struct loner *loner, const char *name)
{
    struct message *message = new_message(loner, API_DeleteTopics);
    struct delete_topics_request_topic topic;
    struct delete_topics_request request;
    struct span names[] = {span_from_cstr(name)};
    codec_set_defaults(delete_topics_request_topic_schema(), &topic);
    codec_set_defaults(delete_topics_request_schema(), &request);
    topic.name = names[0];
    request.topic_names = names;
    request.topic_names_count = 1;
    request.topics = &topic;
    request.topics_count = 1;
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void grow_topic(struct loner *loner, const char *name)
{
    struct message *message = new_message(loner, API_CreatePartitions);
    struct create_partitions_request_topic topic;
    struct create_partitions_request request;
    codec_set_defaults(create_partitions_request_topic_schema(), &topic);
    codec_set_defaults(create_partitions_request_schema(), &request);
    topic.name = span_from_cstr(name);
    topic.count = (int32_t)chance_between(&loner->life->chance, 3, 9);
    request.topics = &topic;
    request.topics_count = 1;
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void delete_offsets(struct loner *loner, const char *group, const char *topic_name)
{
    struct message *message = new_message(loner, API_OffsetDelete);
    struct offset_delete_request_partition partitions[2] = {{0}, {2}};
    struct offset_delete_request_topic topic = {
        .name = span_from_cstr(topic_name), .partitions = partitions, .partitions_count = 2};
    struct offset_delete_request request = {
        .group_id = span_from_cstr(group), .topics = &topic, .topics_count = 1};
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void delete_groups(struct loner *loner, const char *group)
{
    struct message *message = new_message(loner, API_DeleteGroups);
    struct span names[] = {span_from_cstr(group), SPAN_LITERAL("none")};
    struct delete_groups_request request = {.groups_names = names, .groups_names_count = 2};
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void describe(struct loner *loner, const char *group)
{
    struct message *message = new_message(loner, API_DescribeGroups);
    struct span names[] = {span_from_cstr(group), SPAN_LITERAL("none")};
    struct describe_groups_request request = {
        .groups = names, .groups_count = 2, .include_authorized_operations = true};
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void list(struct loner *loner)
{
    struct message *message = new_message(loner, API_ListGroups);
    struct span states[] = {SPAN_LITERAL("Stable"), SPAN_LITERAL("empty")};
    struct list_groups_request request = {
        .states_filter = states,
        .states_filter_count = (int32_t)chance_below(&loner->life->chance, 3)};
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void administer(struct loner *loner)
{
    struct life *life = loner->life;
    char group[TEXT];
    char topic[TEXT];
    some_group(loner, group);
    some_topic(loner, topic);
    if (chance_in(&life->chance, 150)) {
        odd_administer(life, &loner->lane, answered, loner);
        return;
    }
    switch (chance_below(&life->chance, 10)) {
        case 0:
            delete_topic(loner, topic);
            break;
        case 1:
        case 2:
            create_topic(loner, topic);
            break;
        case 3:
            grow_topic(loner, topic);
            break;
        case 4:
            delete_offsets(loner, group, topic);
            break;
        case 5:
            delete_groups(loner, group);
            break;
        case 6:
            describe(loner, group);
            break;
        case 7:
            list(loner);
            break;
        default:
            worker_fetch(life, &loner->lane, (int16_t)chance_between(&life->chance, 1, 10), "admin",
                         group, answered, loner);
    }
}

/* ---- Liars ---- */

/* Often an id that exists; where it is right in all points, it is that member's call. */
static void some_member(struct loner *loner, char text[TEXT])
{
    struct life *life = loner->life;
    const struct worker *worker = &life->workers[chance_below(&life->chance, WORKERS_MAX)];
    if (chance_in(&life->chance, 400)) {
        snprintf(text, TEXT, "%s", worker->member_id);
    } else if (chance_in(&life->chance, 300)) {
        text[0] = 0;
    } else {
        snprintf(text, TEXT, "liar-%d", (int)chance_below(&life->chance, 100));
    }
}

static struct span some_instance(struct loner *loner, char text[TEXT])
{
    snprintf(text, TEXT, "i%d", (int)chance_below(&loner->life->chance, WORKERS_MAX));
    return chance_in(&loner->life->chance, 300) ? span_from_cstr(text) : SPAN_NULL;
}

static void lie_sync(struct loner *loner, const char *group, const char *member, struct span own)
{
    struct message *message = new_message(loner, API_SyncGroup);
    int32_t generation = (int32_t)chance_below(&loner->life->chance, 40) - 2;
    struct sync_group_request request = {
        .group_id = span_from_cstr(group),
        .generation_id = generation,
        .member_id = span_from_cstr(member),
        .group_instance_id = own,
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocol_name = chance_in(&loner->life->chance, 500) ? SPAN_LITERAL("range") : SPAN_NULL,
    };
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void lie_beat(struct loner *loner, const char *group, const char *member, struct span own)
{
    struct message *message = new_message(loner, API_Heartbeat);
    struct heartbeat_request request = {
        .group_id = span_from_cstr(group),
        .generation_id = (int32_t)chance_below(&loner->life->chance, 40) - 2,
        .member_id = span_from_cstr(member),
        .group_instance_id = own,
    };
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void lie_leave(struct loner *loner, const char *group, const char *member, struct span own)
{
    struct message *message = new_message(loner, API_LeaveGroup);
    struct leave_group_request_member members[] = {
        {.member_id = span_from_cstr(member), .group_instance_id = own, .reason = SPAN_NULL}};
    struct leave_group_request request = {
        .group_id = span_from_cstr(group),
        .member_id = members[0].member_id,
        .members = members,
        .members_count = 1,
    };
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void lie_join(struct loner *loner, const char *group, const char *member, struct span own)
{
    struct message *message = new_message(loner, API_JoinGroup);
    struct join_group_request_protocol protocols[] = {
        {.name = SPAN_LITERAL("range"), .metadata = SPAN_LITERAL("nothing")}};
    int32_t session_ms = (int32_t)chance_between(&loner->life->chance, 5000, 9000);
    int32_t rebalance_ms = (int32_t)chance_between(&loner->life->chance, -1, 6000);
    struct join_group_request request = {
        .group_id = span_from_cstr(group),
        .session_timeout_ms = session_ms,
        .rebalance_timeout_ms = rebalance_ms,
        .member_id = span_from_cstr(member),
        .group_instance_id = own,
        .protocol_type = SPAN_LITERAL("consumer"),
        .protocols = protocols,
        .protocols_count = (int32_t)chance_below(&loner->life->chance, 2),
    };
    message_send(loner->life, message, &request, answered, loner, 0);
}

static void lie_commit(struct loner *loner, const char *group, const char *member, const char *own)
{
    struct life *life = loner->life;
    int16_t version = (int16_t)chance_between(&life->chance, 1, 10);
    int32_t generation = (int32_t)chance_below(&life->chance, 40) - 2;
    worker_commit(life, &loner->lane, version, "liar", group, generation, member, own, answered,
                  loner);
}

static void lie(struct loner *loner)
{
    struct life *life = loner->life;
    char group[TEXT];
    char member[TEXT];
    char own[TEXT];
    some_group(loner, group);
    some_member(loner, member);
    struct span instance = some_instance(loner, own);
    if (chance_in(&life->chance, 50)) {
        odd_join(life, &loner->lane, answered, loner);
        return;
    }
    switch (chance_below(&life->chance, 16)) {
        case 0:
            lie_leave(loner, group, member, instance);
            break;
        case 1:
            lie_join(loner, group, member, instance);
            break;
        case 2:
        case 3:
        case 4:
        case 5:
            lie_sync(loner, group, member, instance);
            break;
        case 6:
        case 7:
        case 8:
        case 9:
            lie_beat(loner, group, member, instance);
            break;
        default:
            lie_commit(loner, group, member, span_is_null(instance) ? NULL : own);
    }
}

/* ---- A probe ---- */

static void probe_committed(struct life *life, struct message *message, const void *response)
{
    struct loner *loner = message->owner;
    if (response == NULL || lane_is_busy(&loner->other)) {
        return;
    }
    if (loner->other.machine >= 0) {
        lane_break(life, &loner->other);
    }
    lane_open(life, &loner->other, loner->old_leader);
    worker_fetch(life, &loner->other, 8, "probe", "s0", answered, loner);
}

void loner_probe(struct loner *loner, int old_leader, int leader)
{
    struct life *life = loner->life;
    if (lane_is_busy(&loner->lane)) {
        return;
    }
    if (loner->lane.machine >= 0) {
        lane_break(life, &loner->lane);
    }
    loner->old_leader = old_leader;
    lane_open(life, &loner->lane, leader);
    worker_commit(life, &loner->lane, 8, "probe", "s0", -1, "", NULL, probe_committed, loner);
}

/* ---- All ---- */

/* [is_tired]: it asks again who leads. */
static bool is_connected(struct loner *loner, bool is_tired)
{
    struct life *life = loner->life;
    if (is_tired) {
        finder_forget(&loner->finder);
        if (loner->lane.machine >= 0) {
            lane_break(life, &loner->lane);
        }
    }
    if (loner->lane.machine >= 0) {
        return true;
    }
    int machine = finder_leader(life, &loner->finder);
    if (machine >= 0) {
        lane_open(life, &loner->lane, machine);
    }
    return machine >= 0;
}

static void wake(struct life *life, void *who, uint64_t what)
{
    struct loner *loner = who;
    bool is_done = life->is_over || (life->stage != STAGE_CHAOS && loner->kind != LONER_SIMPLE);
    (void)what;
    if (is_done) {
        return;
    }
    events_add(life, life->now_ms + chance_between(&life->chance, 50, 2000), wake, loner, 0);
    if (lane_is_busy(&loner->lane)) {
        return;
    }
    if (!is_connected(loner, chance_in(&life->chance, 100))) {
        return;
    }
    switch (loner->kind) {
        case LONER_SIMPLE:
            be_simple(loner);
            break;
        case LONER_ADMIN:
            administer(loner);
            break;
        case LONER_LIAR:
            lie(loner);
            break;
    }
}

/* Commits that nothing but the cluster itself can refuse. */
/* Unlike the others he is no fool: whoever is not the coordinator is not asked again. */
static void proved(struct life *life, struct message *message, const void *answer)
{
    struct loner *loner = message->owner;
    const struct offset_commit_response *response = answer;
    answered(life, message, answer);
    if (response != NULL && response->topics[0].partitions[0].error_code == KAFKA_NOT_COORDINATOR) {
        finder_forget(&loner->finder);
        lane_break(life, &loner->lane);
    }
}

static void prove(struct life *life, void *who, uint64_t end_ms)
{
    struct loner *loner = who;
    if ((uint64_t)life->now_ms > end_ms || life->is_over) {
        return;
    }
    if (is_connected(loner, chance_in(&life->chance, 100)) && !lane_is_busy(&loner->lane)) {
        worker_commit(life, &loner->lane, 8, "prover", "p0", -1, "", NULL, proved, loner);
    }
    events_add(life, life->now_ms + 250, prove, loner, end_ms);
}

void loners_prove(struct life *life, int64_t ms)
{
    prove(life, &life->loners[LONERS_MAX - 1], (uint64_t)(life->now_ms + ms));
}

static void declare(struct life *life, void *who, uint64_t what)
{
    struct loner *loner = who;
    char name[TEXT];
    bool is_due = what < 4000 && !life->is_over;
    for (int i = 0; is_due && i < TOPICS; i++) {
        const struct state *state = coordinator_state(life->reference);
        snprintf(name, sizeof name, "t%d", i);
        if (state_topic(state, span_from_cstr(name)) != NULL) {
            continue;
        }
        if (is_connected(loner, what % 4 == 3)) {
            create_topic(loner, name);
        }
        events_add(life, life->now_ms + 150, declare, loner, what + 1);
        return;
    }
}

void loners_declare(struct life *life)
{
    /* By whoever asks first: without an operator there are none but these. */
    declare(life, &life->loners[LONERS_MAX - 1], 0);
}

void loners_init(struct life *life)
{
    const struct options *options = &life->options;
    int count = options->simples + options->admins + options->liars;
    ensure(count < LONERS_MAX);
    life->loners = calloc(LONERS_MAX, sizeof *life->loners);
    ensure(life->loners != NULL);
    for (int i = 0; i < count; i++) {
        struct loner *loner = &life->loners[i];
        loner->life = life;
        loner->number = i;
        loner->kind = i < options->simples                     ? LONER_SIMPLE
                      : i < options->simples + options->admins ? LONER_ADMIN
                                                               : LONER_LIAR;
        finder_init(life, &loner->finder, WORKERS_MAX + loner->number);
        lane_init(life, &loner->lane, WORKERS_MAX + loner->number, 20000);
        events_add(life, chance_below(&life->chance, 5000), wake, loner, 0);
    }
    struct loner *loner = &life->loners[LONERS_MAX - 1];
    loner->life = life;
    loner->number = LONERS_MAX - 1;
    finder_init(life, &loner->finder, WORKERS_MAX + loner->number);
    lane_init(life, &loner->lane, WORKERS_MAX + loner->number, 20000);
    lane_init(life, &loner->other, WORKERS_MAX + loner->number, 20000);
}

void loners_close(struct life *life)
{
    for (int i = 0; i < LONERS_MAX; i++) {
        finder_close(&life->loners[i].finder);
        lane_close(&life->loners[i].lane);
        lane_close(&life->loners[i].other);
    }
    free(life->loners);
    life->loners = NULL;
}
