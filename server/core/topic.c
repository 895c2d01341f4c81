#include "server/core/topic.h"

#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/hash.h"
#include "server/core/limits.h"
#include "server/core/state_internal.h"

bool topic_name_is_legal(struct span name)
{
    if (span_is_empty(name) || name.len > LIMIT_TOPIC_NAME_BYTES ||
        span_equal(name, SPAN_LITERAL(".")) || span_equal(name, SPAN_LITERAL(".."))) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit && c != '.' && c != '_' && c != '-') {
            return false;
        }
    }
    return true;
}

struct topic *topic_new(struct editions *editions,
                        uint64_t id,
                        struct span name,
                        const struct uuid *uuid,
                        int32_t partitions_count)
{
    struct topic *topic = memory_new(sizeof *topic + name.len);
    memcpy(topic + 1, name.data, name.len);
    topic->id = id;
    topic->name = span_of(topic + 1, name.len);
    topic->uuid = *uuid;
    topic->made = editions->current;
    topic->partitions_count = partitions_count;
    topic->high_offsets = memory_new((size_t)partitions_count * sizeof *topic->high_offsets);
    return topic;
}

struct topic *topic_copy(struct editions *editions, const struct topic *topic)
{
    struct topic *copy =
        topic_new(editions, topic->id, topic->name, &topic->uuid, topic->partitions_count);
    copy->version = topic->version;
    copy->hash = topic->hash;
    memcpy(copy->high_offsets, topic->high_offsets,
           (size_t)topic->partitions_count * sizeof *topic->high_offsets);
    return copy;
}

void topic_drop(struct editions *editions, struct topic *topic)
{
    uint32_t made = topic->made;
    editions_drop(editions, topic->high_offsets, made);
    editions_drop(editions, topic, made);
}

void topic_grow(struct topic *topic, int32_t partitions_count)
{
    size_t old = (size_t)topic->partitions_count;
    size_t count = (size_t)partitions_count;
    ensure(count >= old);
    topic->high_offsets = memory_resize(topic->high_offsets, count * sizeof *topic->high_offsets);
    memset(topic->high_offsets + old, 0, (count - old) * sizeof *topic->high_offsets);
    topic->partitions_count = partitions_count;
}

uint64_t topic_high_hash(uint64_t topic, int32_t partition, int64_t offset)
{
    if (offset == 0) {
        return 0; /* so that a new topic costs nothing per partition */
    }
    uint64_t hash = hash_begin(5);
    hash = hash_word(hash, topic);
    hash = hash_word(hash, (uint32_t)partition);
    hash = hash_word(hash, (uint64_t)offset);
    return hash_end(hash);
}

uint64_t topic_hash(const struct topic *topic)
{
    uint64_t hash = hash_begin(6);
    hash = hash_word(hash, topic->id);
    hash = hash_span(hash, topic->name);
    hash = hash_span(hash, span_of(topic->uuid.bytes, sizeof topic->uuid.bytes));
    hash = hash_word(hash, topic->version);
    hash = hash_word(hash, (uint32_t)topic->partitions_count);
    hash = hash_end(hash);
    for (int32_t i = 0; i < topic->partitions_count; i++) {
        hash += topic_high_hash(topic->id, i, topic->high_offsets[i]);
    }
    return hash;
}
