/* The guard's half that stands between the library and its disk: the fail-stop of G6, and the
 * moment from which a new leader's own entries are durable (G2). */
#include <stdlib.h>
#include <string.h>

#include "raftlog/guard_parts.h"
#include "rpc/build.h"
#include "rpc/ensure.h"

struct append {
    struct raft_io_append request;
    struct raft_io_append *inner;
    raft_io_append_cb cb;
    struct guard *guard;
    raft_term term;     /* the term in which a leader wrote it, else 0 */
    unsigned truncates; /* of those pending, how many are done when this is */
#if ROSTER_BUG == 2
    struct append *next; /* in guard->lazy */
    bool is_told;
    bool is_begun;
    struct raft_entry *entries; /* copies: the library frees its own when it is told */
    unsigned n;
#endif
};

static void stop_writing(struct guard *guard, const char *what)
{
#if ROSTER_BUG == 17 /* the library is left to get on with a failed write */
    (void)guard;
    (void)what;
#else
    guard_stop(guard, what);
#endif
}

static void tell(struct append *append, int status)
{
    struct guard *guard = append->guard;
    struct raft *raft = guard->raft;
    if (status != 0) {
        stop_writing(guard, "a write to the log failed");
    }
    guard->appends--;
    guard->append_ticks = 0;
    guard->truncates_pending -= append->truncates;
    if (status == 0 && append->term != 0 && raft->state == RAFT_LEADER &&
        raft->current_term == append->term) {
        guard->ready_term = append->term;
    }
    append->cb(append->inner, status);
}

#if ROSTER_BUG == 2
static struct raft_entry *copy_entries(const struct raft_entry entries[], unsigned n)
{
    struct raft_entry *copies = calloc(n, sizeof *copies);
    ensure(copies != NULL);
    for (unsigned i = 0; i < n; i++) {
        copies[i] = entries[i];
        copies[i].buf.base = malloc(entries[i].buf.len);
        ensure(copies[i].buf.base != NULL);
        memcpy(copies[i].buf.base, entries[i].buf.base, entries[i].buf.len);
    }
    return copies;
}

static int keep_for_later(struct append *append, const struct raft_entry entries[], unsigned n)
{
    struct append **at = &append->guard->lazy;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = append;
    append->entries = copy_entries(entries, n);
    append->n = n;
    return 0;
}

/* The library is told, out of its own depths. */
void guard_disk_tell_early(struct guard *guard)
{
    for (struct append *append = guard->lazy; append != NULL;) {
        if (append->is_told) {
            append = append->next;
            continue;
        }
        append->is_told = true;
        tell(append, 0);
        guard_acks_release(guard);
        append = guard->lazy; /* it may have changed */
    }
}

static void landed(struct raft_io_append *request, int status)
{
    struct append *append = (struct append *)request;
    struct append **at = &append->guard->lazy;
    (void)status;
    while (*at != append) {
        at = &(*at)->next;
    }
    *at = append->next;
    for (unsigned i = 0; i < append->n; i++) {
        free(append->entries[i].buf.base);
    }
    free(append->entries);
    free(append);
}

/* With each tick, and where the order asks for it. */
static void write_lazily(struct guard *guard)
{
    for (struct append *append = guard->lazy; append != NULL; append = append->next) {
        if (!append->is_begun) {
            append->is_begun = true;
            guard->original.append(guard->io, &append->request, append->entries, append->n, landed);
        }
    }
}
#endif

#if ROSTER_BUG != 2
static void append_done(struct raft_io_append *request, int status)
{
    struct append *append = (struct append *)request;
    struct guard *guard = append->guard;
    tell(append, status);
    free(append);
    guard_acks_release(guard);
    guard_poll(guard);
}
#endif

static int write_append(struct guard *guard, const struct guard_write *write)
{
    struct append *append = calloc(1, sizeof *append);
    ensure(append != NULL);
    *append = (struct append){.inner = write->append.request,
                              .cb = write->append.cb,
                              .guard = guard,
                              .term = write->append.term};
    append->truncates = guard->truncates_alone;
    guard->truncates_alone = 0;
#if ROSTER_BUG == 2 /* it counts as done at once, and is written with the next tick */
    int rv = keep_for_later(append, write->append.entries, write->append.n);
#else
    int rv = guard->original.append(guard->io, &append->request, write->append.entries,
                                    write->append.n, append_done);
#endif
    if (rv != 0) {
        free(append);
        stop_writing(guard, "a write to the log was refused");
        return rv;
    }
    guard->appends++;
    return 0;
}

static int append_entries(struct raft_io *io,
                          struct raft_io_append *request,
                          const struct raft_entry entries[],
                          unsigned n,
                          raft_io_append_cb cb)
{
    struct guard *guard = guard_of(io);
    if (guard->handling != NULL && guard->handling->type == RAFT_IO_APPEND_ENTRIES) {
        guard_verify(guard, &guard->handling->append_entries);
    }
    request->cb = cb;
    /* Now, not when it is written: a follower's entries may wait until it leads. */
    raft_term term = guard->raft->state == RAFT_LEADER ? guard->raft->current_term : 0;
    return guard_order(
        guard,
        &(struct guard_write){
            .kind = GUARD_APPEND,
            .append = {.request = request, .entries = entries, .n = n, .cb = cb, .term = term}});
}

static int write_truncation(struct guard *guard, raft_index index)
{
    if (guard->puts != 0) {
        guard_stop(guard, "the log was to be truncated while a snapshot is written");
    }
#if ROSTER_BUG == 2
    write_lazily(guard);
#endif
    const struct guard_events *events = guard->events;
    int rv = events->truncating != NULL ? events->truncating(guard->ctx, index) : 0;
    if (rv != 0) {
        guard_stop(guard, "noting a truncation of the log failed");
        return rv;
    }
    rv = guard->original.truncate(guard->io, index);
    if (rv != 0) {
        guard_stop(guard, "truncating the log failed");
        return rv;
    }
    guard->truncates_pending++;
    guard->truncates_alone++;
    if (guard_has(guard, GUARD_ONE_TRUNCATE) && events->truncated != NULL) {
        guard->truncating = index;
    }
    return 0;
}

static int truncate_log(struct raft_io *io, raft_index index)
{
    return guard_order(guard_of(io),
                       &(struct guard_write){.kind = GUARD_TRUNCATE, .truncate = index});
}

bool guard_is_rewriting(const struct guard *guard)
{
    return guard->truncates_pending != 0 || guard->installs != 0 || guard->waiting != NULL;
}

struct put {
    struct raft_io_snapshot_put request;
    struct raft_io_snapshot_put *inner;
    raft_io_snapshot_put_cb cb;
    struct guard *guard;
    bool is_install;
};

static void put_done(struct raft_io_snapshot_put *request, int status)
{
    struct put *put = (struct put *)request;
    struct guard *guard = put->guard;
    guard->puts--;
    guard->installs -= put->is_install;
    if (status != 0) {
        guard_stop(guard, "writing a snapshot failed");
    }
    put->cb(put->inner, status);
    free(put);
    guard_poll(guard);
}

static int write_snapshot(struct guard *guard, const struct guard_write *write)
{
    struct put *put = calloc(1, sizeof *put);
    ensure(put != NULL);
    *put = (struct put){.inner = write->put.request,
                        .cb = write->put.cb,
                        .guard = guard,
                        .is_install = write->put.trailing == 0};
#if ROSTER_BUG == 2
    write_lazily(guard);
#endif
    int rv = guard->original.snapshot_put(guard->io, write->put.trailing, &put->request,
                                          write->put.snapshot, put_done);
    if (rv != 0) {
        free(put);
        guard_stop(guard, "writing a snapshot was refused");
        return rv;
    }
    guard->puts++;
    guard->installs += put->is_install;
    guard->put_ticks = 0;
    return 0;
}

static int put_snapshot(struct raft_io *io,
                        unsigned trailing,
                        struct raft_io_snapshot_put *request,
                        const struct raft_snapshot *snapshot,
                        raft_io_snapshot_put_cb cb)
{
    request->cb = cb;
    return guard_order(
        guard_of(io),
        &(struct guard_write){
            .kind = GUARD_PUT,
            .put = {.trailing = trailing, .request = request, .snapshot = snapshot, .cb = cb}});
}

int guard_disk_write(struct guard *guard, const struct guard_write *write)
{
    switch (write->kind) {
        case GUARD_APPEND:
            return write_append(guard, write);
        case GUARD_TRUNCATE:
            return write_truncation(guard, write->truncate);
        case GUARD_PUT:
            return write_snapshot(guard, write);
    }
    return RAFT_INVALID;
}

/* First in our own file, then in the library's. */
static void note_ballot(struct guard *guard, raft_term term, raft_id vote)
{
    guard->ballot_term = term;
    if (guard->events->ballot != NULL && guard->events->ballot(guard->ctx, term, vote) != 0) {
        guard_stop(guard, "writing the ballot failed");
    }
}

static int set_term(struct raft_io *io, raft_term term)
{
    struct guard *guard = guard_of(io);
#if ROSTER_BUG == 3 /* a node that starts again has forgotten its term and its vote */
    (void)guard;
    (void)term;
    return 0;
#endif
    note_ballot(guard, term, 0);
    int rv = guard->original.set_term(io, term);
    if (rv != 0) {
        guard_stop(guard, "writing the term failed");
    }
    return rv;
}

static int set_vote(struct raft_io *io, raft_id id)
{
    struct guard *guard = guard_of(io);
#if ROSTER_BUG == 3
    (void)guard;
    (void)id;
    return 0;
#endif
    /* A candidate's own vote comes before the library has taken the new term over. */
    note_ballot(guard, guard->ballot_term != 0 ? guard->ballot_term : guard->raft->current_term,
                id);
    int rv = guard->original.set_vote(io, id);
    if (rv != 0) {
        guard_stop(guard, "writing the vote failed");
    }
    return rv;
}

void guard_disk_tick(struct guard *guard)
{
#if ROSTER_BUG == 2
    write_lazily(guard);
#endif
    bool has_write = guard->appends != 0 || guard->waiting != NULL;
    guard->append_ticks = has_write ? guard->append_ticks + 1 : 0;
    if (guard->append_ticks > GUARD_APPEND_TICKS_MAX) {
        guard_stop(guard, "a write to the log does not complete");
    }
    bool is_truncating = guard->truncating != 0 && guard->appends == 0;
    guard->truncate_ticks = is_truncating ? guard->truncate_ticks + 1 : 0;
    if (guard->truncate_ticks > GUARD_TRUNCATE_TICKS_MAX) {
        guard_stop(guard, "the log could not be truncated");
    }
    /* [pending] is set from the freezing of a state until its snapshot is on disk. */
    bool has_snapshot = guard->puts != 0 || guard->raft->snapshot.pending.term != 0;
    guard->put_ticks = has_snapshot ? guard->put_ticks + 1 : 0;
    if (guard->put_ticks > GUARD_SNAPSHOT_TICKS_MAX) {
        guard_stop(guard, "writing a snapshot does not complete");
    }
}

void guard_disk_attach(struct guard *guard)
{
    struct raft_io *io = guard->io;
    io->append = append_entries;
    io->truncate = truncate_log;
    io->snapshot_put = put_snapshot;
    io->set_term = set_term;
    io->set_vote = set_vote;
}
