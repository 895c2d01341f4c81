/* uniform against everything there is, where that can be tried: the least sum of squares, and the
 * least number of moves that leads there. */
#include <criterion/criterion.h>

#include "tests/core/assignor/brute.h"

struct shape {
    int32_t members;
    int32_t topics;
    int32_t sizes[4];
};

/* Digits of [number] in base members + 1 are the owners, the last one being nobody. */
static void set_owners(struct instance *instance, int64_t number)
{
    for (int32_t p = 0; p < instance->partition_count; p++) {
        int32_t digit = (int32_t)(number % (instance->member_count + 1));
        instance->owner[p] = digit == instance->member_count ? NOBODY : digit;
        number /= instance->member_count + 1;
    }
}

static int64_t owner_count(const struct instance *instance)
{
    int64_t n = 1;
    for (int32_t p = 0; p < instance->partition_count; p++) {
        n *= instance->member_count + 1;
    }
    return n;
}

static void check_optimal(struct instance *instance)
{
    instance_solve(instance, ASSIGNOR_UNIFORM);
    struct brute_best best = brute_solve(instance);
    cr_assert_eq(instance_squares(instance), best.squares);
    cr_assert_eq(instance_moves(instance), best.moves);
    cr_assert_not(instance->result.is_exhausted);
}

Test(small, equal_subscriptions_are_balanced_with_the_fewest_moves)
{
    static const struct shape shapes[] = {{1, 1, {3}},       {2, 1, {5}},         {2, 2, {2, 3}},
                                          {3, 1, {4}},       {3, 2, {3, 2}},      {4, 1, {4}},
                                          {4, 3, {1, 2, 1}}, {5, 2, {2, 1}},      {2, 3, {0, 3, 2}},
                                          {6, 1, {3}},       {3, 4, {1, 1, 1, 2}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct instance instance;
        instance_init(&instance, shapes[i].members, shapes[i].topics, shapes[i].sizes);
        instance_subscribe_all(&instance);
        for (int64_t n = 0; n < owner_count(&instance); n++) {
            set_owners(&instance, n);
            check_optimal(&instance);
        }
        instance_close(&instance);
    }
}

Test(small, withheld_partitions_count_for_nothing)
{
    struct instance instance;
    instance_init(&instance, 3, 2, (int32_t[]){3, 2});
    instance_subscribe_all(&instance);
    for (int32_t mask = 0; mask < 32; mask++) {
        for (int32_t p = 0; p < 5; p++) {
            instance.withheld[p] = mask >> p & 1;
        }
        for (int64_t n = 0; n < owner_count(&instance); n++) {
            set_owners(&instance, n);
            check_optimal(&instance);
        }
    }
    instance_close(&instance);
}

/* Every subscription of every member, every owner of every partition. */
struct excess {
    int64_t instances;
    int64_t over;  /* with more moves than the least */
    int64_t moves; /* beyond the least, of all */
    int64_t least; /* of all */
};

static void check_balanced(struct instance *instance, struct excess *excess)
{
    instance_solve(instance, ASSIGNOR_UNIFORM);
    struct brute_best best = brute_solve(instance);
    cr_assert_eq(instance_squares(instance), best.squares);
    cr_assert_not(brute_has_chain(instance));
    int32_t moves = instance_moves(instance);
    cr_assert_geq(moves, best.moves);
    excess->instances++;
    excess->over += moves > best.moves;
    excess->moves += moves - best.moves;
    excess->least += best.moves;
}

static void check_all_subscriptions(const struct shape *shape, struct excess *excess)
{
    struct instance instance;
    instance_init(&instance, shape->members, shape->topics, shape->sizes);
    int32_t cells = shape->members * shape->topics;
    for (int32_t mask = 0; mask < 1 << cells; mask++) {
        for (int32_t i = 0; i < cells; i++) {
            instance.subscribed[i] = mask >> i & 1;
        }
        for (int64_t n = 0; n < owner_count(&instance); n++) {
            set_owners(&instance, n);
            check_balanced(&instance, excess);
        }
    }
    instance_close(&instance);
}

Test(small, different_subscriptions_are_balanced_with_few_moves, .timeout = 120)
{
    static const struct shape shapes[] = {
        {2, 2, {2, 2}}, {2, 3, {1, 2, 1}}, {3, 2, {2, 2}}, {3, 3, {1, 1, 1}}, {4, 2, {1, 2}}};
    struct excess excess = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_all_subscriptions(&shapes[i], &excess);
    }
    cr_log_info("%lld instances, %lld over, %lld moves of %lld", (long long)excess.instances,
                (long long)excess.over, (long long)excess.moves, (long long)excess.least);
    cr_assert_leq(excess.moves, 60, "more moves than there were");
}

/* C may have what A and B have together: it gets it from whom has more, whoever stands first. */
Test(small, a_class_gives_from_its_fullest_member)
{
    struct instance instance;
    instance_init(&instance, 3, 2, (int32_t[]){6, 0});
    instance_subscribe_all(&instance);
    instance.subscribed[2 * 2 + 1] = false;
    for (int32_t full = 0; full < 2; full++) {
        for (int32_t p = 0; p < 6; p++) {
            instance.owner[p] = p < 4 ? full : 1 - full;
        }
        check_optimal(&instance);
        cr_assert_eq(instance_moves(&instance), 2);
    }
    instance_close(&instance);
}

static void scramble(struct instance *instance, uint64_t *state)
{
    int32_t classes = 1 + instance_below(state, instance->member_count);
    for (int32_t m = 0; m < instance->member_count; m++) {
        int32_t like = instance_below(state, classes);
        for (int32_t t = 0; t < instance->topic_count; t++) {
            bool *cell = &instance->subscribed[m * instance->topic_count + t];
            *cell = m > like ? instance->subscribed[like * instance->topic_count + t]
                             : instance_below(state, 3) > 0;
        }
        instance->is_static[m] = instance_below(state, 4) == 0;
    }
    for (int32_t p = 0; p < instance->partition_count; p++) {
        instance->withheld[p] = instance_below(state, 10) == 0;
        instance->owner[p] = instance_below(state, instance->member_count + 1) - 1;
    }
}

Test(small, random_subscriptions_are_balanced_with_few_moves, .timeout = 120)
{
    struct excess excess = {0};
    uint64_t state = 4;
    for (int i = 0; i < 600; i++) {
        int32_t sizes[4];
        int32_t topics = 2 + instance_below(&state, 3);
        for (int32_t t = 0; t < topics; t++) {
            sizes[t] = 1 + instance_below(&state, topics == 2 ? 4 : 2);
        }
        struct instance instance;
        instance_init(&instance, 2 + instance_below(&state, 3), topics, sizes);
        scramble(&instance, &state);
        check_balanced(&instance, &excess);
        instance_close(&instance);
    }
    cr_log_info("%lld instances, %lld over, %lld moves of %lld", (long long)excess.instances,
                (long long)excess.over, (long long)excess.moves, (long long)excess.least);
    cr_assert_leq(excess.moves, 2, "more moves than there were");
}

Test(small, middling_sizes_leave_no_chain, .timeout = 120)
{
    uint64_t state = 5;
    for (int i = 0; i < 300; i++) {
        int32_t sizes[12];
        int32_t topics = 1 + instance_below(&state, 12);
        for (int32_t t = 0; t < topics; t++) {
            sizes[t] = instance_below(&state, 20);
        }
        struct instance instance;
        instance_init(&instance, 1 + instance_below(&state, 40), topics, sizes);
        scramble(&instance, &state);
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        cr_assert_not(brute_has_chain(&instance));
        instance_keep(&instance);
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        cr_assert_eq(instance_moves(&instance), 0, "a balanced target was changed");
        instance_close(&instance);
    }
}
