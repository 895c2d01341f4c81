/* Sizes that nobody can try out: bounds that follow from the rules, through chains of changes. */
#include <criterion/criterion.h>

#include "tests/core/assignor/brute.h"

/* With equal subscriptions nobody gives up more than what it has above its share. [longer] members
 * may have one more; those that have it already come first. */
static int32_t least_moves(const struct instance *instance)
{
    int32_t partitions = 0;
    for (int32_t p = 0; p < instance->partition_count; p++) {
        partitions += instance->answer[p] != NOBODY;
    }
    int32_t members = 0;
    int32_t *held = calloc((size_t)instance->member_count, sizeof *held);
    for (int32_t m = 0; m < instance->member_count; m++) {
        members += instance->subscribed[(int64_t)m * instance->topic_count];
    }
    for (int32_t p = 0; p < instance->partition_count; p++) {
        int32_t owner = instance->owner[p];
        if (owner != NOBODY && instance_may(instance, owner, p)) {
            held[owner]++;
        }
    }
    int32_t share = partitions / members;
    int32_t longer = partitions % members;
    int32_t moves = 0;
    for (int32_t m = 0; m < instance->member_count; m++) {
        int32_t above = held[m] - share;
        if (above > 0) {
            moves += above - (longer > 0);
            longer -= longer > 0;
        }
    }
    free(held);
    return moves;
}

/* Members that are not subscribed to topic 0 are gone. */
static void check(struct instance *instance)
{
    instance_solve(instance, ASSIGNOR_UNIFORM);
    int32_t least = INT32_MAX;
    int32_t most = 0;
    for (int32_t m = 0; m < instance->member_count; m++) {
        if (instance->subscribed[(int64_t)m * instance->topic_count]) {
            least = instance->loads[m] < least ? instance->loads[m] : least;
            most = instance->loads[m] > most ? instance->loads[m] : most;
        }
    }
    cr_assert_leq(most - least, 1);
    cr_assert_eq(instance_moves(instance), least_moves(instance));
    cr_assert_not(instance->result.is_exhausted);
    instance_keep(instance);
}

static void set_present(struct instance *instance, int32_t member, bool is_present)
{
    memset(instance->subscribed + (int64_t)member * instance->topic_count, is_present,
           (size_t)instance->topic_count);
}

Test(large, a_group_through_its_life, .timeout = 120)
{
    enum { MEMBERS = 1000, TOPICS = 50 };
    int32_t sizes[TOPICS];
    uint64_t state = 11;
    for (int t = 0; t < TOPICS; t++) {
        sizes[t] = 1 + instance_below(&state, 400);
    }
    struct instance instance;
    instance_init(&instance, MEMBERS, TOPICS, sizes);
    instance.id_salt = 3;
    set_present(&instance, 0, true);
    check(&instance);
    for (int round = 0; round < 60; round++) {
        int32_t changes = 1 + instance_below(&state, 60);
        for (int32_t i = 0; i < changes; i++) {
            int32_t member = 1 + instance_below(&state, MEMBERS - 1);
            set_present(&instance, member, instance_below(&state, 3) > 0);
        }
        for (int32_t i = 0; i < 20; i++) {
            int32_t p = instance_below(&state, instance.partition_count);
            instance.withheld[p] = !instance.withheld[p];
        }
        check(&instance);
    }
    instance_close(&instance);
}

/* Groups within the group that share no topic: each is balanced and sticky by itself. */
Test(large, disjoint_subscriptions_do_not_disturb_each_other, .timeout = 120)
{
    enum { MEMBERS = 600, TOPICS = 30, PARTS = 3 };
    int32_t sizes[TOPICS];
    uint64_t state = 12;
    for (int t = 0; t < TOPICS; t++) {
        sizes[t] = 100 + instance_below(&state, 100);
    }
    struct instance instance;
    instance_init(&instance, MEMBERS, TOPICS, sizes);
    for (int32_t m = 0; m < MEMBERS; m++) {
        for (int32_t t = m % PARTS; t < TOPICS; t += PARTS) {
            instance.subscribed[m * TOPICS + t] = true;
        }
    }
    instance_solve(&instance, ASSIGNOR_UNIFORM);
    instance_keep(&instance);
    memset(instance.subscribed, 0, TOPICS); /* member 0 leaves, of part 0 */
    instance_solve(&instance, ASSIGNOR_UNIFORM);
    cr_assert_eq(instance_moves(&instance), 0, "nobody had too much");
    for (int part = 0; part < PARTS; part++) {
        int32_t least = INT32_MAX;
        int32_t most = 0;
        for (int32_t m = part == 0 ? PARTS : part; m < MEMBERS; m += PARTS) {
            least = instance.loads[m] < least ? instance.loads[m] : least;
            most = instance.loads[m] > most ? instance.loads[m] : most;
        }
        cr_assert_leq(most - least, 1);
    }
    instance_close(&instance);
}

/* Nested subscriptions, member m has the first topics up to its own: with topics of equal size the
 * members of the shortest subscriptions need only what the others leave them. */
Test(large, nested_subscriptions_are_even_where_they_can_be, .timeout = 120)
{
    enum { MEMBERS = 500, TOPICS = 100 };
    int32_t sizes[TOPICS];
    for (int t = 0; t < TOPICS; t++) {
        sizes[t] = 25;
    }
    struct instance instance;
    instance_init(&instance, MEMBERS, TOPICS, sizes);
    for (int32_t m = 0; m < MEMBERS; m++) {
        memset(instance.subscribed + m * TOPICS, true, (size_t)(m % TOPICS) + 1);
    }
    instance_solve(&instance, ASSIGNOR_UNIFORM);
    cr_assert_eq(instance_load_max(&instance), 5);
    cr_assert_eq(instance_load_min(&instance), 5);
    cr_assert_not(instance.result.is_exhausted);
    instance_keep(&instance);
    instance_solve(&instance, ASSIGNOR_UNIFORM);
    cr_assert_eq(instance_moves(&instance), 0);
    instance_close(&instance);
}

/* Members come and go among subscriptions that overlap. Whoever ends with less than it had must
 * have given that much. The bound cannot be reached: kinds that share no topic even out through
 * others. */
Test(large, overlapping_subscriptions_move_little, .timeout = 120)
{
    enum { MEMBERS = 120, TOPICS = 24, KINDS = 5 };
    int32_t sizes[TOPICS];
    uint64_t state = 13;
    for (int t = 0; t < TOPICS; t++) {
        sizes[t] = 10 + instance_below(&state, 50);
    }
    struct instance instance;
    instance_init(&instance, MEMBERS, TOPICS, sizes);
    int64_t moves = 0;
    int64_t bound = 0;
    for (int round = 0; round < 300; round++) {
        int32_t member = instance_below(&state, MEMBERS);
        int32_t kind = instance_below(&state, KINDS + 1);
        for (int32_t t = 0; t < TOPICS; t++) {
            instance.subscribed[member * TOPICS + t] = kind < KINDS && (t + kind) % KINDS < 2;
        }
        int32_t held[MEMBERS] = {0};
        for (int32_t p = 0; p < instance.partition_count; p++) {
            int32_t owner = instance.owner[p];
            if (owner != NOBODY && instance_may(&instance, owner, p)) {
                held[owner]++;
            }
        }
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        for (int32_t m = 0; m < MEMBERS; m++) {
            bound += held[m] > instance.loads[m] ? held[m] - instance.loads[m] : 0;
        }
        moves += instance_moves(&instance);
        if (round % 30 == 0) {
            cr_assert_not(brute_has_chain(&instance));
        }
        instance_keep(&instance);
    }
    cr_log_info("%lld moves, at least %lld", (long long)moves, (long long)bound);
    cr_assert_leq(moves * 10, bound * 14);
    instance_close(&instance);
}
