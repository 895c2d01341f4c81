/* Any bytes as proposals on a state that has something of everything: apply either takes them or
 * says that they are no records, and the facts are sound in both cases; a snapshot frozen before is
 * not touched, and one made after gives the same facts.
 *
 * Input: proposals, each a byte whose lowest bit begins a new term, a length of 16 bits, records.
 */
#include "rpc/ensure.h"
#include "rpc/reader.h"
#include "server/core/state.h"
#include "tests/core/facts/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEED = 7, STEPS = 120 };

static struct buf prepared;

static void encode(struct state *state, struct buf *out)
{
    void *frozen = state_freeze(state);
    state_encode(frozen, out);
    state_release(state, frozen);
}

static void prepare(void)
{
    struct history history;
    struct state *state = state_new();
    history_init(&history, SEED);
    for (int i = 0; i < STEPS; i++) {
        ensure(history_step(&history, state, NULL) >= 0);
    }
    encode(state, &prepared);
    state_free(state);
}

static void apply_all(struct state *state, struct reader *input)
{
    struct verdict verdicts[4];
    struct state_totals totals = *state_totals(state);
    while (reader_left(input) > 0) {
        totals.term += reader_u8(input) & 1;
        size_t len = reader_be16(input);
        len = len < reader_left(input) ? len : reader_left(input);
        const uint8_t *records = reader_take(input, len);
        if (records == NULL) {
            return;
        }
        totals.index++;
        int count = state_apply(state, totals.index, totals.term, totals.stamp_ms + 1,
                                span_of(records, len), verdicts, 4);
        state_check(state);
        if (count < 0) {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (prepared.data == NULL) {
        prepare();
    }
    struct state *state = state_new();
    struct state *other = state_new();
    struct buf before = BUF_EMPTY;
    struct buf after = BUF_EMPTY;
    struct reader input = reader_of(span_of(data, size));
    ensure(state_restore(state, buf_span(&prepared)) == 0);
    void *frozen = state_freeze(state);
    apply_all(state, &input);
    state_encode(frozen, &before);
    state_release(state, frozen);
    ensure(span_equal(buf_span(&before), buf_span(&prepared)));
    encode(state, &after);
    ensure(state_restore(other, buf_span(&after)) == 0);
    ensure(state_totals(other)->hash == state_totals(state)->hash);
    state_free(other);
    state_free(state);
    buf_close(&before);
    buf_close(&after);
    return 0;
}
