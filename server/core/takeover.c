/* R1: everything that must go on follows from the facts. A new leader looks at every group, in
 * slices: sessions start anew from now, a group whose members changed begins its rebalance, one
 * without an assignment waits for SyncGroups, ids that were handed out get their time. A stable
 * group's generation is not touched. A group that a call touches first is armed then (round_of()).
 */
#include "server/core/takeover.h"
#include "rpc/build.h"
#include "server/core/barrier.h"

void takeover_start(struct coordinator *c)
{
    c->takeover_at = 0;
    c->takeover_pending = true;
#if ROSTER_BUG == 2011 /* a group that no call touches stays as it is */
    c->takeover_pending = false;
#endif
}

/* group.max.size was lowered: a rebalance drops the last to join. */
static void check_size(struct coordinator *c, struct group_slot *slot)
{
    if (slot->facts->members_count > c->limits.group_size_max && !round_is_gated(slot, NULL)) {
        barrier_prepare(c, round_of(c, slot), CAUSE_SIZE, SPAN_EMPTY, SPAN_EMPTY);
    }
}

void takeover_slice(struct coordinator *c)
{
    int32_t groups = 0;
    int64_t members = 0;
    while (groups < LIMIT_SLICE_GROUPS && members < LIMIT_SLICE_MEMBERS) {
        struct group_slot *slot = state_next_group(c->state, &c->takeover_at);
        if (slot == NULL) {
            c->takeover_pending = false;
            return;
        }
        groups++;
        members += slot->facts->members_count;
        if (slot->facts->members_count > 0 || slot->facts->pending_count > 0) {
            round_mark(c, round_of(c, slot));
            check_size(c, slot);
        }
    }
}
