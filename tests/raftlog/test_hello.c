/* The handshake's messages and the status messages. */
#include <criterion/criterion.h>

#include "raftlog/hello.h"
#include "raftlog/peer_status.h"
#include "tests/rpc/leaks.h"

TestSuite(hello, .fini = leaks_abort);
TestSuite(status, .fini = leaks_abort);

#define SECRET SPAN_LITERAL("a secret of 16 bytes and more")

static struct hello sample(void)
{
    struct hello hello = {.node_id = 1,
                          .peer_id = 2,
                          .boot_id = 3,
                          .term = 4,
                          .last_index = 5,
                          .remembered = 6,
                          .wall_ms = -7,
                          .standing = HELLO_REJOINING,
                          .cluster_id = SPAN_LITERAL("cluster"),
                          .card = SPAN_LITERAL("a card")};
    memset(hello.config_hash, 9, sizeof hello.config_hash);
    return hello;
}

static struct hello_transcript transcript(void)
{
    struct hello_transcript result = {.message = BUF_EMPTY};
    struct hello_opening opening = {.version = HELLO_VERSION, .purpose = HELLO_RAFT};
    memset(opening.nonce, 1, sizeof opening.nonce);
    hello_encode_opening(&opening, result.dialer);
    memset(opening.nonce, 2, sizeof opening.nonce);
    hello_encode_opening(&opening, result.acceptor);
    return result;
}

static struct buf message_of(enum hello_role role, const struct hello_transcript *passed)
{
    struct hello hello = sample();
    struct buf out = BUF_EMPTY;
    hello_encode(role, SECRET, passed, HELLO_OK, &hello, &out);
    return out;
}

static enum hello_verdict decode(enum hello_role sender,
                                 struct span secret,
                                 const struct hello_transcript *passed,
                                 const struct buf *message)
{
    struct hello hello;
    enum hello_verdict said = HELLO_OK;
    return hello_decode(sender, secret, passed, span_of(message->data + 4, message->len - 4),
                        &hello, &said);
}

Test(hello, opening_round_trip)
{
    struct hello_opening opening = {.version = HELLO_VERSION, .purpose = HELLO_CONTROL};
    opening.nonce[31] = 5;
    uint8_t bytes[HELLO_OPENING_LEN];
    hello_encode_opening(&opening, bytes);
    struct hello_opening back;
    cr_assert_eq(hello_decode_opening(bytes, &back), HELLO_OK);
    cr_assert_eq(back.purpose, HELLO_CONTROL);
    cr_assert_eq(memcmp(back.nonce, opening.nonce, sizeof back.nonce), 0);
    bytes[5] = HELLO_VERSION + 1;
    cr_assert_eq(hello_decode_opening(bytes, &back), HELLO_BAD_VERSION);
    bytes[5] = HELLO_VERSION;
    bytes[6] = 3;
    cr_assert_eq(hello_decode_opening(bytes, &back), HELLO_MALFORMED);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 1; /* how an AppendEntries of the library begins */
    cr_assert_eq(hello_decode_opening(bytes, &back), HELLO_MALFORMED);
}

Test(hello, message_round_trip)
{
    struct hello_transcript passed = transcript();
    struct buf message = message_of(HELLO_DIALER, &passed);
    struct hello hello;
    enum hello_verdict said = HELLO_MALFORMED;
    cr_assert_eq(hello_decode(HELLO_DIALER, SECRET, &passed,
                              span_of(message.data + 4, message.len - 4), &hello, &said),
                 HELLO_OK);
    cr_assert_eq(said, HELLO_OK);
    struct hello ours = sample();
    cr_assert_eq(hello.node_id, ours.node_id);
    cr_assert_eq(hello.remembered, ours.remembered);
    cr_assert_eq(hello.wall_ms, ours.wall_ms);
    cr_assert_eq(hello.standing, ours.standing);
    cr_assert(span_equal(hello.cluster_id, ours.cluster_id));
    cr_assert(span_equal(hello.card, ours.card));
    cr_assert_eq(memcmp(hello.config_hash, ours.config_hash, HELLO_HASH_LEN), 0);
    buf_close(&message);
}

Test(hello, proof_binds_all_that_passed)
{
    struct hello_transcript passed = transcript();
    struct buf message = message_of(HELLO_DIALER, &passed);
    cr_assert_eq(decode(HELLO_DIALER, SECRET, &passed, &message), HELLO_OK);
    cr_assert_eq(
        decode(HELLO_DIALER, SPAN_LITERAL("another secret of the same"), &passed, &message),
        HELLO_BAD_PROOF);
    cr_assert_eq(decode(HELLO_ACCEPTOR, SECRET, &passed, &message), HELLO_BAD_PROOF,
                 "it must not be good in the other direction");
    for (size_t i = 0; i < HELLO_OPENING_LEN; i++) {
        passed.dialer[i] ^= 1;
        cr_assert_eq(decode(HELLO_DIALER, SECRET, &passed, &message), HELLO_BAD_PROOF);
        passed.dialer[i] ^= 1;
        passed.acceptor[i] ^= 1;
        cr_assert_eq(decode(HELLO_DIALER, SECRET, &passed, &message), HELLO_BAD_PROOF);
        passed.acceptor[i] ^= 1;
    }
    for (size_t bit = 32; bit < message.len * 8; bit++) {
        message.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(decode(HELLO_DIALER, SECRET, &passed, &message), HELLO_BAD_PROOF);
        message.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf_close(&message);
}

Test(hello, answer_binds_the_dialers_message)
{
    struct hello_transcript passed = transcript();
    buf_append(&passed.message, "what the dialer said", 20);
    struct buf answer = message_of(HELLO_ACCEPTOR, &passed);
    cr_assert_eq(decode(HELLO_ACCEPTOR, SECRET, &passed, &answer), HELLO_OK);
    passed.message.data[3] ^= 1;
    cr_assert_eq(decode(HELLO_ACCEPTOR, SECRET, &passed, &answer), HELLO_BAD_PROOF);
    buf_close(&passed.message);
    buf_close(&answer);
}

Test(hello, refusal_is_told_and_proven)
{
    struct hello_transcript passed = transcript();
    struct buf out = BUF_EMPTY;
    hello_encode(HELLO_ACCEPTOR, SECRET, &passed, HELLO_WRONG_CLUSTER, NULL, &out);
    struct hello hello;
    enum hello_verdict said = HELLO_OK;
    cr_assert_eq(hello_decode(HELLO_ACCEPTOR, SECRET, &passed, span_of(out.data + 4, out.len - 4),
                              &hello, &said),
                 HELLO_OK);
    cr_assert_eq(said, HELLO_WRONG_CLUSTER);
    buf_close(&out);
}

Test(hello, card_limit)
{
    static uint8_t bytes[HELLO_CARD_MAX];
    struct hello_transcript passed = transcript();
    struct hello hello = sample();
    hello.card = span_of(bytes, HELLO_CARD_MAX);
    struct buf out = BUF_EMPTY;
    hello_encode(HELLO_DIALER, SECRET, &passed, HELLO_OK, &hello, &out);
    cr_assert_leq(out.len - 4, HELLO_MESSAGE_MAX);
    cr_assert_eq(decode(HELLO_DIALER, SECRET, &passed, &out), HELLO_OK);
    buf_close(&out);
}

Test(hello, config_hash_is_of_the_set_of_ids)
{
    const uint64_t ids[] = {1, 2, 3};
    const uint64_t other_order[] = {3, 1, 2};
    const uint64_t others[] = {1, 2, 4};
    uint8_t a[HELLO_HASH_LEN];
    uint8_t b[HELLO_HASH_LEN];
    hello_config_hash("c", ids, 3, a);
    hello_config_hash("c", other_order, 3, b);
    cr_assert_eq(memcmp(a, b, sizeof a), 0);
    hello_config_hash("c", others, 3, b);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
    hello_config_hash("d", ids, 3, b);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
    hello_config_hash("c", ids, 2, b);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
}

Test(status, round_trip_and_limits)
{
    struct peer_status status = {.kind = PEER_STATUS_ANSWER,
                                 .number = 1,
                                 .term = 2,
                                 .last_index = 3,
                                 .remembered = 4,
                                 .applied_index = 5,
                                 .wall_ms = -6,
                                 .standing = HELLO_FRESH,
                                 .is_disk_low = true,
                                 .checkpoints_count = PEER_STATUS_CHECKPOINTS_MAX};
    status.checkpoints[PEER_STATUS_CHECKPOINTS_MAX - 1].hash = 77;
    struct buf out = BUF_EMPTY;
    peer_status_encode(&status, &out);
    cr_assert_eq(out.len - 4, PEER_STATUS_LEN_MAX);
    struct peer_status back;
    cr_assert(peer_status_decode(span_of(out.data + 4, out.len - 4), &back));
    cr_assert_eq(back.applied_index, 5);
    cr_assert_eq(back.wall_ms, -6);
    cr_assert(back.is_disk_low);
    cr_assert_eq(back.checkpoints[PEER_STATUS_CHECKPOINTS_MAX - 1].hash, 77);
    for (size_t len = 0; len < out.len - 4; len++) {
        cr_assert_not(peer_status_decode(span_of(out.data + 4, len), &back));
    }
    out.data[4 + 51]++; /* one checkpoint more than the limit */
    buf_append(&out, "0123456789abcdef", 16);
    cr_assert_not(peer_status_decode(span_of(out.data + 4, out.len - 4), &back));
    buf_close(&out);
}
