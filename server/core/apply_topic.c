/* Records about topics, nodes and the cluster. */
#include "rpc/errors.h"
#include "server/core/limits.h"
#include "server/core/state_internal.h"

static bool can_have(int32_t partitions)
{
    return partitions >= 1 && partitions <= LIMIT_PARTITIONS;
}

void apply_topic_created(struct apply *apply, const void *body)
{
    const struct record_topic_created *record = body;
    struct state *state = apply->state;
    if (!topic_name_is_legal(record->name)) {
        apply->verdict.error = KAFKA_INVALID_TOPIC_EXCEPTION;
    } else if (!can_have(record->partitions)) {
        apply->verdict.error = KAFKA_INVALID_PARTITIONS;
    } else if (uuid_is_zero(record->uuid)) {
        apply->verdict.error = KAFKA_INVALID_REQUEST;
    } else if (state_topic(state, record->name) != NULL ||
               state_topic_by_uuid(state, &record->uuid) != NULL) {
        apply->verdict.error = KAFKA_TOPIC_ALREADY_EXISTS;
    } else {
        struct topic *topic = topic_new(&state->editions, state->next_id++, record->name,
                                        &record->uuid, record->partitions);
        topic->version = state->totals.index;
        state_add_topic(state, topic);
        apply->verdict.id = topic->id;
    }
}

void apply_topic_grown(struct apply *apply, const void *body)
{
    const struct record_topic_grown *record = body;
    struct state *state = apply->state;
    const struct topic *topic = state_topic_by_id(state, record->topic);
    if (topic == NULL) {
        apply->verdict.error = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        return;
    }
    if (record->partitions <= topic->partitions_count || !can_have(record->partitions)) {
        apply->verdict.error = KAFKA_INVALID_PARTITIONS;
        return;
    }
    struct topic *edited = state_edit_topic(state, topic);
    state->totals.partitions += (uint64_t)(record->partitions - edited->partitions_count);
    topic_grow(edited, record->partitions);
    edited->version = state->totals.index;
    state->rows_hash -= edited->hash;
    edited->hash = topic_hash(edited);
    state->rows_hash += edited->hash;
}

void apply_topic_deleted(struct apply *apply, const void *body)
{
    const struct record_topic_deleted *record = body;
    const struct topic *topic = state_topic_by_id(apply->state, record->topic);
    if (topic == NULL) {
        apply->verdict.error = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        return;
    }
    state_remove_topic(apply->state, (struct topic *)(uintptr_t)topic);
}

void apply_node(struct apply *apply, const void *body)
{
    const struct record_node *record = body;
    struct node *node = record->node == 0 ? NULL : node_new(record->node, record->card);
    if (node == NULL) {
        apply->verdict.error = KAFKA_INVALID_REQUEST;
        return;
    }
    state_set_node(apply->state, node);
}

void apply_feature_level(struct apply *apply, const void *body)
{
    const struct record_feature_level *record = body;
    if (record->level < apply->state->totals.feature_level) {
        apply->verdict.error = KAFKA_INVALID_REQUEST;
        return;
    }
    apply->state->totals.feature_level = record->level;
}
