#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/core/seat.h"
#include "server/core/seat_table.h"

enum { KEYS = 300 };

static char keys[KEYS][16];
static struct seat *seats[KEYS];

static uint64_t seed;

static int chance(int below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)below);
}

static struct span key(int i)
{
    return span_from_cstr(keys[i]);
}

static void setup(void)
{
    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "m-%d", i);
        seats[i] = calloc(1, sizeof *seats[i]);
    }
}

static void teardown(void)
{
    for (int i = 0; i < KEYS; i++) {
        free(seats[i]);
    }
}

TestSuite(seat_table, .init = setup, .fini = teardown);

Test(seat_table, an_empty_one_has_nothing)
{
    struct seat_table table = {0};
    cr_assert_null(seat_table_find(&table, SPAN_LITERAL("x")));
    cr_assert_null(seat_table_find(&table, SPAN_EMPTY));
    seat_table_close(&table);
}

Test(seat_table, random_use_agrees_with_an_array)
{
    struct seat_table table = {0};
    bool is_in[KEYS] = {false};
    size_t count = 0;
    seed = 7;
    for (int step = 0; step < 20000; step++) {
        int i = chance(KEYS);
        if (is_in[i]) {
            seat_table_remove(&table, key(i));
            count--;
        } else {
            seat_table_add(&table, key(i), seats[i]);
            count++;
        }
        is_in[i] = !is_in[i];
        int k = chance(KEYS);
        cr_assert_eq(seat_table_find(&table, key(k)), is_in[k] ? seats[k] : NULL);
        cr_assert_eq(table.count, count);
    }
    for (int i = 0; i < KEYS; i++) {
        cr_assert_eq(seat_table_find(&table, key(i)), is_in[i] ? seats[i] : NULL);
    }
    seat_table_close(&table);
}
