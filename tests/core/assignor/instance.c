#include "tests/core/assignor/instance.h"

#include <criterion/criterion.h>
#include <stdio.h>

static int32_t *ints(struct arena *arena, int32_t n)
{
    return arena_alloc(arena, (size_t)n * sizeof(int32_t));
}

void instance_init(struct instance *instance,
                   int32_t member_count,
                   int32_t topic_count,
                   const int32_t *topic_sizes)
{
    *instance = (struct instance){
        .member_count = member_count, .topic_count = topic_count, .steps = ASSIGNOR_STEPS};
    arena_init(&instance->arena, SIZE_MAX);
    arena_init(&instance->scratch, SIZE_MAX);
    struct arena *arena = &instance->arena;
    instance->topic_sizes = ints(arena, topic_count);
    instance->topic_first = ints(arena, topic_count + 1);
    for (int32_t t = 0; t < topic_count; t++) {
        instance->topic_sizes[t] = topic_sizes[t];
        instance->topic_first[t + 1] = instance->topic_first[t] + topic_sizes[t];
    }
    int32_t partitions = instance->partition_count = instance->topic_first[topic_count];
    instance->topic_of = ints(arena, partitions);
    for (int32_t t = 0; t < topic_count; t++) {
        for (int32_t p = instance->topic_first[t]; p < instance->topic_first[t + 1]; p++) {
            instance->topic_of[p] = t;
        }
    }
    instance->subscribed = arena_alloc(arena, (size_t)member_count * (size_t)topic_count);
    instance->withheld = arena_alloc(arena, (size_t)partitions);
    instance->is_static = arena_alloc(arena, (size_t)member_count);
    instance->owner = ints(arena, partitions);
    instance->answer = ints(arena, partitions);
    instance->member_rack = ints(arena, member_count);
    instance->position = ints(arena, member_count);
    instance->loads = ints(arena, member_count);
    for (int32_t p = 0; p < partitions; p++) {
        instance->owner[p] = NOBODY;
    }
    for (int32_t m = 0; m < member_count; m++) {
        instance->member_rack[m] = -1;
        instance->position[m] = m;
    }
}

void instance_close(struct instance *instance)
{
    arena_close(&instance->arena);
    arena_close(&instance->scratch);
}

void instance_subscribe_all(struct instance *instance)
{
    memset(instance->subscribed, true,
           (size_t)instance->member_count * (size_t)instance->topic_count);
}

static struct span make_id(struct instance *instance, const char *kind, int32_t member)
{
    char text[64];
    uint64_t salt = instance->id_salt;
    uint64_t hash = salt == 0 ? 0 : ((uint64_t)member + salt) * 0x9e3779b97f4a7c15u;
    int n = snprintf(text, sizeof text, "%s-%04x-%06d", kind, (unsigned)(hash >> 48), (int)member);
    return arena_copy(&instance->scratch, span_of(text, (size_t)n));
}

static struct assignor_topic make_topic(struct instance *instance, int32_t topic)
{
    struct assignor_topic made = {.partition_count = instance->topic_sizes[topic]};
    int32_t first = instance->topic_first[topic];
    size_t words = (size_t)(made.partition_count + 63) / 64;
    uint64_t *withheld = arena_alloc(&instance->scratch, words * sizeof *withheld);
    for (int32_t p = 0; p < made.partition_count; p++) {
        if (instance->withheld[first + p]) {
            withheld[p / 64] |= (uint64_t)1 << p % 64;
            made.withheld = withheld;
        }
    }
    made.racks = instance->racks == NULL ? NULL : instance->racks + first;
    return made;
}

static struct assignor_subscription make_subscription(struct instance *instance, int32_t member)
{
    struct assignor_subscription made = {0};
    int32_t *topics = ints(&instance->scratch, instance->topic_count);
    const bool *subscribed = instance->subscribed + (int64_t)member * instance->topic_count;
    for (int32_t t = 0; t < instance->topic_count; t++) {
        if (subscribed[t]) {
            topics[made.topic_count++] = t;
        }
    }
    made.topics = topics;
    return made;
}

/* All present targets in one pass over the partitions. */
static void make_current(struct instance *instance, struct assignor_member *members)
{
    int32_t *counts = ints(&instance->scratch, instance->member_count);
    for (int32_t p = 0; p < instance->partition_count; p++) {
        if (instance->owner[p] != NOBODY) {
            counts[instance->owner[p]]++;
        }
    }
    struct assignor_run **runs =
        arena_alloc(&instance->scratch, (size_t)instance->member_count * sizeof *runs);
    for (int32_t m = 0; m < instance->member_count; m++) {
        runs[m] = arena_alloc(&instance->scratch, (size_t)counts[m] * sizeof **runs);
        members[instance->position[m]].current = runs[m];
    }
    for (int32_t p = 0; p < instance->partition_count; p++) {
        int32_t m = instance->owner[p];
        if (m == NOBODY) {
            continue;
        }
        int32_t topic = instance->topic_of[p];
        int32_t at = p - instance->topic_first[topic];
        int32_t *count = &members[instance->position[m]].current_count;
        struct assignor_run *last = *count == 0 ? NULL : &runs[m][*count - 1];
        if (last != NULL && last->topic == topic && last->first + last->count == at) {
            last->count++;
        } else {
            runs[m][(*count)++] = (struct assignor_run){topic, at, 1};
        }
    }
}

static void decode(struct instance *instance, int32_t member)
{
    const struct assignor_share *share = &instance->result.shares[instance->position[member]];
    int32_t partitions = 0;
    for (int32_t r = 0; r < share->run_count; r++) {
        struct assignor_run run = share->runs[r];
        cr_assert(run.topic >= 0 && run.topic < instance->topic_count);
        cr_assert(run.first >= 0 && run.count > 0);
        cr_assert(run.first + run.count <= instance->topic_sizes[run.topic]);
        struct assignor_run last = r == 0 ? (struct assignor_run){-1, 0, 0} : share->runs[r - 1];
        cr_assert(run.topic > last.topic ||
                      (run.topic == last.topic && run.first > last.first + last.count),
                  "runs are not ascending, or touch");
        partitions += run.count;
        for (int32_t i = 0; i < run.count; i++) {
            int32_t p = instance->topic_first[run.topic] + run.first + i;
            cr_assert_eq(instance->answer[p], NOBODY, "a partition has two owners");
            cr_assert_not(instance->withheld[p], "a withheld partition was handed out");
            cr_assert(instance_may(instance, member, p), "an owner is no subscriber");
            instance->answer[p] = member;
        }
    }
    cr_assert_eq(share->partition_count, partitions);
    instance->loads[member] = partitions;
}

static bool has_subscriber(const struct instance *instance, int32_t partition)
{
    for (int32_t m = 0; m < instance->member_count; m++) {
        if (instance_may(instance, m, partition)) {
            return true;
        }
    }
    return false;
}

void instance_solve(struct instance *instance, enum assignor_kind kind)
{
    arena_reset(&instance->scratch, SIZE_MAX);
    struct assignor_member *members =
        arena_alloc(&instance->scratch, (size_t)instance->member_count * sizeof *members);
    struct assignor_subscription *subscriptions =
        arena_alloc(&instance->scratch, (size_t)instance->member_count * sizeof *subscriptions);
    struct assignor_topic *topics =
        arena_alloc(&instance->scratch, (size_t)instance->topic_count * sizeof *topics);
    for (int32_t t = 0; t < instance->topic_count; t++) {
        topics[t] = make_topic(instance, t);
    }
    for (int32_t m = 0; m < instance->member_count; m++) {
        int32_t at = instance->position[m];
        members[at] = (struct assignor_member){.member_id = make_id(instance, "member", m),
                                               .rack = instance->member_rack[m],
                                               .subscription = at};
        if (instance->is_static[m]) {
            members[at].instance_id = make_id(instance, "worker", m);
        }
        subscriptions[at] = make_subscription(instance, m);
    }
    make_current(instance, members);
    struct assignor_input input = {
        members,       instance->member_count, topics,         instance->topic_count,
        subscriptions, instance->member_count, instance->steps};
    instance->result = assignor_assign(kind, &input, &instance->scratch);
    for (int32_t p = 0; p < instance->partition_count; p++) {
        instance->answer[p] = NOBODY;
    }
    for (int32_t m = 0; m < instance->member_count; m++) {
        decode(instance, m);
    }
    for (int32_t p = 0; p < instance->partition_count; p++) {
        if (instance->answer[p] == NOBODY && !instance->withheld[p]) {
            cr_assert_not(has_subscriber(instance, p), "a partition has no owner");
        }
    }
}

void instance_keep(struct instance *instance)
{
    memcpy(instance->owner, instance->answer,
           (size_t)instance->partition_count * sizeof *instance->owner);
}

bool instance_is_homogeneous(const struct instance *instance)
{
    for (int32_t i = instance->topic_count; i < instance->member_count * instance->topic_count;
         i++) {
        if (instance->subscribed[i] != instance->subscribed[i % instance->topic_count]) {
            return false;
        }
    }
    return true;
}

bool instance_may(const struct instance *instance, int32_t member, int32_t partition)
{
    return !instance->withheld[partition] &&
           instance->subscribed[(int64_t)member * instance->topic_count +
                                instance->topic_of[partition]];
}

int32_t instance_moves(const struct instance *instance)
{
    int32_t moves = 0;
    for (int32_t p = 0; p < instance->partition_count; p++) {
        int32_t owner = instance->owner[p];
        moves +=
            owner != NOBODY && owner != instance->answer[p] && instance_may(instance, owner, p);
    }
    return moves;
}

int64_t instance_squares(const struct instance *instance)
{
    int64_t sum = 0;
    for (int32_t m = 0; m < instance->member_count; m++) {
        sum += (int64_t)instance->loads[m] * instance->loads[m];
    }
    return sum;
}

int32_t instance_load_max(const struct instance *instance)
{
    int32_t most = 0;
    for (int32_t m = 0; m < instance->member_count; m++) {
        most = instance->loads[m] > most ? instance->loads[m] : most;
    }
    return most;
}

int32_t instance_load_min(const struct instance *instance)
{
    int32_t least = INT32_MAX;
    for (int32_t m = 0; m < instance->member_count; m++) {
        least = instance->loads[m] < least ? instance->loads[m] : least;
    }
    return least;
}

uint64_t instance_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int32_t instance_below(uint64_t *state, int32_t limit)
{
    return (int32_t)(instance_random(state) % (uint64_t)limit);
}
