/* Batches, the queue they are made from, and their checksum. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "raftlog/batch.h"
#include "raftlog/crc32c.h"
#include "raftlog/internal.h"
#include "raftlog/proposal_queue.h"
#include "tests/rpc/leaks.h"

TestSuite(crc32c, .fini = leaks_abort);
TestSuite(batch, .fini = leaks_abort);
TestSuite(queue, .fini = leaks_abort);

static const struct batch_header header = {.origin = 2,
                                           .session = 0xfeedfacecafebeef,
                                           .term = 7,
                                           .stamp_ms = 1700000000123,
                                           .count = 3};

/* RFC 3720 appendix B.4, and the usual check value. */
Test(crc32c, known_values)
{
    uint8_t bytes[32] = {0};
    cr_assert_eq(crc32c(0, bytes, 32), 0x8a9136aaU);
    memset(bytes, 0xff, 32);
    cr_assert_eq(crc32c(0, bytes, 32), 0x62a8ab43U);
    cr_assert_eq(crc32c(0, "123456789", 9), 0xe3069283U);
}

Test(crc32c, in_pieces_as_in_one)
{
    const char *text = "the quick brown fox jumps over the lazy dog";
    uint32_t whole = crc32c(0, text, strlen(text));
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        cr_assert_eq(crc32c(crc32c(0, text, cut), text + cut, strlen(text) - cut), whole);
    }
}

static struct buf three_proposals(void)
{
    struct buf body = BUF_EMPTY;
    batch_put(&body, 10, SPAN_LITERAL("first"));
    batch_put(&body, 11, SPAN_EMPTY);
    batch_put(&body, 12, SPAN_LITERAL("the third one"));
    return body;
}

static struct buf sealed(void)
{
    struct buf body = three_proposals();
    struct buf entry = BUF_EMPTY;
    batch_seal(&header, buf_span(&body), &entry);
    buf_close(&body);
    return entry;
}

Test(batch, round_trip)
{
    struct buf entry = sealed();
    struct buf scratch = BUF_EMPTY;
    cr_assert_eq(entry.len % 8, 0, "the library loses entries of other lengths");
    struct batch batch;
    cr_assert_eq(batch_open(&batch, buf_span(&entry), &scratch), BATCH_OK);
    cr_assert_eq(batch.header.origin, header.origin);
    cr_assert_eq(batch.header.session, header.session);
    cr_assert_eq(batch.header.term, header.term);
    cr_assert_eq(batch.header.stamp_ms, header.stamp_ms);
    cr_assert_eq(batch.header.count, header.count);
    uint64_t number = 0;
    struct span data;
    cr_assert(batch_next(&batch, &number, &data));
    cr_assert_eq(number, 10);
    cr_assert(span_equal(data, SPAN_LITERAL("first")));
    cr_assert(batch_next(&batch, &number, &data));
    cr_assert_eq(number, 11);
    cr_assert_eq(data.len, 0);
    cr_assert(batch_next(&batch, &number, &data));
    cr_assert(span_equal(data, SPAN_LITERAL("the third one")));
    cr_assert_not(batch_next(&batch, &number, &data));
    buf_close(&entry);
    buf_close(&scratch);
}

Test(batch, every_flipped_bit_is_refused)
{
    struct buf entry = sealed();
    struct buf scratch = BUF_EMPTY;
    struct batch batch;
    for (size_t bit = 0; bit < entry.len * 8; bit++) {
        entry.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_neq(batch_open(&batch, buf_span(&entry), &scratch), BATCH_OK, "bit %zu", bit);
        entry.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert_eq(batch_open(&batch, buf_span(&entry), &scratch), BATCH_OK);
    buf_close(&entry);
    buf_close(&scratch);
}

Test(batch, every_other_length_is_refused)
{
    struct buf entry = sealed();
    struct buf scratch = BUF_EMPTY;
    struct batch batch;
    buf_append(&entry, "\0\0\0\0\0\0\0\0", 8);
    for (size_t len = 0; len <= entry.len; len++) {
        bool is_whole = len == entry.len - 8;
        cr_assert_eq(batch_open(&batch, span_of(entry.data, len), &scratch) == BATCH_OK, is_whole);
    }
    buf_close(&entry);
    buf_close(&scratch);
}

/* A body of [len] bytes: one proposal. */
static struct buf body_of(size_t len, bool compresses)
{
    uint8_t *bytes = malloc(len);
    uint32_t state = 1;
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = compresses ? (uint8_t)(i / 64) : (uint8_t)(state >> 24);
    }
    struct buf body = BUF_EMPTY;
    batch_put(&body, 1, span_of(bytes, len - BATCH_ITEM_LEN));
    free(bytes);
    return body;
}

static size_t stored_len(size_t len, bool compresses)
{
    struct buf body = body_of(len, compresses);
    struct buf entry = BUF_EMPTY;
    struct buf scratch = BUF_EMPTY;
    struct batch_header one = header;
    one.count = 1;
    batch_seal(&one, buf_span(&body), &entry);
    struct batch batch;
    cr_assert_eq(batch_open(&batch, buf_span(&entry), &scratch), BATCH_OK);
    cr_assert(span_equal(batch.body, buf_span(&body)));
    size_t stored = entry.len;
    buf_close(&body);
    buf_close(&entry);
    buf_close(&scratch);
    return stored;
}

Test(batch, is_compressed_from_a_length_on_and_where_it_helps)
{
    size_t n = BATCH_COMPRESS_BYTES_MIN;
    cr_assert_geq(stored_len(n - 1, true), n - 1);
    cr_assert_lt(stored_len(n, true), n / 2);
    cr_assert_geq(stored_len(n, false), n);
}

Test(batch, raw_limit)
{
    cr_assert_lt(stored_len(BATCH_RAW_BYTES_MAX, true), BATCH_RAW_BYTES_MAX / 2);
}

Test(batch, count_must_match)
{
    struct buf body = three_proposals();
    struct buf scratch = BUF_EMPTY;
    struct batch batch;
    for (uint32_t count = 0; count < 6; count++) {
        struct buf entry = BUF_EMPTY;
        struct batch_header wrong = header;
        wrong.count = count;
        batch_seal(&wrong, buf_span(&body), &entry);
        cr_assert_eq(batch_open(&batch, buf_span(&entry), &scratch),
                     count == 3 ? BATCH_OK : BATCH_BAD_BODY);
        buf_close(&entry);
    }
    buf_close(&body);
    buf_close(&scratch);
}

Test(queue, takes_up_to_the_limit_and_at_least_one)
{
    struct proposal_queue queue = {.count = 0};
    struct span ten = SPAN_LITERAL("0123456789");
    size_t cost = proposal_queue_cost(ten);
    for (uint64_t i = 0; i < 5; i++) {
        proposal_queue_push(&queue, i, ten);
    }
    cr_assert_eq(proposal_queue_bytes(&queue), 5 * cost);
    uint32_t count = 0;
    proposal_queue_take(&queue, 2 * cost, &count);
    cr_assert_eq(count, 2);
    proposal_queue_take(&queue, 2 * cost - 1, &count);
    cr_assert_eq(count, 1);
    struct span taken = proposal_queue_take(&queue, 1, &count);
    cr_assert_eq(count, 1, "a single one may be larger than the limit");
    cr_assert_eq(taken.data[7], 3);
    proposal_queue_take(&queue, 100 * cost, &count);
    cr_assert_eq(count, 1);
    proposal_queue_take(&queue, 100 * cost, &count);
    cr_assert_eq(count, 0);
    cr_assert_eq(proposal_queue_bytes(&queue), 0);
    proposal_queue_close(&queue);
}

/* R11: what a leader has taken on and not submitted yet. */
Test(queue, of_a_leader_has_a_limit)
{
    static struct raftlog log;
    struct span ten = SPAN_LITERAL("0123456789");
    struct span nine = SPAN_LITERAL("123456789");
    log.is_started = true;
    log.fsm.session = 1;
    log.guard.raft = &log.raft;
    log.raft.state = RAFT_LEADER;
    log.options.proposal_bytes_max = ten.len;
    log.options.queue_bytes_max = 3 * proposal_queue_cost(ten) - 1;
    cr_assert_eq(raftlog_propose(&log, 1, ten), RAFTLOG_OK);
    cr_assert_eq(raftlog_propose(&log, 2, ten), RAFTLOG_OK);
    cr_assert_eq(raftlog_propose(&log, 3, ten), RAFTLOG_FULL, "one byte too many");
    cr_assert_eq(raftlog_propose(&log, 4, nine), RAFTLOG_OK, "exactly full");
    cr_assert_eq(log.submission.queue.count, 3);
    raftlog_submission_drop(&log);
    cr_assert_eq(raftlog_propose(&log, 5, ten), RAFTLOG_OK);
    proposal_queue_close(&log.submission.queue);
}

Test(queue, keeps_order_over_many_rounds)
{
    struct proposal_queue queue = {.count = 0};
    uint8_t bytes[3000] = {0};
    uint64_t pushed = 0;
    uint64_t seen = 0;
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 3; i++) {
            proposal_queue_push(&queue, pushed++, span_of(bytes, 1000 + (size_t)round));
        }
        uint32_t count = 0;
        struct span taken = proposal_queue_take(&queue, 5000, &count);
        struct batch batch = {.body = taken};
        uint64_t number = 0;
        struct span data;
        while (batch_next(&batch, &number, &data)) {
            cr_assert_eq(number, seen++);
        }
    }
    cr_assert_eq(pushed - seen, queue.count);
    proposal_queue_clear(&queue);
    cr_assert_eq(queue.count, 0);
    proposal_queue_close(&queue);
}
