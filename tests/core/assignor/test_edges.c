/* What is odd: nothing of something, hostile targets, order of the input, the end of the steps,
 * ids that are hard to tell apart, racks. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/core/assignor/brute.h"

static void shuffle(struct instance *instance, uint64_t *state)
{
    for (int32_t i = instance->member_count - 1; i > 0; i--) {
        int32_t j = instance_below(state, i + 1);
        int32_t swap = instance->position[i];
        instance->position[i] = instance->position[j];
        instance->position[j] = swap;
    }
}

static void subscribe_at_random(struct instance *instance, uint64_t *state)
{
    for (int32_t i = 0; i < instance->member_count * instance->topic_count; i++) {
        instance->subscribed[i] = instance_below(state, 2) == 0;
    }
}

static void own_at_random(struct instance *instance, uint64_t *state)
{
    for (int32_t p = 0; p < instance->partition_count; p++) {
        instance->owner[p] = instance_below(state, instance->member_count + 1) - 1;
    }
}

Test(edges, nothing_of_something)
{
    static const struct {
        int32_t members;
        int32_t topics;
        int32_t sizes[2];
    } shapes[] = {{0, 0, {0}}, {0, 1, {5}}, {3, 0, {0}}, {3, 1, {0}}, {1, 2, {0, 100000}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct instance instance;
        instance_init(&instance, shapes[i].members, shapes[i].topics, shapes[i].sizes);
        instance_solve(&instance, ASSIGNOR_UNIFORM); /* without subscriptions */
        instance_solve(&instance, ASSIGNOR_RANGE);
        instance_subscribe_all(&instance);
        instance_solve(&instance, ASSIGNOR_RANGE);
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        if (shapes[i].members > 0) {
            cr_assert_eq(instance.loads[0], instance.partition_count);
        }
        instance_close(&instance);
    }
}

Test(edges, names)
{
    enum assignor_kind kind;
    cr_assert(assignor_find(SPAN_LITERAL("uniform"), &kind));
    cr_assert_eq(kind, ASSIGNOR_UNIFORM);
    cr_assert(assignor_find(SPAN_LITERAL("range"), &kind));
    cr_assert_eq(kind, ASSIGNOR_RANGE);
    cr_assert_not(assignor_find(SPAN_LITERAL("Range"), &kind));
    cr_assert_not(assignor_find(SPAN_NULL, &kind));
}

/* Two members name the same partitions, and one names what is not there. */
Test(edges, targets_that_cannot_be)
{
    static const struct assignor_run impossible[] = {{-1, 0, 9},        {0, -5, 3},  {0, 0, 3},
                                                     {0, 3, INT32_MAX}, {1, 50, 60}, {7, 0, 1}};
    static const struct assignor_run same[] = {{0, 1, 2}, {1, 0, 1}};
    struct assignor_member members[] = {
        {.member_id = SPAN_LITERAL("b"), .rack = -1, .current = impossible, .current_count = 6},
        {.member_id = SPAN_LITERAL("a"), .rack = -1, .current = same, .current_count = 2}};
    struct assignor_topic topics[] = {{.partition_count = 4}, {.partition_count = 2}};
    struct assignor_subscription subscription = {(int32_t[]){0, 1}, 2};
    struct assignor_input input = {members, 2, topics, 2, &subscription, 1, 0};
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct assignor_result result = assignor_assign(ASSIGNOR_UNIFORM, &input, &arena);
    cr_assert_eq(result.shares[0].partition_count, 3);
    cr_assert_eq(result.shares[1].partition_count, 3);
    /* a comes first, so what both name is a's: 0/1, 0/2, 1/0. b keeps 0/0 and 0/3. */
    cr_assert_eq(result.shares[1].run_count, 2);
    cr_assert_eq(result.shares[1].runs[0].first, 1);
    cr_assert_eq(result.shares[1].runs[0].count, 2);
    cr_assert_eq(result.shares[0].run_count, 3);
    arena_close(&arena);
}

Test(edges, the_order_of_the_input_does_not_matter)
{
    uint64_t state = 21;
    for (int i = 0; i < 200; i++) {
        struct instance instance;
        instance_init(&instance, 2 + instance_below(&state, 80), 4, (int32_t[]){40, 7, 90, 3});
        instance.id_salt = instance_random(&state);
        if (i % 2 == 0) {
            instance_subscribe_all(&instance);
        } else {
            subscribe_at_random(&instance, &state);
        }
        own_at_random(&instance, &state);
        for (int32_t m = 0; m < instance.member_count; m++) {
            instance.is_static[m] = instance_below(&state, 3) == 0;
        }
        for (int kind = 0; kind < 2; kind++) {
            int32_t before[140];
            instance_solve(&instance, (enum assignor_kind)kind);
            memcpy(before, instance.answer, sizeof before);
            shuffle(&instance, &state);
            instance_solve(&instance, (enum assignor_kind)kind);
            cr_assert_eq(memcmp(before, instance.answer, sizeof before), 0);
        }
        instance_close(&instance);
    }
}

/* range gives partition i to the i-th member, which shows the order. */
static void check_order(const char *const *ids, int32_t n)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct assignor_member *members = arena_alloc(&arena, (size_t)n * sizeof *members);
    for (int32_t i = 0; i < n; i++) {
        members[i] = (struct assignor_member){.member_id = span_from_cstr(ids[i]), .rack = -1};
    }
    struct assignor_topic topic = {.partition_count = n};
    struct assignor_subscription subscription = {(int32_t[]){0}, 1};
    struct assignor_input input = {members, n, &topic, 1, &subscription, 1, 0};
    struct assignor_result result = assignor_assign(ASSIGNOR_RANGE, &input, &arena);
    for (int32_t i = 0; i < n; i++) {
        int32_t smaller = 0;
        for (int32_t j = 0; j < n; j++) {
            smaller += strcmp(ids[j], ids[i]) < 0;
        }
        cr_assert_eq(result.shares[i].runs[0].first, smaller);
    }
    arena_close(&arena);
}

Test(edges, ids_that_are_hard_to_tell_apart)
{
    check_order((const char *const[]){"b", "", "a", "ab", "aa", "aab"}, 6);
    /* Few values in each leading byte, many equal keys, differences far behind. */
    enum { N = 3000 };
    static char text[N][40];
    const char *ids[N];
    uint64_t state = 31;
    for (int shape = 0; shape < 5; shape++) {
        for (int32_t i = 0; i < N; i++) {
            char *id = text[i];
            size_t size = sizeof text[i];
            int n = i * 7 % N; /* each once */
            int x = instance_below(&state, 2);
            switch (shape) {
                case 0:
                    snprintf(id, size, "consumer-%d", n);
                    break;
                case 1:
                    snprintf(id, size, "%c%c%c%cconsumer-group-%05d", 'a' + x, 'a' + x, 'a' + x,
                             'a' + x, n);
                    break;
                case 2:
                    snprintf(id, size, "\x01%c%c\xff%05d", 'a' + x, 'z' - x, n);
                    break;
                case 3: /* bytes that seem to tell apart, and say the same */
                    snprintf(id, size, "%c%c%c", '0' + n % 60, '0' + n % 60, '0' + n / 60);
                    break;
                default:
                    snprintf(id, size, "%05d", N - 1 - i);
                    break;
            }
            ids[i] = id;
        }
        check_order(ids, N);
    }
}

Test(edges, the_search_ends_with_its_steps)
{
    uint64_t state = 41;
    int exhausted = 0;
    for (int i = 0; i < 100; i++) {
        struct instance instance;
        instance_init(&instance, 12, 6, (int32_t[]){9, 14, 3, 20, 8, 5});
        subscribe_at_random(&instance, &state);
        own_at_random(&instance, &state);
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        cr_assert_not(instance.result.is_exhausted);
        int64_t needed = instance.result.steps;
        int64_t squares = instance_squares(&instance);
        instance.steps = needed;
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        cr_assert_not(instance.result.is_exhausted);
        cr_assert_eq(instance.result.steps, needed);
        cr_assert_eq(instance_squares(&instance), squares);
        for (int64_t steps = 0; steps < needed; steps++) {
            instance.steps = steps;
            instance_solve(&instance, ASSIGNOR_UNIFORM); /* complete and valid all the same */
            cr_assert(instance.result.is_exhausted);
            cr_assert_eq(instance.result.steps, steps);
            cr_assert_geq(instance_squares(&instance), squares);
            exhausted++;
        }
        instance_close(&instance);
    }
    cr_assert_gt(exhausted, 1000);
}

static int32_t matches(const struct instance *instance)
{
    int32_t n = 0;
    for (int32_t p = 0; p < instance->partition_count; p++) {
        int32_t rack = instance->member_rack[instance->answer[p]];
        n += rack >= 0 && (instance->racks[p] >> rack & 1) != 0;
    }
    return n;
}

Test(edges, a_new_group_reads_from_its_racks)
{
    struct instance instance;
    instance_init(&instance, 6, 2, (int32_t[]){18, 12});
    instance_subscribe_all(&instance);
    uint64_t racks[30];
    instance.racks = racks;
    for (int32_t p = 0; p < 30; p++) {
        racks[p] = (uint64_t)1 << p % 3;
    }
    for (int32_t m = 0; m < 6; m++) {
        instance.member_rack[m] = m / 2;
    }
    instance_solve(&instance, ASSIGNOR_UNIFORM);
    cr_assert_eq(instance_load_max(&instance) - instance_load_min(&instance), 0);
    cr_assert_eq(matches(&instance), 30);
    instance_close(&instance);
}

/* B joins A: A gives up what it reads from afar, and that is where B is. */
Test(edges, what_must_move_moves_to_its_rack)
{
    struct instance instance;
    instance_init(&instance, 2, 1, (int32_t[]){8});
    instance_subscribe_all(&instance);
    uint64_t racks[] = {1, 2, 1, 2, 1, 2, 1, 2};
    instance.racks = racks;
    instance.member_rack[0] = 0;
    instance.member_rack[1] = 1;
    for (int32_t p = 0; p < 8; p++) {
        instance.owner[p] = 0;
    }
    instance_solve(&instance, ASSIGNOR_UNIFORM);
    cr_assert_eq(instance_moves(&instance), 4);
    cr_assert_eq(matches(&instance), 8);
    instance_close(&instance);
}

/* Racks change neither the balance nor the number of moves. */
Test(edges, racks_cost_nothing)
{
    uint64_t state = 51;
    for (int i = 0; i < 200; i++) {
        struct instance instance;
        uint64_t racks[70];
        instance_init(&instance, 2 + instance_below(&state, 20), 3, (int32_t[]){40, 10, 20});
        if (i % 2 == 0) {
            instance_subscribe_all(&instance);
        } else {
            subscribe_at_random(&instance, &state);
        }
        own_at_random(&instance, &state);
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        int64_t squares = instance_squares(&instance);
        int32_t moves = instance_moves(&instance);
        instance.racks = racks;
        for (int32_t p = 0; p < 70; p++) {
            racks[p] = instance_random(&state) & instance_random(&state) & 0xf;
        }
        for (int32_t m = 0; m < instance.member_count; m++) {
            instance.member_rack[m] = instance_below(&state, 5) - 1;
        }
        instance_solve(&instance, ASSIGNOR_UNIFORM);
        cr_assert_eq(instance_squares(&instance), squares);
        if (i % 2 == 0) {
            cr_assert_eq(instance_moves(&instance), moves);
        }
        instance_close(&instance);
    }
}
