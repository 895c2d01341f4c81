/* A process with a raftlog and the simplest of state machines: the list of the 8-byte ids at the
 * start of all committed proposals, in order. Tests run several of them, kill them, and compare.
 *
 *   raftlog_node id=1 dir=D nodes=1@127.0.0.1:22001,2@127.0.0.1:22002 [name=value ...]
 *
 *   load=N size=B      keep N proposals of B bytes outstanding while leading
 *   acks=1             print "ack ID" for each own proposal that was applied
 *   threshold=B trailing=B free_min=B election=MS heartbeat=MS secret=TEXT cluster=TEXT bind=HOST
 *   diverge_at=N       spoil the state at the N-th id (tests the divergence alarm)
 *
 * Commands on stdin: "status", "dump FILE" (ids, one a line), "load N SIZE", "transfer MS",
 * "propose ID", "quit". Answers and events on stdout, log lines on stderr, each with the wall
 * clock in milliseconds first. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "raftlog/raftlog.h"
#include "rpc/ensure.h"

enum { PEERS_MAX = 8, LINE_BYTES_MAX = 512, PROPOSAL_BYTES_MAX = 1 << 20 };

struct state {
    uint64_t *ids;
    size_t count;
    size_t cap;
    uint64_t hash;
};

struct node {
    struct raftlog *log;
    struct raftlog_options options;
    struct raftlog_peer peers[PEERS_MAX];
    struct state state;
    uint64_t next_id;
    uint64_t outstanding;
    uint64_t load;
    size_t size;
    uint64_t diverge_at;
    bool prints_acks;
    bool is_elected;
    uint64_t own_applied;
    uint8_t payload[PROPOSAL_BYTES_MAX];
    uv_pipe_t input;
    char line[LINE_BYTES_MAX];
    size_t line_len;
    char chunk[LINE_BYTES_MAX];
};

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%" PRId64 " ", wall_ms());
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

/* The state machine. */

static void add_id(struct state *state, uint64_t id)
{
    if (state->count == state->cap) {
        state->cap = state->cap == 0 ? 1024 : state->cap * 2;
        state->ids = realloc(state->ids, state->cap * sizeof *state->ids);
        ensure(state->ids != NULL);
    }
    state->ids[state->count++] = id;
    state->hash = (state->hash ^ id) * 0x9e3779b97f4a7c15U + 1;
}

static void propose(struct node *node, uint64_t id)
{
    memcpy(node->payload, &id, sizeof id);
    if (raftlog_propose(node->log, id, span_of(node->payload, node->size)) == RAFTLOG_OK) {
        node->outstanding++;
    }
}

static void fill(struct node *node)
{
    while (node->is_elected && node->outstanding < node->load) {
        uint64_t before = node->outstanding;
        propose(node, node->next_id++);
        if (node->outstanding == before) {
            return;
        }
    }
}

static void on_apply(void *ctx, const struct raftlog_entry *entry)
{
    struct node *node = ctx;
    uint64_t id = 0;
    if (entry->data.len >= sizeof id) {
        memcpy(&id, entry->data.data, sizeof id);
        add_id(&node->state, id);
        if (node->diverge_at != 0 && node->state.count == node->diverge_at) {
            node->state.hash++;
        }
    }
    if (entry->own) {
        node->own_applied++;
        node->outstanding--;
        if (node->prints_acks) {
            say("ack %" PRIu64, entry->number);
        }
    }
}

static void on_batch_end(void *ctx, uint64_t index)
{
    (void)index;
    fill(ctx);
}

static void on_winning(void *ctx, uint64_t term)
{
    struct node *node = ctx;
    node->is_elected = false;
    say("winning term=%" PRIu64, term);
}

static void on_elected(void *ctx, uint64_t term)
{
    struct node *node = ctx;
    node->is_elected = true;
    node->outstanding = 0;
    say("elected term=%" PRIu64, term);
    fill(node);
}

static void on_deposed(void *ctx)
{
    struct node *node = ctx;
    node->is_elected = false;
    say("deposed");
}

static void on_leader(void *ctx, uint64_t node_id)
{
    (void)ctx;
    say("leader node=%" PRIu64, node_id);
}

static void on_peer_card(void *ctx, uint64_t node_id, struct span card)
{
    (void)ctx;
    say("card node=%" PRIu64 " '%.*s'", node_id, (int)card.len, (const char *)card.data);
}

static void *on_freeze(void *ctx)
{
    struct node *node = ctx;
    struct state *copy = malloc(sizeof *copy);
    ensure(copy != NULL);
    *copy = node->state;
    copy->ids = malloc((copy->count + 1) * sizeof *copy->ids);
    ensure(copy->ids != NULL);
    memcpy(copy->ids, node->state.ids, copy->count * sizeof *copy->ids);
    return copy;
}

static void on_encode(void *frozen, struct buf *out)
{
    const struct state *state = frozen;
    buf_put_be64(out, state->hash);
    buf_append(out, state->ids, state->count * sizeof *state->ids);
}

static void on_release(void *ctx, void *frozen)
{
    (void)ctx;
    struct state *state = frozen;
    free(state->ids);
    free(state);
}

static int on_restore(void *ctx, struct span snapshot)
{
    struct node *node = ctx;
    if (snapshot.len % 8 != 0 || snapshot.len == 0) {
        return -1;
    }
    node->state.count = 0;
    node->state.hash = 0;
    for (size_t at = 8; at < snapshot.len; at += 8) {
        uint64_t id = 0;
        memcpy(&id, snapshot.data + at, sizeof id);
        add_id(&node->state, id);
    }
    node->state.hash = 0;
    for (size_t i = 0; i < 8; i++) {
        node->state.hash = node->state.hash << 8 | snapshot.data[i];
    }
    return 0;
}

static uint64_t on_state_hash(void *ctx)
{
    const struct node *node = ctx;
    return node->state.hash;
}

static void on_log(void *ctx, enum raftlog_level level, const char *line)
{
    (void)ctx;
    fprintf(stderr, "%" PRId64 " %c %s\n", wall_ms(), "DIWE"[level], line);
}

static void on_fatal(void *ctx, const char *message)
{
    on_log(ctx, RAFTLOG_ERROR, message);
    _exit(70);
}

static const struct raftlog_events events = {
    .apply = on_apply,
    .batch_end = on_batch_end,
    .winning = on_winning,
    .elected = on_elected,
    .deposed = on_deposed,
    .leader = on_leader,
    .peer_card = on_peer_card,
    .freeze = on_freeze,
    .encode = on_encode,
    .release = on_release,
    .restore = on_restore,
    .state_hash = on_state_hash,
    .log = on_log,
    .fatal = on_fatal,
};

/* Commands. */

static void on_transferred(void *ctx, bool transferred)
{
    (void)ctx;
    say("transferred %d", transferred);
}

static void on_closed(void *ctx)
{
    struct node *node = ctx;
    uv_close((uv_handle_t *)&node->input, NULL);
}

static void status(struct node *node)
{
    struct raftlog_stats stats;
    raftlog_stats(node->log, &stats);
    say("status term=%" PRIu64 " leader=%" PRIu64 " index=%" PRIu64 " count=%zu hash=%" PRIx64
        " own=%" PRIu64 " batches=%" PRIu64 " taken=%" PRIu64 " installed=%" PRIu64
        " rejoining=%d log_bytes=%" PRIu64 " refused=%" PRIu64 " trusted=%d stamp=%" PRId64
        " elected=%d",
        stats.term, stats.leader_id, stats.applied_index, node->state.count, node->state.hash,
        node->own_applied, stats.batches_submitted, stats.snapshots_taken,
        stats.snapshots_installed, stats.rejoining, stats.log_bytes, stats.peers_refused,
        raftlog_clock_is_trusted(node->log), raftlog_stamp_ms(node->log), node->is_elected);
}

static void dump(const struct node *node, const char *path)
{
    FILE *file = fopen(path, "w");
    ensure(file != NULL);
    for (size_t i = 0; i < node->state.count; i++) {
        fprintf(file, "%" PRIu64 "\n", node->state.ids[i]);
    }
    fclose(file);
    say("dumped %zu", node->state.count);
}

static void command(struct node *node, const char *line)
{
    char path[LINE_BYTES_MAX];
    uint64_t number = 0;
    unsigned timeout_ms = 0;
    size_t size = 0;
    if (strcmp(line, "status") == 0) {
        status(node);
    } else if (sscanf(line, "dump %511s", path) == 1) {
        dump(node, path);
    } else if (sscanf(line, "load %" SCNu64 " %zu", &number, &size) == 2 &&
               size <= PROPOSAL_BYTES_MAX) {
        node->load = number;
        node->size = size;
        fill(node);
    } else if (sscanf(line, "transfer %u", &timeout_ms) == 1) {
        raftlog_transfer(node->log, timeout_ms, on_transferred, node);
    } else if (sscanf(line, "propose %" SCNu64, &number) == 1) {
        memcpy(node->payload, &number, sizeof number);
        enum raftlog_error error =
            raftlog_propose(node->log, number, span_of(node->payload, node->size));
        node->outstanding += error == RAFTLOG_OK;
        say("proposed %d", (int)error);
    } else if (strcmp(line, "quit") == 0) {
        raftlog_close(node->log, on_closed);
    } else {
        say("unknown command");
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct node *node = handle->data;
    *buf = uv_buf_init(node->chunk, sizeof node->chunk);
}

static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct node *node = stream->data;
    if (n < 0) {
        _exit(0);
    }
    for (ssize_t i = 0; i < n; i++) {
        char c = buf->base[i];
        if (c == '\n') {
            node->line[node->line_len] = '\0';
            node->line_len = 0;
            command(node, node->line);
        } else if (node->line_len + 1 < sizeof node->line) {
            node->line[node->line_len++] = c;
        }
    }
}

/* Arguments. */

static void parse_nodes(struct node *node, char *text)
{
    for (char *item = text; item != NULL;) {
        char *comma = strchr(item, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        ensure(node->options.peers_count < PEERS_MAX);
        struct raftlog_peer *peer = &node->peers[node->options.peers_count++];
        char *at = strchr(item, '@');
        char *colon = strrchr(item, ':');
        ensure(at != NULL && colon != NULL);
        *at = '\0';
        *colon = '\0';
        peer->id = strtoull(item, NULL, 10);
        peer->host = at + 1;
        peer->port = (uint16_t)strtoul(colon + 1, NULL, 10);
        item = comma;
    }
}

static void parse(struct node *node, char *argument)
{
    char *value = strchr(argument, '=');
    ensure(value != NULL);
    *value++ = '\0';
    uint64_t number = strtoull(value, NULL, 10);
    struct raftlog_options *options = &node->options;
    if (strcmp(argument, "id") == 0) {
        options->node_id = number;
    } else if (strcmp(argument, "dir") == 0) {
        options->dir = value;
    } else if (strcmp(argument, "nodes") == 0) {
        parse_nodes(node, value);
    } else if (strcmp(argument, "bind") == 0) {
        options->bind_host = value;
    } else if (strcmp(argument, "load") == 0) {
        node->load = number;
    } else if (strcmp(argument, "size") == 0) {
        ensure(number >= 8 && number <= PROPOSAL_BYTES_MAX);
        node->size = number;
    } else if (strcmp(argument, "acks") == 0) {
        node->prints_acks = number != 0;
    } else if (strcmp(argument, "threshold") == 0) {
        options->snapshot_threshold_bytes = number;
    } else if (strcmp(argument, "trailing") == 0) {
        options->snapshot_trailing_bytes = number;
    } else if (strcmp(argument, "free_min") == 0) {
        options->free_bytes_min = number;
    } else if (strcmp(argument, "election") == 0) {
        options->election_timeout_ms = (unsigned)number;
    } else if (strcmp(argument, "heartbeat") == 0) {
        options->heartbeat_ms = (unsigned)number;
    } else if (strcmp(argument, "secret") == 0) {
        options->secret = span_from_cstr(value);
    } else if (strcmp(argument, "cluster") == 0) {
        options->cluster_id = value;
    } else if (strcmp(argument, "diverge_at") == 0) {
        node->diverge_at = number;
    } else {
        fprintf(stderr, "unknown argument %s\n", argument);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct node *node = calloc(1, sizeof *node);
    ensure(node != NULL);
    uv_loop_t *loop = uv_default_loop();
    node->size = 16;
    node->options = (struct raftlog_options){.loop = loop,
                                             .cluster_id = "test",
                                             .peers = node->peers,
                                             .secret = SPAN_LITERAL("a secret of the test"),
                                             .card = SPAN_LITERAL("card"),
                                             .election_timeout_ms = 300,
                                             .heartbeat_ms = 50,
                                             .proposal_bytes_max = PROPOSAL_BYTES_MAX,
                                             .batch_bytes_max = 256 << 10,
                                             .queue_bytes_max = 64 << 20,
                                             .snapshot_threshold_bytes = 64 << 20,
                                             .snapshot_trailing_bytes = 16 << 20,
                                             .free_bytes_min = 1 << 20};
    for (int i = 1; i < argc; i++) {
        parse(node, argv[i]);
    }
    node->next_id = (uint64_t)getpid() << 40 | node->options.node_id << 36;
    setvbuf(stderr, NULL, _IOLBF, 4096);
    char message[512];
    if (raftlog_open(&node->log, &node->options, &events, node, message, sizeof message) !=
        RAFTLOG_OK) {
        fprintf(stderr, "cannot open: %s\n", message);
        return 69;
    }
    ensure(uv_pipe_init(loop, &node->input, 0) == 0);
    ensure(uv_pipe_open(&node->input, 0) == 0);
    node->input.data = node;
    ensure(uv_read_start((uv_stream_t *)&node->input, on_alloc, on_input) == 0);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    free(node->state.ids);
    free(node);
    return 0;
}
