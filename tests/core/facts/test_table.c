#include <criterion/criterion.h>

#include "server/core/hash.h"
#include "server/core/state_roll.h"
#include "server/core/table.h"
#include "tests/rpc/leaks.h"

TestSuite(table, .fini = leaks_abort);
TestSuite(roll, .fini = leaks_abort);
TestSuite(hash, .fini = leaks_abort);

struct item {
    uint64_t key;
    bool is_in;
};

static bool has_key(const void *item, const void *key)
{
    return ((const struct item *)item)->key == *(const uint64_t *)key;
}

/* Few distinct hashes, so that entries are far from home and wrap around the end. */
static uint64_t poor_hash(uint64_t key)
{
    return UINT64_MAX - key % 3;
}

static void check_all(const struct table *table, struct item *items, uint64_t n)
{
    size_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct item *found = table_find(table, poor_hash(i), has_key, &i);
        cr_assert_eq(found, items[i].is_in ? &items[i] : NULL);
        count += items[i].is_in;
    }
    cr_assert_eq(count, table->count);
}

Test(table, finds_what_is_in_it_whatever_goes_between)
{
    enum { N = 40 };
    struct item items[N];
    struct table table = {0};
    uint64_t key = 7;
    cr_assert_null(table_find(&table, poor_hash(7), has_key, &key));
    for (uint64_t i = 0; i < N; i++) {
        items[i] = (struct item){i, true};
        table_put(&table, poor_hash(i), &items[i]);
        check_all(&table, items, i + 1);
    }
    for (uint64_t step = 0; step < N; step++) {
        uint64_t i = step * 7 % N;
        items[i].is_in = false;
        table_remove(&table, poor_hash(i), &items[i]);
        check_all(&table, items, N);
    }
    table_close(&table);
}

Test(table, is_never_more_than_three_quarters_full)
{
    struct item items[100];
    struct table table = {0};
    for (uint64_t i = 0; i < 100; i++) {
        items[i] = (struct item){i, true};
        table_put(&table, hash_of_id(i), &items[i]);
        cr_assert_leq(table.count * 4, table.cap * 3);
    }
    table_close(&table);
}

Test(roll, walks_in_order_of_ids)
{
    int items[8];
    struct roll roll = {0};
    const uint64_t ids[] = {5, 9, 2, 7, 1};
    for (size_t i = 0; i < 5; i++) {
        roll_put(&roll, ids[i], &items[i]);
    }
    const uint64_t sorted[] = {1, 2, 5, 7, 9};
    uint64_t at = 0;
    for (size_t i = 0; i < 5; i++) {
        cr_assert_not_null(roll_next(&roll, &at));
        cr_assert_eq(at, sorted[i] + 1);
    }
    cr_assert_null(roll_next(&roll, &at));
    cr_assert_eq(roll_find(&roll, 2), &items[2]);
    cr_assert_null(roll_find(&roll, 3));
    roll_replace(&roll, 2, &items[7]);
    cr_assert_eq(roll_find(&roll, 2), &items[7]);
    roll_close(&roll);
}

Test(roll, a_walk_survives_changes)
{
    int item;
    struct roll roll = {0};
    for (uint64_t id = 1; id <= 1000; id++) {
        roll_put(&roll, id, &item);
    }
    uint64_t at = 0;
    for (int i = 0; i < 500; i++) {
        roll_next(&roll, &at);
    }
    /* Enough to make it close its gaps. */
    for (uint64_t id = 1; id <= 900; id++) {
        roll_remove(&roll, id);
    }
    roll_put(&roll, 1001, &item);
    cr_assert_not_null(roll_next(&roll, &at));
    cr_assert_eq(at, 902);
    size_t rest = 1;
    while (roll_next(&roll, &at) != NULL) {
        rest++;
    }
    cr_assert_eq(rest, 101);
    cr_assert_eq(roll.count, 101);
    cr_assert_lt(roll.used, 300, "gaps are closed");
    roll_put(&roll, 900, &item);
    cr_assert_eq(roll_find(&roll, 900), &item);
    roll_close(&roll);
}

/* Equal on every machine: these were computed once and may never change, since snapshots carry
 * hashes. */
Test(hash, is_the_same_everywhere)
{
    cr_assert_eq(hash_of_id(1), UINT64_C(0x83ffb7bec341a2db));
    cr_assert_eq(hash_of_span(SPAN_LITERAL("")), UINT64_C(0x89601faf8034e4e4));
    cr_assert_eq(hash_of_span(SPAN_LITERAL("a consumer group")), UINT64_C(0x80b2bd7bd1fa5bc8));
}

Test(hash, tells_similar_bytes_apart)
{
    cr_assert_neq(hash_of_span(SPAN_NULL), hash_of_span(SPAN_EMPTY));
    cr_assert_neq(hash_of_span(span_of("a\0", 2)), hash_of_span(span_of("a", 1)));
    cr_assert_neq(hash_of_span(SPAN_LITERAL("12345678")), hash_of_span(SPAN_LITERAL("12345679")));
    uint64_t ab = hash_span(hash_span(hash_begin(0), SPAN_LITERAL("a")), SPAN_LITERAL("b"));
    uint64_t ab2 = hash_span(hash_span(hash_begin(0), SPAN_LITERAL("ab")), SPAN_LITERAL(""));
    cr_assert_neq(ab, ab2);
}
