/* G11 and G2 where they meet: a write that waited for a truncation keeps the term it was asked for
 * in. The library above is a struct whose role the test sets, the disk below is this file: on real
 * ones a node would have to win an election within the time of one truncation. */
#include <criterion/criterion.h>

#include "raftlog/guard.h"
#include "tests/rpc/leaks.h"

TestSuite(order, .fini = leaks_abort);

struct desk {
    struct raft raft;
    struct raft_io io;
    struct guard guard;
    struct raft_io_append request; /* the library's */
    struct raft_io_append *begun;  /* what has reached the disk */
    bool is_truncated;
    raft_index noted; /* L8 */
    raft_index cut;   /* by the disk */
    int told;         /* how often the library heard of its write */
};

static struct desk desk;

static int disk_truncate(struct raft_io *io, raft_index index)
{
    (void)io;
    desk.cut = index;
    return 0;
}

static int disk_append(struct raft_io *io,
                       struct raft_io_append *request,
                       const struct raft_entry entries[],
                       unsigned n,
                       raft_io_append_cb cb)
{
    (void)io;
    (void)entries;
    (void)n;
    request->cb = cb;
    desk.begun = request;
    return 0;
}

static void told(struct raft_io_append *request, int status)
{
    cr_assert_eq(request, &desk.request);
    cr_assert_eq(status, 0);
    desk.told++;
}

static void fatal(void *ctx, const char *what)
{
    (void)ctx;
    cr_assert_fail("%s", what);
}

static void changed_role(void *ctx, raft_term term)
{
    (void)ctx;
    (void)term;
}

static void changed_leader(void *ctx, raft_id id)
{
    (void)ctx;
    (void)id;
}

static int truncating(void *ctx, raft_index index)
{
    (void)ctx;
    cr_assert_eq(desk.cut, 0, "it is noted before it begins");
    desk.noted = index;
    return 0;
}

static int truncated(void *ctx, raft_index index)
{
    (void)ctx;
    (void)index;
    return desk.is_truncated;
}

static void begin(void)
{
    static const struct guard_events events = {.fatal = fatal,
                                               .stepped_up = changed_role,
                                               .leader = changed_leader,
                                               .truncating = truncating,
                                               .truncated = truncated};
    desk = (struct desk){.io = {.truncate = disk_truncate, .append = disk_append},
                         .raft = {.state = RAFT_FOLLOWER, .current_term = 2, .id = 1}};
    desk.io.data = &desk.raft;
    guard_attach(&desk.guard, &desk.raft, &desk.io, GUARD_ONE_TRUNCATE | GUARD_OWN_TERM, false,
                 &events, NULL);
}

static void lead_in(raft_term term)
{
    desk.raft.state = RAFT_LEADER;
    desk.raft.current_term = term;
}

static void write_one(void)
{
    struct raft_entry entry = {.term = 2, .type = RAFT_COMMAND};
    cr_assert_eq(desk.io.append(&desk.io, &desk.request, &entry, 1, told), 0);
}

static void let_it_through(void)
{
    desk.is_truncated = true;
    guard_turn(&desk.guard);
    cr_assert_not_null(desk.begun);
    desk.begun->cb(desk.begun, 0);
    cr_assert_eq(desk.told, 1);
}

Test(order, nothing_is_written_while_the_log_is_truncated)
{
    begin();
    cr_assert_eq(desk.io.truncate(&desk.io, 5), 0);
    cr_assert_eq(desk.noted, 5);
    cr_assert_eq(desk.cut, 5);
    write_one();
    guard_turn(&desk.guard);
    cr_assert_null(desk.begun);
    let_it_through();
}

Test(order, what_was_begun_before_a_truncation_may_not_have_reached_a_file_yet)
{
    begin();
    desk.is_truncated = true; /* as far as files tell */
    write_one();
    struct raft_io_append *first = desk.begun;
    cr_assert_not_null(first);
    cr_assert_eq(desk.io.truncate(&desk.io, 5), 0);
    desk.begun = NULL;
    write_one();
    guard_turn(&desk.guard);
    cr_assert_null(desk.begun);
    first->cb(first, 0);
    guard_turn(&desk.guard);
    cr_assert_not_null(desk.begun);
    desk.begun->cb(desk.begun, 0);
    cr_assert_eq(desk.told, 2);
}

Test(order, what_a_follower_was_given_is_not_the_next_leaders_own)
{
    begin();
    cr_assert_eq(desk.io.truncate(&desk.io, 5), 0);
    write_one();
    lead_in(3);
    let_it_through();
    cr_assert_neq(desk.guard.ready_term, 3, "G2 is open without an own entry on the disk");
}

Test(order, an_own_entry_counts_though_it_waited)
{
    begin();
    cr_assert_eq(desk.io.truncate(&desk.io, 5), 0);
    lead_in(3);
    write_one();
    let_it_through();
    cr_assert_eq(desk.guard.ready_term, 3);
}

Test(order, an_own_entry_of_a_lost_term_does_not_count)
{
    begin();
    cr_assert_eq(desk.io.truncate(&desk.io, 5), 0);
    lead_in(3);
    write_one();
    lead_in(5);
    let_it_through();
    cr_assert_neq(desk.guard.ready_term, 5);
}
