/* R8: large decisions come in chunks, and apply acts at the close. */
#include <criterion/criterion.h>

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

TestSuite(staging, .init = begin, .fini = end);

static struct verdict stage(uint64_t group, int32_t generation, const char *member_id)
{
    struct record_member member = {.member_id = text(member_id)};
    struct record_members_staged record = {group, generation, &member, 1};
    return trial_put(&t, RECORD_MEMBERS_STAGED, &record);
}

static struct verdict close_generation(uint64_t group, int32_t generation, const char *member_id)
{
    struct record_member member = {.member_id = text(member_id)};
    struct record_generation record = {group,           generation, text("consumer"), text("range"),
                                       text(member_id), 0,          &member,          1};
    return trial_put(&t, RECORD_GENERATION, &record);
}

Test(staging, chunks_come_before_the_closing_record)
{
    uint64_t g = trial_group(&t, "g");
    cr_assert_eq(stage(g, 1, "a").error, 0);
    cr_assert_eq(stage(g, 1, "b").error, 0);
    cr_assert_eq(trial_facts(&t, g)->members_count, 0, "nothing before the close");
    close_generation(g, 1, "c");
    const struct group *group = trial_facts(&t, g);
    cr_assert_eq(group->members_count, 3);
    cr_assert(span_equal(group->members[0]->member_id, text("a")));
    cr_assert(span_equal(group->members[1]->member_id, text("b")));
    cr_assert(span_equal(group->members[2]->member_id, text("c")));
    close_generation(g, 2, "d");
    cr_assert_eq(trial_facts(&t, g)->members_count, 1, "chunks are used once");
}

Test(staging, a_later_term_drops_them)
{
    uint64_t g = trial_group(&t, "g");
    stage(g, 1, "a");
    uint64_t hash = state_totals(t.state)->hash;
    t.term = 2;
    trial_apply(&t);
    cr_assert_neq(state_totals(t.state)->hash, hash);
    close_generation(g, 1, "c");
    cr_assert_eq(trial_facts(&t, g)->members_count, 1);
}

Test(staging, another_beginning_drops_them)
{
    uint64_t g = trial_group(&t, "g");
    uint64_t other = trial_group(&t, "other");
    stage(other, 1, "x");
    stage(g, 1, "a");
    stage(g, 2, "b"); /* another generation */
    close_generation(g, 2, "c");
    cr_assert_eq(trial_facts(&t, g)->members_count, 2);
    stage(g, 4, "a");
    stage(g, 5, "b");
    close_generation(g, 4, "c");
    cr_assert_eq(trial_facts(&t, g)->members_count, 1, "neither of them");
    stage(g, 5, "a");
    struct record_members_staged anew = {g, 5, NULL, 0};
    trial_put(&t, RECORD_MEMBERS_STAGED, &anew);
    close_generation(g, 5, "c");
    cr_assert_eq(trial_facts(&t, g)->members_count, 1);
    close_generation(other, 1, "y");
    cr_assert_eq(trial_facts(&t, other)->members_count, 2, "each group has its own");
}

Test(staging, a_refused_close_drops_them)
{
    uint64_t g = trial_group(&t, "g");
    close_generation(g, 5, "a");
    cr_assert_eq(stage(g, 5, "b").error, KAFKA_ILLEGAL_GENERATION);
    stage(g, 6, "b");
    cr_assert_eq(close_generation(g, 5, "c").error, KAFKA_ILLEGAL_GENERATION);
    close_generation(g, 6, "c");
    cr_assert_eq(trial_facts(&t, g)->members_count, 1);
}

Test(staging, goes_with_the_group)
{
    uint64_t g = trial_group(&t, "g");
    stage(g, 1, "a");
    struct record_group_deleted record = {g, false};
    cr_assert_eq(trial_put(&t, RECORD_GROUP_DELETED, &record).error, 0);
    cr_assert_eq(stage(g, 1, "a").error, KAFKA_UNKNOWN_MEMBER_ID);
}

Test(staging, assignments_come_in_chunks_too)
{
    uint64_t g = trial_group(&t, "g");
    trial_generation(&t, g, 1, (const char *const[]){"a", "b", "c", NULL});
    struct record_member_assignment first = {trial_member(&t, g, "a")->id, text("A")};
    struct record_member_assignment second = {trial_member(&t, g, "b")->id, text("B")};
    struct record_assignments_staged chunk = {g, 1, &first, 1};
    struct record_assignment closing = {g, 1, &second, 1};
    cr_assert_eq(trial_put(&t, RECORD_ASSIGNMENTS_STAGED, &chunk).error, 0);
    cr_assert_not(trial_facts(&t, g)->has_assignment);
    cr_assert_eq(trial_put(&t, RECORD_ASSIGNMENT, &closing).error, 0);
    cr_assert(span_equal(trial_member(&t, g, "a")->assignment, text("A")));
    cr_assert(span_equal(trial_member(&t, g, "b")->assignment, text("B")));
    cr_assert(span_equal(trial_member(&t, g, "c")->assignment, SPAN_EMPTY));
    cr_assert_eq(trial_put(&t, RECORD_ASSIGNMENTS_STAGED, &chunk).error, KAFKA_ILLEGAL_GENERATION);
}

Test(staging, is_part_of_hash_and_snapshot)
{
    uint64_t g = trial_group(&t, "g");
    stage(g, 1, "a");
    uint64_t hash = state_totals(t.state)->hash;
    struct buf snapshot = trial_snapshot(&t);
    struct state *other = state_new();
    cr_assert_eq(state_restore(other, buf_span(&snapshot)), 0);
    cr_assert_eq(state_totals(other)->hash, hash);
    struct state *own = t.state;
    t.state = other;
    close_generation(g, 1, "c");
    cr_assert_eq(trial_facts(&t, g)->members_count, 2, "the chunk came with the snapshot");
    t.state = own;
    t.index--;
    t.stamp_ms -= 10;
    close_generation(g, 1, "c");
    cr_assert_eq(state_totals(own)->hash, state_totals(other)->hash);
    state_free(other);
    buf_close(&snapshot);
}
