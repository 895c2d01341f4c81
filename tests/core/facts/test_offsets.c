#include <criterion/criterion.h>

#include "rpc/arena.h"
#include "server/core/state_internal.h"
#include "tests/rpc/leaks.h"

TestSuite(offsets, .fini = leaks_abort);

static void close_offsets(struct offsets *offsets)
{
    struct editions editions = {0};
    offsets_drop(offsets, &editions, 0);
}

Test(offsets, keeps_rows_by_topic_and_partition)
{
    enum { TOPICS = 3, PARTITIONS = 300 };
    struct offsets offsets = {0};
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (uint64_t t = 1; t <= TOPICS; t++) {
            struct offset_row *row = offsets_put(&offsets, t, p);
            cr_assert_eq(row->offset, 0, "a new row");
            row->offset = (int64_t)t * 1000 + p;
        }
    }
    cr_assert_eq(offsets.count, TOPICS * PARTITIONS);
    cr_assert_eq(offsets_put(&offsets, 2, 77)->offset, 2077, "the same row");
    cr_assert_eq(offsets.count, TOPICS * PARTITIONS);
    /* Every second one goes, the others stay. */
    for (int32_t p = 0; p < PARTITIONS; p += 2) {
        for (uint64_t t = 1; t <= TOPICS; t++) {
            offsets_remove(&offsets, offsets_find(&offsets, t, p));
        }
    }
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (uint64_t t = 1; t <= TOPICS; t++) {
            const struct offset_row *row = offsets_find(&offsets, t, p);
            cr_assert_eq(row == NULL, p % 2 == 0);
            cr_assert(row == NULL || row->offset == (int64_t)t * 1000 + p);
        }
    }
    close_offsets(&offsets);
}

Test(offsets, is_empty_again_after_the_last_row)
{
    struct offsets offsets = {0};
    for (int32_t p = 0; p < 100; p++) {
        offsets_put(&offsets, 1, p);
    }
    for (int32_t p = 0; p < 100; p++) {
        offsets_remove(&offsets, offsets_find(&offsets, 1, p));
    }
    cr_assert_eq(offsets.count, 0);
    cr_assert_null(offsets.rows);
    cr_assert_null(offsets.index);
    cr_assert_null(offsets_find(&offsets, 1, 1));
}

Test(offsets, sorts_by_topic_then_partition)
{
    struct offsets offsets = {0};
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    for (int32_t i = 0; i < 64; i++) {
        offsets_put(&offsets, (uint64_t)(i * 37 % 8 + 1), i * 11 % 64);
    }
    const struct offset_row **sorted = offsets_sorted(&offsets, &arena);
    for (uint32_t i = 1; i < offsets.count; i++) {
        cr_assert(sorted[i - 1]->topic < sorted[i]->topic ||
                  (sorted[i - 1]->topic == sorted[i]->topic &&
                   sorted[i - 1]->partition < sorted[i]->partition));
    }
    uint32_t at = 0;
    uint32_t walked = 0;
    while (offsets_next(&offsets, &at) != NULL) {
        walked++;
    }
    cr_assert_eq(walked, 64);
    arena_close(&arena);
    close_offsets(&offsets);
}

/* What is resident of a table: its rows and its index (what is reserved behind the rows is not). */
Test(offsets, takes_at_most_70_bytes_a_row)
{
    struct offsets offsets = {0};
    for (int32_t p = 0; p < 1000000; p++) {
        offsets_put(&offsets, 1, p);
    }
    double bytes = (double)offsets.count * sizeof *offsets.rows +
                   (double)offsets.index_cap * sizeof *offsets.index;
    cr_assert_leq(bytes / offsets.count, 70.0);
    close_offsets(&offsets);
    for (int32_t p = 0; p < 10; p++) {
        offsets_put(&offsets, 1, p);
    }
    bytes = (double)offsets.cap * sizeof *offsets.rows;
    cr_assert_leq(bytes / offsets.count, 70.0, "small tables, too");
    close_offsets(&offsets);
}

Test(offsets, a_copy_is_apart)
{
    struct offsets offsets = {0};
    for (int32_t p = 0; p < 50; p++) {
        offsets_put(&offsets, 1, p)->offset = p;
    }
    struct offsets copy = offsets_copy(&offsets);
    offsets_put(&copy, 1, 3)->offset = 99;
    offsets_put(&copy, 2, 0);
    offsets_remove(&copy, offsets_find(&copy, 1, 4));
    cr_assert_eq(offsets_find(&offsets, 1, 3)->offset, 3);
    cr_assert_null(offsets_find(&offsets, 2, 0));
    cr_assert_not_null(offsets_find(&offsets, 1, 4));
    cr_assert_null(offsets_find(&copy, 1, 4));
    cr_assert_eq(offsets_find(&copy, 1, 49)->offset, 49);
    close_offsets(&offsets);
    close_offsets(&copy);
}
