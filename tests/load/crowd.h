/* The groups and members of a run, and what they share. Members behave like consumers
 * (member.h); what happens to them is recorded in the watch (watch.h). */
#ifndef LOAD_CROWD_H
#define LOAD_CROWD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "rpc/span.h"
#include "tests/load/directory.h"
#include "tests/load/watch.h"

enum { GROUP_NAME_BYTES = 16, TOPIC_NAME_BYTES = 12 };

/* Of the topic that all members subscribe to. */
extern const char crowd_topic[TOPIC_NAME_BYTES + 1];

struct crowd_options {
    int run; /* part of the groups' names */
    int groups;
    int members;     /* in total, spread evenly over the groups */
    int churning;    /* so many of the groups have members that come and go */
    int partitions;  /* of the topic */
    int forming_max; /* groups that form at the same time */
    unsigned session_ms;
    unsigned rebalance_ms;
    unsigned heartbeat_ms;
    unsigned request_ms; /* after which a member tries elsewhere */
    unsigned backoff_min_ms;
    unsigned backoff_max_ms;
    unsigned sync_delay_ms; /* leaders of churning groups think for up to that long */
    unsigned churn_ms;      /* mean time between two changes of a churning group */
};

/* A partition of one group. Offsets count up with each attempt, so whatever is committed in the end
 * must be at or above the last one that was acknowledged. */
struct crowd_offset {
    int64_t attempted; /* 0: none */
    int64_t acked;
};

struct crowd_group {
    struct crowd *crowd;
    char name[GROUP_NAME_BYTES + 1];
    int number;
    struct member *members;
    int members_count;
    bool churns;
    bool is_formed;       /* all members have been stable at once */
    int32_t generation;   /* the highest that a member was told */
    uint64_t leader_hash; /* of that generation's leader */
    int32_t settled_at;   /* stable groups: the generation they must keep; -1: not settled */
    int stable;           /* members that are */
    struct crowd_offset *offsets;
    uv_timer_t churn_timer;
};

struct crowd {
    uv_loop_t *loop;
    struct crowd_options options;
    struct directory directory;
    struct watch watch;
    struct crowd_group *groups;
    uint64_t chance; /* state of the generator of random numbers */
    int formed;      /* groups whose members have all been stable once */
    int begun;       /* groups whose members have been started */
    int stable;      /* members that are */
    bool is_calm;    /* members that are away come back, nobody leaves */
    bool is_held;    /* neither */
    bool parks;      /* members stop when their group has formed; see crowd_form() */
    void (*on_formed)(void *ctx);
    void *ctx;
};

/* [bootstrap] as directory_init() takes it; false: it cannot be read. */
bool crowd_init(struct crowd *crowd,
                uv_loop_t *loop,
                const struct crowd_options *options,
                const char *bootstrap);

/* Forms all groups, so many at a time. With [parks] each member gives its link back when its group
 * has formed and sends nothing any more; otherwise it goes on. [on_formed] is called once, when all
 * are. */
void crowd_form(struct crowd *crowd, bool parks, void (*on_formed)(void *ctx), void *ctx);

/* What groups of this moment are the stable ones' baseline; churn begins. */
void crowd_settle(struct crowd *crowd);
/* No member comes or goes any more by its own will. */
void crowd_calm(struct crowd *crowd);
/* Whether every member is stable. */
bool crowd_is_stable(const struct crowd *crowd);

/* 0 .. n - 1. */
unsigned crowd_chance(struct crowd *crowd, unsigned n);
struct member *crowd_any_member(struct crowd *crowd);

/* Of a member's own: it became stable, or ceased to be. */
void crowd_member_stable(struct member *member, bool is_stable);

#endif
