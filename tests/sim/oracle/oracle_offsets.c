/* Offsets: each partition of a group is a register. Every commit has a number of its own, which is
 * its offset and stands in its metadata, and the log is known; so it is known exactly when each
 * took effect, and which values a read may show. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/oracle/oracle.h"

struct op *oracle_new_op(struct life *life)
{
    struct oracle *oracle = life->oracle;
    if (oracle->ops_count == oracle->ops_cap) {
        oracle->ops_cap = oracle->ops_cap * 2 + 256;
        oracle->ops = realloc(oracle->ops, oracle->ops_cap * sizeof *oracle->ops);
        ensure(oracle->ops != NULL);
    }
    struct op *op = &oracle->ops[oracle->ops_count++];
    *op = (struct op){.id = oracle->ops_count};
    return op;
}

struct op *oracle_op(struct life *life, int64_t id)
{
    struct oracle *oracle = life->oracle;
    return id < 1 || (size_t)id > oracle->ops_count ? NULL : &oracle->ops[id - 1];
}

static struct cell *find_cell(struct life *life,
                              const char *group,
                              const char *topic,
                              int32_t partition)
{
    struct cell *cell = life->oracle->cells;
    while (cell != NULL && (cell->partition != partition || strcmp(cell->group, group) != 0 ||
                            strcmp(cell->topic, topic) != 0)) {
        cell = cell->next;
    }
    return cell;
}

static void put_version(struct life *life, struct cell *cell, int64_t op)
{
    if (cell->count == cell->cap) {
        cell->cap = cell->cap * 2 + 8;
        cell->versions = realloc(cell->versions, cell->cap * sizeof *cell->versions);
        ensure(cell->versions != NULL);
    }
    cell->versions[cell->count++] = (struct version){life->position, op};
}

static int64_t last_of(const struct cell *cell)
{
    return cell->count == 0 ? -1 : cell->versions[cell->count - 1].op;
}

/* I4: fenced exactly. The records may say what they like: what counts is what the client said. */
static void check_fence(struct life *life, const struct op *op, const struct group *group)
{
    const struct member *member = group_find_member(group, span_from_cstr(op->member_id));
    if (op->generation < 0 && group->members_count == 0) {
        return;
    }
    if (member == NULL || op->generation != group->generation || !group->has_assignment) {
        life_fail(life, "commit %" PRIu64 " of %s at generation %d was accepted in generation %d",
                  op->id, op->member_id, op->generation, group->generation);
    }
    if (op->instance_id[0] != 0 &&
        !span_equal(member->instance_id, span_from_cstr(op->instance_id))) {
        life_fail(life, "commit %" PRIu64 " was accepted for an instance that is another's",
                  op->id);
    }
}

static int64_t op_of(struct span metadata)
{
    char text[TEXT];
    oracle_text(text, metadata);
    return strncmp(text, "op", 2) == 0 ? strtoll(text + 2, NULL, 10) : -1;
}

void oracle_offset_written(struct life *life,
                           const struct group *group,
                           const struct topic *topic,
                           int32_t partition,
                           struct span metadata)
{
    struct op *op = oracle_op(life, op_of(metadata));
    if (op == NULL) {
        life_fail(life, "an offset that nobody committed");
    }
    if (op->is_refused || op->position != 0) {
        life_fail(life, "commit %" PRIu64 " took effect %s", op->id,
                  op->is_refused ? "though it was refused" : "twice");
    }
    check_fence(life, op, group);
    char names[2][TEXT];
    oracle_text(names[0], group->name);
    oracle_text(names[1], topic->name);
    struct cell *cell = find_cell(life, names[0], names[1], partition);
    if (cell == NULL) {
        cell = calloc(1, sizeof *cell);
        ensure(cell != NULL);
        memcpy(cell->group, names[0], TEXT);
        memcpy(cell->topic, names[1], TEXT);
        cell->partition = partition;
        cell->next = life->oracle->cells;
        life->oracle->cells = cell;
    }
    op->position = life->position;
    put_version(life, cell, (int64_t)op->id);
}

void oracle_offsets_gone(struct life *life, const char *group, const char *topic, int32_t partition)
{
    for (struct cell *cell = life->oracle->cells; cell != NULL; cell = cell->next) {
        bool is_meant = (group == NULL || strcmp(group, cell->group) == 0) &&
                        (topic == NULL || strcmp(topic, cell->topic) == 0) &&
                        (partition == -1 || partition == cell->partition);
        if (is_meant && last_of(cell) != -1) {
            put_version(life, cell, -1);
        }
    }
}

/* Whether the cell had this value at some position of [low, high]. */
static bool had(const struct cell *cell, int64_t op, uint64_t low, uint64_t high)
{
    int64_t before = -1;
    bool is_found = false;
    for (size_t i = 0; i < cell->count && cell->versions[i].position <= high; i++) {
        if (cell->versions[i].position <= low) {
            before = cell->versions[i].op;
        } else {
            is_found = is_found || cell->versions[i].op == op;
        }
    }
    return is_found || before == op;
}

void oracle_check_read(struct life *life,
                       const char *group,
                       struct span topic,
                       int32_t partition,
                       int64_t offset,
                       struct span metadata,
                       uint64_t low,
                       uint64_t high)
{
    char name[TEXT];
    oracle_text(name, topic);
    const struct cell *cell = find_cell(life, group, name, partition);
    life->oracle->reads++;
    if (op_of(metadata) != (offset == -1 ? -1 : offset)) {
        life_fail(life, "a read of %s shows offset %" PRId64 " with another's metadata", name,
                  offset);
    }
    bool is_right = cell == NULL ? offset == -1 : had(cell, offset, low, high);
    if (!is_right) {
        life_fail(life,
                  "a read of %s/%s-%d shows %" PRId64 ", which it was not between %" PRIu64
                  " and %" PRIu64 "; now it is %" PRId64,
                  group, name, partition, offset, low, high, cell == NULL ? -1 : last_of(cell));
    }
}

static bool is_listed(const struct cell *cell,
                      const struct offset_fetch_response_topic *topics,
                      int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (!span_equal(topics[i].name, span_from_cstr(cell->topic))) {
            continue;
        }
        for (int32_t k = 0; k < topics[i].partitions_count; k++) {
            if (topics[i].partitions[k].partition_index == cell->partition) {
                return true;
            }
        }
    }
    return false;
}

void oracle_check_whole(struct life *life,
                        const char *group,
                        const struct offset_fetch_response_topic *topics,
                        int32_t count,
                        uint64_t low,
                        uint64_t high)
{
    for (const struct cell *cell = life->oracle->cells; cell != NULL; cell = cell->next) {
        if (strcmp(cell->group, group) == 0 && !had(cell, -1, low, high) &&
            !is_listed(cell, topics, count)) {
            life_fail(life, "a read of all offsets of %s lacks %s-%d", group, cell->topic,
                      cell->partition);
        }
    }
}

void oracle_check_cells(struct life *life)
{
    const struct state *state = coordinator_state(life->reference);
    for (const struct cell *cell = life->oracle->cells; cell != NULL; cell = cell->next) {
        const struct group_slot *slot = state_group(state, span_from_cstr(cell->group));
        const struct topic *topic = state_topic(state, span_from_cstr(cell->topic));
        const struct offset_row *row =
            slot == NULL || topic == NULL
                ? NULL
                : offsets_find(&slot->facts->offsets, topic->id, cell->partition);
        int64_t offset = row == NULL ? -1 : row->offset;
        if (offset != last_of(cell)) {
            life_fail(life, "%s/%s-%d is %" PRId64 " and should be %" PRId64, cell->group,
                      cell->topic, cell->partition, offset, last_of(cell));
        }
    }
}
