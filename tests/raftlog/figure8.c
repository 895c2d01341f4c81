/* S2 as a story (figure 8 of the Raft paper), on the library's own fixture: a leader counts copies
 * of an entry of an older term, applies it and dies; a node that never had it is elected and puts
 * another command at its place. Messages are cut to one entry each (G10), as a long catch-up does.
 *
 *   figure8    told with and without G2: it must end well and badly; exit code 0 */
#include <raft.h>
#include <raft/fixture.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raftlog/guard.h"
#include "rpc/ensure.h"

enum { NODES = 3, STEPS_MAX = 200000, SLOW_DISK_MS = 3000, POSITIONS = 64 };

static struct raft_fixture fixture;
static struct raft_fsm machines[NODES];
static struct guard guards[NODES];
static uint64_t applied[NODES][POSITIONS];
static unsigned applied_count[NODES];

static int on_apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **result)
{
    long i = fsm - machines;
    ensure(applied_count[i] < POSITIONS);
    memcpy(&applied[i][applied_count[i]++], buf->base, sizeof(uint64_t));
    *result = NULL;
    return 0;
}

static int on_snapshot(struct raft_fsm *fsm, struct raft_buffer *bufs[], unsigned *n_bufs)
{
    (void)fsm;
    (void)bufs;
    (void)n_bufs;
    return RAFT_BUSY;
}

static int on_restore(struct raft_fsm *fsm, struct raft_buffer *buf)
{
    (void)fsm;
    (void)buf;
    return 0;
}

static void on_fatal(void *ctx, const char *what)
{
    (void)ctx;
    fprintf(stderr, "stopped: %s\n", what);
    abort();
}

static void on_rejoined(void *ctx)
{
    (void)ctx;
}

static void on_term(void *ctx, raft_term term)
{
    (void)ctx;
    (void)term;
}

static void on_stepped_down(void *ctx)
{
    (void)ctx;
}

static void on_leader(void *ctx, raft_id id)
{
    (void)ctx;
    (void)id;
}

static const struct guard_events guard_events = {
    .fatal = on_fatal,
    .rejoined = on_rejoined,
    .stepped_up = on_term,
    .serving = on_term,
    .stepped_down = on_stepped_down,
    .leader = on_leader,
};

static struct raft *node(unsigned i)
{
    return raft_fixture_get(&fixture, i);
}

static void link_nodes(unsigned a, unsigned b, bool is_up)
{
    if (is_up) {
        raft_fixture_reconnect(&fixture, a, b);
        raft_fixture_reconnect(&fixture, b, a);
    } else {
        raft_fixture_disconnect(&fixture, a, b);
        raft_fixture_disconnect(&fixture, b, a);
    }
}

static void set_up(unsigned rules)
{
    raft_fixture_initialize(&fixture);
    for (unsigned i = 0; i < NODES; i++) {
        machines[i] = (struct raft_fsm){
            .version = 1, .apply = on_apply, .snapshot = on_snapshot, .restore = on_restore};
        ensure(raft_fixture_grow(&fixture, &machines[i]) == 0);
    }
    struct raft_configuration configuration;
    ensure(raft_fixture_configuration(&fixture, NODES, &configuration) == 0);
    ensure(raft_fixture_bootstrap(&fixture, &configuration) == 0);
    raft_configuration_close(&configuration);
    for (unsigned i = 0; i < NODES; i++) {
        guard_attach(&guards[i], node(i), node(i)->io, rules, false, &guard_events, NULL);
        guards[i].chunk_entries_max = 1;
    }
    ensure(raft_fixture_start(&fixture) == 0);
}

/* Steps until [i] leads; no other node's timer runs out meanwhile. */
static void elect(unsigned i)
{
    for (unsigned step = 0; node(i)->state != RAFT_LEADER; step++) {
        ensure(step < STEPS_MAX);
        for (unsigned k = 0; k < NODES; k++) {
            if (k != i && node(k)->state == RAFT_FOLLOWER) {
                node(k)->election_timer_start = raft_fixture_time(&fixture);
                node(k)->follower_state.current_leader.id = 0; /* else it refuses its vote */
            }
        }
        if (node(i)->state == RAFT_FOLLOWER) {
            node(i)->follower_state.randomized_election_timeout = 1000;
        }
        raft_fixture_step(&fixture);
    }
}

static void wait_until_deposed(unsigned i)
{
    for (unsigned step = 0; node(i)->state == RAFT_LEADER; step++) {
        ensure(step < STEPS_MAX);
        for (unsigned k = 0; k < NODES; k++) {
            if (k != i) {
                node(k)->election_timer_start = raft_fixture_time(&fixture);
            }
        }
        raft_fixture_step(&fixture);
    }
}

/* Its memory is the fixture's until the end of the process: the story drops requests on the way. */
static void submit(unsigned i, uint64_t value)
{
    struct raft_apply *request = calloc(1, sizeof *request);
    struct raft_buffer buf = {.base = raft_malloc(sizeof value), .len = sizeof value};
    ensure(request != NULL && buf.base != NULL);
    memcpy(buf.base, &value, sizeof value);
    ensure(raft_apply(node(i), request, &buf, 1, NULL) == 0);
}

static bool has_applied(unsigned i, uint64_t value)
{
    for (unsigned k = 0; k < applied_count[i]; k++) {
        if (applied[i][k] == value) {
            return true;
        }
    }
    return false;
}

/* Whether two nodes applied different commands at one position. */
static bool is_diverged(void)
{
    for (unsigned a = 0; a < NODES; a++) {
        for (unsigned b = 0; b < a; b++) {
            for (unsigned k = 0; k < applied_count[a] && k < applied_count[b]; k++) {
                if (applied[a][k] != applied[b][k]) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool tell(unsigned rules)
{
    set_up(rules);
    elect(0);
    submit(0, 1);
    for (unsigned step = 0; applied_count[2] == 0; step++) {
        ensure(step < STEPS_MAX);
        raft_fixture_step(&fixture);
    }
    /* The first node gets 11 onto its own disk only. */
    link_nodes(0, 1, false);
    link_nodes(0, 2, false);
    submit(0, 11);
    raft_fixture_step_until_elapsed(&fixture, 100);
    wait_until_deposed(0);
    /* The third one is elected by the second and dies with 33 on its own disk only. */
    elect(2);
    link_nodes(1, 2, false);
    submit(2, 33);
    raft_fixture_step_until_elapsed(&fixture, 100);
    wait_until_deposed(2);
    /* The first one again, by the second; its disk is slow now, so nothing of its own is on it. */
    raft_fixture_set_disk_latency(&fixture, 0, SLOW_DISK_MS);
    link_nodes(0, 1, true);
    elect(0);
    raft_index before = node(1)->last_stored;
    for (unsigned step = 0; node(1)->last_stored == before; step++) {
        ensure(step < STEPS_MAX);
        node(2)->election_timer_start = raft_fixture_time(&fixture);
        raft_fixture_step(&fixture);
    }
    /* The second one has 11, nothing behind it, and says so. */
    raft_fixture_disconnect(&fixture, 0, 1);
    raft_index wanted = node(0)->commit_index;
    for (unsigned step = 0; step < 40 && node(0)->commit_index == wanted; step++) {
        raft_fixture_step(&fixture);
    }
    printf("  rules=%x: the first node has %sapplied 11 of an older term", rules,
           has_applied(0, 11) ? "" : "not ");
    /* It dies, and the third one is elected by the second. */
    raft_fixture_kill(&fixture, 0);
    link_nodes(1, 2, true);
    elect(2);
    submit(2, 34);
    for (unsigned step = 0; !has_applied(2, 34); step++) {
        ensure(step < STEPS_MAX);
        raft_fixture_step(&fixture);
    }
    printf("; the third one then applied 33\n");
    fflush(stdout);
    return is_diverged();
}

int main(int argc, char **argv)
{
    if (argc == 2) { /* one telling, in a process of its own */
        return tell((unsigned)strtoul(argv[1], NULL, 16)) ? 1 : 0;
    }
    char command[512];
    snprintf(command, sizeof command, "%s %x", argv[0], (unsigned)(GUARD_ALL & ~GUARD_OWN_TERM));
    bool is_bad_without = system(command) != 0;
    snprintf(command, sizeof command, "%s %x", argv[0], (unsigned)GUARD_ALL);
    bool is_bad_with = system(command) != 0;
    printf("S2: without the rule states %s, with it they %s\n",
           is_bad_without ? "differ" : "are equal", is_bad_with ? "differ" : "are equal");
    return !is_bad_without || is_bad_with;
}
