/* KIP-345: an instance id has one holder; whoever calls itself by it under another member id was
 * replaced and must stop. */
#include "rpc/errors.h"
#include "server/core/round.h"

static void log_fenced(struct coordinator *c,
                       const struct group_slot *slot,
                       struct span instance_id,
                       struct span member_id,
                       const struct member *holder,
                       const struct seat *seat)
{
    int64_t beat_ms = -1;
    if (holder != NULL && seat != NULL) {
        beat_ms = c->now_ms - (seat->session.at_ms - holder->session_timeout_ms);
    }
    effects_log(&c->effects, EFFECT_WARN,
                "member_fenced group=%s instance=%s member=%s holder=%s holder_host=%s "
                "holder_beat_ms_ago=%lld",
                effect_text(&c->effects, slot->facts->name), effect_text(&c->effects, instance_id),
                effect_text(&c->effects, member_id),
                effect_text(&c->effects, seat == NULL ? SPAN_EMPTY : seat_id(seat)),
                effect_text(&c->effects, holder == NULL ? SPAN_EMPTY : holder->client_host),
                (long long)beat_ms);
}

int16_t seat_check_instance(struct coordinator *c,
                            struct group_slot *slot,
                            struct span instance_id,
                            struct span member_id)
{
    struct round *round = round_of(c, slot);
    const struct member *holder = group_member_by_instance(slot->facts, instance_id);
    const struct seat *seat = holder != NULL ? seat_find(round, holder->member_id)
                                             : seat_table_find(&round->by_instance, instance_id);
    if (seat == NULL) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (span_equal(seat_id(seat), member_id)) {
        return KAFKA_NONE;
    }
    c->counters.members_fenced++;
    log_fenced(c, slot, instance_id, member_id, holder, seat);
    return KAFKA_FENCED_INSTANCE_ID;
}

int16_t seat_identify(struct coordinator *c,
                      struct group_slot *slot,
                      struct span instance_id,
                      struct span member_id,
                      struct seat **seat)
{
    if (!span_is_null(instance_id)) {
        int16_t error = seat_check_instance(c, slot, instance_id, member_id);
        if (error != KAFKA_NONE) {
            return error;
        }
    }
    struct seat *found = seat_find(round_of(c, slot), member_id);
    if (found == NULL || found->kind == SEAT_PENDING) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    *seat = found;
    return KAFKA_NONE;
}
