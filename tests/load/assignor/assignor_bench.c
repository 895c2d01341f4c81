/* Times the assignors over the grid of Kafka's ServerSideAssignorBenchmark, without racks.
 *
 *   assignor_bench [--seconds S] [--csv FILE] [--short] [--list] [--racks]
 *                  [--point ASSIGNOR,SUBSCRIPTIONS,KIND,MEMBERS,RATIO,TOPICS]...
 *
 * A point is, as there: MEMBERS x RATIO partitions in TOPICS topics of equal size (rounded down),
 * all members subscribed to all topics or in five disjoint buckets; full: nobody has anything;
 * incremental: all but one have the result of a full assignment, one is new. Member ids are random
 * and members stand in no order. A time is the mean, over S seconds (0.2), of the thread's
 * processor time from the input to the complete result, and covers the ordering of the members and
 * the finding of equal subscriptions.
 *
 * The floor is what writing the result out takes, topic and number of every partition, sorted by
 * member, into an arena. The assignors write runs of partitions, so they can be below it.
 *
 * --racks puts members into three racks and each partition into two of them (uniform heeds it).
 * --list names the points and does no more; --short takes a dozen of them.
 *
 * Exit status 1: a result is not complete, not balanced, or its search ended early. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/core/assignor/assignor.h"

enum { BUCKETS = 5, RACKS = 3, ID_BYTES = 22, POINTS_MAX = 1000, BATCH_US = 100 };

struct point {
    enum assignor_kind assignor;
    bool is_homogeneous;
    bool is_full;
    int32_t members;
    int32_t ratio;
    int32_t topics;
};

struct problem {
    struct arena arena;
    struct assignor_input input;
    struct assignor_member *members;
    int32_t partitions_of_topic;
};

struct timing {
    double cpu_us;
    double wall_us;
    double floor_us;
    int64_t runs;
    int64_t steps;
    bool is_right;
};

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* As long as a Uuid's text, of the same letters. */
static struct span make_id(struct arena *arena, uint64_t *state)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char id[ID_BYTES];
    for (int i = 0; i < ID_BYTES; i++) {
        id[i] = letters[next_random(state) % 64];
    }
    return arena_copy(arena, span_of(id, sizeof id));
}

static int32_t min32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static struct assignor_subscription topics_between(struct arena *arena, int32_t from, int32_t to)
{
    int32_t count = to > from ? to - from : 0;
    int32_t *topics = arena_alloc(arena, (size_t)count * sizeof *topics);
    for (int32_t i = 0; i < count; i++) {
        topics[i] = from + i;
    }
    return (struct assignor_subscription){topics, count};
}

static bool has_racks;

static void add_racks(struct problem *problem, struct assignor_topic *topics)
{
    int32_t partitions = problem->partitions_of_topic;
    uint64_t *racks = arena_alloc(&problem->arena, (size_t)partitions * sizeof *racks);
    for (int32_t p = 0; p < partitions; p++) {
        racks[p] = (uint64_t)1 << p % RACKS | (uint64_t)1 << (p + 1) % RACKS;
    }
    for (int32_t t = 0; t < problem->input.topic_count; t++) {
        topics[t].racks = racks;
    }
    for (int32_t i = 0; i < problem->input.member_count; i++) {
        problem->members[i].rack = i % RACKS;
    }
}

static void make_problem(struct problem *problem, const struct point *point)
{
    arena_init(&problem->arena, SIZE_MAX);
    struct arena *arena = &problem->arena;
    uint64_t state = 42;
    problem->partitions_of_topic =
        (int32_t)((int64_t)point->members * point->ratio / point->topics);
    struct assignor_topic *topics = arena_alloc(arena, (size_t)point->topics * sizeof *topics);
    for (int32_t t = 0; t < point->topics; t++) {
        topics[t].partition_count = problem->partitions_of_topic;
    }
    int32_t buckets = point->is_homogeneous ? 1 : BUCKETS;
    int32_t topics_each = (point->topics + buckets - 1) / buckets;
    int32_t old = point->is_full ? point->members : point->members - 1;
    int32_t members_each = (old + buckets - 1) / buckets;
    struct assignor_subscription *subscriptions =
        arena_alloc(arena, (size_t)buckets * sizeof *subscriptions);
    for (int32_t b = 0; b < buckets; b++) {
        subscriptions[b] =
            topics_between(arena, b * topics_each, min32((b + 1) * topics_each, point->topics));
    }
    problem->members = arena_alloc(arena, (size_t)point->members * sizeof *problem->members);
    for (int32_t i = 0; i < point->members; i++) {
        problem->members[i] = (struct assignor_member){
            .member_id = make_id(arena, &state),
            .rack = -1,
            .subscription = min32(i / members_each, buckets - 1),
        };
    }
    problem->input =
        (struct assignor_input){problem->members, point->members, topics,        point->topics,
                                subscriptions,    buckets,        ASSIGNOR_STEPS};
    if (has_racks) {
        add_racks(problem, topics);
    }
}

/* What the others got becomes what they have; the last member is new. */
static void make_incremental(struct problem *problem, enum assignor_kind assignor)
{
    struct assignor_input before = problem->input;
    before.member_count--;
    struct assignor_result result = assignor_assign(assignor, &before, &problem->arena);
    for (int32_t i = 0; i < before.member_count; i++) {
        problem->members[i].current = result.shares[i].runs;
        problem->members[i].current_count = result.shares[i].run_count;
    }
}

/* How many partitions are in both, sorted as they are. */
static int64_t overlap(const struct assignor_member *member, const struct assignor_share *share)
{
    int64_t partitions = 0;
    int32_t r = 0;
    for (int32_t i = 0; i < member->current_count; i++) {
        struct assignor_run had = member->current[i];
        for (; r < share->run_count; r++) {
            struct assignor_run has = share->runs[r];
            if (has.topic > had.topic ||
                (has.topic == had.topic && has.first >= had.first + had.count)) {
                break;
            }
            int32_t first = has.first > had.first ? has.first : had.first;
            int32_t end = min32(has.first + has.count, had.first + had.count);
            partitions += has.topic == had.topic && end > first ? end - first : 0;
            if (has.topic == had.topic && has.first + has.count > had.first + had.count) {
                break;
            }
        }
    }
    return partitions;
}

/* All partitions; uniform's loads within one of each other in each bucket, and nothing moved but
 * what the new member got. */
static bool is_right(const struct problem *problem,
                     const struct point *point,
                     const struct assignor_result *result)
{
    int64_t partitions = 0;
    int64_t kept = 0;
    int32_t least[BUCKETS];
    int32_t most[BUCKETS] = {0};
    memset(least, 0x7f, sizeof least);
    for (int32_t i = 0; i < point->members; i++) {
        int32_t b = problem->members[i].subscription;
        int32_t count = result->shares[i].partition_count;
        partitions += count;
        kept += overlap(&problem->members[i], &result->shares[i]);
        least[b] = min32(least[b], count);
        most[b] = count > most[b] ? count : most[b];
    }
    for (int b = 0; b < (point->is_homogeneous ? 1 : BUCKETS); b++) {
        if (point->assignor == ASSIGNOR_UNIFORM && most[b] - least[b] > 1) {
            return false;
        }
    }
    int32_t of_new = result->shares[point->members - 1].partition_count;
    if (point->assignor == ASSIGNOR_UNIFORM && !point->is_full && kept != partitions - of_new) {
        return false;
    }
    return !result->is_exhausted &&
           partitions == (int64_t)problem->partitions_of_topic * point->topics;
}

static double read_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Processor time of this thread: what else the machine does is not in it. */
static double cpu_us(void)
{
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

static double wall_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

static void write_out(const struct assignor_result *result, int32_t members, int32_t *to)
{
    for (int32_t i = 0; i < members; i++) {
        const struct assignor_share *share = &result->shares[i];
        for (int32_t r = 0; r < share->run_count; r++) {
            struct assignor_run run = share->runs[r];
            for (int32_t p = 0; p < run.count; p++) {
                *to++ = run.topic;
                *to++ = run.first + p;
                __asm__ volatile("" : : : "memory"); /* one by one */
            }
        }
    }
}

/* Mean over [budget_us]. */
static double time_floor(const struct problem *problem,
                         const struct assignor_result *result,
                         double budget_us)
{
    int32_t members = problem->input.member_count;
    size_t numbers = 1;
    for (int32_t i = 0; i < members; i++) {
        numbers += 2 * (size_t)result->shares[i].partition_count;
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    write_out(result, members, arena_alloc(&arena, numbers * sizeof(int32_t)));
    int rounds = 0;
    double begin = cpu_us();
    double end;
    do {
        arena_reset(&arena, SIZE_MAX);
        write_out(result, members, arena_alloc(&arena, numbers * sizeof(int32_t)));
        rounds++;
        end = cpu_us();
    } while (end - begin < budget_us);
    arena_close(&arena);
    return (end - begin) / rounds;
}

static struct timing measure(const struct point *point, double budget_us)
{
    struct problem problem;
    make_problem(&problem, point);
    if (!point->is_full) {
        make_incremental(&problem, point->assignor);
    }
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct assignor_result result;
    double warm = cpu_us();
    do {
        arena_reset(&arena, SIZE_MAX);
        result = assignor_assign(point->assignor, &problem.input, &arena);
    } while (cpu_us() - warm < budget_us / 4);
    int rounds = 0;
    int batch = 1; /* reading the clock takes as long as a small target */
    double wall = wall_us();
    double begin = cpu_us();
    double end;
    do {
        for (int i = 0; i < batch; i++) {
            arena_reset(&arena, SIZE_MAX);
            result = assignor_assign(point->assignor, &problem.input, &arena);
        }
        rounds += batch;
        end = cpu_us();
        batch = (end - begin) / rounds * batch < BATCH_US ? 2 * batch : batch;
    } while (end - begin < budget_us);
    struct timing timing = {.cpu_us = (end - begin) / rounds,
                            .wall_us = (wall_us() - wall) / rounds};
    timing.floor_us = time_floor(&problem, &result, budget_us / 4);
    timing.steps = result.steps;
    for (int32_t i = 0; i < point->members; i++) {
        timing.runs += result.shares[i].run_count;
    }
    timing.is_right = is_right(&problem, point, &result);
    arena_close(&arena);
    arena_close(&problem.arena);
    return timing;
}

static const char *const assignors[] = {"uniform", "range"};
static const char *const subscriptions[] = {"heterogeneous", "homogeneous"};
static const char *const kinds[] = {"incremental", "full"};

static void list_grid(struct point *points, int *count, bool is_short)
{
    static const int32_t members[] = {100, 500, 1000, 5000, 10000};
    static const int32_t ratios[] = {5, 10, 50};
    static const int32_t topics[] = {10, 100, 1000};
    int number = 0;
    for (int i = 0; i < 5 * 3 * 3 * 8; i++) {
        struct point point = {.assignor = i & 1 ? ASSIGNOR_RANGE : ASSIGNOR_UNIFORM,
                              .is_homogeneous = (i & 2) == 0,
                              .is_full = (i & 4) == 0,
                              .members = members[i / 72],
                              .ratio = ratios[i / 24 % 3],
                              .topics = topics[i / 8 % 3]};
        if (point.members * point.ratio < point.topics) {
            continue; /* no partitions */
        }
        if (!is_short || number++ % 29 == 14) {
            points[(*count)++] = point;
        }
    }
}

static int find_name(const char *const names[2], const char *name)
{
    for (int i = 0; i < 2; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    fprintf(stderr, "assignor_bench: no such thing as %s\n", name);
    exit(2);
}

static struct point parse_point(const char *text)
{
    char assignor[16];
    char subscription[16];
    char kind[16];
    struct point point;
    if (sscanf(text, "%15[^,],%15[^,],%15[^,],%d,%d,%d", assignor, subscription, kind,
               &point.members, &point.ratio, &point.topics) != 6 ||
        point.members < 6 || point.ratio < 1 || point.topics < BUCKETS) {
        fprintf(stderr, "assignor_bench: not a point: %s\n", text);
        exit(2);
    }
    point.assignor = find_name(assignors, assignor) == 0 ? ASSIGNOR_UNIFORM : ASSIGNOR_RANGE;
    point.is_homogeneous = find_name(subscriptions, subscription) == 1;
    point.is_full = find_name(kinds, kind) == 1;
    return point;
}

static bool run(const struct point *point, double budget_us, FILE *csv)
{
    struct timing timing = measure(point, budget_us);
    const char *assignor = assignors[point->assignor == ASSIGNOR_RANGE];
    const char *subscription = subscriptions[point->is_homogeneous];
    const char *kind = kinds[point->is_full];
    long long partitions = (long long)point->members * point->ratio / point->topics * point->topics;
    printf("%-8s %-14s %-12s %6d %6d %7d %10lld %11.2f %11.2f %11.2f %6.2f %9lld%s\n", assignor,
           subscription, kind, point->members, point->ratio, point->topics, partitions,
           timing.cpu_us, timing.wall_us, timing.floor_us, timing.cpu_us / timing.floor_us,
           (long long)timing.runs, timing.is_right ? "" : "  WRONG");
    fflush(stdout);
    if (csv != NULL) {
        fprintf(csv, "%s,%s,%s,%d,%d,%d,%lld,%.3f,%.3f,%.3f,%lld,%lld,%s\n", assignor, subscription,
                kind, point->members, point->ratio, point->topics, partitions, timing.cpu_us,
                timing.wall_us, timing.floor_us, (long long)timing.runs, (long long)timing.steps,
                timing.is_right ? "right" : "wrong");
    }
    return timing.is_right;
}

static void print_points(const struct point *points, int count)
{
    for (int i = 0; i < count; i++) {
        printf("%s,%s,%s,%d,%d,%d\n", assignors[points[i].assignor == ASSIGNOR_RANGE],
               subscriptions[points[i].is_homogeneous], kinds[points[i].is_full], points[i].members,
               points[i].ratio, points[i].topics);
    }
}

int main(int argc, char **argv)
{
    static struct point points[POINTS_MAX];
    int count = 0;
    double seconds = 0.2;
    bool is_short = false;
    bool is_list = false;
    FILE *csv = NULL;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--short") == 0) {
            is_short = true;
        } else if (strcmp(argv[i], "--racks") == 0) {
            has_racks = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            is_list = true;
        } else if (has_value && strcmp(argv[i], "--seconds") == 0) {
            seconds = strtod(argv[++i], NULL);
        } else if (has_value && strcmp(argv[i], "--csv") == 0) {
            csv = fopen(argv[++i], "w");
        } else if (has_value && strcmp(argv[i], "--point") == 0 && count < POINTS_MAX) {
            points[count++] = parse_point(argv[++i]);
        } else {
            fprintf(stderr, "assignor_bench: what is %s?\n", argv[i]);
            return 2;
        }
    }
    if (count == 0) {
        list_grid(points, &count, is_short);
    }
    if (is_list) {
        print_points(points, count);
        return 0;
    }
    printf("%-8s %-14s %-12s %6s %6s %7s %10s %11s %11s %11s %6s %9s\n", "assignor",
           "subscriptions", "kind", "member", "ratio", "topics", "partitions", "cpu us", "wall us",
           "floor us", "x", "runs");
    if (csv != NULL) {
        fprintf(csv,
                "assignor,subscriptions,kind,members,ratio,topics,partitions,cpu_us,wall_us,"
                "floor_us,runs,steps,verdict\n");
    }
    bool is_good = true;
    for (int i = 0; i < count; i++) {
        is_good = run(&points[i], seconds * 1e6, csv) && is_good;
    }
    return csv != NULL && fclose(csv) != 0 ? 1 : !is_good;
}
