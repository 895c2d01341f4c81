/* Which offsets of a group expire when (protocol C.7).
 *
 *   group                                  counted from            which
 *   Empty, had members                     it became Empty         all
 *   Empty, never had any (simple)          the row's commit        all
 *   Stable, type "consumer"                the row's commit        topics that no member reads
 *   anything else                          -                       none
 *
 * A row with an expiry of its own (OffsetCommit v2-4) has that instead of the retention, under the
 * same conditions. A row of a topic that is gone is dead and goes in any case. */
#ifndef SERVER_CORE_EXPIRY_RULE_H
#define SERVER_CORE_EXPIRY_RULE_H

#include "server/core/internal.h"

enum expiry_reason {
    EXPIRY_KEEP,
    EXPIRY_RETENTION,
    EXPIRY_EXPLICIT,
    EXPIRY_TOPIC_DELETED,
    EXPIRY_REASONS /* how many */
};

enum { EXPIRY_RULE_MEMO = 16 };

/* A look at a group, good until the next input. What it remembers of subscriptions is good for as
 * long as the group's version holds, so init() keeps it over several looks at the same. */
struct expiry_rule {
    const struct coordinator *c;
    const struct group *group;
    uint64_t group_id;
    uint64_t version;
    enum { EXPIRES_NONE, EXPIRES_ALL, EXPIRES_UNREAD } scope;
    int64_t since_ms; /* the base time of all rows; -1: each row's commit */
    int64_t work;     /* members whose subscription was read in this look */
    struct {
        uint64_t topic;
        bool is_read;
    } memo[EXPIRY_RULE_MEMO];
};

/* [rule] is zeroed, or was used before. */
void expiry_rule_init(struct expiry_rule *rule,
                      const struct coordinator *c,
                      const struct group_slot *slot);

enum expiry_reason expiry_rule_of(struct expiry_rule *rule, const struct offset_row *row);

#endif
