/* A member's facts in one allocation. It is made once and never changed: a change makes another, so
 * that snapshots may go on reading this one (R17). */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/hash.h"
#include "server/core/state_internal.h"

static size_t size_of(const struct member *member)
{
    size_t size = sizeof *member + (size_t)member->protocols_count * sizeof *member->protocols;
    size += member->member_id.len + member->instance_id.len + member->client_id.len;
    size += member->client_host.len + member->assignment.len;
    for (int32_t i = 0; i < member->protocols_count; i++) {
        size += member->protocols[i].name.len + member->protocols[i].metadata.len;
    }
    return size;
}

/* Copies the bytes to [*at] and lets the span point there; null stays null. */
static void move_span(struct span *span, uint8_t **at)
{
    if (span_is_null(*span)) {
        return;
    }
    if (span->len > 0) {
        memcpy(*at, span->data, span->len);
    }
    *span = span_of(*at, span->len);
    *at += span->len;
}

uint64_t member_hash(const struct member *member, uint64_t group)
{
    uint64_t hash = hash_begin(2);
    hash = hash_word(hash, group);
    hash = hash_word(hash, member->id);
    hash = hash_word(hash, member->place);
    hash = hash_span(hash, member->member_id);
    hash = hash_span(hash, member->instance_id);
    hash = hash_span(hash, member->client_id);
    hash = hash_span(hash, member->client_host);
    hash = hash_word(hash, (uint64_t)(uint32_t)member->session_timeout_ms << 32 |
                               (uint32_t)member->rebalance_timeout_ms);
    hash = hash_word(hash, member->joined_without_id);
    hash = hash_word(hash, (uint64_t)member->protocols_count);
    for (int32_t i = 0; i < member->protocols_count; i++) {
        hash = hash_span(hash, member->protocols[i].name);
        hash = hash_span(hash, member->protocols[i].metadata);
    }
    hash = hash_span(hash, member->assignment);
    return hash_end(hash);
}

struct member *member_new(const struct member *from, uint64_t group, uint32_t made)
{
    size_t size = size_of(from);
    ensure(size <= UINT32_MAX);
    struct member *member = malloc(size);
    ensure(member != NULL);
    *member = *from;
    member->protocols = (struct member_protocol *)(void *)(member + 1);
    uint8_t *at = (uint8_t *)(member->protocols + from->protocols_count);
    for (int32_t i = 0; i < from->protocols_count; i++) {
        member->protocols[i] = from->protocols[i];
        move_span(&member->protocols[i].name, &at);
        move_span(&member->protocols[i].metadata, &at);
    }
    move_span(&member->member_id, &at);
    move_span(&member->instance_id, &at);
    move_span(&member->client_id, &at);
    move_span(&member->client_host, &at);
    move_span(&member->assignment, &at);
    ensure((size_t)(at - (uint8_t *)member) == size);
    member->bytes = (uint32_t)size;
    member->made = made;
    member->hash = member_hash(member, group);
    return member;
}

struct member *member_with(const struct member *from,
                           uint64_t group,
                           uint32_t made,
                           uint32_t place,
                           struct span assignment)
{
    struct member facts = *from;
    facts.place = place;
    facts.assignment = assignment;
    return member_new(&facts, group, made);
}
