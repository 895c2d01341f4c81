/* range: blocks in the order of the members, per topic. */
#include <criterion/criterion.h>

#include "tests/core/assignor/instance.h"

static int32_t owner_of(const struct instance *instance, int32_t topic, int32_t partition)
{
    return instance->answer[instance->topic_first[topic] + partition];
}

Test(range, blocks_differ_by_one_and_the_first_are_longer)
{
    struct instance instance;
    instance_init(&instance, 3, 1, (int32_t[]){8});
    instance_subscribe_all(&instance);
    instance_solve(&instance, ASSIGNOR_RANGE);
    static const int32_t expected[] = {0, 0, 0, 1, 1, 1, 2, 2};
    for (int32_t p = 0; p < 8; p++) {
        cr_assert_eq(owner_of(&instance, 0, p), expected[p]);
    }
    instance_close(&instance);
}

Test(range, static_members_come_first)
{
    struct instance instance;
    instance_init(&instance, 3, 1, (int32_t[]){4});
    instance_subscribe_all(&instance);
    instance.is_static[2] = true;
    instance_solve(&instance, ASSIGNOR_RANGE);
    static const int32_t expected[] = {2, 2, 0, 1};
    for (int32_t p = 0; p < 4; p++) {
        cr_assert_eq(owner_of(&instance, 0, p), expected[p]);
    }
    instance_close(&instance);
}

Test(range, fewer_partitions_than_subscribers)
{
    struct instance instance;
    instance_init(&instance, 5, 2, (int32_t[]){2, 1});
    instance_subscribe_all(&instance);
    instance_solve(&instance, ASSIGNOR_RANGE);
    cr_assert_eq(owner_of(&instance, 0, 0), 0);
    cr_assert_eq(owner_of(&instance, 0, 1), 1);
    cr_assert_eq(owner_of(&instance, 1, 0), 0);
    instance_close(&instance);
}

/* The rule once more, written down as it reads, for any instance. */
static void expect_blocks(const struct instance *instance, const int32_t *order)
{
    for (int32_t t = 0; t < instance->topic_count; t++) {
        int32_t first = instance->topic_first[t];
        int32_t subscribers = 0;
        int32_t partitions = 0;
        for (int32_t m = 0; m < instance->member_count; m++) {
            subscribers += instance->subscribed[m * instance->topic_count + t];
        }
        for (int32_t p = 0; p < instance->topic_sizes[t]; p++) {
            partitions += !instance->withheld[first + p];
        }
        int32_t at = first;
        int32_t number = 0;
        for (int32_t i = 0; i < instance->member_count; i++) {
            int32_t m = order[i];
            if (!instance->subscribed[m * instance->topic_count + t]) {
                continue;
            }
            int32_t block = partitions / subscribers + (number++ < partitions % subscribers);
            for (; block > 0; at++) {
                if (instance->withheld[at]) {
                    continue;
                }
                cr_assert_eq(instance->answer[at], m);
                block--;
            }
        }
    }
}

Test(range, blocks_are_what_the_rule_says)
{
    uint64_t state = 7;
    for (int i = 0; i < 500; i++) {
        int32_t sizes[8];
        int32_t topics = 1 + instance_below(&state, 8);
        for (int32_t t = 0; t < topics; t++) {
            sizes[t] = instance_below(&state, 100);
        }
        struct instance instance;
        instance_init(&instance, 1 + instance_below(&state, 30), topics, sizes);
        int32_t order[30];
        int32_t ordered = 0;
        bool is_equal = instance_below(&state, 2) == 0;
        for (int32_t m = 0; m < instance.member_count; m++) {
            instance.is_static[m] = instance_below(&state, 3) == 0;
            for (int32_t t = 0; t < topics; t++) {
                instance.subscribed[m * topics + t] = is_equal || instance_below(&state, 2) == 0;
            }
        }
        for (int want = 1; want >= 0; want--) {
            for (int32_t m = 0; m < instance.member_count; m++) {
                if (instance.is_static[m] == (want == 1)) {
                    order[ordered++] = m;
                }
            }
        }
        for (int32_t p = 0; p < instance.partition_count; p++) {
            instance.withheld[p] = i % 2 == 0 && instance_below(&state, 5) == 0;
            instance.owner[p] = instance_below(&state, instance.member_count + 1) - 1;
        }
        instance_solve(&instance, ASSIGNOR_RANGE);
        expect_blocks(&instance, order);
        instance_close(&instance);
    }
}

Test(range, equal_topics_are_co_partitioned)
{
    struct instance instance;
    instance_init(&instance, 7, 4, (int32_t[]){30, 11, 30, 30});
    instance_subscribe_all(&instance);
    instance.subscribed[3 * 4 + 3] = false; /* topic 3 has other subscribers */
    instance_solve(&instance, ASSIGNOR_RANGE);
    for (int32_t p = 0; p < 30; p++) {
        cr_assert_eq(owner_of(&instance, 0, p), owner_of(&instance, 2, p));
    }
    instance_close(&instance);
}
