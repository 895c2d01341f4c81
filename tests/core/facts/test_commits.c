/* Offsets, topics and nodes: what each record does and what its verdict says. */
#include <criterion/criterion.h>

#include "rpc/errors.h"
#include "server/core/limits.h"
#include "tests/core/facts/trial.h"
#include "tests/rpc/leaks.h"

static struct trial t;

static void begin(void)
{
    trial_init(&t);
}

static void end(void)
{
    trial_close(&t);
    leaks_abort();
}

TestSuite(commits, .init = begin, .fini = end);
TestSuite(topics, .init = begin, .fini = end);
TestSuite(nodes, .init = begin, .fini = end);

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(commits, are_judged_by_the_group_as_it_is)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    cr_assert_eq(trial_commit(&t, g, 0, -1, topic, 0, 1, "").error, 0, "a simple consumer");
    trial_generation(&t, g, 1, NAMES("a"));
    uint64_t a = trial_member(&t, g, "a")->id;
    cr_assert_eq(trial_commit(&t, g, 0, -1, topic, 0, 2, "").error, KAFKA_UNKNOWN_MEMBER_ID);
    cr_assert_eq(trial_commit(&t, g, a + 9, 1, topic, 0, 2, "").error, KAFKA_UNKNOWN_MEMBER_ID);
    cr_assert_eq(trial_commit(&t, g, a, 1, topic, 0, 2, "").error, KAFKA_REBALANCE_IN_PROGRESS);
    trial_assign(&t, g, 1);
    cr_assert_eq(trial_commit(&t, g, a, 0, topic, 0, 2, "").error, KAFKA_ILLEGAL_GENERATION);
    cr_assert_eq(trial_commit(&t, g, a, 2, topic, 0, 2, "").error, KAFKA_ILLEGAL_GENERATION);
    cr_assert_eq(trial_offset(&t, g, topic, 0)->offset, 1);
    cr_assert_eq(trial_commit(&t, g, a, 1, topic, 0, 2, "").error, 0);
    cr_assert_eq(trial_offset(&t, g, topic, 0)->offset, 2);
    cr_assert_eq(trial_commit(&t, g, a, 1, topic + 77, 0, 3, "").error,
                 KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    cr_assert_eq(trial_commit(&t, g + 77, a, 1, topic, 0, 3, "").error, KAFKA_UNKNOWN_MEMBER_ID);
}

Test(commits, of_a_rebalance_and_of_a_dead_incarnation)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 1, NAMES("a", "b"));
    trial_assign(&t, g, 1);
    uint64_t a = trial_member(&t, g, "a")->id;
    uint64_t b = trial_member(&t, g, "b")->id;
    struct record_members_removed removed = {g, &b, 1, CAUSE_LEAVE};
    trial_put(&t, RECORD_MEMBERS_REMOVED, &removed);
    cr_assert_eq(trial_commit(&t, g, a, 1, topic, 0, 1, "").error, 0, "PreparingRebalance");
    cr_assert_eq(trial_commit(&t, g, b, 1, topic, 0, 1, "").error, KAFKA_UNKNOWN_MEMBER_ID);
    struct record_member again = {.member_id = text("a2")};
    struct record_member_replaced replaced = {g, a, &again, 1};
    uint64_t a2 = trial_put(&t, RECORD_MEMBER_REPLACED, &replaced).id;
    cr_assert_eq(trial_commit(&t, g, a, 1, topic, 0, 2, "").error, KAFKA_UNKNOWN_MEMBER_ID);
    cr_assert_eq(trial_commit(&t, g, a2, 1, topic, 0, 2, "").error, 0);
}

Test(commits, write_all_of_the_row)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    struct record_offset rows[3] = {
        {.partition = 1, .offset = -1, .leader_epoch = 7, .commit_ms = -1, .metadata = text("x")},
        {.partition = 2, .offset = 9, .leader_epoch = INT64_MAX, .commit_ms = 500},
        {.partition = 4, .offset = 9},
    };
    struct record_offsets record = {g, 0, -1, topic, 60, rows, 3};
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS, &record).error, 0);
    const struct offset_row *one = trial_offset(&t, g, topic, 1);
    cr_assert_eq(one->offset, -1);
    cr_assert_eq(one->leader_epoch, 7);
    cr_assert_eq(one->commit_ms, t.stamp_ms);
    cr_assert_eq(one->expire_ms, t.stamp_ms + 60);
    cr_assert_eq(one->version, t.index);
    cr_assert(span_equal(offset_row_metadata(one), text("x")));
    const struct offset_row *two = trial_offset(&t, g, topic, 2);
    cr_assert_eq(two->leader_epoch, -1);
    cr_assert_eq(two->commit_ms, 500);
    cr_assert_eq(two->expire_ms, 560);
    cr_assert(span_equal(offset_row_metadata(two), SPAN_EMPTY));
    cr_assert_null(trial_offset(&t, g, topic, 4), "beyond the topic's partitions");
    cr_assert_eq(state_totals(t.state)->offsets, 2);
    record.retention_ms = INT64_MAX;
    trial_put(&t, RECORD_OFFSETS, &record);
    cr_assert_eq(trial_offset(&t, g, topic, 1)->expire_ms, INT64_MAX);
    cr_assert_eq(state_totals(t.state)->offsets, 2);
}

Test(commits, leave_the_groups_version_alone)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    uint64_t version = trial_facts(&t, g)->version;
    trial_commit(&t, g, 0, -1, topic, 0, 1, "");
    cr_assert_eq(trial_facts(&t, g)->version, version);
}

Test(commits, go_by_an_operators_act)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    trial_commit(&t, g, 0, -1, topic, 0, 1, "x");
    trial_commit(&t, g, 0, -1, topic, 1, 1, "y");
    uint64_t partitions[3] = {0, 2, UINT64_MAX};
    struct record_offsets_deleted record = {g, topic, partitions, 3};
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS_DELETED, &record).error, 0);
    cr_assert_null(trial_offset(&t, g, topic, 0));
    cr_assert_not_null(trial_offset(&t, g, topic, 1));
    record.group = 999;
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS_DELETED, &record).error, KAFKA_GROUP_ID_NOT_FOUND);
}

Test(commits, expire_only_as_they_were_seen)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    trial_commit(&t, g, 0, -1, topic, 0, 1, "");
    struct record_expired_offset seen = {topic, 0, trial_offset(&t, g, topic, 0)->version};
    struct record_offsets_expired record = {g, trial_facts(&t, g)->version, &seen, 1};
    trial_commit(&t, g, 0, -1, topic, 0, 2, "");
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS_EXPIRED, &record).error, 0);
    cr_assert_not_null(trial_offset(&t, g, topic, 0), "committed again meanwhile");
    seen.version = trial_offset(&t, g, topic, 0)->version;
    trial_generation(&t, g, 1, NAMES("a"));
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS_EXPIRED, &record).error, KAFKA_REBALANCE_IN_PROGRESS);
    cr_assert_not_null(trial_offset(&t, g, topic, 0), "the group changed meanwhile");
    record.version = trial_facts(&t, g)->version;
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS_EXPIRED, &record).error, 0);
    cr_assert_null(trial_offset(&t, g, topic, 0));
    record.group = 999;
    cr_assert_eq(trial_put(&t, RECORD_OFFSETS_EXPIRED, &record).error, KAFKA_GROUP_ID_NOT_FOUND);
}

Test(topics, are_made_once)
{
    struct record_topic_created record = {.name = text("topic"), .partitions = 3};
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, KAFKA_INVALID_REQUEST,
                 "no uuid");
    record.uuid.bytes[3] = 1;
    struct verdict made = trial_put(&t, RECORD_TOPIC_CREATED, &record);
    cr_assert_eq(made.error, 0);
    const struct topic *topic = state_topic(t.state, text("topic"));
    cr_assert_eq(topic->id, made.id);
    cr_assert_eq(state_topic_by_id(t.state, made.id), topic);
    cr_assert_eq(state_topic_by_uuid(t.state, &record.uuid), topic);
    cr_assert_eq(state_totals(t.state)->partitions, 3);
    cr_assert_eq(topic->version, t.index);
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, KAFKA_TOPIC_ALREADY_EXISTS);
    record.name = text("other");
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, KAFKA_TOPIC_ALREADY_EXISTS);
    record.uuid.bytes[3] = 2;
    record.partitions = 0;
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, KAFKA_INVALID_PARTITIONS);
    record.partitions = LIMIT_PARTITIONS + 1;
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, KAFKA_INVALID_PARTITIONS);
    record.partitions = LIMIT_PARTITIONS;
    record.name = text("no/name");
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, KAFKA_INVALID_TOPIC_EXCEPTION);
    record.name = text("other");
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_CREATED, &record).error, 0);
}

Test(topics, names)
{
    char name[LIMIT_TOPIC_NAME_BYTES + 1];
    memset(name, 'x', sizeof name);
    cr_assert(topic_name_is_legal(span_of(name, LIMIT_TOPIC_NAME_BYTES)));
    cr_assert_not(topic_name_is_legal(span_of(name, LIMIT_TOPIC_NAME_BYTES + 1)));
    cr_assert(topic_name_is_legal(text("a-Z_0.9")));
    cr_assert(topic_name_is_legal(text("...")));
    cr_assert_not(topic_name_is_legal(text(".")));
    cr_assert_not(topic_name_is_legal(text("..")));
    cr_assert_not(topic_name_is_legal(SPAN_EMPTY));
    cr_assert_not(topic_name_is_legal(SPAN_NULL));
    cr_assert_not(topic_name_is_legal(text("a b")));
}

Test(topics, grow_and_remember_the_highest_offset)
{
    uint64_t id = trial_topic(&t, "topic", 2);
    uint64_t g = trial_group(&t, "g");
    struct record_topic_grown grown = {id, 2};
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_GROWN, &grown).error, KAFKA_INVALID_PARTITIONS);
    grown.partitions = 5;
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_GROWN, &grown).error, 0);
    cr_assert_eq(state_totals(t.state)->partitions, 5);
    trial_commit(&t, g, 0, -1, id, 4, 100, "");
    trial_commit(&t, g, 0, -1, id, 4, 50, "");
    trial_commit(&t, g, 0, -1, id, 3, -1, "");
    const struct topic *topic = state_topic_by_id(t.state, id);
    cr_assert_eq(topic->high_offsets[4], 100);
    cr_assert_eq(topic->high_offsets[3], 0);
    grown.partitions = LIMIT_PARTITIONS + 1;
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_GROWN, &grown).error, KAFKA_INVALID_PARTITIONS);
    grown.topic = 999;
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_GROWN, &grown).error, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
}

Test(topics, made_again_have_no_offsets)
{
    uint64_t id = trial_topic(&t, "topic", 2);
    uint64_t g = trial_group(&t, "g");
    trial_commit(&t, g, 0, -1, id, 0, 100, "");
    struct record_topic_deleted deleted = {id};
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_DELETED, &deleted).error, 0);
    cr_assert_null(state_topic(t.state, text("topic")));
    cr_assert_eq(trial_put(&t, RECORD_TOPIC_DELETED, &deleted).error,
                 KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    uint64_t again = trial_topic(&t, "topic", 2);
    cr_assert_neq(again, id);
    cr_assert_null(trial_offset(&t, g, again, 0));
    cr_assert_eq(state_topic_by_id(t.state, again)->high_offsets[0], 0);
    cr_assert_eq(trial_commit(&t, g, 0, -1, id, 0, 1, "").error, KAFKA_UNKNOWN_TOPIC_OR_PARTITION);
    /* The dead one's row goes with the sweep. */
    struct record_expired_offset dead = {id, 0, trial_offset(&t, g, id, 0)->version};
    struct record_offsets_expired expired = {g, trial_facts(&t, g)->version, &dead, 1};
    trial_put(&t, RECORD_OFFSETS_EXPIRED, &expired);
    cr_assert_eq(state_totals(t.state)->offsets, 0);
}

static struct verdict put_node(uint64_t id, struct span card)
{
    struct record_node record = {id, card};
    return trial_put(&t, RECORD_NODE, &record);
}

Test(nodes, say_where_clients_reach_them)
{
    struct buf card = BUF_EMPTY;
    struct node_listener listeners[2] = {
        {text("PLAINTEXT"), text("one.example"), 9092},
        {text("INTERNAL"), text("::1"), 65535},
    };
    struct node facts = {.rack = text("r"), .listeners = listeners, .listeners_count = 2};
    node_encode_card(&facts, &card);
    cr_assert_eq(put_node(3, buf_span(&card)).error, 0);
    facts.listeners_count = 0;
    facts.rack = SPAN_NULL;
    struct buf bare = BUF_EMPTY;
    node_encode_card(&facts, &bare);
    buf_append(&bare, "later", 5);
    cr_assert_eq(put_node(1, buf_span(&bare)).error, 0);
    const struct node *node = state_node(t.state, 3);
    cr_assert(span_equal(node->rack, text("r")));
    cr_assert(span_equal(node->card, buf_span(&card)));
    cr_assert_eq(node_listener(node, text("INTERNAL"))->port, 65535);
    cr_assert(span_equal(node_listener(node, text("PLAINTEXT"))->host, text("one.example")));
    cr_assert_null(node_listener(node, text("TLS")));
    uint64_t at = 0;
    cr_assert_eq(state_next_node(t.state, &at)->id, 1);
    cr_assert_eq(state_next_node(t.state, &at)->id, 3);
    cr_assert_null(state_next_node(t.state, &at));
    cr_assert_eq(put_node(3, buf_span(&bare)).error, 0, "it changed");
    cr_assert(span_is_null(state_node(t.state, 3)->rack));
    buf_close(&card);
    buf_close(&bare);
}

Test(nodes, cards_that_cannot_be_read_change_nothing)
{
    struct buf card = BUF_EMPTY;
    struct node_listener listeners[NODE_LISTENERS_MAX];
    char host[NODE_NAME_BYTES_MAX + 1];
    memset(host, 'h', sizeof host);
    for (int i = 0; i < NODE_LISTENERS_MAX; i++) {
        listeners[i] = (struct node_listener){text("L"), span_of(host, NODE_NAME_BYTES_MAX), 1};
    }
    struct node facts = {.listeners = listeners, .listeners_count = NODE_LISTENERS_MAX};
    node_encode_card(&facts, &card);
    cr_assert_eq(put_node(1, buf_span(&card)).error, 0);
    for (size_t len = 0; len < card.len; len += 97) {
        cr_assert_eq(put_node(2, span_of(card.data, len)).error, KAFKA_INVALID_REQUEST);
    }
    cr_assert_eq(put_node(0, buf_span(&card)).error, KAFKA_INVALID_REQUEST);
    card.len = 0;
    listeners[0].host = span_of(host, NODE_NAME_BYTES_MAX + 1);
    node_encode_card(&facts, &card);
    cr_assert_eq(put_node(2, buf_span(&card)).error, KAFKA_INVALID_REQUEST);
    cr_assert_null(state_node(t.state, 2));
    listeners[0] = listeners[1];
    listeners[0].port = 65536;
    card.len = 0;
    node_encode_card(&facts, &card);
    cr_assert_eq(put_node(2, buf_span(&card)).error, KAFKA_INVALID_REQUEST);
    card.len = 0;
    buf_put_u8(&card, 0);
    buf_put_span(&card, SPAN_NULL);
    buf_put_uvarint(&card, NODE_LISTENERS_MAX + 1);
    for (int i = 0; i <= NODE_LISTENERS_MAX; i++) {
        buf_put_span(&card, text("L"));
        buf_put_span(&card, text("h"));
        buf_put_uvarint(&card, 1);
    }
    cr_assert_eq(put_node(2, buf_span(&card)).error, KAFKA_INVALID_REQUEST);
    card.data[2] = NODE_LISTENERS_MAX;
    cr_assert_eq(put_node(2, buf_span(&card)).error, 0);
    memset(buf_reserve(&card, NODE_CARD_BYTES_MAX), 0, NODE_CARD_BYTES_MAX);
    card.len = NODE_CARD_BYTES_MAX;
    cr_assert_eq(put_node(2, buf_span(&card)).error, 0);
    card.len = NODE_CARD_BYTES_MAX + 1;
    cr_assert_eq(put_node(2, buf_span(&card)).error, KAFKA_INVALID_REQUEST);
    buf_close(&card);
}

Test(nodes, the_feature_level_never_falls)
{
    struct record_feature_level record = {2};
    cr_assert_eq(trial_put(&t, RECORD_FEATURE_LEVEL, &record).error, 0);
    record.level = 1;
    cr_assert_eq(trial_put(&t, RECORD_FEATURE_LEVEL, &record).error, KAFKA_INVALID_REQUEST);
    cr_assert_eq(state_totals(t.state)->feature_level, 2);
}

Test(commits, bytes_that_are_no_records_stop_the_process)
{
    static const uint8_t unknown_type[] = {200, 0};
    static const uint8_t unknown_version[] = {RECORD_GROUP_CREATED, 1, 2, 'g', 0};
    static const uint8_t cut[] = {RECORD_GROUP_CREATED, 0, 2};
    struct verdict v;
    cr_assert_eq(state_apply(t.state, 1, 1, 1, span_of(unknown_type, 2), &v, 1), -1);
    cr_assert_eq(state_apply(t.state, 1, 1, 1, span_of(unknown_version, 5), &v, 1), -1);
    cr_assert_eq(state_apply(t.state, 1, 1, 1, span_of(cut, 3), &v, 1), -1);
    cr_assert_eq(state_apply(t.state, 1, 1, 1, SPAN_EMPTY, &v, 1), 0, "a read's marker");
}
