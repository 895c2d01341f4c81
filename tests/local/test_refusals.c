/* Produce, InitProducerId, TxnOffsetCommit: refused so that a user reads why. And DescribeConfigs.
 */
#include <criterion/criterion.h>

#include "fixture.h"
#include "leaks.h"
#include "server/local_parts.h"

static struct fixture f;

static void open_cluster(void)
{
    fixture_init(&f);
    fixture_node(&f, 1, NULL);
    fixture_node(&f, 2, NULL);
    fixture_node(&f, 3, NULL);
    fixture_topic(&f, "jobs", 3, 7);
}

static void close_and_check(void)
{
    fixture_close(&f);
    leaks_abort();
}

TestSuite(refusals, .init = open_cluster, .fini = close_and_check);

/* ---- Produce ---- */

static const struct produce_response *produce(int16_t version, int16_t acks, int32_t partitions)
{
    struct produce_request_partition *data =
        arena_alloc(&f.arena, (size_t)partitions * sizeof *data);
    for (int32_t i = 0; i < partitions; i++) {
        data[i] = (struct produce_request_partition){.index = i, .records = SPAN_LITERAL("bytes")};
    }
    struct produce_request_topic topic = {.name = SPAN_LITERAL("jobs"),
                                          .topic_id = fixture_uuid(7),
                                          .partition_data = data,
                                          .partition_data_count = partitions};
    return fixture_ask(
        &f, API_Produce, version,
        &(struct produce_request){.acks = acks, .topic_data = &topic, .topic_data_count = 1});
}

Test(refusals, produce_says_why)
{
    for (int16_t version = 0; version <= 13; version++) {
        const struct produce_response *response = produce(version, -1, 2);
        cr_assert_eq(response->responses_count, 1);
        cr_assert_eq(response->responses[0].partition_responses_count, 2);
        if (version >= 13) {
            cr_assert(uuid_equal(response->responses[0].topic_id, fixture_uuid(7)));
        } else {
            cr_assert(span_equal(response->responses[0].name, SPAN_LITERAL("jobs")));
        }
        const struct produce_response_partition *partition =
            &response->responses[0].partition_responses[1];
        cr_assert_eq(partition->index, 1);
        cr_assert_eq(partition->error_code, KAFKA_POLICY_VIOLATION);
        cr_assert_eq(partition->base_offset, -1);
        cr_assert_eq(partition->log_append_time_ms, -1);
        cr_assert_eq(partition->log_start_offset, -1);
        cr_assert_eq(partition->error_message.len > 0, version >= 8);
        cr_assert_not(f.reply.close);
    }
    cr_assert_str_eq(f.hint_event, "produce_refused");
    cr_assert_str_eq(f.hint_key, "client");
}

Test(refusals, produce_without_acks_gets_a_closed_connection)
{
    cr_assert_null(produce(9, 0, 1));
    cr_assert(f.reply.close);
    cr_assert_eq(f.hints, 1);
}

Test(refusals, the_text_of_produce_has_a_limit)
{
    const struct produce_response_partition *partitions =
        produce(9, 1, LOCAL_PRODUCE_TEXTS_MAX + 1)->responses[0].partition_responses;
    cr_assert_gt(partitions[LOCAL_PRODUCE_TEXTS_MAX - 1].error_message.len, 0);
    cr_assert(span_is_null(partitions[LOCAL_PRODUCE_TEXTS_MAX].error_message));
    cr_assert_eq(partitions[LOCAL_PRODUCE_TEXTS_MAX].error_code, KAFKA_POLICY_VIOLATION);
}

/* ---- InitProducerId ---- */

static const struct init_producer_id_response *init_producer(int16_t version, struct span id)
{
    return fixture_ask(&f, API_InitProducerId, version,
                       &(struct init_producer_id_request){
                           .transactional_id = id, .producer_id = -1, .producer_epoch = -1});
}

Test(refusals, an_idempotent_producer_gets_as_far_as_produce)
{
    static const uint8_t entropy[16] = {255, 255, 255, 255, 255, 255, 255, 255};
    f.entropy = entropy;
    for (int16_t version = 0; version <= 5; version++) {
        const struct init_producer_id_response *response = init_producer(version, SPAN_NULL);
        cr_assert_eq(response->error_code, 0);
        cr_assert_geq(response->producer_id, 0);
        cr_assert_eq(response->producer_epoch, 0);
    }
}

Test(refusals, a_transactional_producer_ends_at_once)
{
    const struct init_producer_id_response *response = init_producer(4, SPAN_LITERAL("tx"));
    cr_assert_eq(response->error_code, KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    cr_assert_eq(response->producer_id, -1);
    cr_assert_eq(response->producer_epoch, -1);
    cr_assert_str_eq(f.hint_key, "tx");
}

/* ---- TxnOffsetCommit ---- */

Test(refusals, offsets_in_a_transaction_are_refused_each)
{
    struct txn_offset_commit_request_partition partitions[] = {
        {.partition_index = 4, .committed_metadata = SPAN_EMPTY},
        {.partition_index = 5, .committed_metadata = SPAN_EMPTY},
    };
    struct txn_offset_commit_request_topic topic = {
        .name = SPAN_LITERAL("jobs"), .partitions = partitions, .partitions_count = 2};
    for (int16_t version = 0; version <= 5; version++) {
        const struct txn_offset_commit_response *response =
            fixture_ask(&f, API_TxnOffsetCommit, version,
                        &(struct txn_offset_commit_request){.transactional_id = SPAN_LITERAL("tx"),
                                                            .group_id = SPAN_LITERAL("g"),
                                                            .topics = &topic,
                                                            .topics_count = 1});
        cr_assert(span_equal(response->topics[0].name, SPAN_LITERAL("jobs")));
        cr_assert_eq(response->topics[0].partitions_count, 2);
        cr_assert_eq(response->topics[0].partitions[1].partition_index, 5);
        cr_assert_eq(response->topics[0].partitions[1].error_code,
                     KAFKA_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    cr_assert_str_eq(f.hint_event, "transaction_refused");
}

/* ---- DescribeConfigs ---- */

enum { TOPIC = 2, BROKER = 4, LOGGER = 8, GROUP = 32 };

static const struct describe_configs_response *
describe(int16_t version, struct describe_configs_request_resource resource, bool all_about_it)
{
    return fixture_ask(&f, API_DescribeConfigs, version,
                       &(struct describe_configs_request){.resources = &resource,
                                                          .resources_count = 1,
                                                          .include_synonyms = all_about_it,
                                                          .include_documentation = all_about_it});
}

static const struct describe_configs_response_result *describe_all(int8_t type, const char *name)
{
    struct describe_configs_request_resource resource = {.resource_type = type,
                                                         .resource_name = span_from_cstr(name),
                                                         .configuration_keys_count = -1};
    const struct describe_configs_response *response = describe(4, resource, false);
    cr_assert_eq(response->results_count, 1);
    cr_assert_eq(response->results[0].resource_type, type);
    cr_assert(span_equal(response->results[0].resource_name, resource.resource_name));
    return response->results;
}

static struct span value_of(const struct describe_configs_response_result *result, const char *name)
{
    for (int32_t i = 0; i < result->configs_count; i++) {
        if (span_equal(result->configs[i].name, span_from_cstr(name))) {
            return result->configs[i].value;
        }
    }
    return SPAN_NULL;
}

Test(refusals, a_topic_has_the_settings_of_one_without_records)
{
    const struct describe_configs_response_result *result = describe_all(TOPIC, "jobs");
    cr_assert_eq(result->error_code, 0);
    cr_assert(span_is_null(result->error_message));
    cr_assert(span_equal(value_of(result, "cleanup.policy"), SPAN_LITERAL("delete")));
    cr_assert(span_equal(value_of(result, "retention.ms"), SPAN_LITERAL("-1")));
    cr_assert(result->configs[0].read_only);
    cr_assert_eq(describe_all(TOPIC, "none")->error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    cr_assert_eq(describe_all(TOPIC, "a b")->error_code, KAFKA_INVALID_TOPIC_EXCEPTION);
}

Test(refusals, a_node_describes_itself_alone)
{
    const struct describe_configs_response_result *result = describe_all(BROKER, "1");
    cr_assert(span_equal(value_of(result, "node.id"), SPAN_LITERAL("1")));
    cr_assert(span_equal(value_of(result, "default.replication.factor"), SPAN_LITERAL("3")));
    cr_assert_eq(describe_all(BROKER, "")->configs_count, result->configs_count);
    cr_assert_eq(describe_all(BROKER, "2")->error_code, KAFKA_INVALID_REQUEST);
    cr_assert_eq(describe_all(BROKER, "2")->configs_count, 0);
}

Test(refusals, a_group_has_no_settings_and_other_resources_are_none)
{
    cr_assert_eq(describe_all(GROUP, "g")->error_code, 0);
    cr_assert_eq(describe_all(GROUP, "g")->configs_count, 0);
    cr_assert_eq(describe_all(LOGGER, "1")->error_code, KAFKA_INVALID_REQUEST);
}

Test(refusals, configs_are_filtered_and_explained_where_asked_for)
{
    struct span key = SPAN_LITERAL("retention.ms");
    struct describe_configs_request_resource resource = {.resource_type = TOPIC,
                                                         .resource_name = SPAN_LITERAL("jobs"),
                                                         .configuration_keys = &key,
                                                         .configuration_keys_count = 1};
    for (int16_t version = 0; version <= 4; version++) {
        const struct describe_configs_response_result *result =
            describe(version, resource, true)->results;
        cr_assert_eq(result->configs_count, 1);
        cr_assert(span_equal(result->configs[0].name, key));
        cr_assert_eq(result->configs[0].is_default, version == 0);
        cr_assert_eq(result->configs[0].synonyms_count, version >= 1 ? 1 : 0);
        cr_assert_eq(result->configs[0].documentation.len > 0, version >= 3);
    }
    resource.configuration_keys_count = 0;
    cr_assert_eq(describe(4, resource, false)->results[0].configs_count, 0);
}

Test(refusals, a_resource_asked_for_twice_is_described_once)
{
    struct describe_configs_request_resource resources[3];
    for (int i = 0; i < 3; i++) {
        resources[i] = (struct describe_configs_request_resource){
            .resource_type = i == 1 ? BROKER : TOPIC,
            .resource_name = i == 1 ? SPAN_EMPTY : SPAN_LITERAL("jobs"),
            .configuration_keys_count = -1};
    }
    const struct describe_configs_response *response = fixture_ask(
        &f, API_DescribeConfigs, 4,
        &(struct describe_configs_request){.resources = resources, .resources_count = 3});
    cr_assert_eq(response->results_count, 2);
}
