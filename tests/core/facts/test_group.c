/* Groups, generations and assignments: what each record does and what its verdict says. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "rpc/errors.h"
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

TestSuite(group, .init = begin, .fini = end);

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(group, is_made_once)
{
    struct record_group_created record = {text("g")};
    struct verdict made = trial_put(&t, RECORD_GROUP_CREATED, &record);
    cr_assert_eq(made.error, 0);
    cr_assert_neq(made.id, 0);
    cr_assert_eq(made.group, made.id);
    struct verdict found = trial_put(&t, RECORD_GROUP_CREATED, &record);
    cr_assert_eq(found.group, made.group);
    cr_assert_eq(found.id, 0, "nothing was created");
    cr_assert_eq(state_totals(t.state)->groups, 1);
    const struct group *group = trial_facts(&t, made.group);
    cr_assert_eq(group_phase(group), GROUP_EMPTY);
    cr_assert_eq(group->empty_since_ms, -1);
    cr_assert_eq(group->generation, 0);
}

Test(group, zero_is_the_group_of_this_proposal)
{
    struct record_group_created created = {text("g")};
    struct record_member_pending pending = {0, text("m"), 6000};
    record_append(&t.records, RECORD_GROUP_CREATED, &created);
    struct verdict verdict = trial_put(&t, RECORD_MEMBER_PENDING, &pending);
    cr_assert_eq(verdict.error, 0);
    cr_assert_eq(verdict.group, state_group(t.state, text("g"))->facts->id);
    /* And of no other. */
    cr_assert_eq(trial_put(&t, RECORD_MEMBER_PENDING, &pending).error, KAFKA_UNKNOWN_MEMBER_ID);
}

Test(group, a_generation_has_its_members_in_order)
{
    uint64_t g = trial_group(&t, "g");
    struct verdict verdict = trial_generation(&t, g, 1, NAMES("a", "b", "c"));
    const struct group *group = trial_facts(&t, g);
    cr_assert_eq(verdict.error, 0);
    cr_assert_eq(verdict.id, trial_member(&t, g, "c")->id);
    cr_assert_eq(group->members_count, 3);
    cr_assert(span_equal(group->members[0]->member_id, text("a")));
    cr_assert(span_equal(group->members[2]->member_id, text("c")));
    cr_assert_eq(group->leader, group->members[0]->id);
    cr_assert_eq(group_phase(group), GROUP_COMPLETING);
    cr_assert(span_is_null(group->members[0]->assignment));
    cr_assert(span_equal(group_member_metadata(group, group->members[0]), text("meta")));
    cr_assert_eq(state_totals(t.state)->members, 3);
    cr_assert_eq(group->version, t.index);
}

Test(group, a_generation_never_goes_back_or_comes_again)
{
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 5, NAMES("a"));
    uint64_t id = trial_member(&t, g, "a")->id;
    cr_assert_eq(trial_generation(&t, g, 5, NAMES("b")).error, KAFKA_ILLEGAL_GENERATION);
    cr_assert_eq(trial_generation(&t, g, 4, NAMES("b")).error, KAFKA_ILLEGAL_GENERATION);
    cr_assert_eq(trial_facts(&t, g)->generation, 5);
    cr_assert_eq(trial_member(&t, g, "a")->id, id);
    cr_assert_eq(trial_generation(&t, g + 100, 6, NAMES("b")).error, KAFKA_UNKNOWN_MEMBER_ID);
}

Test(group, kept_members_keep_their_facts_and_lose_their_assignment)
{
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 1, NAMES("a", "b"));
    trial_assign(&t, g, 1);
    uint64_t a = trial_member(&t, g, "a")->id;
    uint64_t b = trial_member(&t, g, "b")->id;
    struct record_member members[4] = {
        {.id = b, .is_kept = true},
        {.id = a, .member_id = text("a"), .session_timeout_ms = 77},
        {.id = 999, .is_kept = true},
        {.member_id = text("c"), .instance_id = text("i")},
    };
    struct record_generation record = {g,         2, text("consumer"), text("range"),
                                       text("b"), 0, members,          4};
    struct verdict verdict = trial_put(&t, RECORD_GENERATION, &record);
    const struct group *group = trial_facts(&t, g);
    cr_assert_eq(group->members_count, 3, "a dead id is skipped");
    cr_assert_eq(group->members[0]->id, b);
    cr_assert_eq(group->members[0]->session_timeout_ms, 10000);
    cr_assert_eq(group->members[1]->id, a);
    cr_assert_eq(group->members[1]->session_timeout_ms, 77);
    cr_assert_eq(group->members[2]->id, verdict.id);
    cr_assert_gt(verdict.id, b, "ids are never reused");
    cr_assert_eq(group_member_by_instance(group, text("i")), group->members[2]);
    cr_assert_eq(group->leader, b);
    cr_assert(span_is_null(group->members[0]->assignment));
    cr_assert_not(group->has_assignment);
}

/* R7: a generation that was decided before a removal, and came into the log behind it. */
Test(group, a_dead_id_is_no_member_again)
{
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 1, NAMES("a", "b"));
    uint64_t a = trial_member(&t, g, "a")->id;
    uint64_t dead = trial_member(&t, g, "b")->id;
    struct record_members_removed removed = {g, &dead, 1, CAUSE_LEAVE};
    cr_assert_eq(trial_put(&t, RECORD_MEMBERS_REMOVED, &removed).error, 0);
    struct record_member members[2] = {
        {.id = a, .is_kept = true},
        {.id = dead, .member_id = text("b"), .session_timeout_ms = 77},
    };
    struct record_generation record = {g,         2, text("consumer"), text("range"),
                                       text("a"), 0, members,          2};
    cr_assert_eq(trial_put(&t, RECORD_GENERATION, &record).error, 0);
    cr_assert_eq(trial_facts(&t, g)->members_count, 1);
    cr_assert_null(group_find_member(trial_facts(&t, g), text("b")));
}

Test(group, members_of_one_generation_are_distinct)
{
    uint64_t g = trial_group(&t, "g");
    struct record_member members[5] = {
        {.member_id = text("a"), .instance_id = text("i")},
        {.member_id = text("a")},
        {.member_id = text("b"), .instance_id = text("i")},
        {.member_id = text("")},
        {.is_kept = true},
    };
    struct record_generation record = {g, 1, text("x"), text("y"), text("a"), 0, members, 5};
    cr_assert_eq(trial_put(&t, RECORD_GENERATION, &record).error, 0);
    cr_assert_eq(trial_facts(&t, g)->members_count, 1);
}

Test(group, without_members_it_is_empty_and_keeps_its_type)
{
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 1, NAMES("a"));
    trial_assign(&t, g, 1);
    trial_generation(&t, g, 2, NAMES(NULL));
    const struct group *group = trial_facts(&t, g);
    cr_assert_eq(group_phase(group), GROUP_EMPTY);
    cr_assert_eq(group->generation, 2);
    cr_assert_eq(group->empty_since_ms, t.stamp_ms);
    cr_assert(span_equal(group->protocol_type, text("consumer")));
    cr_assert(span_is_null(group->protocol_name));
    cr_assert_eq(group->leader, 0);
    cr_assert_eq(state_totals(t.state)->members, 0);
    int64_t since_ms = group->empty_since_ms;
    trial_generation(&t, g, 3, NAMES(NULL));
    cr_assert_eq(trial_facts(&t, g)->empty_since_ms, since_ms, "it was Empty before");
    trial_generation(&t, g, 4, NAMES("b"));
    cr_assert_eq(trial_facts(&t, g)->empty_since_ms, -1);
}

Test(group, pending_ids_join_run_out_or_leave)
{
    uint64_t g = trial_group(&t, "g");
    struct record_member_pending pending = {g, text("a"), 6000};
    cr_assert_eq(trial_put(&t, RECORD_MEMBER_PENDING, &pending).error, 0);
    pending.member_id = text("b");
    trial_put(&t, RECORD_MEMBER_PENDING, &pending);
    pending.session_timeout_ms = 1;
    trial_put(&t, RECORD_MEMBER_PENDING, &pending);
    cr_assert_eq(trial_facts(&t, g)->pending_count, 2);
    cr_assert_eq(group_pending(trial_facts(&t, g), text("b"))->session_timeout_ms, 6000);
    trial_generation(&t, g, 1, NAMES("a"));
    cr_assert_null(group_pending(trial_facts(&t, g), text("a")));
    cr_assert_not_null(group_pending(trial_facts(&t, g), text("b")));
    pending.member_id = text("a");
    trial_put(&t, RECORD_MEMBER_PENDING, &pending);
    cr_assert_eq(trial_facts(&t, g)->pending_count, 1, "a member is not pending");
    struct span gone[2] = {text("x"), text("b")};
    struct record_pending_removed removed = {g, gone, 2};
    cr_assert_eq(trial_put(&t, RECORD_PENDING_REMOVED, &removed).error, 0);
    cr_assert_eq(trial_facts(&t, g)->pending_count, 0);
    cr_assert_eq(trial_put(&t, RECORD_PENDING_REMOVED, &removed).error, KAFKA_UNKNOWN_MEMBER_ID);
    pending.member_id = SPAN_EMPTY;
    cr_assert_eq(trial_put(&t, RECORD_MEMBER_PENDING, &pending).error, KAFKA_INVALID_REQUEST);
}

Test(group, has_at_most_one_assignment_per_generation)
{
    uint64_t g = trial_group(&t, "g");
    cr_assert_eq(trial_assign(&t, g, 0).error, KAFKA_UNKNOWN_MEMBER_ID, "Empty");
    trial_generation(&t, g, 1, NAMES("a", "b"));
    cr_assert_eq(trial_assign(&t, g, 2).error, KAFKA_ILLEGAL_GENERATION);
    cr_assert_eq(trial_assign(&t, g, 0).error, KAFKA_ILLEGAL_GENERATION);
    struct record_member_assignment only_a = {trial_member(&t, g, "a")->id, text("first")};
    struct record_assignment record = {g, 1, &only_a, 1};
    cr_assert_eq(trial_put(&t, RECORD_ASSIGNMENT, &record).error, 0);
    cr_assert_eq(group_phase(trial_facts(&t, g)), GROUP_STABLE);
    cr_assert(span_equal(trial_member(&t, g, "b")->assignment, SPAN_EMPTY), "not named");
    only_a.assignment = text("second");
    uint64_t version = trial_facts(&t, g)->version;
    cr_assert_eq(trial_put(&t, RECORD_ASSIGNMENT, &record).error, 0);
    cr_assert(span_equal(trial_member(&t, g, "a")->assignment, text("first")));
    cr_assert_eq(trial_facts(&t, g)->version, version);
    record.group = 12345;
    cr_assert_eq(trial_put(&t, RECORD_ASSIGNMENT, &record).error, KAFKA_UNKNOWN_MEMBER_ID);
}

Test(group, removed_members_leave_the_rest_to_rejoin)
{
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 1, NAMES("a", "b", "c"));
    uint64_t ids[3] = {trial_member(&t, g, "a")->id, 4711, trial_member(&t, g, "a")->id};
    struct record_members_removed record = {g, ids, 3, CAUSE_LEAVE};
    cr_assert_eq(trial_put(&t, RECORD_MEMBERS_REMOVED, &record).error, 0);
    const struct group *group = trial_facts(&t, g);
    cr_assert_eq(group->members_count, 2);
    cr_assert(group->is_changed);
    cr_assert_eq(group->leader, 0, "the leader went");
    cr_assert_eq(group_phase(group), GROUP_PREPARING);
    cr_assert_eq(trial_assign(&t, g, 1).error, KAFKA_REBALANCE_IN_PROGRESS);
    cr_assert_eq(trial_put(&t, RECORD_MEMBERS_REMOVED, &record).error, KAFKA_UNKNOWN_MEMBER_ID);
    ids[0] = group->members[0]->id;
    ids[1] = group->members[1]->id;
    cr_assert_eq(trial_put(&t, RECORD_MEMBERS_REMOVED, &record).error, 0);
    cr_assert_eq(group_phase(trial_facts(&t, g)), GROUP_EMPTY);
    cr_assert_eq(trial_facts(&t, g)->empty_since_ms, t.stamp_ms);
}

Test(group, a_new_incarnation_takes_place_assignment_and_leadership)
{
    uint64_t g = trial_group(&t, "g");
    struct record_member members[2] = {
        {.member_id = text("i-1"), .instance_id = text("i")},
        {.member_id = text("b")},
    };
    struct record_generation begun = {g,           1, text("consumer"), text("range"),
                                      text("i-1"), 0, members,          2};
    trial_put(&t, RECORD_GENERATION, &begun);
    trial_assign(&t, g, 1);
    uint64_t old = trial_member(&t, g, "i-1")->id;
    struct record_member again = {.member_id = text("i-2"), .instance_id = text("i")};
    struct record_member_replaced record = {g, old, &again, 1};
    struct verdict verdict = trial_put(&t, RECORD_MEMBER_REPLACED, &record);
    const struct group *group = trial_facts(&t, g);
    cr_assert_eq(verdict.error, 0);
    cr_assert_eq(group->members[0]->id, verdict.id);
    cr_assert_eq(group->leader, verdict.id);
    cr_assert(span_equal(group->members[0]->assignment, text("i-1")), "what the old one had");
    cr_assert_null(group_member_by_id(group, old));
    cr_assert_null(group_find_member(group, text("i-1")));
    cr_assert_eq(group_member_by_instance(group, text("i")), group->members[0]);
    cr_assert_eq(group_phase(group), GROUP_STABLE);
    cr_assert_eq(trial_put(&t, RECORD_MEMBER_REPLACED, &record).error, KAFKA_UNKNOWN_MEMBER_ID);
    record.old = verdict.id;
    again.member_id = text("b");
    cr_assert_eq(trial_put(&t, RECORD_MEMBER_REPLACED, &record).error, KAFKA_INVALID_REQUEST);
    record.members_count = 0;
    cr_assert_eq(trial_put(&t, RECORD_MEMBER_REPLACED, &record).error, KAFKA_INVALID_REQUEST);
}

Test(group, deletion_is_conditional_and_what_comes_after_starts_again)
{
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    struct record_group_deleted record = {g, true};
    trial_generation(&t, g, 7, NAMES("a"));
    cr_assert_eq(trial_put(&t, RECORD_GROUP_DELETED, &record).error, KAFKA_NON_EMPTY_GROUP);
    trial_generation(&t, g, 8, NAMES(NULL));
    struct span pending = text("p");
    struct record_member_pending handed_out = {g, pending, 6000};
    trial_put(&t, RECORD_MEMBER_PENDING, &handed_out);
    cr_assert_eq(trial_put(&t, RECORD_GROUP_DELETED, &record).error, KAFKA_NON_EMPTY_GROUP);
    struct record_pending_removed removed = {g, &pending, 1};
    trial_put(&t, RECORD_PENDING_REMOVED, &removed);
    trial_commit(&t, g, 0, -1, topic, 0, 5, "note");
    cr_assert_eq(trial_put(&t, RECORD_GROUP_DELETED, &record).error, KAFKA_NON_EMPTY_GROUP);
    record.only_without_offsets = false;
    struct verdict verdict = trial_put(&t, RECORD_GROUP_DELETED, &record);
    cr_assert_eq(verdict.error, 0);
    cr_assert_eq(verdict.group, g);
    cr_assert_null(state_group(t.state, text("g")));
    cr_assert_eq(state_totals(t.state)->offsets, 0);
    cr_assert_eq(trial_put(&t, RECORD_GROUP_DELETED, &record).error, KAFKA_GROUP_ID_NOT_FOUND);
    uint64_t again = trial_group(&t, "g");
    cr_assert_gt(again, g);
    cr_assert_eq(trial_facts(&t, again)->generation, 0);
    cr_assert_null(trial_offset(&t, again, topic, 0));
    cr_assert_eq(trial_commit(&t, g, 0, -1, topic, 0, 5, "").error, KAFKA_UNKNOWN_MEMBER_ID);
}

static uint64_t deleted_group;
static void *deleted_round;

static void note_deleted(void *ctx, struct group_slot *slot)
{
    cr_assert_eq(ctx, &t);
    deleted_group = slot->facts->id;
    deleted_round = slot->round;
}

Test(group, deletion_hands_back_the_round)
{
    static const struct state_events events = {note_deleted};
    int round;
    state_set_events(t.state, &events, &t);
    uint64_t g = trial_group(&t, "g");
    state_group_by_id(t.state, g)->round = &round;
    struct record_group_deleted record = {g, true};
    trial_put(&t, RECORD_GROUP_DELETED, &record);
    cr_assert_eq(deleted_group, g);
    cr_assert_eq(deleted_round, &round);
}

Test(group, slots_stay_and_iteration_is_in_order_of_creation)
{
    char name[8];
    uint64_t ids[20];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "g%d", i * 7 % 20);
        ids[i] = trial_group(&t, name);
    }
    struct group_slot *slot = state_group_by_id(t.state, ids[3]);
    struct record_group_deleted record = {ids[5], false};
    trial_put(&t, RECORD_GROUP_DELETED, &record);
    cr_assert_eq(state_group_by_id(t.state, ids[3]), slot);
    uint64_t at = 0;
    for (int i = 0; i < 20; i++) {
        if (i != 5) {
            cr_assert_eq(state_next_group(t.state, &at)->facts->id, ids[i]);
        }
    }
    cr_assert_null(state_next_group(t.state, &at));
}

Test(group, large_groups_find_their_members)
{
    enum { N = 1000 };
    static struct record_member members[N];
    static char names[N][16];
    uint64_t g = trial_group(&t, "g");
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        members[i] = (struct record_member){.member_id = text(names[i])};
        members[i].instance_id = i % 2 == 0 ? text(names[i]) : SPAN_NULL;
        struct record_member_pending pending = {g, text(names[i]), 1000};
        record_append(&t.records, RECORD_MEMBER_PENDING, &pending);
        if (i % 8 == 7) {
            trial_apply(&t);
        }
    }
    cr_assert_eq(trial_facts(&t, g)->pending_count, N);
    struct record_generation begun = {g,          1, text("consumer"), text("range"),
                                      text("m9"), 0, members,          N};
    trial_put(&t, RECORD_GENERATION, &begun);
    cr_assert_eq(trial_facts(&t, g)->pending_count, 0);
    cr_assert_eq(trial_facts(&t, g)->members_count, N);
    for (int i = 0; i < N; i += 3) {
        uint64_t id = trial_member(&t, g, names[i])->id;
        struct record_members_removed removed = {g, &id, 1, CAUSE_SESSION};
        trial_put(&t, RECORD_MEMBERS_REMOVED, &removed);
    }
    for (int i = 0; i < N; i++) {
        cr_assert_eq(trial_member(&t, g, names[i]) == NULL, i % 3 == 0);
    }
    cr_assert_eq(trial_facts(&t, g)->leader, 0);
}

static struct span subscription(struct buf *buf, int16_t version, const char *topic)
{
    buf->len = 0;
    buf_put_be16(buf, (uint16_t)version);
    buf_put_be32(buf, 1);
    buf_put_be16(buf, (uint16_t)strlen(topic));
    buf_append(buf, topic, strlen(topic));
    buf_put_be32(buf, UINT32_MAX);
    return buf_span(buf);
}

static bool subscribes(const char *type, struct span metadata, const char *topic)
{
    static int32_t generation;
    uint64_t g = trial_group(&t, "g");
    struct record_member_protocol protocol = {text("range"), metadata};
    struct record_member member = {
        .member_id = text("m"), .protocols = &protocol, .protocols_count = 1};
    struct record_generation record = {g, ++generation, text(type), text("range"), text("m"),
                                       0, &member,      1};
    trial_put(&t, RECORD_GENERATION, &record);
    return group_subscribes(trial_facts(&t, g), text(topic));
}

Test(group, knows_what_its_members_subscribe_to)
{
    struct buf buf = BUF_EMPTY;
    cr_assert(subscribes("consumer", subscription(&buf, 0, "orders"), "orders"));
    cr_assert_not(subscribes("consumer", subscription(&buf, 0, "orders"), "order"));
    cr_assert_not(subscribes("consumer", subscription(&buf, 3, "orders"), "others"),
                  "the prefix of a later version");
    cr_assert_not(subscribes("connect", subscription(&buf, 0, "orders"), "orders"));
    cr_assert(subscribes("consumer", subscription(&buf, -1, "orders"), "others"), "unparsable");
    struct span cut = subscription(&buf, 0, "orders");
    cut.len -= 1;
    cr_assert(subscribes("consumer", cut, "others"), "unparsable");
    cr_assert(subscribes("consumer", SPAN_EMPTY, "others"), "unparsable");
    buf_close(&buf);
}
