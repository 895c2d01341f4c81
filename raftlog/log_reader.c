#include "raftlog/log_reader.h"

#include <raft.h>
#include <raft/uv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raftlog/raft_dir.h"
#include "rpc/ensure.h"

struct log_reader_parts {
    uv_loop_t loop;
    struct raft_uv_transport transport;
    struct raft_io io;
    struct raft_snapshot *snapshot;
    struct raft_entry *entries;
    size_t count;
};

/* The loader insists on a transport; nothing is ever sent. */

static int transport_init(struct raft_uv_transport *transport, raft_id id, const char *address)
{
    (void)transport;
    (void)id;
    (void)address;
    return 0;
}

static void transport_close(struct raft_uv_transport *transport, raft_uv_transport_close_cb cb)
{
    cb(transport);
}

static void on_closed(struct raft_io *io)
{
    raft_uv_close(io);
}

static void free_entries(struct log_reader_parts *parts)
{
    const void *batch = NULL;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->entries[i].batch != batch) {
            batch = parts->entries[i].batch;
            raft_free(parts->entries[i].batch);
        }
    }
    raft_free(parts->entries);
}

static void free_snapshot(struct raft_snapshot *snapshot)
{
    if (snapshot == NULL) {
        return;
    }
    raft_configuration_close(&snapshot->configuration);
    for (unsigned i = 0; i < snapshot->n_bufs; i++) {
        raft_free(snapshot->bufs[i].base);
    }
    raft_free(snapshot->bufs);
    raft_free(snapshot);
}

/* As start_library() in start.c: a second load may succeed where the first did not. */
static int load(struct log_reader *reader)
{
    struct log_reader_parts *parts = reader->parts;
    raft_term term = 0;
    raft_id vote = 0;
    raft_index first = 0;
    int rv = RAFT_CORRUPT;
    for (int i = 0; i < 2 && rv != 0; i++) {
        parts->entries = NULL;
        parts->count = 0;
        parts->snapshot = NULL;
        rv = parts->io.load(&parts->io, &term, &vote, &parts->snapshot, &first, &parts->entries,
                            &parts->count);
    }
    reader->term = term;
    reader->vote = vote;
    reader->first = first;
    reader->count = parts->count;
    return rv;
}

static bool inspect(struct log_reader *reader, const char *dir, char *message, size_t len)
{
    struct raft_dir found;
    int rv = raft_dir_inspect(dir, &found);
    if (rv != 0) {
        snprintf(message, len, "cannot read %s: %s", dir, uv_strerror(rv));
        return false;
    }
    if (found.health == RAFT_DIR_HOLED) {
        snprintf(message, len, "%s/%s is damaged in its middle", dir, found.file);
        return false;
    }
    if (found.term == 0 && found.has_log) {
        snprintf(message, len, "%s holds a log but no term", dir);
        return false;
    }
    reader->has_lost_end = found.health == RAFT_DIR_LOST_END;
    memcpy(reader->file, found.file, sizeof reader->file);
    return true;
}

static bool init_loader(struct log_reader_parts *parts, const char *dir, char *message, size_t len)
{
    ensure(uv_loop_init(&parts->loop) == 0);
    parts->transport = (struct raft_uv_transport){.init = transport_init, .close = transport_close};
    int rv = raft_uv_init(&parts->io, &parts->loop, dir, &parts->transport);
    if (rv != 0) {
        snprintf(message, len, "cannot use %s: %s (%s)", dir, raft_strerror(rv), parts->io.errmsg);
        return false;
    }
    raft_uv_set_auto_recovery(&parts->io, false);
    rv = parts->io.init(&parts->io, 1, "1");
    if (rv != 0) {
        snprintf(message, len, "cannot open %s: %s (%s)", dir, raft_strerror(rv), parts->io.errmsg);
        raft_uv_close(&parts->io);
        return false;
    }
    return true;
}

bool log_reader_open(struct log_reader *reader, const char *dir, char *message, size_t message_len)
{
    *reader = (struct log_reader){.first = 1};
    if (!inspect(reader, dir, message, message_len)) {
        return false;
    }
    struct log_reader_parts *parts = calloc(1, sizeof *parts);
    ensure(parts != NULL);
    if (!init_loader(parts, dir, message, message_len)) {
        ensure(uv_loop_close(&parts->loop) == 0);
        free(parts);
        return false;
    }
    reader->parts = parts;
    int rv = load(reader);
    if (rv != 0) {
        snprintf(message, message_len, "cannot load %s: %s (%s)", dir, raft_strerror(rv),
                 parts->io.errmsg);
        log_reader_close(reader);
        return false;
    }
    if (parts->snapshot != NULL) {
        reader->has_snapshot = true;
        reader->snapshot_index = parts->snapshot->index;
        reader->snapshot_term = parts->snapshot->term;
        reader->snapshot = span_of(parts->snapshot->bufs[0].base, parts->snapshot->bufs[0].len);
    }
    return true;
}

void log_reader_close(struct log_reader *reader)
{
    struct log_reader_parts *parts = reader->parts;
    parts->io.close(&parts->io, on_closed);
    uv_run(&parts->loop, UV_RUN_DEFAULT);
    ensure(uv_loop_close(&parts->loop) == 0);
    free_entries(parts);
    free_snapshot(parts->snapshot);
    free(parts);
    reader->parts = NULL;
}

struct log_reader_entry log_reader_entry(const struct log_reader *reader, size_t at)
{
    ensure(at < reader->count);
    const struct raft_entry *entry = &reader->parts->entries[at];
    enum log_reader_kind kind = entry->type == RAFT_COMMAND   ? LOG_READER_COMMAND
                                : entry->type == RAFT_BARRIER ? LOG_READER_BARRIER
                                                              : LOG_READER_CONFIGURATION;
    return (struct log_reader_entry){.kind = kind,
                                     .index = reader->first + at,
                                     .term = entry->term,
                                     .bytes = span_of(entry->buf.base, entry->buf.len)};
}
