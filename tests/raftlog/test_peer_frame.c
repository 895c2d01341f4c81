/* What passes from a peer to the library, and what does not. */
#include <criterion/criterion.h>
#include <raft.h>
#include <stdlib.h>

#include "frame_bytes.h"
#include "raftlog/peer_frame.h"
#include "tests/rpc/leaks.h"

TestSuite(peer_frame, .fini = leaks_abort);

enum { PEER = 2, UNSET = 0x5555 };
static const struct span configuration = {(const uint8_t *)"the configuration of 29 bytes", 29};
/* As two nodes may send it: the padding to 8 bytes is memory that nobody wrote. */
static const struct span padded = {(const uint8_t *)"the configuration of 29 bytes\0\0\0", 32};
static const struct span soiled = {(const uint8_t *)"the configuration of 29 bytes\1\2\3", 32};
static const struct span foreign = {(const uint8_t *)"the configuration of another \0\0\0", 32};

/* Bytes that do not compress. */
static uint8_t noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (uint8_t)(state >> 24);
}

static enum peer_frame_error feed(struct span in, size_t piece, struct buf *out)
{
    struct peer_frame_reader reader;
    peer_frame_reader_init(&reader, PEER, configuration);
    enum peer_frame_error error = PEER_FRAME_OK;
    for (size_t at = 0; at < in.len && error == PEER_FRAME_OK; at += piece) {
        size_t n = in.len - at < piece ? in.len - at : piece;
        error = peer_frame_feed(&reader, span_of(in.data + at, n), out);
    }
    peer_frame_reader_close(&reader);
    return error;
}

/* Takes over [message]. All of it passes, in one piece and byte by byte. */
static void passes(struct buf message)
{
    const size_t pieces[] = {message.len, 1, 7};
    for (size_t i = 0; i < 3; i++) {
        struct buf out = BUF_EMPTY;
        cr_assert_eq(feed(buf_span(&message), pieces[i], &out), PEER_FRAME_OK);
        cr_assert(span_equal(buf_span(&out), buf_span(&message)));
        buf_close(&out);
    }
    buf_close(&message);
}

/* Takes over [message]. Nothing of it passes. */
static void fails(struct buf message, enum peer_frame_error wanted)
{
    const size_t pieces[] = {message.len, 1};
    for (size_t i = 0; i < 2; i++) {
        struct buf out = BUF_EMPTY;
        enum peer_frame_error error = feed(buf_span(&message), pieces[i], &out);
        cr_assert_eq(error, wanted, "%s instead of %s", peer_frame_error_text(error),
                     peer_frame_error_text(wanted));
        cr_assert_eq(out.len, 0);
        buf_close(&out);
    }
    buf_close(&message);
}

static struct buf numbers(uint64_t type, const uint64_t *values, size_t n)
{
    struct buf out = BUF_EMPTY;
    put_preamble(&out, type, n * 8);
    put_numbers(&out, values, n);
    return out;
}
#define NUMBERS(type, ...)                         \
    numbers(type, (const uint64_t[]){__VA_ARGS__}, \
            sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

Test(peer_frame, votes_and_results)
{
    passes(NUMBERS(RAFT_IO_REQUEST_VOTE, 5, PEER, 10, 4, 3));
    passes(NUMBERS(RAFT_IO_REQUEST_VOTE_RESULT, 5, 1, 1));
    passes(NUMBERS(RAFT_IO_APPEND_ENTRIES_RESULT, 5, 0, 10));
    passes(NUMBERS(RAFT_IO_TIMEOUT_NOW, 5, 10, 4));
    fails(NUMBERS(RAFT_IO_REQUEST_VOTE, 5, 3, 10, 4, 0), PEER_FRAME_BAD_SENDER);
    fails(NUMBERS(RAFT_IO_REQUEST_VOTE, 5, PEER, 10, 4, 4), PEER_FRAME_BAD_NUMBER);
    fails(NUMBERS(RAFT_IO_REQUEST_VOTE_RESULT, 5, 2, 0), PEER_FRAME_BAD_NUMBER);
    fails(NUMBERS(RAFT_IO_REQUEST_VOTE, 5, PEER, 10, 4), PEER_FRAME_BAD_LENGTH);
    fails(NUMBERS(RAFT_IO_TIMEOUT_NOW, 5, 10, 4, 0), PEER_FRAME_BAD_LENGTH);
    fails(NUMBERS(0, 5, 10, 4), PEER_FRAME_BAD_TYPE);
    fails(NUMBERS(7, 5, 10, 4), PEER_FRAME_BAD_TYPE);
    fails(NUMBERS(RAFT_IO_TIMEOUT_NOW + ((uint64_t)1 << 32), 5, 10, 4), PEER_FRAME_BAD_TYPE);
}

Test(peer_frame, number_limit)
{
    passes(NUMBERS(RAFT_IO_TIMEOUT_NOW, PEER_FRAME_NUMBER_MAX, 0, 0));
    fails(NUMBERS(RAFT_IO_TIMEOUT_NOW, PEER_FRAME_NUMBER_MAX + 1, 0, 0), PEER_FRAME_BAD_NUMBER);
}

/* One entry to be put into an AppendEntries. */
struct entry {
    uint64_t term;
    uint8_t type;
    struct span bytes;
};

static struct buf append(uint64_t term,
                         uint64_t previous_index,
                         uint64_t previous_term,
                         const struct entry *entries,
                         size_t n)
{
    struct buf out = BUF_EMPTY;
    put_preamble(&out, RAFT_IO_APPEND_ENTRIES, 48 + 16 * n);
    put_numbers(&out, (const uint64_t[]){term, previous_index, previous_term, 1, n}, 5);
    for (size_t i = 0; i < n; i++) {
        put_entry_head(&out, entries[i].term, entries[i].type, (uint32_t)entries[i].bytes.len);
    }
    put_le(&out, UNSET, 8);
    for (size_t i = 0; i < n; i++) {
        buf_append(&out, entries[i].bytes.data, entries[i].bytes.len);
    }
    return out;
}

static struct buf batch_of(size_t len)
{
    struct buf body = BUF_EMPTY;
    uint8_t *bytes = malloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = noise();
    }
    batch_put(&body, 1, span_of(bytes, len));
    struct buf entry = BUF_EMPTY;
    batch_seal(&(struct batch_header){.count = 1}, buf_span(&body), &entry);
    buf_close(&body);
    free(bytes);
    return entry;
}

Test(peer_frame, the_configuration_is_ours_whatever_its_padding)
{
    struct entry entries[] = {{3, RAFT_CHANGE, padded}};
    passes(append(4, 0, 0, entries, 1));
    entries[0].bytes = soiled;
    passes(append(4, 0, 0, entries, 1));
    entries[0].bytes = foreign;
    fails(append(4, 0, 0, entries, 1), PEER_FRAME_BAD_CONFIGURATION);
}

Test(peer_frame, entries)
{
    struct buf batch = batch_of(100);
    struct entry entries[] = {{3, RAFT_CHANGE, padded},
                              {3, RAFT_BARRIER, SPAN_LITERAL("barrier.")},
                              {4, RAFT_COMMAND, buf_span(&batch)}};
    passes(append(4, 0, 0, NULL, 0));
    passes(append(4, 7, 3, entries, 3));
    passes(append(4, 0, 0, entries, 1));
    fails(append(0, 0, 0, NULL, 0), PEER_FRAME_BAD_NUMBER);
    fails(append(4, 7, 5, entries, 3), PEER_FRAME_BAD_NUMBER);
    fails(append(4, 0, 3, entries, 3), PEER_FRAME_BAD_NUMBER);
    fails(append(3, 7, 3, entries, 3), PEER_FRAME_BAD_ENTRY);
    fails(append(5, 7, 5, entries, 3), PEER_FRAME_BAD_ENTRY);
    for (uint8_t type = 0; type < 10; type++) {
        struct entry wrong = {4, type, SPAN_LITERAL("sixteen bytes...")};
        fails(append(4, 7, 3, &wrong, 1),
              type == RAFT_CHANGE ? PEER_FRAME_BAD_CONFIGURATION : PEER_FRAME_BAD_ENTRY);
    }
    struct entry odd = {4, RAFT_COMMAND, span_of(batch.data, batch.len - 1)};
    fails(append(4, 7, 3, &odd, 1), PEER_FRAME_BAD_ENTRY);
    struct entry empty = {4, RAFT_COMMAND, span_of(batch.data, 0)};
    fails(append(4, 7, 3, &empty, 1), PEER_FRAME_BAD_ENTRY);
    batch.data[batch.len / 2] ^= 1;
    fails(append(4, 7, 3, &entries[2], 1), PEER_FRAME_BAD_ENTRY);
    buf_close(&batch);
}

Test(peer_frame, count_must_match_the_header)
{
    struct buf message = append(4, 7, 3, NULL, 0);
    message.data[16 + 32] = 1;
    fails(message, PEER_FRAME_BAD_LENGTH);
}

static enum peer_frame_error many_barriers(size_t n)
{
    struct entry *entries = calloc(n, sizeof *entries);
    for (size_t i = 0; i < n; i++) {
        entries[i] = (struct entry){4, RAFT_BARRIER, SPAN_LITERAL("barrier.")};
    }
    struct buf message = append(4, 7, 3, entries, n);
    struct buf out = BUF_EMPTY;
    enum peer_frame_error error = feed(buf_span(&message), message.len, &out);
    buf_close(&message);
    buf_close(&out);
    free(entries);
    return error;
}

Test(peer_frame, entries_limit)
{
    cr_assert_eq(many_barriers(PEER_FRAME_ENTRIES_MAX), PEER_FRAME_OK);
    cr_assert_eq(many_barriers(PEER_FRAME_ENTRIES_MAX + 1), PEER_FRAME_BAD_LENGTH);
}

/* Two entries with [first] and [second] bytes of proposals. */
static enum peer_frame_error two_batches(size_t first, size_t second)
{
    struct buf a = batch_of(first);
    struct buf b = batch_of(second);
    struct entry entries[] = {{4, RAFT_COMMAND, buf_span(&a)}, {4, RAFT_COMMAND, buf_span(&b)}};
    struct buf message = append(4, 7, 3, entries, 2);
    struct buf out = BUF_EMPTY;
    enum peer_frame_error error = feed(buf_span(&message), message.len, &out);
    buf_close(&message);
    buf_close(&out);
    buf_close(&a);
    buf_close(&b);
    return error;
}

Test(peer_frame, nothing_follows_the_entry_that_fills_a_message)
{
    size_t head = BATCH_HEADER_LEN + BATCH_ITEM_LEN + 4; /* with padding */
    size_t full = PEER_FRAME_PAYLOAD_BYTES_MAX - head;
    cr_assert_eq(two_batches(full - 8, 8), PEER_FRAME_OK);
    cr_assert_eq(two_batches(full, 8), PEER_FRAME_BAD_LENGTH);
    cr_assert_eq(two_batches(8, full * 2), PEER_FRAME_OK);
}

Test(peer_frame, entry_limit_is_seen_before_memory_is_taken)
{
    struct buf message = BUF_EMPTY;
    put_preamble(&message, RAFT_IO_APPEND_ENTRIES, 48 + 16);
    put_numbers(&message, (const uint64_t[]){4, 7, 3, 1, 1}, 5);
    put_entry_head(&message, 4, RAFT_COMMAND, PEER_FRAME_ENTRY_BYTES_MAX / 8 * 8 + 8);
    put_le(&message, UNSET, 8);
    fails(message, PEER_FRAME_BAD_ENTRY);
}

static struct buf install(const struct buf *snapshot, uint64_t claimed_len)
{
    struct buf out = BUF_EMPTY;
    put_preamble(&out, RAFT_IO_INSTALL_SNAPSHOT, 56 + padded.len);
    put_numbers(&out, (const uint64_t[]){4, 7, 3, 1, padded.len}, 5);
    buf_append(&out, padded.data, padded.len);
    put_le(&out, claimed_len, 8);
    put_le(&out, UNSET, 8);
    buf_append(&out, snapshot->data, snapshot->len);
    return out;
}

static struct buf snapshot_of(size_t len)
{
    uint8_t *state = calloc(1, len);
    for (size_t i = 0; i < len; i++) {
        state[i] = noise();
    }
    struct log_snapshot_header header = {.index = 1};
    struct buf out = BUF_EMPTY;
    log_snapshot_encode(&header, span_of(state, len), &out);
    free(state);
    return out;
}

Test(peer_frame, snapshot)
{
    struct buf snapshot = snapshot_of(3 << 20);
    struct buf message = install(&snapshot, snapshot.len);
    struct buf two = BUF_EMPTY;
    buf_append(&two, message.data, message.len);
    struct buf vote = NUMBERS(RAFT_IO_REQUEST_VOTE_RESULT, 5, 1, 1);
    buf_append(&two, vote.data, vote.len);
    buf_close(&vote);
    buf_append(&two, message.data, message.len);
    struct buf out = BUF_EMPTY;
    cr_assert_eq(feed(buf_span(&two), 60000, &out), PEER_FRAME_OK);
    cr_assert(span_equal(buf_span(&out), buf_span(&two)));
    buf_close(&out);
    buf_close(&two);
    buf_close(&message);
    fails(install(&snapshot, snapshot.len + 1), PEER_FRAME_BAD_SNAPSHOT);
    fails(install(&snapshot, snapshot.len - 1), PEER_FRAME_BAD_SNAPSHOT);
    fails(install(&snapshot, LOG_SNAPSHOT_BYTES_MAX + 1), PEER_FRAME_BAD_LENGTH);
    buf_close(&snapshot);
}

/* Good frames pass, the bad one and all behind it do not. */
Test(peer_frame, damaged_snapshot_stops_at_the_bad_frame)
{
    struct buf snapshot = snapshot_of(3 << 20);
    snapshot.data[snapshot.len / 2] ^= 1;
    struct buf message = install(&snapshot, snapshot.len);
    struct buf out = BUF_EMPTY;
    cr_assert_eq(feed(buf_span(&message), 60000, &out), PEER_FRAME_BAD_SNAPSHOT);
    cr_assert_gt(out.len, LOG_SNAPSHOT_FRAME_RAW_MAX);
    cr_assert_lt(out.len, message.len / 2 + 100);
    buf_close(&out);
    buf_close(&message);
    buf_close(&snapshot);
}

Test(peer_frame, snapshot_with_other_voters)
{
    struct buf snapshot = snapshot_of(100);
    struct buf message = install(&snapshot, snapshot.len);
    message.data[16 + 40] ^= 1;
    fails(message, PEER_FRAME_BAD_CONFIGURATION);
    buf_close(&snapshot);
}
