#include <criterion/criterion.h>

#include "server/core/deadline.h"

enum { MANY = 500 };

struct item {
    struct deadline deadline; /* first: the tests cast */
    int fired;
    int64_t expected_ms;
};

static uint64_t seed;

static int chance(int below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)below);
}

static int64_t now_ms;
static struct item *order[MANY * 2];
static int fired_count;

static void fire(struct coordinator *c, struct deadline *deadline)
{
    (void)c;
    struct item *item = (struct item *)deadline;
    item->fired++;
    order[fired_count++] = item;
}

static void run_to(struct deadlines *deadlines, int64_t to_ms)
{
    now_ms = to_ms;
    while (deadlines_run(deadlines, NULL, now_ms, 10)) {
        deadlines_check(deadlines);
    }
    deadlines_check(deadlines);
}

static void setup(void)
{
    fired_count = 0;
}

TestSuite(deadline, .init = setup);

Test(deadline, fires_in_order_ties_in_order_of_setting)
{
    struct deadlines deadlines;
    struct item items[4] = {{.fired = 0}};
    int64_t at[4] = {20, 10, 20, 10};
    deadlines_init(&deadlines);
    cr_assert_eq(deadlines_next(&deadlines), INT64_MAX);
    for (int i = 0; i < 4; i++) {
        deadline_init(&items[i].deadline, fire);
        deadline_set(&deadlines, &items[i].deadline, at[i]);
    }
    cr_assert_eq(deadlines_next(&deadlines), 10);
    run_to(&deadlines, 9);
    cr_assert_eq(fired_count, 0);
    run_to(&deadlines, 20);
    cr_assert_eq(fired_count, 4);
    cr_assert_eq(order[0], &items[1]);
    cr_assert_eq(order[1], &items[3]);
    cr_assert_eq(order[2], &items[0]);
    cr_assert_eq(order[3], &items[2]);
    cr_assert_not(deadline_is_set(&items[0].deadline));
    deadlines_close(&deadlines);
}

Test(deadline, moving_later_touches_no_heap)
{
    struct deadlines deadlines;
    struct item items[MANY] = {{.fired = 0}};
    deadlines_init(&deadlines);
    for (int i = 0; i < MANY; i++) {
        deadline_init(&items[i].deadline, fire);
        deadline_set(&deadlines, &items[i].deadline, 100 + i);
    }
    uint64_t before = deadlines.next_order;
    for (int i = 0; i < MANY; i++) {
        size_t place = items[i].deadline.place;
        deadline_set(&deadlines, &items[i].deadline, 1000 + i);
        cr_assert_eq(items[i].deadline.place, place);
    }
    cr_assert_eq(deadlines.next_order, before, "no entry moved");
    run_to(&deadlines, 999);
    cr_assert_eq(fired_count, 0, "nothing fires at its old time");
    run_to(&deadlines, 1000 + MANY);
    cr_assert_eq(fired_count, MANY);
    deadlines_close(&deadlines);
}

Test(deadline, cleared_ones_do_not_fire_and_may_be_set_again)
{
    struct deadlines deadlines;
    struct item item = {.fired = 0};
    deadlines_init(&deadlines);
    deadline_init(&item.deadline, fire);
    deadline_clear(&deadlines, &item.deadline);
    deadline_set(&deadlines, &item.deadline, 5);
    deadline_clear(&deadlines, &item.deadline);
    run_to(&deadlines, 10);
    cr_assert_eq(fired_count, 0);
    deadline_set(&deadlines, &item.deadline, 12);
    deadline_set(&deadlines, &item.deadline, 11);
    run_to(&deadlines, 11);
    cr_assert_eq(fired_count, 1);
    deadlines_close(&deadlines);
}

Test(deadline, no_more_than_asked_at_once)
{
    struct deadlines deadlines;
    struct item items[3] = {{.fired = 0}};
    deadlines_init(&deadlines);
    for (int i = 0; i < 3; i++) {
        deadline_init(&items[i].deadline, fire);
        deadline_set(&deadlines, &items[i].deadline, 1);
    }
    cr_assert(deadlines_run(&deadlines, NULL, 1, 2));
    cr_assert_eq(fired_count, 2);
    cr_assert_not(deadlines_run(&deadlines, NULL, 1, 2));
    cr_assert_eq(fired_count, 3);
    deadlines_close(&deadlines);
}

Test(deadline, standing_still_shifts_all)
{
    struct deadlines deadlines;
    struct item items[2] = {{.fired = 0}};
    deadlines_init(&deadlines);
    for (int i = 0; i < 2; i++) {
        deadline_init(&items[i].deadline, fire);
        deadline_set(&deadlines, &items[i].deadline, 10 + i);
    }
    deadline_set(&deadlines, &items[1].deadline, 50);
    deadlines_shift(&deadlines, 100);
    run_to(&deadlines, 109);
    cr_assert_eq(fired_count, 0);
    run_to(&deadlines, 110);
    cr_assert_eq(fired_count, 1);
    run_to(&deadlines, 149);
    cr_assert_eq(fired_count, 1);
    run_to(&deadlines, 150);
    cr_assert_eq(fired_count, 2);
    deadlines_close(&deadlines);
}

/* Against the plain truth: each fires once, at the first step at or after its time. */
Test(deadline, random_use_agrees_with_a_list)
{
    struct deadlines deadlines;
    static struct item items[MANY];
    deadlines_init(&deadlines);
    seed = 1;
    for (int i = 0; i < MANY; i++) {
        deadline_init(&items[i].deadline, fire);
        items[i].expected_ms = INT64_MAX;
    }
    for (int64_t at = 1; at < 3000; at++) {
        struct item *item = &items[chance(MANY)];
        if (chance(4) == 0) {
            deadline_clear(&deadlines, &item->deadline);
            item->expected_ms = INT64_MAX;
        } else {
            item->expected_ms = at + chance(300);
            deadline_set(&deadlines, &item->deadline, item->expected_ms);
        }
        fired_count = 0;
        run_to(&deadlines, at);
        for (int i = 0; i < MANY; i++) {
            bool is_due = items[i].expected_ms <= at;
            cr_assert_eq(items[i].fired, is_due ? 1 : 0, "item %d at %d", i, (int)at);
            items[i].fired = 0;
            items[i].expected_ms = is_due ? INT64_MAX : items[i].expected_ms;
        }
    }
    deadlines_close(&deadlines);
}
