/* Any bytes as a snapshot: refused, or sound facts. The end's hash and checksum keep almost all
 * inputs from being accepted, so facts that only these betray are checked as well. */
#include "rpc/ensure.h"
#include "server/core/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(struct state *state, struct buf *out)
{
    void *frozen = state_freeze(state);
    state_encode(frozen, out);
    state_release(state, frozen);
}

/* What was read is written as a snapshot that is whole, and comes back as the same. */
static void check_round_trip(struct state *state)
{
    struct state *other = state_new();
    struct buf bytes = BUF_EMPTY;
    struct buf again = BUF_EMPTY;
    encode(state, &bytes);
    ensure(state_restore(other, buf_span(&bytes)) == 0);
    state_check(other);
    encode(other, &again);
    ensure(span_equal(buf_span(&bytes), buf_span(&again)));
    state_free(other);
    buf_close(&bytes);
    buf_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = span_of(data, size);
    struct state *state = state_new();
    enum snapshot_quality quality = snapshot_read(state, bytes);
    if (quality != SNAPSHOT_UNSOUND) {
        state_check(state);
        check_round_trip(state);
    }
    struct state *kept = state_new();
    uint64_t hash = state_totals(kept)->hash;
    int result = state_restore(kept, bytes);
    ensure((result == 0) == (quality == SNAPSHOT_WHOLE));
    ensure(result == 0 || state_totals(kept)->hash == hash);
    state_free(kept);
    state_free(state);
    return 0;
}
