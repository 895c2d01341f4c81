#include "server/core/assignor/assign_classes.h"

#include "rpc/ensure.h"

static uint64_t hash(const struct assignor_subscription *subscription)
{
    uint64_t h = (uint64_t)subscription->topic_count;
    for (int32_t i = 0; i < subscription->topic_count; i++) {
        h = (h ^ (uint64_t)subscription->topics[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static bool is_equal(const struct assignor_subscription *a, const struct assignor_subscription *b)
{
    return a->topic_count == b->topic_count &&
           (a->topic_count == 0 || a->topics == b->topics ||
            memcmp(a->topics, b->topics, (size_t)a->topic_count * sizeof *a->topics) == 0);
}

/* Classes by the contents of their subscriptions: open addressing, never full. */
struct contents {
    const struct assignor_subscription **subscriptions; /* by class */
    int32_t *slots;                                     /* class + 1; 0: free */
    uint64_t mask;
    int32_t class_count;
};

static int32_t find_or_add(struct contents *contents,
                           const struct assignor_subscription *subscription)
{
    uint64_t slot = hash(subscription) & contents->mask;
    while (contents->slots[slot] != 0) {
        int32_t class = contents->slots[slot] - 1;
        if (is_equal(contents->subscriptions[class], subscription)) {
            return class;
        }
        slot = (slot + 1) & contents->mask;
    }
    contents->subscriptions[contents->class_count] = subscription;
    contents->slots[slot] = ++contents->class_count;
    return contents->class_count - 1;
}

static bool are_all_of_first(const struct assign_plan *plan)
{
    bool are = plan->member_count > 0 && plan->input->subscription_count > 0;
    for (int32_t i = 0; are && i < plan->member_count; i++) {
        are = plan->input->members[i].subscription == 0;
    }
    return are;
}

const struct assignor_subscription **assign_classes_make(struct assign_plan *plan)
{
    const struct assignor_input *input = plan->input;
    int32_t most = input->subscription_count < plan->member_count ? input->subscription_count
                                                                  : plan->member_count;
    uint64_t slots = 4;
    while (slots < 2 * (uint64_t)most) {
        slots *= 2;
    }
    struct contents contents = {
        .subscriptions = arena_alloc(plan->arena, (size_t)most * sizeof *contents.subscriptions),
        .slots = assign_plan_ints(plan, (int64_t)slots),
        .mask = slots - 1,
    };
    /* By subscription: its class + 1, 0: nobody has had it so far. */
    int32_t *known = assign_plan_ints(plan, input->subscription_count);
    plan->class_of = assign_plan_ints(plan, plan->member_count);
    if (are_all_of_first(plan)) {
        contents.subscriptions[0] = input->subscriptions;
        plan->class_count = 1;
        return contents.subscriptions;
    }
    for (int32_t i = 0; i < plan->member_count; i++) {
        int32_t s = assign_plan_member(plan, i)->subscription;
        ensure(s >= 0 && s < input->subscription_count);
        if (known[s] == 0) {
            known[s] = find_or_add(&contents, &input->subscriptions[s]) + 1;
        }
        plan->class_of[i] = known[s] - 1;
    }
    plan->class_count = contents.class_count;
    return contents.subscriptions;
}

/* The groups found so far; each class splits those of which it has a part. */
struct refinement {
    int32_t *size;    /* topics in it */
    int32_t *inside;  /* of them, how many the class at hand has */
    int32_t *moved;   /* the new group for these; 0: none */
    int32_t *touched; /* groups of which the class at hand has topics */
    int32_t count;
};

static void check_subscription(const struct assign_plan *plan,
                               const struct assignor_subscription *subscription)
{
    int32_t last = -1;
    for (int32_t i = 0; i < subscription->topic_count; i++) {
        ensure(subscription->topics[i] > last);
        last = subscription->topics[i];
    }
    ensure(last < plan->input->topic_count);
}

static void split(struct assign_plan *plan,
                  struct refinement *groups,
                  const struct assignor_subscription *subscription)
{
    const int32_t *topics = subscription->topics;
    int32_t touched = 0;
    for (int32_t i = 0; i < subscription->topic_count; i++) {
        int32_t group = plan->group_of[topics[i]];
        if (groups->inside[group]++ == 0) {
            groups->touched[touched++] = group;
        }
    }
    for (int32_t i = 0; i < subscription->topic_count; i++) {
        int32_t group = plan->group_of[topics[i]];
        if (groups->inside[group] == groups->size[group]) {
            continue;
        }
        if (groups->moved[group] == 0) {
            groups->moved[group] = groups->count++;
        }
        plan->group_of[topics[i]] = groups->moved[group];
    }
    for (int32_t i = 0; i < touched; i++) {
        int32_t group = groups->touched[i];
        if (groups->moved[group] != 0) {
            groups->size[groups->moved[group]] = groups->inside[group];
            groups->size[group] -= groups->inside[group];
        }
        groups->inside[group] = 0;
        groups->moved[group] = 0;
    }
}

/* By the first topic; topics of group 0 and those with nothing to hand out have none. */
static void renumber(struct assign_plan *plan, struct refinement *groups)
{
    int32_t *number = groups->moved;
    memset(number, 0, (size_t)groups->count * sizeof *number);
    for (int32_t t = 0; t < plan->input->topic_count; t++) {
        int32_t group = plan->group_of[t];
        if (group == 0 || plan->pool.assignable[t] == 0) {
            plan->group_of[t] = -1;
            continue;
        }
        if (number[group] == 0) {
            number[group] = ++plan->group_count;
        }
        plan->group_of[t] = number[group] - 1;
    }
}

/* One class: the topics that it has. */
static void group_for_one(struct assign_plan *plan,
                          const struct assignor_subscription *subscription)
{
    memset(plan->group_of, 0xff, (size_t)plan->input->topic_count * sizeof *plan->group_of);
    for (int32_t i = 0; i < subscription->topic_count; i++) {
        int32_t topic = subscription->topics[i];
        if (plan->pool.assignable[topic] > 0) {
            plan->group_of[topic] = 0;
            plan->group_count = 1;
        }
    }
}

void assign_classes_group_topics(struct assign_plan *plan,
                                 const struct assignor_subscription **subscriptions)
{
    int32_t topics = plan->input->topic_count;
    plan->group_of = assign_plan_ints(plan, topics);
    for (int32_t c = 0; c < plan->class_count; c++) {
        check_subscription(plan, subscriptions[c]);
    }
    if (plan->class_count == 1) {
        group_for_one(plan, subscriptions[0]);
        return;
    }
    /* Group 0 holds one topic more than there are, so that it is never taken as a whole. */
    struct refinement groups = {
        .size = assign_plan_ints(plan, topics + 2),
        .inside = assign_plan_ints(plan, topics + 2),
        .moved = assign_plan_ints(plan, topics + 2),
        .touched = assign_plan_ints(plan, topics + 2),
        .count = 1,
    };
    groups.size[0] = topics + 1;
    for (int32_t c = 0; c < plan->class_count; c++) {
        split(plan, &groups, subscriptions[c]);
    }
    renumber(plan, &groups);
}
