/* The state's hash tells any two states apart (promise 7): one fact differs, the hash differs. */
#include <criterion/criterion.h>

#include "tests/core/facts/trial.h"
#include "tests/rpc/leaks.h"

TestSuite(state_hash, .fini = leaks_abort);

enum { VARIANTS_MAX = 32 };

/* No two of [count] hashes are equal. */
static void check_distinct(const uint64_t *hashes, int count)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) {
            cr_assert_neq(hashes[i], hashes[j], "variants %d and %d", j, i);
        }
    }
}

/* A group of one member in which the [n]th fact is another one; false: there is no such fact. */
static bool vary_member(struct trial *t, int n)
{
    struct record_member_protocol protocols[2] = {
        {text(n == 1 ? "x" : "range"), text(n == 2 ? "x" : "meta")},
        {text("other"), text("")},
    };
    struct record_member member = {
        .member_id = text(n == 3 ? "x" : "m"),
        .instance_id = n == 4   ? text("x")
                       : n == 5 ? SPAN_EMPTY
                                : SPAN_NULL,
        .client_id = text(n == 6 ? "x" : "c"),
        .client_host = text(n == 7 ? "x" : "/h"),
        .session_timeout_ms = n == 8 ? 2 : 1,
        .rebalance_timeout_ms = n == 9 ? 2 : 1,
        .joined_without_id = n == 10,
        .protocols = protocols,
        .protocols_count = n == 11 ? 2 : 1,
    };
    struct record_generation record = {
        .generation = n == 12 ? 2 : 1,
        .protocol_type = text(n == 13 ? "x" : "consumer"),
        .protocol_name = text(n == 14 ? "x" : "range"),
        .leader = n == 15 ? SPAN_EMPTY : member.member_id,
        .members = &member,
        .members_count = 1,
    };
    record.group = trial_group(t, n == 16 ? "x" : "g");
    trial_put(t, RECORD_GENERATION, &record);
    struct record_member_assignment assignment = {
        .member = trial_facts(t, record.group)->members[0]->id,
        .assignment = text(n == 18 ? "x" : "all"),
    };
    struct record_assignment assigned = {record.group, record.generation, &assignment, 1};
    if (n == 17) {
        trial_apply(t);
    } else {
        trial_put(t, RECORD_ASSIGNMENT, &assigned);
    }
    return n <= 18;
}

static bool vary_offset(struct trial *t, int n)
{
    uint64_t topics[2] = {trial_topic(t, "topic", 4), trial_topic(t, "other", 4)};
    uint64_t group = trial_group(t, "g");
    struct record_offset row = {
        .partition = n == 1,
        .offset = n == 2 ? 8 : 7,
        .leader_epoch = n == 3 ? 1 : -1,
        .commit_ms = n == 4 ? 1 : -1,
        .metadata = text(n == 5 ? "x" : ""),
    };
    struct record_offsets record = {group, 0, -1, topics[n == 6], n == 7 ? 1 : -1, &row, 1};
    trial_put(t, RECORD_OFFSETS, &record);
    return n <= 7;
}

/* What is left of commits when their rows are gone. */
static bool vary_high_offset(struct trial *t, int n)
{
    uint64_t topic = trial_topic(t, "topic", 4);
    uint64_t group = trial_group(t, "g");
    trial_commit(t, group, 0, -1, topic, n == 1, n == 2 ? 8 : 7, "");
    struct record_group_deleted record = {group, false};
    trial_put(t, RECORD_GROUP_DELETED, &record);
    return n <= 2;
}

static bool vary_topic(struct trial *t, int n)
{
    struct record_topic_created record = {.name = text(n == 1 ? "x" : "topic")};
    record.uuid.bytes[15] = n == 2 ? 2 : 1;
    record.partitions = n == 3 ? 2 : 1;
    trial_put(t, RECORD_TOPIC_CREATED, &record);
    return n <= 3;
}

static bool vary_pending(struct trial *t, int n)
{
    uint64_t groups[2] = {trial_group(t, "g"), trial_group(t, "h")};
    struct record_member_pending record = {groups[n == 1], text(n == 2 ? "x" : "m"), n == 3};
    trial_put(t, RECORD_MEMBER_PENDING, &record);
    return n <= 3;
}

static bool vary_staged(struct trial *t, int n)
{
    trial_group(t, "g");
    trial_group(t, "h");
    /* Group 0: the chunk itself does not say which. */
    struct record_group_created found = {text(n == 2 ? "h" : "g")};
    struct record_member member = {.member_id = text(n == 1 ? "x" : "m")};
    struct record_members_staged record = {0, n == 3 ? 2 : 1, &member, 1};
    record_append(&t->records, RECORD_GROUP_CREATED, &found);
    trial_put(t, RECORD_MEMBERS_STAGED, &record);
    return n <= 3;
}

/* Nothing but an id was used up, or a number of the batch is another one. */
static bool vary_numbers(struct trial *t, int n)
{
    struct record_group_created created = {text("g")};
    struct record_feature_level level = {1};
    t->term += n == 1;
    t->index += n == 2;
    t->stamp_ms += n == 3;
    if (n == 4) {
        struct record_group_deleted deleted = {0, false};
        record_append(&t->records, RECORD_GROUP_CREATED, &created);
        record_append(&t->records, RECORD_GROUP_DELETED, &deleted);
    } else if (n == 5) {
        record_append(&t->records, RECORD_FEATURE_LEVEL, &level);
    }
    trial_apply(t);
    return n <= 5;
}

static void check_variants(bool (*vary)(struct trial *t, int n))
{
    uint64_t hashes[VARIANTS_MAX];
    int count = 0;
    for (bool is_one = true; is_one; count++) {
        struct trial t;
        cr_assert_lt(count, VARIANTS_MAX);
        trial_init(&t);
        is_one = vary(&t, count);
        hashes[count] = state_totals(t.state)->hash;
        trial_close(&t);
    }
    /* The last variant was none: nothing differs, nor does the hash. */
    cr_assert_eq(hashes[count - 1], hashes[0]);
    check_distinct(hashes, count - 1);
}

Test(state_hash, differs_in_every_fact)
{
    check_variants(vary_member);
    check_variants(vary_offset);
    check_variants(vary_high_offset);
    check_variants(vary_topic);
    check_variants(vary_pending);
    check_variants(vary_staged);
    check_variants(vary_numbers);
}

Test(state_hash, differs_in_the_order_of_members)
{
    uint64_t hashes[2];
    for (int n = 0; n < 2; n++) {
        struct trial t;
        trial_init(&t);
        uint64_t g = trial_group(&t, "g");
        trial_generation(&t, g, 1, (const char *const[]){"a", "b", NULL});
        struct record_member members[2] = {{.is_kept = true}, {.is_kept = true}};
        members[n].id = trial_member(&t, g, "a")->id;
        members[1 - n].id = trial_member(&t, g, "b")->id;
        struct record_generation record = {g,         2, text("consumer"), text("range"),
                                           text("a"), 0, members,          2};
        trial_put(&t, RECORD_GENERATION, &record);
        hashes[n] = state_totals(t.state)->hash;
        trial_close(&t);
    }
    cr_assert_neq(hashes[0], hashes[1]);
}
