#include "tests/core/facts/trial.h"

#include "rpc/ensure.h"

void trial_init(struct trial *trial)
{
    *trial = (struct trial){.state = state_new(), .term = 1, .stamp_ms = 1000};
}

void trial_close(struct trial *trial)
{
    state_check(trial->state);
    state_free(trial->state);
    buf_close(&trial->records);
}

struct verdict trial_apply(struct trial *trial)
{
    trial->index++;
    trial->stamp_ms += 10;
    trial->count = state_apply(trial->state, trial->index, trial->term, trial->stamp_ms,
                               buf_span(&trial->records), trial->verdicts, 16);
    trial->records.len = 0;
    state_check(trial->state);
    ensure(trial->count >= 0 && trial->count <= 16);
    return trial->count == 0 ? (struct verdict){0} : trial->verdicts[trial->count - 1];
}

struct verdict trial_put(struct trial *trial, enum record_type type, const void *body)
{
    record_append(&trial->records, type, body);
    return trial_apply(trial);
}

uint64_t trial_topic(struct trial *trial, const char *name, int32_t partitions)
{
    struct record_topic_created record = {.name = text(name), .partitions = partitions};
    record.uuid.bytes[0] = 1;
    record.uuid.bytes[8] = (uint8_t)(trial->index >> 8);
    record.uuid.bytes[9] = (uint8_t)trial->index;
    return trial_put(trial, RECORD_TOPIC_CREATED, &record).id;
}

uint64_t trial_group(struct trial *trial, const char *name)
{
    struct record_group_created record = {.name = text(name)};
    return trial_put(trial, RECORD_GROUP_CREATED, &record).group;
}

struct verdict trial_generation(struct trial *trial,
                                uint64_t group,
                                int32_t generation,
                                const char *const *names)
{
    struct record_member members[16];
    struct record_member_protocol protocol = {text("range"), text("meta")};
    int32_t count = 0;
    for (; names[count] != NULL; count++) {
        ensure(count < 16);
        members[count] = (struct record_member){
            .member_id = text(names[count]),
            .client_id = text("client"),
            .client_host = text("/127.0.0.1"),
            .session_timeout_ms = 10000,
            .rebalance_timeout_ms = 60000,
            .protocols = &protocol,
            .protocols_count = 1,
        };
    }
    struct record_generation record = {
        .group = group,
        .generation = generation,
        .protocol_type = text("consumer"),
        .protocol_name = count == 0 ? SPAN_NULL : text("range"),
        .leader = count == 0 ? SPAN_EMPTY : members[0].member_id,
        .members = members,
        .members_count = count,
    };
    return trial_put(trial, RECORD_GENERATION, &record);
}

struct verdict trial_assign(struct trial *trial, uint64_t group, int32_t generation)
{
    const struct group *facts = trial_facts(trial, group);
    struct record_member_assignment assignments[16];
    ensure(facts->members_count <= 16);
    for (int32_t i = 0; i < facts->members_count; i++) {
        assignments[i].member = facts->members[i]->id;
        assignments[i].assignment = facts->members[i]->member_id;
    }
    struct record_assignment record = {
        .group = group,
        .generation = generation,
        .assignments = assignments,
        .assignments_count = facts->members_count,
    };
    return trial_put(trial, RECORD_ASSIGNMENT, &record);
}

struct verdict trial_commit(struct trial *trial,
                            uint64_t group,
                            uint64_t member,
                            int32_t generation,
                            uint64_t topic,
                            int32_t partition,
                            int64_t offset,
                            const char *metadata)
{
    struct record_offset row = {
        .partition = (uint64_t)partition,
        .offset = offset,
        .leader_epoch = -1,
        .commit_ms = -1,
        .metadata = text(metadata),
    };
    struct record_offsets record = {
        .group = group,
        .member = member,
        .generation = generation,
        .topic = topic,
        .retention_ms = -1,
        .offsets = &row,
        .offsets_count = 1,
    };
    return trial_put(trial, RECORD_OFFSETS, &record);
}

const struct group *trial_facts(const struct trial *trial, uint64_t group)
{
    const struct group_slot *slot = state_group_by_id(trial->state, group);
    return slot == NULL ? NULL : slot->facts;
}

const struct member *trial_member(const struct trial *trial, uint64_t group, const char *member_id)
{
    return group_find_member(trial_facts(trial, group), text(member_id));
}

const struct offset_row *trial_offset(const struct trial *trial,
                                      uint64_t group,
                                      uint64_t topic,
                                      int32_t partition)
{
    return offsets_find(&trial_facts(trial, group)->offsets, topic, partition);
}

struct buf trial_snapshot(struct trial *trial)
{
    struct buf bytes = BUF_EMPTY;
    void *frozen = state_freeze(trial->state);
    state_encode(frozen, &bytes);
    state_release(trial->state, frozen);
    return bytes;
}
