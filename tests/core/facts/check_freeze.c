/* A snapshot is encoded in a thread of its own while apply goes on. A plain program, so that it
 * also runs under ThreadSanitizer, which Criterion does not. */
#include <pthread.h>
#include <stdio.h>

#include "rpc/ensure.h"
#include "tests/core/facts/history.h"

enum { SEEDS = 10, ROUNDS = 20, STEPS = 40 };

struct work {
    void *frozen;
    struct buf bytes;
};

static void *encode(void *arg)
{
    struct work *work = arg;
    state_encode(work->frozen, &work->bytes);
    return NULL;
}

static void run(uint64_t seed)
{
    struct history history;
    struct state *state = state_new();
    history_init(&history, seed);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < STEPS; i++) {
            ensure(history_step(&history, state, NULL) >= 0);
        }
        struct work before = {.bytes = BUF_EMPTY};
        struct work beside = {.bytes = BUF_EMPTY};
        pthread_t thread;
        before.frozen = state_freeze(state);
        encode(&before);
        state_release(state, before.frozen);
        beside.frozen = state_freeze(state);
        ensure(pthread_create(&thread, NULL, encode, &beside) == 0);
        for (int i = 0; i < STEPS; i++) {
            ensure(history_step(&history, state, NULL) >= 0);
        }
        ensure(pthread_join(thread, NULL) == 0);
        state_release(state, beside.frozen);
        state_check(state);
        ensure(span_equal(buf_span(&before.bytes), buf_span(&beside.bytes)));
        buf_close(&before.bytes);
        buf_close(&beside.bytes);
    }
    state_free(state);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run(seed);
    }
    printf("%d snapshots made beside apply\n", SEEDS * ROUNDS);
    return 0;
}
