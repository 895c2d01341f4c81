#include "tests/load/crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/load/member.h"

const char crowd_topic[TOPIC_NAME_BYTES + 1] = "load-topic-1";

/* xorshift64*: members must not act in step; nothing else depends on it. */
unsigned crowd_chance(struct crowd *crowd, unsigned n)
{
    crowd->chance ^= crowd->chance >> 12;
    crowd->chance ^= crowd->chance << 25;
    crowd->chance ^= crowd->chance >> 27;
    return n == 0 ? 0 : (unsigned)((crowd->chance * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n);
}

static void init_group(struct crowd *crowd, struct crowd_group *group, int number)
{
    const struct crowd_options *options = &crowd->options;
    *group = (struct crowd_group){.crowd = crowd, .number = number, .settled_at = -1};
    group->churns = number < options->churning;
    snprintf(group->name, sizeof group->name, "load%03u-%08u", (unsigned)options->run % 1000,
             (unsigned)number % 100000000);
    int share = options->members / options->groups;
    group->members_count = share + (number < options->members % options->groups);
    group->members = calloc((size_t)group->members_count + 1, sizeof *group->members);
    group->offsets = calloc((size_t)options->partitions, sizeof *group->offsets);
    ensure(group->members != NULL && group->offsets != NULL);
    for (int i = 0; i < group->members_count; i++) {
        member_init(&group->members[i], group, i);
    }
    uv_timer_init(crowd->loop, &group->churn_timer);
    group->churn_timer.data = group;
}

bool crowd_init(struct crowd *crowd,
                uv_loop_t *loop,
                const struct crowd_options *options,
                const char *bootstrap)
{
    *crowd = (struct crowd){.loop = loop, .options = *options, .chance = uv_hrtime() | 1};
    if (!directory_init(&crowd->directory, loop, bootstrap, options->request_ms)) {
        return false;
    }
    crowd->groups = calloc((size_t)options->groups, sizeof *crowd->groups);
    ensure(crowd->groups != NULL);
    for (int i = 0; i < options->groups; i++) {
        init_group(crowd, &crowd->groups[i], i);
    }
    return true;
}

struct member *crowd_any_member(struct crowd *crowd)
{
    unsigned n = crowd_chance(crowd, (unsigned)crowd->options.groups);
    struct crowd_group *group = &crowd->groups[n];
    return &group->members[crowd_chance(crowd, (unsigned)group->members_count)];
}

/* ---- Forming ---- */

static void begin_more(struct crowd *crowd)
{
    int forming_max = crowd->options.forming_max;
    while (crowd->begun < crowd->options.groups && crowd->begun - crowd->formed < forming_max) {
        struct crowd_group *group = &crowd->groups[crowd->begun++];
        for (int i = 0; i < group->members_count; i++) {
            member_start(&group->members[i]);
        }
    }
}

static void formed(struct crowd_group *group)
{
    struct crowd *crowd = group->crowd;
    for (int i = 0; crowd->parks && i < group->members_count; i++) {
        member_park(&group->members[i]);
    }
    crowd->formed++;
    begin_more(crowd);
    if (crowd->formed == crowd->options.groups) {
        crowd->on_formed(crowd->ctx);
    }
}

void crowd_form(struct crowd *crowd, bool parks, void (*on_formed)(void *ctx), void *ctx)
{
    crowd->parks = parks;
    crowd->on_formed = on_formed;
    crowd->ctx = ctx;
    begin_more(crowd);
}

void crowd_member_stable(struct member *member, bool is_stable)
{
    struct crowd_group *group = member->group;
    group->stable += is_stable ? 1 : -1;
    group->crowd->stable += is_stable ? 1 : -1;
    bool is_complete = group->stable == group->members_count;
    if (is_complete && group->crowd->on_formed != NULL && !group->is_formed) {
        group->is_formed = true;
        formed(group);
    }
}

bool crowd_is_stable(const struct crowd *crowd)
{
    return crowd->stable == crowd->options.members;
}

/* ---- Churn ---- */

static void on_churn(uv_timer_t *timer);

static void churn_later(struct crowd_group *group)
{
    unsigned ms = group->crowd->options.churn_ms;
    uv_timer_start(&group->churn_timer, on_churn, 1 + crowd_chance(group->crowd, 2 * ms), 0);
}

static struct member *member_away(struct crowd_group *group)
{
    for (int i = 0; i < group->members_count; i++) {
        if (group->members[i].phase == MEMBER_AWAY) {
            return &group->members[i];
        }
    }
    return NULL;
}

static void on_churn(uv_timer_t *timer)
{
    struct crowd_group *group = timer->data;
    struct member *away = member_away(group);
    unsigned pick = crowd_chance(group->crowd, (unsigned)group->members_count);
    if (group->crowd->is_held) {
        /* later */
    } else if (away != NULL) {
        member_start(away);
    } else if (!group->crowd->is_calm && group->members[pick].phase == MEMBER_STABLE) {
        member_leave(&group->members[pick]);
    }
    churn_later(group);
}

void crowd_settle(struct crowd *crowd)
{
    for (int i = 0; i < crowd->options.groups; i++) {
        struct crowd_group *group = &crowd->groups[i];
        if (group->churns) {
            churn_later(group);
        } else {
            group->settled_at = group->generation;
        }
    }
}

void crowd_calm(struct crowd *crowd)
{
    crowd->is_calm = true;
}
