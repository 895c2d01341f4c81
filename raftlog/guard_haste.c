/* Elections that need not wait: the leader's process is known to have ended. */
#include "raftlog/guard_parts.h"

/* The library draws its timer from one to two election timeouts, since it has to tell a dead leader
 * from a slow one, and so that two nodes seldom stand at once. Here it is dead, and the others know
 * it too: they stand in the order of their ids, with time between them to win. */
static raft_time delay_ms(const struct guard *guard, raft_id dead)
{
    const struct raft *raft = guard->raft;
    raft_time rank = 0;
    for (unsigned i = 0; i < raft->configuration.n; i++) {
        const struct raft_server *server = &raft->configuration.servers[i];
        rank += server->role == RAFT_VOTER && server->id != dead && server->id < raft->id;
    }
    return rank * raft->election_timeout / GUARD_HASTE_PART;
}

void guard_leader_died(struct guard *guard, raft_id id)
{
    struct raft *raft = guard->raft;
    if (guard->is_closing || guard->is_rejoining || id == 0 || raft->state != RAFT_FOLLOWER ||
        raft->follower_state.current_leader.id != id) {
        return;
    }
    guard->counts[GUARD_HASTENED]++;
    /* A follower that has a leader refuses all votes. The address stays the library's. */
    raft->follower_state.current_leader.id = 0;
    raft_time left_ms = delay_ms(guard, id);
    unsigned timeout_ms = raft->follower_state.randomized_election_timeout;
    raft_time now_ms = raft->io->time(raft->io);
    if (left_ms < timeout_ms && now_ms + left_ms > timeout_ms) {
        raft_time start_ms = now_ms + left_ms - timeout_ms;
        if (start_ms < raft->election_timer_start) {
            raft->election_timer_start = start_ms;
        }
    }
    guard_poll(guard);
}
