/* What the facts cost: rates and times of apply and snapshots, memory per offset and member.
 *
 *   measure_facts [offsets [groups]]    1,000,000 and 100,000 unless given */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rpc/ensure.h"
#include "server/core/record.h"
#include "server/core/state.h"

enum { PARTITIONS = 100000 };

static uint64_t batch;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    ensure(statm != NULL && fscanf(statm, "%*s %ld", &pages) == 1);
    fclose(statm);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static struct verdict apply(struct state *state, enum record_type type, const void *body)
{
    static struct buf records;
    struct verdict verdict;
    batch++;
    records.len = 0;
    record_append(&records, type, body);
    int count = state_apply(state, batch, 1, (int64_t)batch, buf_span(&records), &verdict, 1);
    ensure(count == 1 && verdict.error == 0);
    return verdict;
}

static struct span name_of(char *buffer, size_t size, const char *kind, uint64_t n)
{
    int len = snprintf(buffer, size, "%s-%llu", kind, (unsigned long long)n);
    return span_of(buffer, (size_t)len);
}

static uint64_t make_group(struct state *state, const char *kind, uint64_t n)
{
    char name[64];
    struct record_group_created record = {name_of(name, sizeof name, kind, n)};
    return apply(state, RECORD_GROUP_CREATED, &record).id;
}

static uint64_t make_topic(struct state *state, uint64_t n, int32_t partitions)
{
    char name[64];
    struct record_topic_created record = {.name = name_of(name, sizeof name, "topic", n),
                                          .partitions = partitions};
    record.uuid.bytes[0] = (uint8_t)(n + 1);
    return apply(state, RECORD_TOPIC_CREATED, &record).id;
}

static void commit(struct state *state,
                   uint64_t group,
                   uint64_t topic,
                   int32_t partition,
                   int64_t at)
{
    struct record_offset row = {
        .partition = (uint64_t)partition, .offset = at, .leader_epoch = -1, .commit_ms = -1};
    struct record_offsets record = {group, 0, -1, topic, -1, &row, 1};
    apply(state, RECORD_OFFSETS, &record);
}

static void measure_snapshot(struct state *state,
                             uint64_t *groups,
                             uint64_t topic,
                             const char *what)
{
    struct buf bytes = BUF_EMPTY;
    double start = now_s();
    void *frozen = state_freeze(state);
    double frozen_at = now_s();
    state_encode(frozen, &bytes);
    double encoded_at = now_s();
    double slowest = 0;
    for (int i = 0; i < 1000; i++) {
        double before = now_s();
        commit(state, groups[i % 997], topic, 0, 7);
        double took = now_s() - before;
        slowest = took > slowest ? took : slowest;
    }
    double released_at = now_s();
    state_release(state, frozen);
    double done = now_s();
    struct state *other = state_new();
    double restoring = now_s();
    ensure(state_restore(other, buf_span(&bytes)) == 0);
    double restored = now_s();
    printf(
        "snapshot of %s: freeze %.2f ms, encode %.0f ms (%.1f MB), release %.2f ms, restore %.0f "
        "ms, "
        "slowest commit while frozen %.3f ms\n",
        what, (frozen_at - start) * 1e3, (encoded_at - frozen_at) * 1e3, (double)bytes.len / 1e6,
        (done - released_at) * 1e3, (restored - restoring) * 1e3, slowest * 1e3);
    state_free(other);
    buf_close(&bytes);
}

static void measure_offsets(uint64_t offsets, uint64_t groups_count)
{
    struct state *state = state_new();
    int32_t per_group = (int32_t)(offsets / groups_count);
    uint64_t topics[16];
    for (uint64_t i = 0; i < 16; i++) {
        topics[i] = make_topic(state, i, PARTITIONS);
    }
    ensure(per_group <= 16 * PARTITIONS);
    uint64_t *groups = malloc(groups_count * sizeof *groups);
    ensure(groups != NULL);
    double bare = resident_bytes();
    double start = now_s();
    for (uint64_t i = 0; i < groups_count; i++) {
        groups[i] = make_group(state, "group", i);
    }
    double made = now_s();
    double with_groups = resident_bytes();
    for (int32_t p = 0; p < per_group; p++) {
        for (uint64_t i = 0; i < groups_count; i++) {
            commit(state, groups[i], topics[p / PARTITIONS], p % PARTITIONS, p);
        }
    }
    double filled = now_s();
    double rows = (double)state_totals(state)->offsets;
    printf(
        "%.0f offsets in %llu groups: %.0f B RSS a group, %.1f B RSS an offset; first commits %.0f "
        "ns "
        "each\n",
        rows, (unsigned long long)groups_count, (with_groups - bare) / (double)groups_count,
        (resident_bytes() - with_groups) / rows, (filled - made) / rows * 1e9);
    printf("  (groups: %.0f ns each)\n", (made - start) / (double)groups_count * 1e9);
    uint64_t random = 1;
    double again = now_s();
    for (int i = 0; i < 1000000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int32_t p = (int32_t)((random >> 12 & 0xfffff) % (uint64_t)per_group);
        uint64_t group = groups[(random >> 33) % groups_count];
        commit(state, group, topics[p / PARTITIONS], p % PARTITIONS, i);
    }
    double upsert = (now_s() - again) / 1e6;
    printf("  upserts at random: %.0f ns each, %.0f commits/s\n", upsert * 1e9, 1 / upsert);
    if (groups_count >= 997) {
        measure_snapshot(state, groups, topics[0], "these");
    }
    double checking = now_s();
    state_check(state);
    printf("  state_check %.0f ms\n", (now_s() - checking) * 1e3);
    free(groups);
    state_free(state);
    malloc_trim(0);
}

/* A generation of [members], all in chunks, then its assignment, then one leaves after the other.
 */
static void measure_group(struct state *state, uint64_t n, int32_t count, bool does_shrink)
{
    static char names[10000][24];
    static struct record_member members[10000];
    static struct record_member_assignment assignments[10000];
    static const uint8_t metadata[100];
    struct record_member_protocol protocol = {SPAN_LITERAL("range"), span_of(metadata, 100)};
    ensure(count <= 10000);
    uint64_t group = make_group(state, "large", n);
    double start = now_s();
    for (int32_t i = 0; i < count; i++) {
        members[i] = (struct record_member){
            .member_id = name_of(names[i], sizeof names[i], "member", (uint64_t)i),
            .client_id = SPAN_LITERAL("a-client"),
            .client_host = SPAN_LITERAL("/10.20.30.40"),
            .session_timeout_ms = 45000,
            .rebalance_timeout_ms = 300000,
            .protocols = &protocol,
            .protocols_count = 1,
        };
    }
    for (int32_t i = 0; i + 1000 < count; i += 1000) {
        struct record_members_staged chunk = {group, 1, members + i, 1000};
        apply(state, RECORD_MEMBERS_STAGED, &chunk);
    }
    int32_t staged = (count - 1) / 1000 * 1000;
    struct record_generation begun = {group,
                                      1,
                                      SPAN_LITERAL("consumer"),
                                      SPAN_LITERAL("range"),
                                      members[0].member_id,
                                      0,
                                      members + staged,
                                      count - staged};
    double closing = now_s();
    apply(state, RECORD_GENERATION, &begun);
    double begun_at = now_s();
    const struct group *facts = state_group_by_id(state, group)->facts;
    for (int32_t i = 0; i < count; i++) {
        assignments[i].member = facts->members[i]->id;
        assignments[i].assignment = span_of(metadata, 60);
    }
    struct record_assignment assignment = {group, 1, assignments, count};
    double assigning = now_s();
    apply(state, RECORD_ASSIGNMENT, &assignment);
    double assigned = now_s();
    if (!does_shrink) {
        return;
    }
    uint64_t last = 0;
    for (int32_t i = 0; i < count; i++) {
        uint64_t id = assignments[(uint64_t)i * 7919 % (uint64_t)count].member;
        struct record_members_removed removed = {group, &id, 1, CAUSE_LEAVE};
        apply(state, RECORD_MEMBERS_REMOVED, &removed);
        last = id;
    }
    ensure(last != 0);
    printf(
        "%d members: chunks %.2f ms, generation %.2f ms, assignment %.2f ms, all leave singly %.0f "
        "ms\n",
        count, (closing - start) * 1e3, (begun_at - closing) * 1e3, (assigned - assigning) * 1e3,
        (now_s() - assigned) * 1e3);
}

int main(int argc, char **argv)
{
    uint64_t offsets = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    uint64_t groups = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
    measure_offsets(offsets, 1);
    measure_offsets(offsets, groups);
    struct state *state = state_new();
    measure_group(state, 0, 1000, true);
    measure_group(state, 1, 10000, true);
    malloc_trim(0);
    double before = resident_bytes();
    for (uint64_t n = 2; n < 12; n++) {
        measure_group(state, n, 10000, false);
    }
    printf(
        "%.0f B RSS a member (100 B metadata, 60 B assignment) at %llu members in groups of "
        "10,000\n",
        (resident_bytes() - before) / (double)state_totals(state)->members,
        (unsigned long long)state_totals(state)->members);
    before = resident_bytes();
    for (uint64_t n = 12; n < 12 + 20000; n++) {
        measure_group(state, n, 5, false);
    }
    printf("%.0f B RSS a member at 100,000 more in groups of 5, group included\n",
           (resident_bytes() - before) / 1e5);
    state_free(state);
    return 0;
}
