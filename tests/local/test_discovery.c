/* FindCoordinator, DescribeCluster and the brokers of Metadata: who is told to clients. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "leaks.h"
#include "server/local_parts.h"

static struct fixture f;

static void open_three_nodes(void)
{
    fixture_init(&f);
    for (uint64_t id = 3; id >= 1; id--) {
        fixture_node(&f, id, NULL);
    }
}

static void close_and_check(void)
{
    fixture_close(&f);
    leaks_abort();
}

TestSuite(discovery, .init = open_three_nodes, .fini = close_and_check);

static const struct metadata_response *ask_metadata(int16_t version)
{
    return fixture_ask(&f, API_Metadata, version, &(struct metadata_request){.topics_count = 0});
}

static const struct find_coordinator_response *ask_one(int16_t version, int8_t type)
{
    return fixture_ask(
        &f, API_FindCoordinator, version,
        &(struct find_coordinator_request){.key = SPAN_LITERAL("g"), .key_type = type});
}

static const struct find_coordinator_response_coordinator *ask_batch(int16_t version, int8_t type)
{
    struct span keys[] = {SPAN_LITERAL("a"), SPAN_EMPTY};
    const struct find_coordinator_response *response =
        fixture_ask(&f, API_FindCoordinator, version,
                    &(struct find_coordinator_request){
                        .key_type = type, .coordinator_keys = keys, .coordinator_keys_count = 2});
    cr_assert_eq(response->coordinators_count, 2);
    cr_assert(span_equal(response->coordinators[0].key, keys[0]));
    cr_assert(span_equal(response->coordinators[1].key, keys[1]));
    return response->coordinators;
}

Test(discovery, every_node_is_a_broker_in_order_of_ids)
{
    for (int16_t version = 0; version <= 13; version++) {
        const struct metadata_response *response = ask_metadata(version);
        cr_assert_eq(response->brokers_count, 3);
        for (int32_t i = 0; i < 3; i++) {
            cr_assert_eq(response->brokers[i].node_id, i + 1);
            cr_assert_eq(response->brokers[i].port, FIXTURE_PORT);
        }
        cr_assert(span_equal(response->brokers[1].host, SPAN_LITERAL("host2")));
        cr_assert_eq(response->controller_id, version >= 1 ? 1 : -1);
    }
}

Test(discovery, the_cluster_id_and_racks_are_told)
{
    const struct metadata_response *response = ask_metadata(12);
    cr_assert(span_equal(response->cluster_id, SPAN_LITERAL("cluster")));
    cr_assert(span_equal(response->brokers[0].rack, SPAN_LITERAL("rack")));
    cr_assert_eq(ask_metadata(10)->cluster_authorized_operations, INT32_MIN);
}

Test(discovery, a_node_of_other_listeners_is_no_broker)
{
    fixture_node(&f, 4, "INTERNAL");
    cr_assert_eq(ask_metadata(12)->brokers_count, 3);
    f.ctx.listener = SPAN_LITERAL("INTERNAL");
    const struct metadata_response *response = ask_metadata(12);
    cr_assert_eq(response->brokers_count, 1);
    cr_assert_eq(response->brokers[0].node_id, 4);
    cr_assert_eq(response->controller_id, -1, "the leader has no such listener");
}

Test(discovery, no_controller_while_nobody_leads)
{
    f.ctx.leader_id = 0;
    cr_assert_eq(ask_metadata(12)->controller_id, -1);
}

Test(discovery, a_node_that_is_not_registered_yet_tells_its_own_card)
{
    struct node_listener listener = {SPAN_LITERAL("PLAINTEXT"), SPAN_LITERAL("mine"), 1};
    struct node self = {.id = 2, .listeners = &listener, .listeners_count = 1};
    struct fixture fresh;
    fixture_init(&fresh);
    fresh.ctx.self = &self;
    fresh.ctx.leader_id = 0;
    const struct metadata_response *response =
        fixture_ask(&fresh, API_Metadata, 12, &(struct metadata_request){.topics_count = 0});
    cr_assert_eq(response->brokers_count, 1);
    cr_assert_eq(response->brokers[0].node_id, 2);
    cr_assert(span_equal(response->brokers[0].host, SPAN_LITERAL("mine")));
    fixture_node(&fresh, 1, NULL);
    fixture_node(&fresh, 3, NULL);
    response = fixture_ask(&fresh, API_Metadata, 12, &(struct metadata_request){.topics_count = 0});
    cr_assert_eq(response->brokers_count, 3);
    cr_assert_eq(response->brokers[1].node_id, 2);
    fixture_node(&fresh, 2, NULL);
    response = fixture_ask(&fresh, API_Metadata, 12, &(struct metadata_request){.topics_count = 0});
    cr_assert_eq(response->brokers_count, 3);
    cr_assert(span_equal(response->brokers[1].host, SPAN_LITERAL("host2")), "the registry wins");
    fixture_close(&fresh);
}

Test(discovery, metadata_is_never_without_brokers)
{
    struct fixture fresh;
    fixture_init(&fresh);
    cr_assert_null(
        fixture_ask(&fresh, API_Metadata, 12, &(struct metadata_request){.topics_count = 0}));
    cr_assert(fresh.reply.close);
    fixture_close(&fresh);
}

Test(discovery, the_leader_coordinates_every_group)
{
    f.ctx.leader_id = 2;
    for (int16_t version = 0; version <= 3; version++) {
        const struct find_coordinator_response *one = ask_one(version, 0);
        cr_assert_eq(one->error_code, 0);
        cr_assert_eq(one->node_id, 2);
        cr_assert(span_equal(one->host, SPAN_LITERAL("host2")));
        cr_assert_eq(one->port, FIXTURE_PORT);
    }
    for (int16_t version = 4; version <= 6; version++) {
        const struct find_coordinator_response_coordinator *two = ask_batch(version, 0);
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(two[i].error_code, 0);
            cr_assert_eq(two[i].node_id, 2);
            cr_assert(span_is_null(two[i].error_message));
        }
    }
}

static void assert_unavailable(void)
{
    const struct find_coordinator_response *one = ask_one(3, 0);
    cr_assert_eq(one->error_code, KAFKA_COORDINATOR_NOT_AVAILABLE);
    cr_assert_eq(one->node_id, -1);
    cr_assert_eq(one->port, -1);
    cr_assert_eq(one->host.len, 0);
    const struct find_coordinator_response_coordinator *two = ask_batch(4, 0);
    cr_assert_eq(two[1].error_code, KAFKA_COORDINATOR_NOT_AVAILABLE);
    cr_assert_eq(two[1].node_id, -1);
    cr_assert_gt(two[1].error_message.len, 0);
}

Test(discovery, no_coordinator_while_nobody_leads)
{
    f.ctx.leader_id = 0;
    assert_unavailable();
}

Test(discovery, a_leader_that_nobody_can_reach_is_no_coordinator)
{
    f.ctx.leader_id = 9;
    assert_unavailable();
    fixture_node(&f, 9, "INTERNAL");
    assert_unavailable();
}

Test(discovery, transactions_have_no_coordinator)
{
    cr_assert_eq(ask_one(1, 1)->error_code, KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    cr_assert_gt(ask_one(1, 1)->error_message.len, 0);
    const struct find_coordinator_response_coordinator *two = ask_batch(6, 1);
    cr_assert_eq(two[1].error_code, KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    cr_assert_gt(two[1].error_message.len, 0);
    cr_assert_str_eq(f.hint_event, "transaction_refused");
}

Test(discovery, keys_of_other_types_are_invalid)
{
    cr_assert_eq(ask_one(3, 2)->error_code, KAFKA_INVALID_REQUEST);
    cr_assert_eq(ask_batch(6, 2)[0].error_code, KAFKA_INVALID_REQUEST);
    cr_assert_eq(ask_batch(6, -1)[0].error_code, KAFKA_INVALID_REQUEST);
}

Test(discovery, a_batch_has_a_limit)
{
    static struct span keys[LOCAL_COORDINATOR_KEYS_MAX + 1];
    for (int32_t i = 0; i <= LOCAL_COORDINATOR_KEYS_MAX; i++) {
        keys[i] = SPAN_LITERAL("g");
    }
    const struct find_coordinator_response *response = fixture_ask(
        &f, API_FindCoordinator, 4,
        &(struct find_coordinator_request){
            .coordinator_keys = keys, .coordinator_keys_count = LOCAL_COORDINATOR_KEYS_MAX + 1});
    cr_assert_eq(response->coordinators[LOCAL_COORDINATOR_KEYS_MAX - 1].error_code, 0);
    cr_assert_eq(response->coordinators[LOCAL_COORDINATOR_KEYS_MAX].error_code,
                 KAFKA_INVALID_REQUEST);
}

Test(discovery, describe_cluster_names_the_brokers)
{
    for (int16_t version = 0; version <= 2; version++) {
        const struct describe_cluster_response *response =
            fixture_ask(&f, API_DescribeCluster, version,
                        &(struct describe_cluster_request){.endpoint_type = 1});
        cr_assert_eq(response->error_code, 0);
        cr_assert(span_equal(response->cluster_id, SPAN_LITERAL("cluster")));
        cr_assert_eq(response->controller_id, 1);
        cr_assert_eq(response->brokers_count, 3);
        cr_assert_eq(response->brokers[2].broker_id, 3);
        cr_assert(span_equal(response->brokers[2].host, SPAN_LITERAL("host3")));
        cr_assert_not(response->brokers[2].is_fenced);
    }
}

Test(discovery, describe_cluster_knows_brokers_only)
{
    const struct describe_cluster_response *response = fixture_ask(
        &f, API_DescribeCluster, 1, &(struct describe_cluster_request){.endpoint_type = 2});
    cr_assert_eq(response->error_code, KAFKA_MISMATCHED_ENDPOINT_TYPE);
    cr_assert_eq(response->brokers_count, 0);
    response = fixture_ask(&f, API_DescribeCluster, 1,
                           &(struct describe_cluster_request){.endpoint_type = 3});
    cr_assert_eq(response->error_code, KAFKA_UNSUPPORTED_ENDPOINT_TYPE);
}
