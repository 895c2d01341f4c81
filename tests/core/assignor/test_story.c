/* The story of ten shards: A alone, B and C join, a shard of A's splits, C stops. Only the moves
 * that balance requires. */
#include <criterion/criterion.h>

#include "tests/core/assignor/instance.h"

enum { A, B, C, MEMBERS, SHARDS = 10, CHILDREN = 2 };

static void expect(struct instance *instance, int32_t a, int32_t b, int32_t c, int32_t moves)
{
    instance_solve(instance, ASSIGNOR_UNIFORM);
    cr_assert_eq(instance->loads[A], a);
    cr_assert_eq(instance->loads[B], b);
    cr_assert_eq(instance->loads[C], c);
    cr_assert_eq(instance_moves(instance), moves, "%d moves", instance_moves(instance));
    instance_keep(instance);
}

Test(story, ten_shards)
{
    struct instance instance;
    instance_init(&instance, MEMBERS, 1, (int32_t[]){SHARDS + CHILDREN});
    for (int32_t child = SHARDS; child < SHARDS + CHILDREN; child++) {
        instance.withheld[child] = true; /* not there yet */
    }
    instance.subscribed[A] = true;
    expect(&instance, 10, 0, 0, 0);

    instance.subscribed[B] = true;
    instance.subscribed[C] = true;
    expect(&instance, 4, 3, 3, 6);

    int32_t parent = 0;
    while (instance.owner[parent] != A) {
        parent++;
    }
    instance.withheld[parent] = true; /* sealed, consumed and released: its children come */
    instance.withheld[SHARDS] = false;
    instance.withheld[SHARDS + 1] = false;
    expect(&instance, 4, 4, 3, 0);

    instance.subscribed[C] = false;
    expect(&instance, 6, 5, 0, 0);

    instance_close(&instance);
}

/* While the parent is not yet consumed it stays with A, and its children with nobody. */
Test(story, children_wait_for_their_parent)
{
    struct instance instance;
    instance_init(&instance, MEMBERS, 1, (int32_t[]){SHARDS + CHILDREN});
    instance.withheld[SHARDS] = true;
    instance.withheld[SHARDS + 1] = true;
    instance_subscribe_all(&instance);
    expect(&instance, 4, 3, 3, 0);
    expect(&instance, 4, 3, 3, 0);
    cr_assert_eq(instance.answer[SHARDS], NOBODY);
    instance_close(&instance);
}
