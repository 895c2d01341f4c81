#include "server/core/assignor/assign_order.h"

#include <stdlib.h>

/* Ids are compared at most once per member in the usual case: what all ids of a kind begin with is
 * cut off, the next eight bytes become a number, and these are sorted by counting, over the few
 * leading bytes that tell most members apart. What is still equal there is sorted by comparison. */
struct entry {
    uint64_t key;
    const struct assignor_member *member;
};

enum { KEY_BYTES = 8, VALUES = 256, FEW = 24 };

static struct span id_of(const struct assignor_member *member)
{
    return span_is_null(member->instance_id) ? member->member_id : member->instance_id;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    int order = span_compare(id_of(a->member), id_of(b->member));
    return order != 0 ? order : span_compare(a->member->member_id, b->member->member_id);
}

static size_t common_prefix(const struct entry *entries, int32_t n)
{
    struct span first = id_of(entries[0].member);
    size_t len = first.len;
    for (int32_t i = 1; i < n; i++) {
        struct span id = id_of(entries[i].member);
        len = id.len < len ? id.len : len;
        if (len == 0 || memcmp(first.data, id.data, len) == 0) {
            continue;
        }
        size_t same = 0;
        while (first.data[same] == id.data[same]) {
            same++;
        }
        len = same;
    }
    return len;
}

/* The eight bytes behind the prefix, most significant first; missing ones are 0. */
static uint64_t key_of(struct span id, size_t prefix)
{
    uint64_t key = 0;
    size_t n = id.len - prefix;
    if (n >= KEY_BYTES) {
        memcpy(&key, id.data + prefix, KEY_BYTES);
        return __builtin_bswap64(key);
    }
    for (size_t i = 0; i < n; i++) {
        key |= (uint64_t)id.data[prefix + i] << (8 * (KEY_BYTES - 1 - i));
    }
    return key;
}

static void sort_by_comparison(struct entry *entries, int32_t n)
{
    if (n > FEW) {
        qsort(entries, (size_t)n, sizeof *entries, compare_entries);
        return;
    }
    for (int32_t i = 1; i < n; i++) {
        struct entry entry = entries[i];
        int32_t at = i;
        while (at > 0 && compare_entries(&entry, &entries[at - 1]) < 0) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = entry;
    }
}

/* Stable, by the byte at [shift]. */
static void scatter(const struct entry *from,
                    struct entry *to,
                    int32_t n,
                    int shift,
                    const int32_t counts[VALUES])
{
    int32_t starts[VALUES];
    int32_t start = 0;
    for (int v = 0; v < VALUES; v++) {
        starts[v] = start;
        start += counts[v];
    }
    for (int32_t i = 0; i < n; i++) {
        to[starts[from[i].key >> shift & 0xff]++] = from[i];
    }
}

/* How many leading bytes to sort by: enough values for most entries to be alone. */
static int leading_bytes(int32_t counts[KEY_BYTES][VALUES], int32_t n)
{
    int64_t values = 1;
    int bytes = 0;
    while (bytes < KEY_BYTES && values < 2 * (int64_t)n) {
        int distinct = 0;
        for (int v = 0; v < VALUES; v++) {
            distinct += counts[bytes][v] != 0;
        }
        values *= distinct;
        bytes++;
    }
    return bytes;
}

/* Leaves the entries sorted by their first bytes and returns which bits those are. */
static uint64_t sort_by_counting(struct entry *entries, struct entry *spare, int32_t n)
{
    int32_t counts[KEY_BYTES][VALUES] = {0};
    for (int32_t i = 0; i < n; i++) {
        for (int byte = 0; byte < KEY_BYTES; byte++) {
            counts[byte][entries[i].key >> (8 * (KEY_BYTES - 1 - byte)) & 0xff]++;
        }
    }
    int bytes = leading_bytes(counts, n);
    struct entry *from = entries;
    struct entry *to = spare;
    for (int byte = bytes - 1; byte >= 0; byte--) {
        int shift = 8 * (KEY_BYTES - 1 - byte);
        if (counts[byte][from[0].key >> shift & 0xff] == n) {
            continue;
        }
        scatter(from, to, n, shift, counts[byte]);
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries) {
        memcpy(entries, from, (size_t)n * sizeof *entries);
    }
    return bytes == 0 ? 0 : ~(uint64_t)0 << (8 * (KEY_BYTES - bytes));
}

static bool is_sorted(const struct entry *entries, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        if (entries[i - 1].key >= entries[i].key &&
            compare_entries(&entries[i - 1], &entries[i]) > 0) {
            return false;
        }
    }
    return true;
}

/* All static or all dynamic. [spare] has room for as many. */
static void sort(struct entry *entries, struct entry *spare, int32_t n)
{
    if (n < 2) {
        return;
    }
    size_t prefix = common_prefix(entries, n);
    for (int32_t i = 0; i < n; i++) {
        entries[i].key = key_of(id_of(entries[i].member), prefix);
    }
    if (is_sorted(entries, n)) {
        return;
    }
    uint64_t sorted = n > FEW ? sort_by_counting(entries, spare, n) : 0;
    for (int32_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && ((entries[end].key ^ entries[begin].key) & sorted) == 0) {
            end++;
        }
        sort_by_comparison(entries + begin, end - begin);
    }
}

const struct assignor_member **assign_order_make(const struct assignor_input *input,
                                                 struct arena *arena)
{
    int32_t n = input->member_count;
    struct entry *entries = arena_alloc(arena, 2 * (size_t)n * sizeof *entries);
    struct entry *spare = entries + n;
    int32_t statics = 0;
    int32_t dynamics = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct assignor_member *member = &input->members[i];
        if (span_is_null(member->instance_id)) {
            spare[dynamics++].member = member;
        } else {
            entries[statics++].member = member;
        }
    }
    memcpy(entries + statics, spare, (size_t)dynamics * sizeof *entries);
    sort(entries, spare, statics);
    sort(entries + statics, spare, dynamics);
    const struct assignor_member **order = arena_alloc(arena, (size_t)n * sizeof *order);
    for (int32_t i = 0; i < n; i++) {
        order[i] = entries[i].member;
    }
    return order;
}
