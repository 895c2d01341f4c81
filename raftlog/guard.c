/* The guard's half that stands between the library, the network and the clock. */
#include "raftlog/guard.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "raftlog/guard_parts.h"
#include "rpc/build.h"
#include "rpc/ensure.h"

/* The guard reads the library's structures. These are those of 0.15.0 on 64-bit machines; with any
 * other layout the build must fail rather than the log. */
#define AT(type, member, offset) \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member " is not where it was")
_Static_assert(sizeof(struct raft) == 656, "struct raft is not that of libraft 0.15.0");
_Static_assert(sizeof(struct raft_io) == 408, "struct raft_io is not that of libraft 0.15.0");
_Static_assert(sizeof(struct raft_log) == 72, "struct raft_log is not that of libraft 0.15.0");
_Static_assert(sizeof(struct raft_message) == 88, "struct raft_message is not that of 0.15.0");
_Static_assert(sizeof(struct raft_entry) == 40, "struct raft_entry is not that of 0.15.0");
_Static_assert(sizeof(struct raft_fsm) == 56, "struct raft_fsm is not that of 0.15.0");
_Static_assert(sizeof(struct raft_progress) == 56, "struct raft_progress is not that of 0.15.0");
AT(struct raft, data, 0);
AT(struct raft, io, 16);
AT(struct raft, id, 32);
AT(struct raft, current_term, 48);
AT(struct raft, voted_for, 56);
AT(struct raft, log, 64);
AT(struct raft, configuration, 136);
AT(struct raft, commit_index, 184);
AT(struct raft, last_applied, 192);
AT(struct raft, last_stored, 200);
AT(struct raft, state, 208);
AT(struct raft, follower_state, 216);
AT(struct raft, leader_state, 216);
AT(struct raft, election_timer_start, 280);
AT(struct raft, transfer, 288);
AT(struct raft, snapshot, 296);
AT(struct raft_log, entries, 0);
AT(struct raft_log, size, 8);
AT(struct raft_log, front, 16);
AT(struct raft_log, back, 24);
AT(struct raft_log, offset, 32);
AT(struct raft_log, snapshot, 56);
AT(struct raft_progress, match_index, 16);
AT(struct raft_progress, recent_recv, 48);
AT(struct raft_io, send, 344);
AT(struct raft_io, async_work, 400);
#undef AT

void guard_stop(struct guard *guard, const char *what)
{
    if (guard_has(guard, GUARD_FAIL_STOP) && !guard->is_closing) {
        guard->events->fatal(guard->ctx, what);
    }
}

/* The highest index an ack may claim now: stored, and either committed (every later leader has it,
 * and this covers an installed snapshot) or confirmed by the leader of this very term. */
static raft_index ack_limit(const struct guard *guard)
{
    raft_index limit = guard->raft->commit_index;
    if (guard->verified_term == guard->raft->current_term && guard->verified > limit) {
        limit = guard->verified;
    }
    return limit < guard->raft->last_stored ? limit : guard->raft->last_stored;
}

static void note_verified(struct guard *guard, raft_index upto)
{
    if (guard->verified_term != guard->raft->current_term) {
        guard->verified_term = guard->raft->current_term;
        guard->verified = 0;
    }
    if (upto > guard->verified) {
        guard->verified = upto;
    }
}

void guard_verify(struct guard *guard, const struct raft_append_entries *message)
{
    raft_index upto = message->prev_log_index + message->n_entries;
    note_verified(guard, upto);
    /* Only a message that reached to the end of its leader's log says how far there is to go. */
    if (guard->is_rejoining && upto > guard->rejoin_target && !guard->is_handling_cut) {
        guard->rejoin_target = upto;
    }
}

/* Step-up, step-down, the leader, the end of a rejoin: looked at after everything raft does. */

struct barrier {
    struct raft_barrier request;
    struct guard *guard;
    raft_term term;
};

static void barrier_done(struct raft_barrier *request, int status)
{
    struct barrier *barrier = (struct barrier *)request;
    struct guard *guard = barrier->guard;
    /* When leadership is lost this runs while the library's state is neither: do nothing then. */
    if (status == 0 && barrier->term == guard->leading_term) {
        guard->serving_term = barrier->term;
        guard->events->serving(guard->ctx, barrier->term);
    }
    free(barrier);
}

static void submit_barrier(struct guard *guard)
{
    struct barrier *barrier = calloc(1, sizeof *barrier);
    ensure(barrier != NULL);
    raft_term term = guard->raft->current_term;
    *barrier = (struct barrier){.guard = guard, .term = term};
    if (raft_barrier(guard->raft, &barrier->request, barrier_done) == 0) {
        guard->barrier_term = term;
    } else { /* e.g. a transfer of an earlier leadership has not timed out: again at each event */
        guard->counts[GUARD_BARRIER_RETRY]++;
        free(barrier);
    }
}

void guard_poll_step_down(struct guard *guard)
{
    const struct raft *raft = guard->raft;
    if (guard->leading_term != 0 &&
        (raft->state != RAFT_LEADER || raft->current_term != guard->leading_term)) {
        guard->leading_term = 0;
        guard->events->stepped_down(guard->ctx);
    }
}

static void poll_leader(struct guard *guard)
{
    raft_id id = 0;
    const char *address = NULL;
    raft_leader(guard->raft, &id, &address);
    if (id != guard->leader_id) {
        guard->leader_id = id;
        guard->events->leader(guard->ctx, id);
    }
}

static void poll_rejoin(struct guard *guard)
{
    const struct raft *raft = guard->raft;
    if (guard->is_rejoining && guard->rejoin_target != 0 &&
        guard->verified_term == raft->current_term && raft->last_stored >= guard->rejoin_target &&
        raft->state == RAFT_FOLLOWER) {
        guard->events->rejoined(guard->ctx);
        guard->is_rejoining = false;
    }
}

void guard_poll(struct guard *guard)
{
    struct raft *raft = guard->raft;
    if (guard->is_closing) {
        return;
    }
#if ROSTER_BUG == 2 /* what is still to be written passes for being on the disk */
    guard_disk_tell_early(guard);
#endif
    if (raft->state == RAFT_UNAVAILABLE) {
        guard_stop(guard, "the library gave up (RAFT_UNAVAILABLE)");
        return;
    }
    guard_poll_step_down(guard);
    if (raft->state == RAFT_LEADER && guard->leading_term == 0) {
        guard->leading_term = raft->current_term;
        guard->events->stepped_up(guard->ctx, guard->leading_term);
    }
    if (guard_has(guard, GUARD_BARRIER) && raft->state == RAFT_LEADER &&
        guard->barrier_term != raft->current_term) {
        submit_barrier(guard);
    }
    poll_leader(guard);
    poll_rejoin(guard);
}

bool guard_is_serving(const struct guard *guard)
{
    if (guard->raft->state != RAFT_LEADER) {
        return false;
    }
    return !guard_has(guard, GUARD_BARRIER) || guard->serving_term == guard->raft->current_term;
}

/* From the network and the clock. */

/* Frees what the library allocated for a message that it will not see. */
static void drop(struct raft_message *message)
{
    if (message->type == RAFT_IO_APPEND_ENTRIES) {
        if (message->append_entries.n_entries > 0) {
            raft_free(message->append_entries.entries[0].batch);
        }
        raft_free(message->append_entries.entries);
    } else if (message->type == RAFT_IO_INSTALL_SNAPSHOT) {
        raft_configuration_close(&message->install_snapshot.conf);
        raft_free(message->install_snapshot.data.base);
    }
}

/* The library takes "not in my log any more" for "new" and would append such entries again, behind
 * the others. All that we compacted is committed, so the leader has the same: present the message
 * as if it started behind our snapshot. False: nothing in it is news. */
static bool skip_compacted(struct guard *guard, struct raft_append_entries *message)
{
    const struct raft_log *log = &guard->raft->log;
    raft_index behind = log->snapshot.last_index;
    if (message->prev_log_index >= log->offset || message->term < guard->raft->current_term) {
        return true;
    }
    if (message->prev_log_index + message->n_entries < behind) {
        return false;
    }
    guard->counts[GUARD_SKIPPED]++;
    unsigned skip = (unsigned)(behind - message->prev_log_index);
    unsigned left = message->n_entries - skip;
    struct raft_entry *rest = NULL;
    if (left > 0) {
        rest = raft_malloc(left * sizeof *rest);
        ensure(rest != NULL);
        memcpy(rest, message->entries + skip, left * sizeof *rest);
    } else if (message->n_entries > 0) {
        raft_free(message->entries[0].batch);
    }
    raft_free(message->entries);
    message->entries = rest;
    message->n_entries = left;
    message->prev_log_index = behind;
    message->prev_log_term = log->snapshot.last_term;
    return true;
}

static bool refuses_vote(struct guard *guard, const struct raft_request_vote *message)
{
    const struct raft *raft = guard->raft;
    if (guard->is_rejoining || guard->hold_votes) {
        guard->counts[GUARD_NO_VOTE]++;
        return true;
    }
    if (guard_has(guard, GUARD_ONE_VOTE) && !message->pre_vote &&
        message->term == raft->current_term && raft->voted_for != 0 &&
        raft->voted_for != message->candidate_id) {
        guard->counts[GUARD_SECOND_VOTE]++;
        return true;
    }
    return false;
}

static bool refuses(struct guard *guard, struct raft_message *message)
{
    switch (message->type) {
        case RAFT_IO_APPEND_ENTRIES_RESULT:
            return !guard_acks_admit(guard, message);
        case RAFT_IO_REQUEST_VOTE:
            return refuses_vote(guard, &message->request_vote);
        case RAFT_IO_TIMEOUT_NOW:
            return guard->is_rejoining || guard->hold_votes;
        case RAFT_IO_APPEND_ENTRIES:
            return guard_has(guard, GUARD_COMPACTED) &&
                   !skip_compacted(guard, &message->append_entries);
        default:
            return false;
    }
}

/* Whether cut() may have shortened it. */
static bool may_be_cut(const struct guard *guard, const struct raft_append_entries *append)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < append->n_entries; i++) {
        bytes += append->entries[i].buf.len;
    }
    return guard_has(guard, GUARD_CHUNK) &&
           (append->n_entries >= guard->chunk_entries_max || bytes >= GUARD_CHUNK_BYTES_MAX);
}

static void on_recv(struct raft_io *io, struct raft_message *message)
{
    struct guard *guard = guard_of(io);
    bool is_append = message->type == RAFT_IO_APPEND_ENTRIES;
    /* Asked first: G9 shortens it too. */
    guard->is_handling_cut = is_append && may_be_cut(guard, &message->append_entries);
    if (refuses(guard, message)) {
        drop(message);
        return;
    }
    if (is_append && guard_has(guard, GUARD_CHUNK)) {
        /* The library commits up to its own last entry, verified or not; the rule is "up to the
         * last new entry" (figure 3.1), which matters once messages are cut. */
        struct raft_append_entries *append = &message->append_entries;
        raft_index upto = append->prev_log_index + append->n_entries;
        if (append->leader_commit > upto) {
            append->leader_commit = upto;
        }
    }
    struct raft_message copy = *message;
    guard->handling = &copy;
    guard->recv(io, message);
    guard->handling = NULL;
    guard_poll(guard);
}

static void on_tick(struct raft_io *io)
{
    struct guard *guard = guard_of(io);
    if (!guard->is_rejoining) { /* a follower's tick only starts elections */
        guard->tick(io);
    }
    guard_disk_tick(guard);
    guard_turn(guard);
    guard_poll(guard);
}

static int start(struct raft_io *io, unsigned msecs, raft_io_tick_cb tick, raft_io_recv_cb recv)
{
    struct guard *guard = guard_of(io);
    guard->tick = tick;
    guard->recv = recv;
    return guard->original.start(io, msecs, on_tick, on_recv);
}

/* To the network. */

/* The term of an entry of our log, or 0. (The library's own function is not exported.) */
static raft_term term_at(const struct raft_log *log, raft_index index)
{
    if (index == log->snapshot.last_index) {
        return log->snapshot.last_term;
    }
    size_t count = (log->back + log->size - log->front) % (log->size == 0 ? 1 : log->size);
    if (index <= log->offset || index > log->offset + count) {
        return 0;
    }
    return log->entries[(log->front + (size_t)(index - log->offset - 1)) % log->size].term;
}

/* The library says "have all entries" to a snapshot whose last entry it has, also with a higher
 * term (S6). With the very same term our log is the leader's up to there (log matching). Without
 * this a follower could claim no more than it knows to be committed, and its leader would send the
 * same snapshot for ever. */
static void verify_snapshot(struct guard *guard, const struct raft_install_snapshot *message)
{
    if (guard_has(guard, GUARD_KNOWN_SNAP) &&
        term_at(&guard->raft->log, message->last_index) == message->last_term) {
        note_verified(guard, message->last_index);
    }
}

/* Never claims more than is stored and confirmed (S1, S6). */
static void clamp(struct guard *guard, struct raft_append_entries_result *ack)
{
    const struct raft_message *cause = guard->handling;
    unsigned rule = GUARD_CLAMP_ASYNC;
    enum guard_count count = GUARD_CLAMPED_LATE;
    if (cause != NULL && cause->type == RAFT_IO_APPEND_ENTRIES) {
        rule = GUARD_CLAMP_SYNC;
        count = GUARD_CLAMPED;
        guard_verify(guard, &cause->append_entries);
    } else if (cause != NULL && cause->type == RAFT_IO_INSTALL_SNAPSHOT) {
        rule = GUARD_CLAMP_SNAP;
        count = GUARD_CLAMPED_SNAPSHOT;
        verify_snapshot(guard, &cause->install_snapshot);
    }
    raft_index limit = ack_limit(guard);
    if (guard_has(guard, rule) && ack->last_log_index > limit) {
        ack->last_log_index = limit;
        guard->counts[count]++;
    }
}

/* The library puts its whole backlog into one message. A shorter one is as valid; what is cut off
 * the follower asks for by refusing the next heartbeat. A receiver can tell by its size that a
 * message was not cut (may_be_cut()). */
static void cut(struct guard *guard, struct raft_append_entries *append)
{
    size_t bytes = 0;
    unsigned n = 0;
    while (n < append->n_entries && n < guard->chunk_entries_max && bytes < GUARD_CHUNK_BYTES_MAX) {
        bytes += append->entries[n++].buf.len;
    }
    if (n < append->n_entries) {
        guard->counts[GUARD_CHUNKED]++;
        append->n_entries = n;
        raft_index upto = append->prev_log_index + n;
        if (append->leader_commit > upto) {
            append->leader_commit = upto;
        }
    }
}

static void tell_real_term(struct guard *guard, struct raft_request_vote_result *result)
{
    const struct raft_message *cause = guard->handling;
    if (cause != NULL && cause->type == RAFT_IO_REQUEST_VOTE && cause->request_vote.pre_vote &&
        !result->vote_granted && guard->raft->current_term > cause->request_vote.term) {
        result->term = guard->raft->current_term;
        guard->counts[GUARD_TOLD_REAL_TERM]++;
    }
}

static int send_message(struct raft_io *io,
                        struct raft_io_send *request,
                        const struct raft_message *message,
                        raft_io_send_cb cb)
{
    struct guard *guard = guard_of(io);
    struct raft_message copy = *message;
    /* Results of disk writes go to follower_state.current_leader: unset without a leader, and
     * another member of the union altogether once this node is a candidate or leader. */
    bool is_late = copy.type == RAFT_IO_APPEND_ENTRIES_RESULT && guard->handling == NULL;
    if (guard_has(guard, GUARD_NOBODY) && ((is_late && guard->raft->state != RAFT_FOLLOWER) ||
                                           copy.server_id == 0 || copy.server_address == NULL)) {
        guard->counts[GUARD_TO_NOBODY]++;
        return RAFT_NOCONNECTION; /* the caller frees its request and goes on */
    }
    if (copy.type == RAFT_IO_APPEND_ENTRIES_RESULT && copy.append_entries_result.rejected == 0) {
        clamp(guard, &copy.append_entries_result);
    }
    if (copy.type == RAFT_IO_REQUEST_VOTE_RESULT && guard_has(guard, GUARD_REAL_TERM)) {
        tell_real_term(guard, &copy.request_vote_result);
    }
    if (copy.type == RAFT_IO_APPEND_ENTRIES && guard_has(guard, GUARD_CHUNK)) {
        cut(guard, &copy.append_entries);
    }
    return guard->original.send(io, request, &copy, cb);
}

/* The rules that this build has. */
static unsigned rules_of_build(unsigned rules)
{
#if ROSTER_BUG == 19 /* an ack claims entries that its leader has not verified */
    rules &= ~(unsigned)(GUARD_CLAMP_SYNC | GUARD_CLAMP_ASYNC | GUARD_CLAMP_SNAP);
#elif ROSTER_BUG == 20   /* whoever asks with an old term never learns of the new one */
    rules &= ~(unsigned)GUARD_REAL_TERM;
#elif ROSTER_BUG == 2181 /* a node whose disk was lost votes like any other */
    rules &= ~(unsigned)GUARD_REJOIN;
#elif ROSTER_BUG == 99   /* the library as it is, and the barrier that says when to serve */
    rules &= GUARD_BARRIER;
#endif
    return rules;
}

void guard_attach(struct guard *guard,
                  struct raft *raft,
                  struct raft_io *io,
                  unsigned rules,
                  bool is_rejoining,
                  const struct guard_events *events,
                  void *ctx)
{
    rules = rules_of_build(rules);
    *guard = (struct guard){.raft = raft,
                            .io = io,
                            .original = *io,
                            .events = events,
                            .ctx = ctx,
                            .rules = rules,
                            .chunk_entries_max = GUARD_CHUNK_ENTRIES_MAX,
                            .is_rejoining = is_rejoining && (rules & GUARD_REJOIN) != 0};
    raft->data = guard;
    io->start = start;
    io->send = send_message;
    guard_disk_attach(guard);
}
