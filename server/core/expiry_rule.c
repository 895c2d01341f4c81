#include "server/core/expiry_rule.h"

#include <string.h>

#include "rpc/build.h"

void expiry_rule_init(struct expiry_rule *rule,
                      const struct coordinator *c,
                      const struct group_slot *slot)
{
    const struct group *group = slot->facts;
    enum group_phase phase = round_phase(slot);
    if (rule->group_id != group->id || rule->version != group->version) {
        memset(rule->memo, 0, sizeof rule->memo);
    }
    rule->c = c;
    rule->group = group;
    rule->group_id = group->id;
    rule->version = group->version;
    rule->scope = EXPIRES_NONE;
    rule->since_ms = -1;
    rule->work = 0;
#if ROSTER_BUG == 16 /* whoever has members loses offsets, too */
    phase = GROUP_EMPTY;
#endif
    if (phase == GROUP_EMPTY) {
        rule->scope = EXPIRES_ALL;
        rule->since_ms = span_is_empty(group->protocol_type) ? -1 : group->empty_since_ms;
    } else if (phase == GROUP_STABLE &&
               span_equal(group->protocol_type, SPAN_LITERAL("consumer"))) {
        rule->scope = EXPIRES_UNREAD;
    }
}

/* Reading every member's subscription for every row would not be bounded work: a few answers are
 * remembered, and the others are counted. */
static bool is_read(struct expiry_rule *rule, const struct topic *topic)
{
    uint64_t place = topic->id % EXPIRY_RULE_MEMO;
    if (rule->memo[place].topic != topic->id) {
        rule->memo[place].topic = topic->id;
        rule->memo[place].is_read = group_subscribes(rule->group, topic->name);
        rule->work += rule->group->members_count;
    }
    return rule->memo[place].is_read;
}

enum expiry_reason expiry_rule_of(struct expiry_rule *rule, const struct offset_row *row)
{
    const struct topic *topic = state_topic_by_id(rule->c->state, row->topic);
    int64_t now = rule->c->wall_ms;
    if (topic == NULL) {
        return EXPIRY_TOPIC_DELETED;
    }
    if (rule->scope == EXPIRES_NONE || now < 0) {
        return EXPIRY_KEEP;
    }
    int64_t base = rule->since_ms >= 0 ? rule->since_ms : row->commit_ms;
    bool is_due = row->expire_ms >= 0 ? row->expire_ms <= now
                                      : base <= now - rule->c->limits.offsets_retention_ms;
    if (!is_due || (rule->scope == EXPIRES_UNREAD && is_read(rule, topic))) {
        return EXPIRY_KEEP;
    }
    return row->expire_ms >= 0 ? EXPIRY_EXPLICIT : EXPIRY_RETENTION;
}
