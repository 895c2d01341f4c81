/* The decisions that need no I/O: how a node starts, clocks, diverged states, options. */
#include <criterion/criterion.h>

#include "raftlog/divergence.h"
#include "raftlog/options.h"
#include "raftlog/startup.h"
#include "raftlog/wall_clock.h"
#include "tests/rpc/leaks.h"

TestSuite(startup, .fini = leaks_abort);
TestSuite(wall_clock, .fini = leaks_abort);
TestSuite(divergence, .fini = leaks_abort);
TestSuite(options, .fini = leaks_abort);

/* How the other nodes stand: one letter each: ? unknown, p pristine, f fresh, v voter, r rejoining;
 * their terms are 1, 2, 3 ... in this order. */
static enum startup_step decide(const struct startup_state *state,
                                const char *others,
                                uint64_t *term)
{
    static const char letters[] = "pfvr";
    struct peer items[8] = {{.id = 0}};
    struct peers peers = {.items = items, .count = strlen(others)};
    for (size_t i = 0; i < peers.count; i++) {
        items[i].is_known = others[i] != '?';
        items[i].term = i + 1;
        if (items[i].is_known) {
            items[i].standing = (enum hello_standing)(strchr(letters, others[i]) - letters);
        }
    }
    return startup_decide(state, &peers, term);
}

static enum startup_step decide_as(enum hello_standing standing, const char *others)
{
    uint64_t term = 0;
    return decide(&(struct startup_state){.standing = standing}, others, &term);
}

Test(startup, pristine_bootstraps_only_if_nobody_knows_more)
{
    cr_assert_eq(decide_as(HELLO_PRISTINE, ""), STARTUP_BOOTSTRAP);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "pp"), STARTUP_BOOTSTRAP);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "pf"), STARTUP_BOOTSTRAP);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "ffff"), STARTUP_BOOTSTRAP);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "p?"), STARTUP_WAIT);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "f?"), STARTUP_WAIT);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "pr"), STARTUP_WAIT);
}

Test(startup, emptied_disk_rejoins_and_never_bootstraps)
{
    cr_assert_eq(decide_as(HELLO_PRISTINE, "v?"), STARTUP_WAIT);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "vp"), STARTUP_WAIT);
    cr_assert_eq(decide_as(HELLO_PRISTINE, "vr"), STARTUP_WAIT);
    uint64_t term = 0;
    struct startup_state pristine = {.standing = HELLO_PRISTINE};
    cr_assert_eq(decide(&pristine, "vv", &term), STARTUP_TAKE_TERM);
    cr_assert_eq(term, 3, "one above all others");
    cr_assert_eq(decide(&pristine, "vf", &term), STARTUP_TAKE_TERM);
}

Test(startup, fresh_waits_until_all_are_or_somebody_votes)
{
    cr_assert_eq(decide_as(HELLO_FRESH, ""), STARTUP_VOTE);
    cr_assert_eq(decide_as(HELLO_FRESH, "ff"), STARTUP_VOTE);
    cr_assert_eq(decide_as(HELLO_FRESH, "fp"), STARTUP_WAIT);
    cr_assert_eq(decide_as(HELLO_FRESH, "f?"), STARTUP_WAIT);
    cr_assert_eq(decide_as(HELLO_FRESH, "v?"), STARTUP_VOTE);
    cr_assert_eq(decide_as(HELLO_FRESH, "r?"), STARTUP_VOTE);
}

Test(startup, voter_starts_and_rejoining_takes_a_term_first)
{
    cr_assert_eq(decide_as(HELLO_VOTER, "??"), STARTUP_START);
    cr_assert_eq(decide_as(HELLO_REJOINING, "??"), STARTUP_START);
    uint64_t term = 0;
    struct startup_state lost = {.standing = HELLO_REJOINING, .needs_term = true, .term = 9};
    cr_assert_eq(decide(&lost, "v?", &term), STARTUP_WAIT);
    cr_assert_eq(decide(&lost, "vr", &term), STARTUP_WAIT);
    cr_assert_eq(decide(&lost, "vv", &term), STARTUP_TAKE_TERM);
    cr_assert_eq(term, 10, "one above its own");
}

static struct wall_clock clock_of(size_t nodes, const int64_t *offsets_ms, size_t n)
{
    struct wall_clock clock;
    wall_clock_init(&clock, nodes);
    for (size_t i = 0; i < n; i++) {
        wall_clock_add(&clock, offsets_ms[i]);
    }
    return clock;
}

Test(wall_clock, stamp_never_goes_back)
{
    struct wall_clock clock = clock_of(1, NULL, 0);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000, 0, 0), 1000);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000, 2000, 0), 2000);
}

Test(wall_clock, stamp_is_bound_to_the_majoritys_median)
{
    const int64_t behind[] = {-100000, -100000}; /* our clock is 100 s ahead of both others */
    struct wall_clock clock = clock_of(3, behind, 2);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000000, 0, 0), 960000);
    cr_assert_not(wall_clock_is_trusted(&clock));
    const int64_t limit[] = {-60000, -60000};
    clock = clock_of(3, limit, 2);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000000, 0, 0), 1000000);
    cr_assert(wall_clock_is_trusted(&clock));
    const int64_t beyond[] = {-60001, -60001};
    clock = clock_of(3, beyond, 2);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000000, 0, 0), 999999);
    cr_assert_not(wall_clock_is_trusted(&clock));
}

Test(wall_clock, without_a_majority_stamps_go_on_from_the_last_one)
{
    struct wall_clock clock = clock_of(3, NULL, 0); /* alone of three, and perhaps days ahead */
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000000, 5000, 0), 5000);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000000, 5000, 70000), 75000);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 6000, 5000, 70000), 6000, "ours is behind that");
    cr_assert_eq(wall_clock_stamp_ms(&clock, 4000, 5000, 70000), 5000);
    cr_assert_eq(wall_clock_stamp_ms(&clock, 1000000, 0, 0), 1000000, "there is no batch yet");
}

Test(wall_clock, is_trusted_while_a_majority_agrees)
{
    struct wall_clock clock = clock_of(3, NULL, 0);
    cr_assert_not(wall_clock_is_trusted(&clock), "alone of three");
    const int64_t near[] = {5};
    clock = clock_of(3, near, 1);
    cr_assert(wall_clock_is_trusted(&clock));
    const int64_t far[] = {70000};
    clock = clock_of(3, far, 1);
    cr_assert_not(wall_clock_is_trusted(&clock));
    const int64_t one_off[] = {5, 100000000};
    clock = clock_of(3, one_off, 2);
    cr_assert(wall_clock_is_trusted(&clock), "the odd one does not matter");
    cr_assert_eq(wall_clock_median_ms(&clock), 5);
}

Test(divergence, checkpoint_is_the_first_batch_of_a_second)
{
    cr_assert(divergence_is_checkpoint(999, 1000));
    cr_assert_not(divergence_is_checkpoint(1000, 1999));
    cr_assert(divergence_is_checkpoint(0, 1700000000000));
}

Test(divergence, odd_one_of_three_stops)
{
    static struct divergence divergence;
    divergence_clear(&divergence);
    divergence_note_ours(&divergence, 10, 111);
    cr_assert_eq(divergence_note_other(&divergence, 2, 10, 111), DIVERGENCE_NONE);
    cr_assert_eq(divergence_note_other(&divergence, 3, 10, 222), DIVERGENCE_ALARM,
                 "somebody differs, and it is not us");
    cr_assert_eq(divergence_note_other(&divergence, 3, 10, 222), DIVERGENCE_NONE, "told once");
    divergence_note_ours(&divergence, 11, 111);
    cr_assert_eq(divergence_note_other(&divergence, 2, 11, 222), DIVERGENCE_ALARM, "not yet clear");
    cr_assert_eq(divergence_note_other(&divergence, 3, 11, 222), DIVERGENCE_ODD);
    cr_assert_eq(divergence_note_other(&divergence, 2, 9, 222), DIVERGENCE_NONE, "unknown index");
}

Test(divergence, two_against_two_is_not_clear)
{
    static struct divergence divergence;
    divergence_clear(&divergence);
    divergence_note_ours(&divergence, 10, 111);
    cr_assert_eq(divergence_note_other(&divergence, 2, 10, 111), DIVERGENCE_NONE);
    cr_assert_eq(divergence_note_other(&divergence, 3, 10, 222), DIVERGENCE_ALARM);
    cr_assert_eq(divergence_note_other(&divergence, 4, 10, 222), DIVERGENCE_NONE);
    cr_assert_eq(divergence_note_other(&divergence, 5, 10, 222), DIVERGENCE_ODD);
}

Test(divergence, keeps_the_latest)
{
    static struct divergence divergence;
    divergence_clear(&divergence);
    for (uint64_t i = 1; i <= DIVERGENCE_KEPT + 1; i++) {
        divergence_note_ours(&divergence, i, i);
    }
    cr_assert_eq(divergence_note_other(&divergence, 2, 1, 5), DIVERGENCE_NONE, "forgotten");
    cr_assert_eq(divergence_note_other(&divergence, 2, 2, 5), DIVERGENCE_ALARM);
    struct peer_status status;
    divergence_fill(&divergence, &status);
    cr_assert_eq(status.checkpoints_count, PEER_STATUS_CHECKPOINTS_MAX);
    cr_assert_eq(status.checkpoints[0].index, DIVERGENCE_KEPT + 1);
}

static struct raftlog_peer peers[OPTIONS_PEERS_MAX + 1];

static struct raftlog_options good_options(void)
{
    for (size_t i = 0; i <= OPTIONS_PEERS_MAX; i++) {
        peers[i] = (struct raftlog_peer){.id = i + 1, .host = "h", .port = 1};
    }
    return (struct raftlog_options){.cluster_id = "c",
                                    .node_id = 1,
                                    .peers = peers,
                                    .peers_count = 3,
                                    .secret = SPAN_LITERAL("0123456789abcdef"),
                                    .election_timeout_ms = 300,
                                    .heartbeat_ms = 50,
                                    .proposal_bytes_max = 1 << 20,
                                    .batch_bytes_max = 1 << 18,
                                    .queue_bytes_max = 1 << 22,
                                    .snapshot_threshold_bytes = 1};
}

static bool is_good(const struct raftlog_options *options)
{
    return options_check(options) == NULL;
}

/* The good ones with one thing changed. */
#define OPTIONS_WITH(change) (options = good_options(), change, is_good(&options))

Test(options, limits)
{
    struct raftlog_options options;
    cr_assert(OPTIONS_WITH((void)0));
    cr_assert(OPTIONS_WITH(options.peers_count = OPTIONS_PEERS_MAX));
    cr_assert_not(OPTIONS_WITH(options.peers_count = OPTIONS_PEERS_MAX + 1));
    cr_assert_not(OPTIONS_WITH(options.peers_count = 0));
    cr_assert_not(OPTIONS_WITH(options.node_id = 4));
    cr_assert_not(OPTIONS_WITH(peers[1].id = 1));
    cr_assert_not(OPTIONS_WITH(peers[1].id = 0));
    cr_assert_not(OPTIONS_WITH(peers[1].id = (uint64_t)INT32_MAX + 1));
    cr_assert_not(OPTIONS_WITH(peers[1].host = ""));
    cr_assert_not(OPTIONS_WITH(options.secret.len = OPTIONS_SECRET_BYTES_MIN - 1));
    cr_assert_not(OPTIONS_WITH(options.cluster_id = "two\nlines"));
    cr_assert_not(OPTIONS_WITH(options.election_timeout_ms = 99));
    cr_assert(OPTIONS_WITH(options.election_timeout_ms = 100));
    cr_assert_not(OPTIONS_WITH(options.proposal_bytes_max = 16 << 20));
    cr_assert(OPTIONS_WITH(options.batch_bytes_max = 16 << 20));
    cr_assert_not(OPTIONS_WITH(options.batch_bytes_max = (16 << 20) + 1));
    cr_assert_not(OPTIONS_WITH(options.queue_bytes_max = 1 << 20));
}
