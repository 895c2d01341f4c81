/* The coordinator: groups, offsets and topics, decided on the leader, applied on every node.
 *
 *   request ---> decide on committed facts ---> EFFECT_PROPOSE ---> raft ---> apply on all nodes
 *                (const struct state *)                                           |
 *   EFFECT_REPLY <------------------- the call parked under (term, number) <------+
 *
 * Pure: no clock, socket, thread, random source, raft. Inputs below, outputs in effects.h. The
 * shell calls one input, then drains the effects, then the next input.
 *
 * Three kinds of memory, never mixed:
 *   state (state.h)   committed facts, equal on all nodes at equal index, changed by apply alone
 *   round (round.h)   leader only: who has joined, parked calls, deadlines; gone with leadership
 *   effects           what is to be done now
 *
 * Roles:
 *   FOLLOWING --winning--> SETTLING --elected--> LEADING --deposed--> FOLLOWING
 *                              ^-------suspended-----'
 * FOLLOWING  group calls are answered as DESIGN R20 says, at once.
 * SETTLING   leader of a term whose barrier has not committed, or a leader that was frozen (R9):
 *            calls wait, at most one election timeout, then 16 (SyncGroup 27, Heartbeat 0).
 * LEADING    serves.
 *
 * now_ms is monotonic time of this node, never replicated, never less than in the call before. */
#ifndef SERVER_CORE_COORDINATOR_H
#define SERVER_CORE_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"
#include "server/core/call.h"
#include "server/core/effect.h"
#include "server/core/limits.h"

struct coordinator;
struct state;

struct coordinator *coordinator_new(const struct coordinator_limits *limits, uint64_t node_id);
void coordinator_free(struct coordinator *c);

/* ---- Inputs ---- */

/* A decoded request of an API of coordinator_serves(). It is answered exactly once, now or later. */
void coordinator_request(struct coordinator *c, struct call *call, int64_t now_ms);

/* The call's connection closed. Its reply still comes and goes nowhere; a parked join of a member
 * that never learned its id dies with it (R3). */
void coordinator_gone(struct coordinator *c, struct call *call, int64_t now_ms);

/* A committed proposal, on every node, in log order. [own]: made by this very process, so that
 * (term, number) may match a parked call (R10). */
struct applied {
    uint64_t index; /* of its batch */
    uint64_t term;
    uint64_t number;
    int64_t stamp_ms; /* the leader's wall clock, never going back */
    bool own;
    struct span records;
};
void coordinator_apply(struct coordinator *c, const struct applied *applied, int64_t now_ms);

/* Deadlines. [wall_ms]: the wall clock for expiry, or -1 while it is not to be trusted (R19). */
void coordinator_tick(struct coordinator *c, int64_t now_ms, int64_t wall_ms);

/* Won an election, barrier not yet committed. */
void coordinator_winning(struct coordinator *c, uint64_t term, int64_t now_ms);
/* The barrier of [term] committed: all of the log is applied. Re-arms every session from now, and
 * evaluates R1 for every group, in slices (coordinator_next_deadline() asks for the next one). */
void coordinator_elected(struct coordinator *c, uint64_t term, int64_t now_ms);
/* R9: this process stood still for longer than an election timeout. No session expires because of
 * the gap, nothing is answered until a fresh proposal of ours has been applied. Nothing while
 * FOLLOWING. */
void coordinator_suspended(struct coordinator *c, int64_t now_ms);
/* Not the leader any more: answers every parked call, drops the rounds. */
void coordinator_deposed(struct coordinator *c, int64_t now_ms);
/* raftlog refused a proposal: nothing of it was submitted. [full]: no room (15), else not the
 * leader (16). */
void coordinator_refused(struct coordinator *c, uint64_t number, bool full, int64_t now_ms);
/* Who leads as far as this node knows, 0: nobody. For the answers of a follower (R20). */
void coordinator_leader(struct coordinator *c, uint64_t node_id);
/* What a node says of itself (its card, see node.h): the leader proposes it where it differs from
 * the registry. Remembered until this node leads. */
void coordinator_node(struct coordinator *c, uint64_t node_id, struct span card, int64_t now_ms);
/* This node is about to end: calls that wait for others (joins, syncs) are answered 16 now, further
 * calls 16 at once; those whose proposal is in flight still get their answer. */
void coordinator_stopping(struct coordinator *c, int64_t now_ms);

/* ---- Outputs ---- */

struct effects *coordinator_effects(struct coordinator *c);
/* When coordinator_tick() is due next; INT64_MAX: nothing to wait for. */
int64_t coordinator_next_deadline(const struct coordinator *c);

/* ---- Questions ---- */

/* Whether requests of this key go to coordinator_request(). */
bool coordinator_serves(int16_t api_key);
bool coordinator_is_leading(const struct coordinator *c);
uint64_t coordinator_leader_id(const struct coordinator *c);
size_t coordinator_parked_calls(const struct coordinator *c);
const struct state *coordinator_state(const struct coordinator *c);

/* ---- Snapshots (R17) ---- */

/* A version of the facts that stays as it is while apply goes on: rows are copied on write. One at
 * a time. coordinator_encode() may run in another thread. */
void *coordinator_freeze(struct coordinator *c);
void coordinator_encode(void *frozen, struct buf *out);
void coordinator_release(struct coordinator *c, void *frozen);
/* Replaces all facts; 0, or -1 where these bytes are no snapshot (the facts are then undefined and
 * the process must stop). Only while FOLLOWING. */
int coordinator_restore(struct coordinator *c, struct span snapshot);
/* Equal at equal index on all nodes. O(1). */
uint64_t coordinator_state_hash(const struct coordinator *c);
/* For tests: recomputes the hash and every derived count from the rows, aborts where they differ. */
void coordinator_check(const struct coordinator *c);

/* ---- Counters (promise 9) ---- */

/* X(name, help): what the metrics page shows later. */
#define COORDINATOR_COUNTERS(X)                                                     \
    X(requests, "requests that reached the coordinator")                            \
    X(heartbeats, "heartbeats accepted")                                            \
    X(commits, "offset commits accepted, by partition")                             \
    X(commits_fenced, "offset commits refused for their generation or member")      \
    X(fetches, "offset fetches answered")                                           \
    X(joins, "JoinGroup requests")                                                  \
    X(generations, "generations begun")                                             \
    X(rebalances_join, "rebalances begun because a member joined or changed")       \
    X(rebalances_leave, "rebalances begun because a member left")                   \
    X(rebalances_expiry, "rebalances begun because a session ended")                \
    X(sessions_expired, "members removed because their session ended")              \
    X(syncs_expired, "members removed because their SyncGroup did not come")        \
    X(joins_expired, "members removed because they did not rejoin in time")         \
    X(static_replacements, "static members replaced by a new incarnation")          \
    X(members_fenced, "calls refused because their instance id has a newer holder") \
    X(offsets_expired, "offsets removed by retention")                              \
    X(offsets_deleted, "offsets removed by an operator")                            \
    X(groups_created, "groups created")                                             \
    X(groups_deleted, "groups deleted or expired")                                  \
    X(takeovers, "times this node began to lead")                                   \
    X(suspensions, "times this node stood still while it led (R9)")                 \
    X(proposals, "proposals made")                                                  \
    X(proposals_refused, "proposals the log had no room for")                       \
    X(proposals_timed_out, "calls answered before their proposal was decided")      \
    X(limit_group_size, "joins refused: group.max.size")                            \
    X(limit_group_metadata, "joins refused: group.max.metadata.bytes")              \
    X(limit_member_metadata, "joins refused: group.max.member.metadata.bytes")      \
    X(limit_groups, "requests refused: coordinator.max.groups")                     \
    X(limit_topics, "requests refused: coordinator.max.topics")                     \
    X(limit_partitions, "requests refused: coordinator.max.partitions")             \
    X(limit_offsets, "commits refused: coordinator.max.offsets")                    \
    X(limit_offset_metadata, "commits refused: offset.metadata.max.bytes")          \
    X(limit_proposal_bytes, "requests refused: too much for one entry of the log")  \
    X(limit_reply_bytes, "reads refused: the reply would be too large")             \
    X(limit_waiting_calls, "calls refused: too many wait for one group")            \
    X(limit_unsettled_calls, "calls refused: too many wait for the barrier")

struct coordinator_counters {
#define X(name, help) uint64_t name;
    COORDINATOR_COUNTERS(X)
#undef X
};
const struct coordinator_counters *coordinator_counters(const struct coordinator *c);

#endif
