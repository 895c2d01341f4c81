/* logdump DIR [--facts]: the data directory of a node that does not run, as JSON lines (README.md).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jepsen/logdump/copy.h"
#include "jepsen/logdump/facts.h"
#include "jepsen/logdump/json.h"
#include "jepsen/logdump/replay.h"
#include "raftlog/log_reader.h"
#include "raftlog/log_snapshot.h"

enum { MESSAGE_LEN = 2048, LINE_LEN = 512, FLUSH_BYTES = 1 << 20 };

struct dump {
    const char *dir;
    bool with_facts;
    char node[LINE_LEN];
    char cluster[LINE_LEN];
    char voter[LINE_LEN];
    struct log_reader log;
    struct state *state;
    struct replay replay;
    struct buf out;
    uint64_t lines;
    char message[MESSAGE_LEN];
};

static void flush(struct dump *dump, size_t least)
{
    if (dump->out.len >= least && dump->out.len > 0) {
        fwrite(dump->out.data, 1, dump->out.len, stdout);
        dump->out.len = 0;
    }
}

/* ---- Who it was ---- */

/* The rest of the line that begins with [key], in a small text file of the data directory. */
static bool read_line(struct dump *dump, const char *name, const char *key, char value[LINE_LEN])
{
    char path[COPY_PATH_MAX + 64];
    snprintf(path, sizeof path, "%.*s/%s", COPY_PATH_MAX, dump->dir, name);
    FILE *file = fopen(path, "re");
    bool is_found = false;
    while (file != NULL && !is_found && fgets(value, LINE_LEN, file) != NULL) {
        value[strcspn(value, "\n")] = '\0';
        is_found = strncmp(value, key, strlen(key)) == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (is_found) {
        memmove(value, value + strlen(key), strlen(value + strlen(key)) + 1);
    }
    return is_found;
}

static bool read_identity(struct dump *dump)
{
    if (!read_line(dump, "format", "cluster.id=", dump->cluster) ||
        !read_line(dump, "format", "node.id=", dump->node)) {
        snprintf(dump->message, MESSAGE_LEN,
                 "%s is no node's data directory: it has no file \"format\" that names a cluster "
                 "and a node",
                 dump->dir);
        return false;
    }
    if (!read_line(dump, "raft/voter", "", dump->voter)) {
        snprintf(dump->voter, LINE_LEN, "none");
    }
    return true;
}

static void print_node(struct dump *dump)
{
    const struct log_reader *log = &dump->log;
    json_print(&dump->out, "{\"kind\":\"node\",\"node\":%" PRIu64 ",\"cluster\":",
               (uint64_t)strtoull(dump->node, NULL, 10));
    json_string(&dump->out, span_from_cstr(dump->cluster));
    json_print(&dump->out, ",\"voter\":");
    json_string(&dump->out, span_from_cstr(dump->voter));
    json_print(&dump->out,
               ",\"term\":%" PRIu64 ",\"vote\":%" PRIu64 ",\"health\":\"%s\",\"file\":", log->term,
               log->vote, log->has_lost_end ? "lost-end" : "sound");
    json_string(&dump->out, span_from_cstr(log->has_lost_end ? log->file : NULL));
    json_print(&dump->out, ",\"first\":%" PRIu64 ",\"last\":%" PRIu64 "}\n", log->first,
               log->first + log->count - 1);
    dump->lines++;
}

/* ---- The snapshot ---- */

static bool restore(struct dump *dump)
{
    const struct log_reader *log = &dump->log;
    struct log_snapshot_header header;
    struct buf bytes = BUF_EMPTY;
    const char *why = NULL;
    if (!log_snapshot_decode(log->snapshot, &header, &bytes)) {
        why = "it is damaged or of a newer release";
    } else if (state_restore(dump->state, buf_span(&bytes)) != 0) {
        why = "its content is not a state";
    } else if (state_totals(dump->state)->hash != header.state_hash) {
        why = "the restored state has another hash than the one that was saved";
    }
    if (why != NULL) {
        snprintf(dump->message, MESSAGE_LEN, "%s: the snapshot at %" PRIu64 " is not readable: %s",
                 dump->dir, log->snapshot_index, why);
    } else {
        dump->replay.index = header.index;
        dump->replay.stamp_ms = header.stamp_ms;
        dump->replay.raft_index = log->snapshot_index;
        dump->replay.term = log->snapshot_term;
        json_print(&dump->out,
                   "{\"kind\":\"snapshot\",\"raft_index\":%" PRIu64 ",\"raft_term\":%" PRIu64
                   ",\"index\":%" PRIu64 ",\"stamp\":%" PRId64 ",\"hash\":\"%016" PRIx64 "\"}\n",
                   log->snapshot_index, log->snapshot_term, header.index, header.stamp_ms,
                   header.state_hash);
        dump->lines++;
        facts_print(&dump->out, buf_span(&bytes), dump->state, header.index, &dump->lines);
    }
    buf_close(&bytes);
    return why == NULL;
}

/* ---- The log ---- */

/* Of the first entry that counts, backwards from the snapshot's. */
static uint64_t first_covered_index(const struct dump *dump)
{
    uint64_t index = dump->replay.index + 1;
    for (size_t i = 0; i < dump->log.count; i++) {
        struct log_reader_entry entry = log_reader_entry(&dump->log, i);
        bool is_covered = dump->log.has_snapshot && entry.index <= dump->log.snapshot_index;
        index -= is_covered && entry.kind == LOG_READER_COMMAND;
    }
    return index;
}

static bool print_entries(struct dump *dump)
{
    uint64_t index = first_covered_index(dump);
    char why[MESSAGE_LEN / 2];
    for (size_t i = 0; i < dump->log.count; i++) {
        struct log_reader_entry entry = log_reader_entry(&dump->log, i);
        bool is_covered = dump->log.has_snapshot && entry.index <= dump->log.snapshot_index;
        if (!replay_entry(&dump->replay, &entry, !is_covered, index, &dump->out, &dump->lines, why,
                          sizeof why)) {
            snprintf(dump->message, MESSAGE_LEN, "%s: %s", dump->dir, why);
            return false;
        }
        index += is_covered && entry.kind == LOG_READER_COMMAND;
        flush(dump, FLUSH_BYTES);
    }
    return true;
}

static void print_facts(struct dump *dump)
{
    struct buf bytes = BUF_EMPTY;
    void *frozen = state_freeze(dump->state);
    state_encode(frozen, &bytes);
    state_release(dump->state, frozen);
    facts_print(&dump->out, buf_span(&bytes), dump->state, dump->replay.index, &dump->lines);
    buf_close(&bytes);
}

static void print_end(struct dump *dump)
{
    const struct state_totals *totals = state_totals(dump->state);
    json_print(&dump->out,
               "{\"kind\":\"end\",\"raft_index\":%" PRIu64 ",\"raft_term\":%" PRIu64
               ",\"index\":%" PRIu64 ",\"hash\":\"%016" PRIx64 "\",\"groups\":%" PRIu64
               ",\"members\":%" PRIu64 ",\"offsets\":%" PRIu64 ",\"topics\":%" PRIu64
               ",\"lines\":%" PRIu64 "}\n",
               dump->replay.raft_index, dump->replay.term, dump->replay.index, totals->hash,
               totals->groups, totals->members, totals->offsets, totals->topics, dump->lines);
}

static bool print_log(struct dump *dump)
{
    dump->state = state_new();
    replay_init(&dump->replay, dump->state);
    print_node(dump);
    bool is_good = (!dump->log.has_snapshot || restore(dump)) && print_entries(dump);
    if (is_good && dump->with_facts) {
        print_facts(dump);
    }
    if (is_good) {
        print_end(dump);
    }
    flush(dump, 0);
    replay_close(&dump->replay);
    state_free(dump->state);
    return is_good;
}

static bool run(struct dump *dump)
{
    char files[COPY_PATH_MAX + 64];
    char copy[COPY_PATH_MAX];
    char why[MESSAGE_LEN / 2];
    snprintf(files, sizeof files, "%.*s/raft/raft", COPY_PATH_MAX, dump->dir);
    if (!read_identity(dump) || !copy_make(files, copy, dump->message, MESSAGE_LEN)) {
        return false;
    }
    bool is_open = log_reader_open(&dump->log, copy, why, sizeof why);
    copy_remove(copy);
    if (!is_open) {
        snprintf(dump->message, MESSAGE_LEN, "%s: %s", dump->dir, why);
        return false;
    }
    bool is_good = print_log(dump);
    log_reader_close(&dump->log);
    return is_good;
}

int main(int argc, char **argv)
{
    static struct dump dump;
    dump.with_facts = argc == 3 && strcmp(argv[2], "--facts") == 0;
    if (argc != 2 + dump.with_facts || argv[1][0] == '-') {
        fprintf(stderr, "usage: logdump DIR [--facts]\n");
        return 2;
    }
    dump.dir = argv[1];
    bool is_good = run(&dump);
    buf_close(&dump.out);
    if (!is_good) {
        fprintf(stderr, "logdump: %s\n", dump.message);
        return 1;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "logdump: cannot write to standard output\n");
        return 1;
    }
    return 0;
}
