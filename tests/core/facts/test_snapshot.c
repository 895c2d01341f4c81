/* Snapshots: what is frozen stays, what is restored is equal, what is damaged is refused. */
#include <criterion/criterion.h>

#include "tests/core/facts/history.h"
#include "tests/core/facts/trial.h"
#include "tests/rpc/leaks.h"

TestSuite(snapshot, .fini = leaks_abort);

enum { SEEDS = 20, STEPS = 400 };

static struct buf encode(struct state *state)
{
    struct buf bytes = BUF_EMPTY;
    void *frozen = state_freeze(state);
    state_encode(frozen, &bytes);
    state_release(state, frozen);
    return bytes;
}

static bool is_equal(const struct buf *a, const struct buf *b)
{
    return span_equal(buf_span(a), buf_span(b));
}

/* Promise 7, behaviours.md row 21: hash(live) = hash(replay) = hash(snapshot + suffix). */
Test(snapshot, and_suffix_is_replay_is_live)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct history live, suffix, replay;
        struct state *one = state_new();
        struct state *other = state_new();
        struct state *third = state_new();
        history_init(&live, seed);
        history_init(&replay, seed);
        uint64_t cut = 1 + seed * 17 % STEPS;
        for (uint64_t i = 0; i < cut; i++) {
            cr_assert_geq(history_step(&live, one, NULL), 0);
            state_check(one);
        }
        struct buf snapshot = encode(one);
        cr_assert_eq(state_restore(other, buf_span(&snapshot)), 0);
        state_check(other);
        cr_assert_eq(state_totals(other)->hash, state_totals(one)->hash);
        struct buf again = encode(other);
        cr_assert(is_equal(&snapshot, &again), "seed %u: other bytes", (unsigned)seed);
        suffix = live;
        for (uint64_t i = cut; i < STEPS; i++) {
            history_step(&live, one, NULL);
            history_step(&suffix, other, NULL);
            cr_assert_eq(state_totals(other)->hash, state_totals(one)->hash, "seed %u, step %u",
                         (unsigned)seed, (unsigned)i);
        }
        for (uint64_t i = 0; i < STEPS; i++) {
            history_step(&replay, third, NULL);
        }
        cr_assert_eq(state_totals(third)->hash, state_totals(one)->hash);
        struct buf last = encode(one);
        struct buf last_replayed = encode(third);
        cr_assert(is_equal(&last, &last_replayed));
        state_check(one);
        state_check(other);
        buf_close(&snapshot);
        buf_close(&again);
        buf_close(&last);
        buf_close(&last_replayed);
        state_free(one);
        state_free(other);
        state_free(third);
    }
}

/* Histories that do nothing would prove nothing. */
Test(snapshot, histories_reach_all_kinds_of_rows)
{
    bool has_members = false, has_pending = false, has_offsets = false, has_nodes = false;
    bool has_assignment = false, is_changed = false, has_high = false;
    struct history history;
    struct state *state = state_new();
    history_init(&history, 1);
    for (int i = 0; i < STEPS; i++) {
        history_step(&history, state, NULL);
        uint64_t at = 0;
        for (struct group_slot *slot; (slot = state_next_group(state, &at)) != NULL;) {
            const struct group *group = slot->facts;
            has_members |= group->members_count > 16;
            has_pending |= group->pending_count > 0;
            has_offsets |= group->offsets.count > 16;
            has_assignment |= group->has_assignment;
            is_changed |= group->is_changed;
        }
        at = 0;
        for (const struct topic *topic; (topic = state_next_topic(state, &at)) != NULL;) {
            has_high |= topic->high_offsets[0] > 0;
        }
        at = 0;
        has_nodes |= state_next_node(state, &at) != NULL;
    }
    cr_assert(has_members && has_pending && has_offsets && has_nodes && has_assignment &&
              is_changed && has_high);
    state_free(state);
}

/* The bytes are those of the moment of freezing, whatever is applied before they are made. */
Test(snapshot, is_of_the_moment_it_was_frozen)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct history history;
        struct state *state = state_new();
        history_init(&history, seed);
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 60; i++) {
                history_step(&history, state, NULL);
            }
            struct buf before = encode(state);
            struct buf after = BUF_EMPTY;
            void *frozen = state_freeze(state);
            for (int i = 0; i < 60; i++) {
                history_step(&history, state, NULL);
                state_check(state);
            }
            state_encode(frozen, &after);
            state_release(state, frozen);
            state_check(state);
            cr_assert(is_equal(&before, &after), "seed %u", (unsigned)seed);
            buf_close(&before);
            buf_close(&after);
        }
        state_free(state);
    }
}

Test(snapshot, copies_nothing_that_no_snapshot_holds)
{
    struct trial t;
    trial_init(&t);
    uint64_t topic = trial_topic(&t, "topic", 4);
    uint64_t g = trial_group(&t, "g");
    uint64_t h = trial_group(&t, "h");
    trial_commit(&t, g, 0, -1, topic, 0, 1, "");
    const struct group *group = trial_facts(&t, g);
    trial_commit(&t, g, 0, -1, topic, 1, 1, "");
    cr_assert_eq(trial_facts(&t, g), group, "no snapshot");
    const struct group *other = trial_facts(&t, h);
    void *frozen = state_freeze(t.state);
    trial_commit(&t, g, 0, -1, topic, 2, 1, "");
    const struct group *copy = trial_facts(&t, g);
    cr_assert_neq(copy, group);
    cr_assert_eq(group->offsets.count, 2);
    trial_commit(&t, g, 0, -1, topic, 3, 1, "");
    cr_assert_eq(trial_facts(&t, g), copy, "once per snapshot");
    cr_assert_eq(trial_facts(&t, h), other, "not touched");
    state_release(t.state, frozen);
    trial_commit(&t, g, 0, -1, topic, 2, 2, "");
    cr_assert_eq(trial_facts(&t, g), copy);
    trial_close(&t);
}

/* A follower may be told to install a snapshot while it makes one of its own. */
Test(snapshot, can_be_replaced_while_frozen)
{
    struct history history, beside;
    struct state *state = state_new();
    struct state *leader = state_new();
    history_init(&history, 1);
    history_init(&beside, 2);
    for (int i = 0; i < 100; i++) {
        history_step(&history, state, NULL);
        history_step(&beside, leader, NULL);
    }
    struct buf before = encode(state);
    struct buf newer = encode(leader);
    struct buf after = BUF_EMPTY;
    void *frozen = state_freeze(state);
    cr_assert_eq(state_restore(state, buf_span(&newer)), 0);
    history_step(&beside, state, NULL);
    state_check(state);
    state_encode(frozen, &after);
    state_release(state, frozen);
    cr_assert(is_equal(&before, &after));
    state_check(state);
    buf_close(&before);
    buf_close(&newer);
    buf_close(&after);
    state_free(state);
    state_free(leader);
}

static struct buf sample(uint64_t seed)
{
    struct history history;
    struct state *state = state_new();
    history_init(&history, seed);
    for (int i = 0; i < 60; i++) {
        history_step(&history, state, NULL);
    }
    struct buf bytes = encode(state);
    state_free(state);
    return bytes;
}

static void refuse(struct state *state, struct span bytes)
{
    uint64_t hash = state_totals(state)->hash;
    cr_assert_eq(state_restore(state, bytes), -1);
    cr_assert_eq(state_totals(state)->hash, hash, "the facts stay as they are");
}

Test(snapshot, truncated_anywhere_is_refused)
{
    struct buf bytes = sample(3);
    struct state *state = state_new();
    for (size_t len = 0; len < bytes.len; len++) {
        uint8_t *exact = malloc(len + 1);
        memcpy(exact, bytes.data, len);
        exact = realloc(exact, len == 0 ? 1 : len);
        refuse(state, span_of(exact, len));
        free(exact);
    }
    buf_put_u8(&bytes, 0);
    refuse(state, buf_span(&bytes));
    bytes.len--;
    cr_assert_eq(state_restore(state, buf_span(&bytes)), 0, "whole, it is not");
    state_free(state);
    buf_close(&bytes);
}

Test(snapshot, with_any_bit_flipped_is_refused)
{
    struct buf bytes = sample(4);
    struct state *state = state_new();
    for (size_t i = 0; i < bytes.len * 8; i++) {
        bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
        refuse(state, buf_span(&bytes));
        bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    state_free(state);
    buf_close(&bytes);
}

Test(snapshot, damaged_at_random_is_refused)
{
    struct history random;
    struct state *state = state_new();
    history_init(&random, 99);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct buf bytes = sample(seed);
        struct buf damaged = BUF_EMPTY;
        for (int i = 0; i < 300; i++) {
            damaged.len = 0;
            buf_append(&damaged, bytes.data, bytes.len);
            for (uint64_t n = 1 + history_random(&random, 5); n > 0; n--) {
                size_t at = history_random(&random, damaged.len);
                size_t len = history_random(&random, 20);
                size_t from = history_random(&random, damaged.len);
                len = at + len > damaged.len ? damaged.len - at : len;
                len = from + len > damaged.len ? damaged.len - from : len;
                memmove(damaged.data + at, damaged.data + from, len);
            }
            if (!is_equal(&bytes, &damaged)) {
                refuse(state, buf_span(&damaged));
            }
        }
        buf_close(&bytes);
        buf_close(&damaged);
    }
    state_free(state);
}

/* Every fact counts: two states that differ in one field have different hashes and bytes. */
Test(snapshot, carries_every_field)
{
    struct trial t;
    trial_init(&t);
    uint64_t g = trial_group(&t, "g");
    struct record_member_protocol protocol = {text("range"), text("meta")};
    struct record_member member = {
        .member_id = text("m"),
        .instance_id = text("i"),
        .client_id = text("c"),
        .client_host = text("/h"),
        .session_timeout_ms = 1,
        .rebalance_timeout_ms = 2,
        .joined_without_id = true,
        .protocols = &protocol,
        .protocols_count = 1,
    };
    struct record_generation record = {g,         3, text("consumer"), text("range"),
                                       text("m"), 0, &member,          1};
    trial_put(&t, RECORD_GENERATION, &record);
    trial_assign(&t, g, 3);
    struct buf bytes = trial_snapshot(&t);
    struct state *other = state_new();
    cr_assert_eq(state_restore(other, buf_span(&bytes)), 0);
    const struct group *a = trial_facts(&t, g);
    const struct group *b = state_group_by_id(other, g)->facts;
    const struct member *m = a->members[0];
    const struct member *n = b->members[0];
    cr_assert(span_equal(a->name, b->name) && a->version == b->version);
    cr_assert(a->generation == b->generation && a->leader == b->leader);
    cr_assert(span_equal(a->protocol_type, b->protocol_type));
    cr_assert(span_equal(a->protocol_name, b->protocol_name));
    cr_assert(a->has_assignment && b->has_assignment && a->bytes == b->bytes);
    cr_assert(m->id == n->id && span_equal(m->member_id, n->member_id));
    cr_assert(span_equal(m->instance_id, n->instance_id));
    cr_assert(span_equal(m->client_id, n->client_id));
    cr_assert(span_equal(m->client_host, n->client_host));
    cr_assert_eq(n->session_timeout_ms, 1);
    cr_assert_eq(n->rebalance_timeout_ms, 2);
    cr_assert(n->joined_without_id);
    cr_assert(span_equal(n->protocols[0].name, text("range")));
    cr_assert(span_equal(n->protocols[0].metadata, text("meta")));
    cr_assert(span_equal(n->assignment, text("m")));
    buf_close(&bytes);
    state_free(other);
    trial_close(&t);
}
