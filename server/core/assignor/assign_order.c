#include "server/core/assignor/assign_order.h"

#include <stdlib.h>

/* Ids are hardly ever compared: what all ids of a kind begin with is cut off, the next four bytes
 * become a number, and these are sorted by counting, over as many leading bytes as tell most
 * members nearly apart, then by insertion. Only where the numbers are equal ids are compared. */
struct entry {
    uint32_t key;
    int32_t index; /* of the member in the input */
};

enum { KEY_BYTES = 4, VALUES = 256, CROWD = 4 };

static struct span id_of(const struct assignor_member *member)
{
    return span_is_null(member->instance_id) ? member->member_id : member->instance_id;
}

static int compare_members(const void *left, const void *right)
{
    const struct assignor_member *a = *(const struct assignor_member *const *)left;
    const struct assignor_member *b = *(const struct assignor_member *const *)right;
    int order = span_compare(id_of(a), id_of(b));
    return order != 0 ? order : span_compare(a->member_id, b->member_id);
}

/* All static or all dynamic members, and what their ids have in common. */
struct kind {
    struct span first;
    size_t prefix;
    int32_t count;
};

static void add_to_kind(struct kind *kind, struct span id)
{
    if (kind->count++ == 0) {
        kind->first = id;
        kind->prefix = id.len;
    }
    size_t len = id.len < kind->prefix ? id.len : kind->prefix;
    if (len > 0 && memcmp(kind->first.data, id.data, len) != 0) {
        size_t same = 0;
        while (kind->first.data[same] == id.data[same]) {
            same++;
        }
        len = same;
    }
    kind->prefix = len;
}

/* The four bytes behind the prefix, most significant first; missing ones are 0. */
static uint32_t key_of(struct span id, size_t prefix)
{
    uint32_t key = 0;
    size_t n = id.len - prefix;
    if (n >= KEY_BYTES) {
        memcpy(&key, id.data + prefix, KEY_BYTES);
        return __builtin_bswap32(key);
    }
    for (size_t i = 0; i < n; i++) {
        key |= (uint32_t)id.data[prefix + i] << (8 * (KEY_BYTES - 1 - i));
    }
    return key;
}

/* Of the leading byte of that number. */
static int shift_of(int byte)
{
    return 8 * (KEY_BYTES - 1 - byte);
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

/* From nearly sorted to sorted. False: not nearly enough, it gave up half way. */
static bool insert_in_order(struct entry *entries, int32_t n)
{
    int64_t moves = 0;
    for (int32_t i = 1; i < n; i++) {
        struct entry entry = entries[i];
        int32_t at = i;
        while (at > 0 && entries[at - 1].key > entry.key) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = entry;
        moves += i - at;
        if (moves > 2 * CROWD * (int64_t)n) {
            return false;
        }
    }
    return true;
}

static bool is_ascending(const struct entry *entries, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        if (entries[i - 1].key > entries[i].key) {
            return false;
        }
    }
    return true;
}

/* Counts the values of a leading byte; returns how many different ones there are. */
static int count_values(const struct entry *entries, int32_t n, int shift, int32_t counts[VALUES])
{
    for (int32_t i = 0; i < n; i++) {
        counts[entries[i].key >> shift & 0xff]++;
    }
    int distinct = 0;
    for (int v = 0; v < VALUES; v++) {
        distinct += counts[v] != 0;
    }
    return distinct;
}

/* By as many leading bytes as have [enough] values together. */
static void sort_by_counting(struct entry *entries, struct entry *spare, int32_t n, int64_t enough)
{
    int32_t counts[KEY_BYTES][VALUES] = {0};
    int64_t values = 1;
    int bytes = 0;
    for (; bytes < KEY_BYTES && values < enough; bytes++) {
        values *= count_values(entries, n, shift_of(bytes), counts[bytes]);
    }
    struct entry *from = entries;
    struct entry *to = spare;
    for (int byte = bytes - 1; byte >= 0; byte--) {
        if (counts[byte][from[0].key >> shift_of(byte) & 0xff] == n) {
            continue;
        }
        scatter(from, to, n, shift_of(byte), counts[byte]);
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries) {
        memcpy(entries, from, (size_t)n * sizeof *entries);
    }
}

static void sort_by_key(struct entry *entries, struct entry *spare, int32_t n)
{
    if (is_ascending(entries, n)) {
        return;
    }
    sort_by_counting(entries, spare, n, n / CROWD);
    if (!insert_in_order(entries, n)) {
        sort_by_counting(entries, spare, n, INT64_MAX);
    }
}

/* Members with equal keys, all static or all dynamic. */
static void sort_by_comparison(const struct assignor_member *members,
                               struct entry *entries,
                               int32_t n,
                               struct arena *arena)
{
    const struct assignor_member **sorted = arena_alloc(arena, (size_t)n * sizeof *sorted);
    for (int32_t i = 0; i < n; i++) {
        sorted[i] = &members[entries[i].index];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_members);
    for (int32_t i = 0; i < n; i++) {
        entries[i].index = (int32_t)(sorted[i] - members);
    }
}

static void sort(const struct assignor_member *members,
                 struct entry *entries,
                 struct entry *spare,
                 int32_t n,
                 struct arena *arena)
{
    sort_by_key(entries, spare, n);
    for (int32_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && entries[end].key == entries[begin].key;) {
            end++;
        }
        if (end - begin > 1) {
            sort_by_comparison(members, entries + begin, end - begin, arena);
        }
    }
}

int32_t *assign_order_make(const struct assignor_input *input, struct arena *arena)
{
    int32_t n = input->member_count;
    struct kind statics = {0};
    struct kind dynamics = {0};
    for (int32_t i = 0; i < n; i++) {
        const struct assignor_member *member = &input->members[i];
        bool is_static = !span_is_null(member->instance_id);
        add_to_kind(is_static ? &statics : &dynamics, id_of(member));
    }
    struct entry *entries = arena_alloc(arena, 2 * (size_t)n * sizeof *entries);
    struct entry *spare = entries + n;
    int32_t next_static = 0;
    int32_t next_dynamic = statics.count;
    for (int32_t i = 0; i < n; i++) {
        const struct assignor_member *member = &input->members[i];
        if (!span_is_null(member->instance_id)) {
            uint32_t key = key_of(member->instance_id, statics.prefix);
            entries[next_static++] = (struct entry){key, i};
        } else {
            uint32_t key = key_of(member->member_id, dynamics.prefix);
            entries[next_dynamic++] = (struct entry){key, i};
        }
    }
    sort(input->members, entries, spare, statics.count, arena);
    sort(input->members, entries + statics.count, spare, dynamics.count, arena);
    int32_t *order = arena_alloc(arena, (size_t)n * sizeof *order);
    for (int32_t i = 0; i < n; i++) {
        order[i] = entries[i].index;
    }
    return order;
}
