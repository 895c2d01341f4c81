#include "tests/sim/clients/odd.h"

#include <stdio.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "tests/sim/oracle/machine.h"

enum { NAMED = 3, BYTES = 800000 };

static struct message *new_message(struct life *life, struct lane *lane, int16_t key)
{
    const struct api *api = api_find(key);
    int16_t version = (int16_t)chance_between(&life->chance, api->min_version, api->max_version);
    return message_new(life, lane, key, version, "odd");
}

/* Some that are used, some that are not, some that cannot be. */
static struct span some_name(struct life *life, struct message *message)
{
    static const char *const names[] = {"t0", "t1", "t2", "x0",  "x1",  "x1",  "x2",
                                        "",   ".",  "..", "a b", "a/b", "none"};
    if (chance_in(&life->chance, 50)) {
        char text[251];
        memset(text, 'n', sizeof text);
        return arena_copy(&message->arena, span_of(text, sizeof text));
    }
    return span_from_cstr(names[chance_below(&life->chance, 13)]);
}

static void create(struct life *life, struct lane *lane, message_fn *done, void *owner)
{
    static const int32_t counts[] = {-1, 1, 3, 0, -2, 100001, 5};
    struct message *message = new_message(life, lane, API_CreateTopics);
    struct create_topics_request_topic topics[NAMED];
    struct create_topics_request_assignment assignment = {0};
    struct create_topics_request_config config = {.name = SPAN_LITERAL("retention.ms"),
                                                  .value = SPAN_LITERAL("1")};
    struct create_topics_request request;
    codec_set_defaults(create_topics_request_schema(), &request);
    for (int i = 0; i < NAMED; i++) {
        codec_set_defaults(create_topics_request_topic_schema(), &topics[i]);
        topics[i].name = some_name(life, message);
        topics[i].num_partitions = counts[chance_below(&life->chance, 7)];
        topics[i].replication_factor = (int16_t)chance_between(&life->chance, -2, 6);
        topics[i].assignments = &assignment;
        topics[i].assignments_count = chance_in(&life->chance, 100);
        topics[i].configs = &config;
        topics[i].configs_count = chance_in(&life->chance, 100);
    }
    request.topics = topics;
    request.topics_count = NAMED;
    request.validate_only = chance_in(&life->chance, 300);
    message_send(life, message, &request, done, owner, 0);
}

static void grow(struct life *life, struct lane *lane, message_fn *done, void *owner)
{
    static const int32_t counts[] = {0, 2, 7, 100001, -1};
    struct message *message = new_message(life, lane, API_CreatePartitions);
    struct create_partitions_request_topic topics[NAMED];
    struct create_partitions_request_assignment assignment = {0};
    struct create_partitions_request request;
    codec_set_defaults(create_partitions_request_schema(), &request);
    for (int i = 0; i < NAMED; i++) {
        codec_set_defaults(create_partitions_request_topic_schema(), &topics[i]);
        topics[i].name = some_name(life, message);
        topics[i].count = counts[chance_below(&life->chance, 5)];
        topics[i].assignments = &assignment;
        topics[i].assignments_count = chance_in(&life->chance, 100);
    }
    request.topics = topics;
    request.topics_count = NAMED;
    request.validate_only = chance_in(&life->chance, 300);
    message_send(life, message, &request, done, owner, 0);
}

/* By name, by id, by both, by neither. */
static void erase(struct life *life, struct lane *lane, message_fn *done, void *owner)
{
    struct message *message = new_message(life, lane, API_DeleteTopics);
    struct delete_topics_request_topic topics[NAMED];
    struct span names[NAMED];
    struct delete_topics_request request;
    codec_set_defaults(delete_topics_request_schema(), &request);
    for (int i = 0; i < NAMED; i++) {
        codec_set_defaults(delete_topics_request_topic_schema(), &topics[i]);
        names[i] = chance_in(&life->chance, 700) ? SPAN_LITERAL("x1") : SPAN_LITERAL("none");
        const struct topic *topic = state_topic(coordinator_state(life->reference), names[i]);
        bool is_by_id = chance_in(&life->chance, 400);
        topics[i].name = is_by_id || chance_in(&life->chance, 100) ? SPAN_NULL : names[i];
        if (is_by_id && topic != NULL) {
            topics[i].topic_id = topic->uuid;
        } else if (is_by_id) {
            topics[i].topic_id.bytes[3] = 9;
        }
    }
    request.topic_names = names;
    request.topic_names_count = NAMED;
    request.topics = topics;
    request.topics_count = NAMED;
    message_send(life, message, &request, done, owner, 0);
}

static void delete_offsets(struct life *life, struct lane *lane, message_fn *done, void *owner)
{
    struct message *message = new_message(life, lane, API_OffsetDelete);
    struct offset_delete_request_partition partitions[] = {{0}, {0}, {99}, {-1}};
    struct offset_delete_request_topic topics[2];
    struct offset_delete_request request;
    codec_set_defaults(offset_delete_request_schema(), &request);
    for (int i = 0; i < 2; i++) {
        codec_set_defaults(offset_delete_request_topic_schema(), &topics[i]);
        topics[i].name = some_name(life, message);
        topics[i].partitions = partitions;
        topics[i].partitions_count = 4;
    }
    request.group_id = chance_in(&life->chance, 500) ? SPAN_LITERAL("s0") : SPAN_LITERAL("none");
    request.topics = topics;
    request.topics_count = 2;
    message_send(life, message, &request, done, owner, 0);
}

void odd_administer(struct life *life, struct lane *lane, message_fn *done, void *owner)
{
    switch (chance_below(&life->chance, 5)) {
        case 0:
        case 1:
            create(life, lane, done, owner);
            break;
        case 2:
            grow(life, lane, done, owner);
            break;
        case 3:
            erase(life, lane, done, owner);
            break;
        default:
            delete_offsets(life, lane, done, owner);
            break;
    }
}

/* ---- Members ---- */

static struct span long_text(struct message *message, size_t len)
{
    char *text = arena_alloc(&message->arena, len);
    memset(text, 'l', len);
    return span_of(text, len);
}

void odd_join(struct life *life, struct lane *lane, message_fn *done, void *owner)
{
    struct message *message = new_message(life, lane, API_JoinGroup);
    struct join_group_request_protocol protocols[40];
    struct join_group_request request;
    codec_set_defaults(join_group_request_schema(), &request);
    for (int i = 0; i < 40; i++) {
        codec_set_defaults(join_group_request_protocol_schema(), &protocols[i]);
        protocols[i].name = SPAN_LITERAL("range");
        protocols[i].metadata = SPAN_LITERAL("m");
    }
    request.group_id = SPAN_LITERAL("g0");
    request.session_timeout_ms = life->options.session_ms;
    request.rebalance_timeout_ms = life->options.rebalance_ms;
    request.protocol_type = SPAN_LITERAL("consumer");
    request.protocols = protocols;
    request.protocols_count = 1;
    switch (chance_below(&life->chance, 7)) {
        case 0:
            request.group_id = chance_in(&life->chance, 500) ? SPAN_EMPTY : long_text(message, 300);
            break;
        case 1:
            request.session_timeout_ms = chance_in(&life->chance, 500) ? 1 : INT32_MAX;
            break;
        case 2:
            request.protocol_type =
                chance_in(&life->chance, 500) ? SPAN_EMPTY : long_text(message, 70);
            break;
        case 3:
            request.protocols_count = chance_in(&life->chance, 500) ? 0 : 40;
            break;
        case 4:
            request.group_instance_id = long_text(message, 300);
            request.protocols_count = message->call.api_version < 5 ? 0 : 1;
            break;
        case 5:
            protocols[0].metadata = long_text(message, BYTES);
            break;
        default:
            request.member_id = SPAN_LITERAL("nobody");
            break;
    }
    message_send(life, message, &request, done, owner, 0);
}
