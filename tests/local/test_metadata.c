/* The topics of Metadata: protocol B.3, D.2 and R20. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "leaks.h"

static struct fixture f;

static void open_cluster(void)
{
    fixture_init(&f);
    fixture_node(&f, 1, NULL);
    fixture_node(&f, 2, NULL);
    fixture_topic(&f, "jobs", 3, 7);
    fixture_topic(&f, "mail", 1, 8);
}

static void close_and_check(void)
{
    fixture_close(&f);
    leaks_abort();
}

TestSuite(metadata, .init = open_cluster, .fini = close_and_check);

static const struct metadata_response *ask(int16_t version,
                                           struct metadata_request_topic *topics,
                                           int32_t count)
{
    return fixture_ask(&f, API_Metadata, version,
                       &(struct metadata_request){.topics = topics, .topics_count = count});
}

static const struct metadata_response_topic *ask_one(int16_t version,
                                                     struct span name,
                                                     struct uuid id)
{
    struct metadata_request_topic topic = {.name = name, .topic_id = id};
    const struct metadata_response *response = ask(version, &topic, 1);
    cr_assert_eq(response->topics_count, 1);
    return response->topics;
}

static const struct uuid no_id;

Test(metadata, every_partition_is_led_by_the_leader_at_epoch_0)
{
    f.ctx.leader_id = 2;
    for (int16_t version = 0; version <= 13; version++) {
        const struct metadata_response_topic *topic = ask_one(version, SPAN_LITERAL("jobs"), no_id);
        cr_assert_eq(topic->error_code, 0);
        cr_assert(span_equal(topic->name, SPAN_LITERAL("jobs")));
        cr_assert_not(topic->is_internal);
        cr_assert_eq(topic->partitions_count, 3);
        for (int32_t p = 0; p < 3; p++) {
            cr_assert_eq(topic->partitions[p].error_code, 0);
            cr_assert_eq(topic->partitions[p].partition_index, p);
            cr_assert_eq(topic->partitions[p].leader_id, 2);
            cr_assert_eq(topic->partitions[p].leader_epoch, version >= 7 ? 0 : -1);
            cr_assert_eq(topic->partitions[p].replica_nodes_count, 2);
            cr_assert_eq(topic->partitions[p].replica_nodes[1], 2);
            cr_assert_eq(topic->partitions[p].isr_nodes_count, 2);
            cr_assert_eq(topic->partitions[p].offline_replicas_count, 0);
        }
        cr_assert_eq(topic->topic_authorized_operations, INT32_MIN);
        if (version >= 10) {
            cr_assert(uuid_equal(topic->topic_id, fixture_uuid(7)));
        }
    }
}

Test(metadata, without_a_leader_partitions_say_so)
{
    f.ctx.leader_id = 0;
    const struct metadata_response_topic *topic = ask_one(12, SPAN_LITERAL("jobs"), no_id);
    cr_assert_eq(topic->error_code, 0);
    cr_assert_eq(topic->partitions_count, 3);
    cr_assert_eq(topic->partitions[2].error_code, KAFKA_LEADER_NOT_AVAILABLE);
    cr_assert_eq(topic->partitions[2].leader_id, -1);
    cr_assert_eq(topic->partitions[2].leader_epoch, 0);
}

Test(metadata, a_leader_without_the_listener_is_said_from_v6_on)
{
    fixture_node(&f, 3, "INTERNAL");
    f.ctx.leader_id = 3;
    cr_assert_eq(ask_one(5, SPAN_LITERAL("jobs"), no_id)->partitions[0].error_code,
                 KAFKA_LEADER_NOT_AVAILABLE);
    cr_assert_eq(ask_one(6, SPAN_LITERAL("jobs"), no_id)->partitions[0].error_code,
                 KAFKA_LISTENER_NOT_FOUND);
    cr_assert_eq(ask_one(6, SPAN_LITERAL("jobs"), no_id)->partitions[0].replica_nodes_count, 3);
}

Test(metadata, all_topics_are_an_empty_list_in_v0_and_null_later)
{
    cr_assert_eq(ask(0, NULL, 0)->topics_count, 2);
    for (int16_t version = 1; version <= 13; version++) {
        cr_assert_eq(ask(version, NULL, 0)->topics_count, 0);
        const struct metadata_response *all = ask(version, NULL, -1);
        cr_assert_eq(all->topics_count, 2);
        cr_assert(span_equal(all->topics[0].name, SPAN_LITERAL("jobs")));
        cr_assert(span_equal(all->topics[1].name, SPAN_LITERAL("mail")));
        cr_assert_eq(all->topics[1].partitions_count, 1);
    }
    cr_assert_eq(f.hints, 0);
}

Test(metadata, an_undeclared_topic_is_an_error_and_a_hint)
{
    const struct metadata_response_topic *topic = ask_one(12, SPAN_LITERAL("other"), no_id);
    cr_assert_eq(topic->error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    cr_assert(span_equal(topic->name, SPAN_LITERAL("other")));
    cr_assert(uuid_is_zero(topic->topic_id));
    cr_assert_eq(topic->partitions_count, 0);
    cr_assert_eq(f.hints, 1);
    cr_assert_str_eq(f.hint_event, "topic_not_declared");
    cr_assert_str_eq(f.hint_key, "other");
}

Test(metadata, an_illegal_name_is_invalid)
{
    cr_assert_eq(ask_one(9, SPAN_LITERAL("a/b"), no_id)->error_code, KAFKA_INVALID_TOPIC_EXCEPTION);
    cr_assert_eq(ask_one(9, SPAN_LITERAL(""), no_id)->error_code, KAFKA_INVALID_TOPIC_EXCEPTION);
    cr_assert_eq(ask_one(9, SPAN_LITERAL(".."), no_id)->error_code, KAFKA_INVALID_TOPIC_EXCEPTION);
    cr_assert_eq(f.hints, 0);
}

Test(metadata, from_v12_on_topics_are_found_by_id)
{
    for (int16_t version = 12; version <= 13; version++) {
        const struct metadata_response_topic *topic = ask_one(version, SPAN_NULL, fixture_uuid(8));
        cr_assert_eq(topic->error_code, 0);
        cr_assert(span_equal(topic->name, SPAN_LITERAL("mail")));
        cr_assert_eq(topic->partitions_count, 1);
        topic = ask_one(version, SPAN_NULL, fixture_uuid(9));
        cr_assert_eq(topic->error_code, KAFKA_UNKNOWN_TOPIC_ID);
        cr_assert(span_is_null(topic->name));
        cr_assert(uuid_equal(topic->topic_id, fixture_uuid(9)));
    }
}

Test(metadata, v10_and_v11_take_names_only)
{
    for (int16_t version = 10; version <= 11; version++) {
        cr_assert_eq(ask_one(version, SPAN_LITERAL("jobs"), no_id)->error_code, 0);
        cr_assert_eq(ask_one(version, SPAN_NULL, fixture_uuid(8))->error_code,
                     KAFKA_INVALID_REQUEST);
        cr_assert_eq(ask_one(version, SPAN_LITERAL("jobs"), fixture_uuid(7))->error_code,
                     KAFKA_INVALID_REQUEST);
        cr_assert_eq(ask_one(version, SPAN_NULL, no_id)->error_code, KAFKA_INVALID_REQUEST);
    }
    cr_assert_eq(ask_one(12, SPAN_NULL, no_id)->error_code, KAFKA_INVALID_REQUEST);
}

Test(metadata, a_topic_asked_for_twice_is_answered_once)
{
    struct metadata_request_topic topics[] = {
        {.name = SPAN_LITERAL("mail")}, {.name = SPAN_LITERAL("jobs")},
        {.name = SPAN_LITERAL("mail")}, {.topic_id = fixture_uuid(8)},
        {.name = SPAN_LITERAL("jobs")}, {.topic_id = fixture_uuid(8)},
    };
    const struct metadata_response *response = ask(12, topics, 6);
    cr_assert_eq(response->topics_count, 3);
    cr_assert(span_equal(response->topics[0].name, SPAN_LITERAL("mail")));
    cr_assert(span_equal(response->topics[1].name, SPAN_LITERAL("jobs")));
    cr_assert(uuid_equal(response->topics[2].topic_id, fixture_uuid(8)));
}
