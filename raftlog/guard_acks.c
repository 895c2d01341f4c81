/* G2: a new leader counts nothing before an entry of its own term is on its own disk. Otherwise the
 * library, which looks for a quorum at its own last entry on disk, commits entries of older terms
 * by counting copies (figure 8 of the Raft paper).
 *
 * A follower's disk is often the faster one, so its acknowledgement of the first entry comes early;
 * dropped, it comes again only with the next heartbeat. Held back it is a late message. */
#include "raftlog/guard_parts.h"

static void hold(struct guard *guard, const struct raft_message *message)
{
    unsigned i = 0;
    while (i < guard->held_count && guard->held[i].from != message->server_id) {
        i++;
    }
    if (i == GUARD_HELD_ACKS_MAX) {
        return;
    }
    guard->held_count += i == guard->held_count;
    guard->held[i] =
        (struct guard_held_ack){.from = message->server_id, .ack = message->append_entries_result};
}

bool guard_acks_admit(struct guard *guard, const struct raft_message *message)
{
    const struct raft *raft = guard->raft;
    const struct raft_append_entries_result *ack = &message->append_entries_result;
    if (!guard_has(guard, GUARD_OWN_TERM) || raft->state != RAFT_LEADER ||
        ack->term != raft->current_term || ack->rejected != 0 ||
        guard->ready_term == raft->current_term) {
        return true;
    }
    guard->counts[GUARD_EARLY_ACK]++;
    if (guard_has(guard, GUARD_HOLD_ACKS)) {
        hold(guard, message);
    }
    return false;
}

void guard_acks_release(struct guard *guard)
{
    const struct raft *raft = guard->raft;
    if (guard->held_count == 0) {
        return;
    }
    bool is_ready = raft->state == RAFT_LEADER && guard->ready_term == raft->current_term;
    for (unsigned i = 0; is_ready && i < guard->held_count; i++) {
        struct raft_message message = {.type = RAFT_IO_APPEND_ENTRIES_RESULT,
                                       .server_id = guard->held[i].from,
                                       .server_address = "",
                                       .append_entries_result = guard->held[i].ack};
        if (raft->state == RAFT_LEADER &&
            message.append_entries_result.term == raft->current_term) {
            guard->handling = &message;
            guard->recv(guard->io, &message);
            guard->handling = NULL;
        }
    }
    if (is_ready || raft->state != RAFT_LEADER) {
        guard->held_count = 0;
    }
}
