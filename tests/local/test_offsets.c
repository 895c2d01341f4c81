/* ListOffsets, Fetch and OffsetForLeaderEpoch: the rules of protocol D.2, on which it depends
 * whether real clients wait or spin. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "leaks.h"

static struct fixture f;

static void open_cluster(void)
{
    fixture_init(&f);
    fixture_node(&f, 1, NULL);
    fixture_topic(&f, "jobs", 3, 7);
    fixture_commit(&f, "jobs", 1, 40);
    fixture_commit(&f, "jobs", 1, 12);
}

static void close_and_check(void)
{
    fixture_close(&f);
    leaks_abort();
}

TestSuite(offsets, .init = open_cluster, .fini = close_and_check);

/* ---- ListOffsets ---- */

static const struct list_offsets_response_partition *
list(int16_t version, const char *topic, struct list_offsets_request_partition partition)
{
    struct list_offsets_request_topic topics = {
        .name = span_from_cstr(topic), .partitions = &partition, .partitions_count = 1};
    const struct list_offsets_response *response = fixture_ask(
        &f, API_ListOffsets, version,
        &(struct list_offsets_request){.replica_id = -1, .topics = &topics, .topics_count = 1});
    cr_assert_eq(response->topics_count, 1);
    cr_assert_eq(response->topics[0].partitions_count, 1);
    cr_assert_eq(response->topics[0].partitions[0].partition_index, partition.partition_index);
    return response->topics[0].partitions;
}

static const struct list_offsets_response_partition *list_at(int16_t version,
                                                             int32_t partition,
                                                             int64_t timestamp)
{
    return list(version, "jobs",
                (struct list_offsets_request_partition){.partition_index = partition,
                                                        .current_leader_epoch = -1,
                                                        .timestamp = timestamp,
                                                        .max_num_offsets = 1});
}

Test(offsets, latest_is_the_highest_commit_ever_and_earliest_0)
{
    for (int16_t version = 1; version <= 11; version++) {
        const struct list_offsets_response_partition *latest = list_at(version, 1, -1);
        cr_assert_eq(latest->error_code, 0);
        cr_assert_eq(latest->offset, 40);
        cr_assert_eq(latest->timestamp, -1);
        cr_assert_eq(latest->leader_epoch, version >= 4 ? 0 : -1);
        cr_assert_eq(list_at(version, 0, -1)->offset, 0, "nothing was committed there");
        cr_assert_eq(list_at(version, 1, -2)->offset, 0);
        cr_assert_eq(list_at(version, 1, -2)->error_code, 0);
    }
}

Test(offsets, no_record_has_a_time)
{
    const struct list_offsets_response_partition *answer = list_at(5, 1, 1700000000000);
    cr_assert_eq(answer->error_code, 0);
    cr_assert_eq(answer->offset, -1);
    cr_assert_eq(answer->timestamp, -1);
    cr_assert_eq(answer->leader_epoch, -1);
}

Test(offsets, special_times_need_their_version)
{
    static const struct {
        int64_t timestamp;
        int16_t since;
        int64_t offset;
    } rows[] = {{-3, 7, -1}, {-4, 8, 0}, {-5, 9, -1}, {-6, 11, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int16_t before = (int16_t)(rows[i].since - 1);
        cr_assert_eq(list_at(before, 1, rows[i].timestamp)->error_code, KAFKA_UNSUPPORTED_VERSION);
        cr_assert_eq(list_at(rows[i].since, 1, rows[i].timestamp)->error_code, 0);
        cr_assert_eq(list_at(rows[i].since, 1, rows[i].timestamp)->offset, rows[i].offset);
    }
    cr_assert_eq(list_at(11, 1, -7)->error_code, KAFKA_UNSUPPORTED_VERSION);
}

Test(offsets, v0_lists_offsets)
{
    const struct list_offsets_response_partition *answer = list_at(0, 1, -1);
    cr_assert_eq(answer->old_style_offsets_count, 1);
    cr_assert_eq(answer->old_style_offsets[0], 40);
    answer = list(0, "jobs",
                  (struct list_offsets_request_partition){
                      .partition_index = 1, .timestamp = -1, .max_num_offsets = 9});
    cr_assert_eq(answer->old_style_offsets_count, 2);
    cr_assert_eq(answer->old_style_offsets[1], 0);
    answer = list_at(0, 1, -2);
    cr_assert_eq(answer->old_style_offsets_count, 1);
    cr_assert_eq(answer->old_style_offsets[0], 0);
    cr_assert_eq(list_at(0, 1, 5)->old_style_offsets_count, 0);
}

Test(offsets, only_the_leader_lists_them)
{
    f.ctx.leader_id = 2;
    cr_assert_eq(list_at(5, 1, -1)->error_code, KAFKA_NOT_LEADER_OR_FOLLOWER);
    cr_assert_eq(list_at(5, 1, -1)->offset, -1);
    f.ctx.leader_id = 0;
    cr_assert_eq(list_at(5, 1, -1)->error_code, KAFKA_NOT_LEADER_OR_FOLLOWER);
}

Test(offsets, listing_checks_topic_partition_and_epoch)
{
    cr_assert_eq(list_at(5, 3, -1)->error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    cr_assert_eq(list_at(5, -1, -1)->error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    struct list_offsets_request_partition asked = {.current_leader_epoch = -1, .timestamp = -1};
    cr_assert_eq(list(5, "none", asked)->error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    asked.current_leader_epoch = 0;
    cr_assert_eq(list(5, "jobs", asked)->error_code, 0);
    asked.current_leader_epoch = 1;
    cr_assert_eq(list(5, "jobs", asked)->error_code, KAFKA_UNKNOWN_LEADER_EPOCH);
    asked.current_leader_epoch = -2;
    cr_assert_eq(list(5, "jobs", asked)->error_code, KAFKA_FENCED_LEADER_EPOCH);
}

Test(offsets, a_partition_listed_twice_is_invalid)
{
    struct list_offsets_request_partition partitions[] = {
        {.partition_index = 1, .current_leader_epoch = -1, .timestamp = -1},
        {.partition_index = 0, .current_leader_epoch = -1, .timestamp = -1},
        {.partition_index = 1, .current_leader_epoch = -1, .timestamp = -2},
    };
    struct list_offsets_request_topic topics[] = {
        {.name = SPAN_LITERAL("jobs"), .partitions = partitions, .partitions_count = 2},
        {.name = SPAN_LITERAL("jobs"), .partitions = partitions + 2, .partitions_count = 1},
    };
    const struct list_offsets_response *response =
        fixture_ask(&f, API_ListOffsets, 5,
                    &(struct list_offsets_request){.topics = topics, .topics_count = 2});
    cr_assert_eq(response->topics[0].partitions[0].error_code, KAFKA_INVALID_REQUEST);
    cr_assert_eq(response->topics[0].partitions[1].error_code, 0);
    cr_assert_eq(response->topics[1].partitions[0].error_code, KAFKA_INVALID_REQUEST);
}

/* ---- Fetch ---- */

static struct fetch_request_partition fetched[3];
static struct fetch_request_topic fetched_topic;

static struct fetch_request fetch_of_two(void)
{
    fetched[0] = (struct fetch_request_partition){.partition = 2,
                                                  .current_leader_epoch = -1,
                                                  .fetch_offset = 17,
                                                  .last_fetched_epoch = -1,
                                                  .log_start_offset = -1,
                                                  .high_watermark = INT64_MAX};
    fetched[1] = fetched[0];
    fetched[1].partition = 0;
    fetched[1].fetch_offset = 5000000000;
    fetched_topic = (struct fetch_request_topic){.topic = SPAN_LITERAL("jobs"),
                                                 .topic_id = fixture_uuid(7),
                                                 .partitions = fetched,
                                                 .partitions_count = 2};
    return (struct fetch_request){.replica_id = -1,
                                  .replica_state = {-1, -1},
                                  .max_wait_ms = 500,
                                  .min_bytes = 1,
                                  .max_bytes = INT32_MAX,
                                  .session_epoch = -1,
                                  .topics = &fetched_topic,
                                  .topics_count = 1,
                                  .rack_id = SPAN_EMPTY};
}

static const struct fetch_response *fetch(int16_t version, struct fetch_request request)
{
    return fixture_ask(&f, API_Fetch, version, &request);
}

Test(offsets, a_fetch_is_empty_exact_and_held)
{
    f.ctx.leader_id = 2; /* any node answers */
    for (int16_t version = 0; version <= 18; version++) {
        const struct fetch_response *response = fetch(version, fetch_of_two());
        cr_assert_eq(f.reply.hold_ms, 500);
        cr_assert_eq(response->error_code, 0);
        cr_assert_eq(response->session_id, 0);
        cr_assert_eq(response->responses_count, 1);
        cr_assert_eq(response->responses[0].partitions_count, 2);
        for (int i = 0; i < 2; i++) {
            const struct fetch_response_partition *p = &response->responses[0].partitions[i];
            cr_assert_eq(p->partition_index, fetched[i].partition);
            cr_assert_eq(p->error_code, 0);
            cr_assert_eq(p->high_watermark, fetched[i].fetch_offset);
            cr_assert_eq(p->last_stable_offset, version >= 4 ? fetched[i].fetch_offset : -1);
            cr_assert_eq(p->log_start_offset, version >= 5 ? 0 : -1);
            cr_assert_eq(p->preferred_read_replica, -1);
            cr_assert_not(span_is_null(p->records));
            cr_assert_eq(p->records.len, 0);
        }
    }
}

Test(offsets, aborted_transactions_are_null_unless_read_committed)
{
    struct fetch_request request = fetch_of_two();
    cr_assert_eq(fetch(11, request)->responses[0].partitions[0].aborted_transactions_count, -1);
    request.isolation_level = 1;
    cr_assert_eq(fetch(11, request)->responses[0].partitions[0].aborted_transactions_count, 0);
}

Test(offsets, a_fetch_is_answered_at_once_where_nothing_is_to_wait_for)
{
    struct fetch_request request = fetch_of_two();
    request.min_bytes = 0;
    fetch(11, request);
    cr_assert_eq(f.reply.hold_ms, 0);
    request = fetch_of_two();
    request.max_wait_ms = 0;
    fetch(11, request);
    cr_assert_eq(f.reply.hold_ms, 0);
    request = fetch_of_two();
    fetched_topic.partitions_count = 0;
    fetch(11, request);
    cr_assert_eq(f.reply.hold_ms, 0);
    request = fetch_of_two();
    request.topics_count = 0;
    fetch(11, request);
    cr_assert_eq(f.reply.hold_ms, 0);
    request.max_wait_ms = INT32_MIN;
    fetch(11, request);
    cr_assert_eq(f.reply.hold_ms, 0);
}

static void assert_fetch_error(int16_t version, int16_t error)
{
    struct fetch_request request = {.max_wait_ms = 500,
                                    .min_bytes = 1,
                                    .session_epoch = -1,
                                    .topics = &fetched_topic,
                                    .topics_count = 1,
                                    .rack_id = SPAN_EMPTY};
    const struct fetch_response *response = fetch(version, request);
    cr_assert_eq(f.reply.hold_ms, 0, "an error is told at once");
    cr_assert_eq(response->error_code, 0);
    cr_assert_eq(response->responses[0].partitions[0].error_code, 0);
    cr_assert_eq(response->responses[0].partitions[1].error_code, error);
    cr_assert_eq(response->responses[0].partitions[1].high_watermark, -1);
    cr_assert_not(span_is_null(response->responses[0].partitions[1].records));
}

Test(offsets, fetching_checks_partition_and_epoch)
{
    fetch_of_two();
    fetched[1].partition = 3;
    assert_fetch_error(11, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    assert_fetch_error(13, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    fetch_of_two();
    fetched[1].current_leader_epoch = 1;
    assert_fetch_error(9, KAFKA_UNKNOWN_LEADER_EPOCH);
    fetched[1].current_leader_epoch = -2;
    assert_fetch_error(9, KAFKA_FENCED_LEADER_EPOCH);
    fetched[1].current_leader_epoch = 0;
    fetch(9, fetch_of_two());
    cr_assert_eq(f.reply.hold_ms, 500);
}

Test(offsets, an_unknown_topic_is_told_by_name_or_by_id)
{
    struct fetch_request request = fetch_of_two();
    fetched_topic.topic = SPAN_LITERAL("none");
    fetched_topic.topic_id = fixture_uuid(9);
    const struct fetch_response *response = fetch(12, request);
    cr_assert_eq(response->responses[0].partitions[1].error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    response = fetch(13, request);
    cr_assert_eq(response->responses[0].partitions[1].error_code, KAFKA_UNKNOWN_TOPIC_ID);
    cr_assert(uuid_equal(response->responses[0].topic_id, fixture_uuid(9)));
    cr_assert_eq(f.reply.hold_ms, 0);
}

Test(offsets, there_are_no_fetch_sessions)
{
    static const struct {
        int32_t id;
        int32_t epoch;
        int16_t error;
    } rows[] = {
        {0, 0, 0},
        {0, -1, 0},
        {0, 1, KAFKA_FETCH_SESSION_ID_NOT_FOUND},
        {9, 0, KAFKA_FETCH_SESSION_ID_NOT_FOUND},
        {9, 4, KAFKA_FETCH_SESSION_ID_NOT_FOUND},
        {9, -1, KAFKA_FETCH_SESSION_ID_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fetch_request request = fetch_of_two();
        request.session_id = rows[i].id;
        request.session_epoch = rows[i].epoch;
        const struct fetch_response *response = fetch(12, request);
        cr_assert_eq(response->error_code, rows[i].error);
        cr_assert_eq(response->session_id, 0);
        cr_assert_eq(response->responses_count, rows[i].error == 0 ? 1 : 0);
        cr_assert_eq(f.reply.hold_ms, rows[i].error == 0 ? 500 : 0);
    }
}

Test(offsets, forgotten_topics_are_ignored)
{
    struct fetch_request_forgotten_topic forgotten = {.topic = SPAN_LITERAL("jobs")};
    struct fetch_request request = fetch_of_two();
    request.forgotten_topics_data = &forgotten;
    request.forgotten_topics_data_count = 1;
    cr_assert_eq(fetch(11, request)->responses[0].partitions_count, 2);
    cr_assert_eq(f.reply.hold_ms, 500);
}

/* ---- OffsetForLeaderEpoch ---- */

static const struct offset_for_leader_epoch_response_partition *end_of(
    int16_t version,
    struct offset_for_leader_epoch_request_partition partition)
{
    struct offset_for_leader_epoch_request_topic topic = {
        .topic = SPAN_LITERAL("jobs"), .partitions = &partition, .partitions_count = 1};
    const struct offset_for_leader_epoch_response *response =
        fixture_ask(&f, API_OffsetForLeaderEpoch, version,
                    &(struct offset_for_leader_epoch_request){.topics = &topic, .topics_count = 1});
    cr_assert(span_equal(response->topics[0].topic, SPAN_LITERAL("jobs")));
    cr_assert_eq(response->topics[0].partitions[0].partition, partition.partition);
    return response->topics[0].partitions;
}

Test(offsets, the_epoch_never_ended_before_a_position)
{
    f.ctx.leader_id = 0;
    for (int16_t version = 2; version <= 4; version++) {
        for (int32_t epoch = 0; epoch < 2; epoch++) {
            const struct offset_for_leader_epoch_response_partition *end =
                end_of(version, (struct offset_for_leader_epoch_request_partition){
                                    .current_leader_epoch = -1, .leader_epoch = epoch});
            cr_assert_eq(end->error_code, 0);
            cr_assert_eq(end->leader_epoch, 0);
            cr_assert_eq(end->end_offset, INT64_MAX);
        }
    }
}

Test(offsets, the_end_of_an_epoch_checks_partition_and_epoch)
{
    struct offset_for_leader_epoch_request_partition asked = {.partition = 3,
                                                              .current_leader_epoch = -1};
    cr_assert_eq(end_of(4, asked)->error_code, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    cr_assert_eq(end_of(4, asked)->end_offset, -1);
    asked.partition = 0;
    asked.current_leader_epoch = 1;
    cr_assert_eq(end_of(4, asked)->error_code, KAFKA_UNKNOWN_LEADER_EPOCH);
    asked.current_leader_epoch = -2;
    cr_assert_eq(end_of(4, asked)->error_code, KAFKA_FENCED_LEADER_EPOCH);
    asked.current_leader_epoch = 0;
    asked.leader_epoch = -1;
    cr_assert_eq(end_of(4, asked)->error_code, 0);
    cr_assert_eq(end_of(4, asked)->leader_epoch, -1);
    cr_assert_eq(end_of(4, asked)->end_offset, -1);
}
