#include "server/core/assignor/assign_pool.h"

#include "rpc/ensure.h"

enum { BITS = 64 };

static int32_t words_of(int32_t partitions)
{
    return partitions / BITS + (partitions % BITS != 0);
}

static int32_t withheld_count(const struct assignor_topic *topic)
{
    int32_t n = 0;
    for (int32_t w = 0; w < words_of(topic->partition_count); w++) {
        int32_t bits = topic->partition_count - w * BITS;
        uint64_t mask = bits >= BITS ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
        for (uint64_t left = topic->withheld[w] & mask; left != 0; left &= left - 1) {
            n++;
        }
    }
    return n;
}

void assign_pool_init(struct assign_pool *pool,
                      const struct assignor_input *input,
                      struct arena *arena)
{
    size_t n = (size_t)input->topic_count;
    pool->topics = input->topics;
    pool->word_of = arena_alloc(arena, n * sizeof *pool->word_of);
    pool->is_whole = arena_alloc(arena, n * sizeof *pool->is_whole);
    pool->assignable = arena_alloc(arena, n * sizeof *pool->assignable);
    int32_t words = 0;
    int64_t partitions = 0;
    for (int32_t t = 0; t < input->topic_count; t++) {
        const struct assignor_topic *topic = &input->topics[t];
        partitions += topic->partition_count;
        ensure(topic->partition_count >= 0 && partitions <= ASSIGNOR_PARTITIONS);
        pool->word_of[t] = words;
        words += words_of(topic->partition_count);
        int32_t withheld = topic->withheld == NULL ? 0 : withheld_count(topic);
        pool->assignable[t] = topic->partition_count - withheld;
        pool->is_whole[t] = withheld == 0;
    }
    pool->words = arena_alloc(arena, (size_t)words * sizeof *pool->words);
    for (int32_t t = 0; t < input->topic_count; t++) {
        const uint64_t *withheld = input->topics[t].withheld;
        for (int32_t w = 0; !pool->is_whole[t] && w < words_of(input->topics[t].partition_count);
             w++) {
            pool->words[pool->word_of[t] + w] = ~withheld[w];
        }
    }
}

/* Of a whole topic: its bits are written. Those behind the last partition are never looked at. */
static uint64_t *open_topic(struct assign_pool *pool, int32_t topic)
{
    uint64_t *words = pool->words + pool->word_of[topic];
    if (pool->is_whole[topic]) {
        pool->is_whole[topic] = false;
        size_t n = (size_t)words_of(pool->topics[topic].partition_count);
        memset(words, 0xff, n * sizeof *words);
    }
    return words;
}

/* The first in [from, end) whose bit differs from that of [unlike], all ones or all zeroes; end:
 * none. */
static int32_t seek(const uint64_t *words, int32_t from, int32_t end, uint64_t unlike)
{
    if (from >= end) {
        return end;
    }
    int32_t w = from / BITS;
    uint64_t word = (words[w] ^ unlike) & (~(uint64_t)0 << from % BITS);
    while (word == 0) {
        w++;
        if (w >= words_of(end)) {
            return end;
        }
        word = words[w] ^ unlike;
    }
    int32_t at = w * BITS + __builtin_ctzll(word);
    return at < end ? at : end;
}

static int32_t seek_free(const uint64_t *words, int32_t from, int32_t end)
{
    return seek(words, from, end, 0);
}

static int32_t seek_taken(const uint64_t *words, int32_t from, int32_t end)
{
    return seek(words, from, end, ~(uint64_t)0);
}

/* Flips [first, first + count), which are alike. */
static void flip(uint64_t *words, int32_t first, int32_t count)
{
    int32_t end = first + count;
    for (int32_t at = first; at < end;) {
        int32_t bit = at % BITS;
        int32_t n = end - at < BITS - bit ? end - at : BITS - bit;
        uint64_t mask = n == BITS ? ~(uint64_t)0 : (((uint64_t)1 << n) - 1) << bit;
        words[at / BITS] ^= mask;
        at += n;
    }
}

/* The usual case: few partitions, all free. */
static bool claim_in_word(uint64_t *words, struct assignor_run run)
{
    int32_t bit = run.first % BITS;
    if (run.count <= 0 || run.count > BITS - bit) {
        return false;
    }
    uint64_t mask = ~(uint64_t)0 >> (BITS - run.count) << bit;
    uint64_t *word = &words[run.first / BITS];
    if ((*word & mask) != mask) {
        return false;
    }
    *word ^= mask;
    return true;
}

int32_t assign_pool_claim(struct assign_pool *pool,
                          struct assignor_run run,
                          struct assign_runs *taken)
{
    uint64_t *words = open_topic(pool, run.topic);
    if (claim_in_word(words, run)) {
        assign_runs_push(taken, run);
        return run.count;
    }
    int32_t end = run.first + run.count;
    int32_t claimed = 0;
    for (int32_t first = seek_free(words, run.first, end); first < end;) {
        int32_t stop = seek_taken(words, first, end);
        flip(words, first, stop - first);
        assign_runs_push(taken, (struct assignor_run){run.topic, first, stop - first});
        claimed += stop - first;
        first = seek_free(words, stop, end);
    }
    return claimed;
}

void assign_pool_free(struct assign_pool *pool, struct assignor_run run)
{
    flip(pool->words + pool->word_of[run.topic], run.first, run.count);
}

bool assign_pool_seek(const struct assign_pool *pool,
                      struct assign_walk *walk,
                      int32_t most,
                      struct assignor_run *run)
{
    for (; walk->at < walk->topic_count; walk->at++, walk->partition = 0) {
        int32_t topic = walk->topics[walk->at];
        int32_t end = pool->topics[topic].partition_count;
        int32_t first = walk->partition;
        const uint64_t *words = pool->words + pool->word_of[topic];
        bool is_whole = pool->is_whole[topic];
        first = is_whole ? first : seek_free(words, first, end);
        if (first >= end) {
            continue;
        }
        int32_t stop = end - first > most ? first + most : end;
        stop = is_whole ? stop : seek_taken(words, first, stop);
        walk->partition = stop;
        *run = (struct assignor_run){topic, first, stop - first};
        return true;
    }
    return false;
}
