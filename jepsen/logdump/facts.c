#include "jepsen/logdump/facts.h"

#include <inttypes.h>

#include "jepsen/logdump/json.h"
#include "jepsen/logdump/names.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "server/core/snapshot.h"

static const char *const row_names[SNAPSHOT_ROWS_END] = {
#define SNAPSHOT(name_, type_, number_, version_) [number_] = #name_,
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/snapshot.def"
};

enum { NAME_PREFIX = sizeof("snapshot_") - 1, ARENA_KEPT = 1 << 20 };

static bool is_part_of_group(unsigned row)
{
    return row == SNAPSHOT_GROUP || row == SNAPSHOT_MEMBER || row == SNAPSHOT_PENDING ||
           row == SNAPSHOT_OFFSETS;
}

void facts_print(struct buf *out,
                 struct span snapshot,
                 const struct state *state,
                 uint64_t index,
                 uint64_t *lines)
{
    struct reader reader = reader_of(snapshot);
    struct arena arena;
    struct names names;
    struct span group = SPAN_NULL; /* borrows from [snapshot] */
    arena_init(&arena, SIZE_MAX);
    names_init(&names, state);
    reader_take(&reader, SNAPSHOT_MAGIC_BYTES + 1);
    while (reader_left(&reader) > 0) {
        unsigned row = reader_u8(&reader);
        uint8_t version = reader_u8(&reader);
        const struct kafka_schema *schema = snapshot_schema(row);
        ensure(schema != NULL); /* the state was restored from these bytes */
        void *body = arena_alloc(&arena, schema->size);
        ensure(codec_decode(schema, version, &reader, &arena, body) == CODEC_OK);
        if (row == SNAPSHOT_GROUP) {
            group = ((const struct snapshot_group *)body)->name;
            names_begin_record(&names, ((const struct snapshot_group *)body)->id, SPAN_NULL);
        }
        json_print(out, "{\"kind\":\"fact\",\"at\":%" PRIu64 ",\"row\":\"%s\",", index,
                   row_names[row] + NAME_PREFIX);
        if (is_part_of_group(row)) {
            json_print(out, "\"group\":");
            json_string(out, group);
            json_print(out, ",");
        }
        json_print(out, "\"body\":");
        json_struct(out, schema, version, body, names_find, &names);
        json_print(out, "}\n");
        ++*lines;
        arena_reset(&arena, ARENA_KEPT);
    }
    names_close(&names);
    arena_close(&arena);
}
