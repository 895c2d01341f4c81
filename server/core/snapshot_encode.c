/* Frozen facts to bytes. Runs beside apply: it touches what the freeze holds and nothing else. */
#include "rpc/build.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "server/core/hash.h"
#include "server/core/snapshot.h"
#include "server/core/state_internal.h"

#define SNAPSHOT(name_, type_, number_, version_) HEAD(name_, 0, version_, 0)
#define SCHEMA_ROWS "server/core/records/snapshot.def"
#include "rpc/schema_tables.h"
#undef SNAPSHOT

typedef const struct kafka_schema *schema_fn(void);

static schema_fn *const schemas[SNAPSHOT_ROWS_END] = {
#undef STRUCT
#undef FIELD
#undef ARRAY
#undef LIST
#undef END
#define SNAPSHOT(name_, type_, number_, version_) [number_] = name_##_schema,
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/snapshot.def"
#undef SNAPSHOT
};

const struct kafka_schema *snapshot_schema(unsigned row)
{
    return row < SNAPSHOT_ROWS_END && schemas[row] != NULL ? schemas[row]() : NULL;
}

enum { ARENA_KEPT = 256 << 10 };

struct encoding {
    struct buf *out;
    struct arena arena; /* of a group */
    uint64_t rows;
};

static void put(struct encoding *e, enum snapshot_row row, const void *body)
{
    const struct kafka_schema *schema = snapshot_schema(row);
    buf_put_u8(e->out, (uint8_t)row);
    buf_put_u8(e->out, (uint8_t)schema->max_version);
    codec_encode(schema, schema->max_version, body, e->out);
    e->rows++;
}

static void put_header(struct encoding *e, const struct frozen *frozen)
{
    struct snapshot_header header = {
        .index = frozen->totals.index,
        .term = frozen->totals.term,
        .stamp_ms = frozen->totals.stamp_ms,
        .feature_level = frozen->totals.feature_level,
        .next_id = frozen->next_id,
    };
#if ROSTER_BUG == 2173 /* where interning had got to is not in it */
    header.next_id = 1;
#endif
    put(e, SNAPSHOT_HEADER, &header);
}

static void put_topic(struct encoding *e, const struct topic *topic)
{
    struct snapshot_topic row = {
        .id = topic->id,
        .name = topic->name,
        .uuid = topic->uuid,
        .version = topic->version,
        .high_offsets = topic->high_offsets,
        .high_offsets_count = topic->partitions_count,
    };
    put(e, SNAPSHOT_TOPIC, &row);
}

static void put_member(struct encoding *e, const struct member *member)
{
    struct snapshot_member row = {
        .id = member->id,
        .place = member->place,
        .member_id = member->member_id,
        .instance_id = member->instance_id,
        .client_id = member->client_id,
        .client_host = member->client_host,
        .session_timeout_ms = member->session_timeout_ms,
        .rebalance_timeout_ms = member->rebalance_timeout_ms,
        .joined_without_id = member->joined_without_id,
        .protocols_count = member->protocols_count,
        .assignment = member->assignment,
    };
#if ROSTER_BUG == 11 /* a field is left out */
    row.instance_id = SPAN_NULL;
#endif
    size_t count = (size_t)member->protocols_count;
    row.protocols = arena_alloc(&e->arena, count * sizeof *row.protocols);
    for (size_t i = 0; i < count; i++) {
        row.protocols[i].name = member->protocols[i].name;
        row.protocols[i].metadata = member->protocols[i].metadata;
    }
    put(e, SNAPSHOT_MEMBER, &row);
}

/* Rows of one topic, up to SNAPSHOT_OFFSETS_MAX, from [sorted]; returns how many. */
static uint32_t put_offsets_of_topic(struct encoding *e,
                                     const struct offset_row **sorted,
                                     uint32_t count)
{
    struct snapshot_offsets chunk = {.topic = sorted[0]->topic};
    uint32_t most = count < SNAPSHOT_OFFSETS_MAX ? count : SNAPSHOT_OFFSETS_MAX;
    uint32_t n = 0;
    chunk.offsets = arena_alloc(&e->arena, most * sizeof *chunk.offsets);
    for (; n < most && sorted[n]->topic == chunk.topic; n++) {
        const struct offset_row *row = sorted[n];
        chunk.offsets[n] = (struct snapshot_offset){
            .partition = (uint64_t)row->partition,
            .leader_epoch = row->leader_epoch,
            .offset = row->offset,
            .commit_ms = row->commit_ms,
            .expire_ms = row->expire_ms,
            .version = row->version,
            .metadata = offset_row_metadata(row),
        };
    }
    chunk.offsets_count = (int32_t)n;
    put(e, SNAPSHOT_OFFSETS, &chunk);
    return n;
}

static void put_group(struct encoding *e, const struct group *group)
{
    struct snapshot_group row = {
        .id = group->id,
        .name = group->name,
        .version = group->version,
        .generation = group->generation,
        .protocol_type = group->protocol_type,
        .protocol_name = group->protocol_name,
        .empty_since_ms = group->empty_since_ms,
        .has_assignment = group->has_assignment,
        .is_changed = group->is_changed,
        .leader = group->leader,
    };
    put(e, SNAPSHOT_GROUP, &row);
    for (int32_t i = 0; i < group->members_count; i++) {
        put_member(e, group->members[i]);
    }
    for (int32_t i = 0; i < group->pending_count; i++) {
        struct snapshot_pending pending = {
            .member_id = group->pending[i].member_id,
            .session_timeout_ms = group->pending[i].session_timeout_ms,
        };
        put(e, SNAPSHOT_PENDING, &pending);
    }
    const struct offset_row **sorted = offsets_sorted(&group->offsets, &e->arena);
    for (uint32_t i = 0; i < group->offsets.count;) {
        i += put_offsets_of_topic(e, &sorted[i], group->offsets.count - i);
    }
    arena_reset(&e->arena, ARENA_KEPT);
}

static void put_staged(struct encoding *e, const struct staged *staged)
{
    struct snapshot_staged row = {
        .id = staged->id,
        .group = staged->group,
        .generation = staged->generation,
        .type = (int8_t)staged->type,
        .version = (int8_t)staged->version,
        .body = span_of(staged->body, staged->len),
    };
    put(e, SNAPSHOT_STAGED, &row);
}

void state_encode(void *frozen, struct buf *out)
{
    const struct frozen *facts = frozen;
    struct encoding e = {.out = out};
    size_t start = out->len;
    arena_init(&e.arena, SIZE_MAX);
    buf_append(out, SNAPSHOT_MAGIC, SNAPSHOT_MAGIC_BYTES);
    buf_put_u8(out, SNAPSHOT_VERSION);
    put_header(&e, facts);
    for (size_t i = 0; i < facts->nodes_count; i++) {
        struct snapshot_node row = {.id = facts->nodes[i]->id, .card = facts->nodes[i]->card};
        put(&e, SNAPSHOT_NODE, &row);
    }
    for (size_t i = 0; i < facts->topics_count; i++) {
        put_topic(&e, facts->topics[i]);
    }
    for (size_t i = 0; i < facts->groups_count; i++) {
        put_group(&e, facts->groups[i]);
    }
    size_t staged_count = facts->staged_count;
#if ROSTER_BUG == 2084 /* what is staged is not in the snapshot */
    staged_count = 0;
#endif
    for (size_t i = 0; i < staged_count; i++) {
        put_staged(&e, facts->staged[i]);
    }
    struct snapshot_end end = {
        .rows = e.rows,
        .hash = (int64_t)facts->totals.hash,
        .checksum = (int64_t)hash_of_span(span_of(out->data + start, out->len - start)),
    };
    put(&e, SNAPSHOT_END, &end);
    arena_close(&e.arena);
}
