#include "jepsen/logdump/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "jepsen/logdump/json.h"
#include "raftlog/batch.h"
#include "rpc/ensure.h"
#include "server/core/record.h"
#include "server/core/state.h"

enum { NAME_PREFIX = sizeof("record_") - 1, RECORDS_MAX = 1 << 16 };

struct row {
    const char *name;
    const struct kafka_schema *(*schema)(void);
};

static const struct row rows[RECORD_TYPES_END] = {
#define RECORD(name_, type_, number_, version_) [number_] = {#name_, name_##_schema},
#define STRUCT(name_)
#define FIELD(...)
#define ARRAY(...)
#define LIST(...)
#define END(name_)
#include "server/core/records/records.def"
};

/* One proposal on its way. */
struct proposal {
    struct replay *replay;
    uint64_t index;
    uint64_t term;
    uint64_t number;
    struct span records;
    struct arena arena;
    const struct verdict *verdicts; /* NULL: not applied */
};

void replay_init(struct replay *replay, struct state *state)
{
    *replay = (struct replay){.state = state};
    names_init(&replay->names, state);
}

void replay_close(struct replay *replay)
{
    names_close(&replay->names);
    buf_close(&replay->scratch);
    buf_close(&replay->lines);
}

/* ---- A proposal ---- */

/* Every record but group_created, the topics' and those of the whole cluster begins with its group.
 */
static uint64_t group_of(const struct record *record)
{
    const struct kafka_schema *schema = rows[record->type].schema();
    const struct kafka_field *first = &schema->fields[0];
    const uint8_t *at = (const uint8_t *)record->body + first->offset;
    bool is_group = first->kind == KIND_uvarint && strcmp(first->name, "group") == 0;
    return is_group ? *(const uint64_t *)(const void *)at : 0;
}

static void begin_record(struct names *names, const struct record *record)
{
    const struct record_group_created *created = record->body;
    names_begin_record(names, group_of(record),
                       record->type == RECORD_GROUP_CREATED ? created->name : SPAN_NULL);
}

/* What its ids mean before it is applied. Returns the number of records, or -1. */
static int note_names(struct proposal *p)
{
    struct reader reader = reader_of(p->records);
    struct record record;
    int count = 0;
    int rv;
    names_reset(&p->replay->names);
    while ((rv = record_read(&reader, &p->arena, &record)) > 0) {
        begin_record(&p->replay->names, &record);
        json_visit_ids(rows[record.type].schema(), record.body, names_note, &p->replay->names);
        count++;
    }
    return rv < 0 || count > RECORDS_MAX ? -1 : count;
}

static void print_proposal(struct proposal *p, uint64_t raft_index)
{
    struct buf *out = &p->replay->lines;
    struct reader reader = reader_of(p->records);
    struct record record;
    json_print(out,
               "{\"kind\":\"proposal\",\"raft_index\":%" PRIu64 ",\"index\":%" PRIu64
               ",\"term\":%" PRIu64 ",\"number\":%" PRIu64 ",\"records\":[",
               raft_index, p->index, p->term, p->number);
    for (int i = 0; record_read(&reader, &p->arena, &record) > 0; i++) {
        const struct row *row = &rows[record.type];
        begin_record(&p->replay->names, &record);
        json_print(out, "%s{\"record\":\"%s\",\"version\":%u,\"body\":", i == 0 ? "" : ",",
                   row->name + NAME_PREFIX, record.version);
        json_struct(out, row->schema(), record.version, record.body, names_find, &p->replay->names);
        if (p->verdicts != NULL) {
            const struct verdict *v = &p->verdicts[i];
            json_print(out, ",\"verdict\":{\"error\":%d,\"group\":%" PRIu64 ",\"id\":%" PRIu64 "}",
                       v->error, v->group, v->id);
        }
        json_print(out, "}");
    }
    json_print(out, "]}\n");
}

static bool run_proposal(struct proposal *p, uint64_t raft_index, bool is_replayed)
{
    struct replay *replay = p->replay;
    int count = note_names(p);
    if (count < 0) {
        return false;
    }
    struct verdict *verdicts = NULL;
    if (is_replayed) {
        verdicts = calloc((size_t)count + 1, sizeof *verdicts);
        ensure(verdicts != NULL);
        int applied = state_apply(replay->state, p->index, p->term, replay->stamp_ms, p->records,
                                  verdicts, count);
        ensure(applied == count);
    }
    p->verdicts = verdicts;
    print_proposal(p, raft_index);
    free(verdicts);
    return true;
}

/* ---- An entry ---- */

static bool run_proposals(struct replay *replay,
                          struct batch *batch,
                          uint64_t raft_index,
                          uint64_t index,
                          bool is_replayed,
                          uint64_t *lines)
{
    struct proposal p = {.replay = replay, .index = index, .term = batch->header.term};
    bool is_good = true;
    arena_init(&p.arena, SIZE_MAX);
    while (is_good && batch_next(batch, &p.number, &p.records)) {
        is_good = run_proposal(&p, raft_index, is_replayed);
        arena_reset(&p.arena, 1 << 20);
        ++*lines;
    }
    arena_close(&p.arena);
    return is_good;
}

static void print_head(const struct log_reader_entry *entry, bool is_replayed, struct buf *out)
{
    static const char *const types[] = {"command", "barrier", "configuration"};
    json_print(out,
               "{\"kind\":\"entry\",\"raft_index\":%" PRIu64 ",\"raft_term\":%" PRIu64
               ",\"type\":\"%s\",\"replayed\":%s",
               entry->index, entry->term, types[entry->kind], is_replayed ? "true" : "false");
}

static bool run_command(struct replay *replay,
                        const struct log_reader_entry *entry,
                        bool is_replayed,
                        uint64_t index,
                        struct buf *out,
                        uint64_t *lines,
                        char *message,
                        size_t message_len)
{
    struct batch batch;
    enum batch_error error = batch_open(&batch, entry->bytes, &replay->scratch);
    if (error != BATCH_OK) {
        snprintf(message, message_len, "entry %" PRIu64 " is no batch: %s", entry->index,
                 batch_error_text(error));
        return false;
    }
    const struct batch_header header = batch.header;
    int64_t stamp_ms = header.stamp_ms;
    if (is_replayed) { /* as apply_batch() in raftlog/fsm.c */
        replay->stamp_ms = stamp_ms > replay->stamp_ms ? stamp_ms : replay->stamp_ms;
        stamp_ms = replay->stamp_ms;
        index = ++replay->index;
    }
    replay->lines.len = 0;
    if (!run_proposals(replay, &batch, entry->index, index, is_replayed, lines)) {
        snprintf(message, message_len,
                 "entry %" PRIu64 " has bytes that are no record of this build", entry->index);
        return false;
    }
    json_print(out,
               ",\"index\":%" PRIu64 ",\"origin\":%" PRIu64 ",\"session\":\"%016" PRIx64
               "\",\"term\":%" PRIu64 ",\"stamp\":%" PRId64 ",\"proposals\":%" PRIu32,
               index, header.origin, header.session, header.term, stamp_ms, header.count);
    if (is_replayed) {
        json_print(out, ",\"hash\":\"%016" PRIx64 "\"", state_totals(replay->state)->hash);
    }
    return true;
}

bool replay_entry(struct replay *replay,
                  const struct log_reader_entry *entry,
                  bool is_replayed,
                  uint64_t index,
                  struct buf *out,
                  uint64_t *lines,
                  char *message,
                  size_t message_len)
{
    bool is_command = entry->kind == LOG_READER_COMMAND;
    replay->raft_index = entry->index;
    replay->term = entry->term;
    print_head(entry, is_replayed, out);
    if (is_command &&
        !run_command(replay, entry, is_replayed, index, out, lines, message, message_len)) {
        return false;
    }
    json_print(out, "}\n");
    ++*lines;
    if (is_command) {
        buf_append(out, replay->lines.data, replay->lines.len);
    }
    return true;
}
