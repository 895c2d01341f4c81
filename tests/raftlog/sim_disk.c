/* The in-memory raft_io: a disk that completes in order, tears at a crash and fails on purpose, and
 * a network that the faults cut, delay, lose and double. */
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "sim_parts.h"

static int io_init(struct raft_io *io, raft_id id, const char *address)
{
    (void)io;
    (void)id;
    (void)address;
    return 0;
}

static void io_close(struct raft_io *io, raft_io_close_cb cb)
{
    cb(io);
}

static int io_load(struct raft_io *io,
                   raft_term *term,
                   raft_id *vote,
                   struct raft_snapshot **snapshot,
                   raft_index *first,
                   struct raft_entry *entries[],
                   size_t *n)
{
    const struct sim_node *node = io->impl;
    *term = node->term;
    *vote = node->vote;
    *snapshot = node->snapshot == NULL ? NULL : sim_copy_snapshot(node->snapshot);
    *first = node->log_first;
    *entries = sim_copy_to_raft(node->log, node->log_count);
    *n = node->log_count;
    return 0;
}

static int io_start(struct raft_io *io, unsigned ms, raft_io_tick_cb tick, raft_io_recv_cb recv)
{
    struct sim_node *node = io->impl;
    node->tick_ms = ms;
    node->tick = tick;
    node->recv = recv;
    sim_at(sim_now + ms * SIM_MS, SIM_EVENT_TICK, node, NULL, 0);
    return 0;
}

static int io_bootstrap(struct raft_io *io, const struct raft_configuration *configuration)
{
    struct sim_node *node = io->impl;
    if (node->term != 0 || node->log_count != 0) {
        return RAFT_CANTBOOTSTRAP;
    }
    struct raft_buffer bytes;
    ensure(raft_configuration_encode(configuration, &bytes) == 0);
    node->term = 1;
    node->log =
        sim_copy_from_raft(&(struct raft_entry){.term = 1, .type = RAFT_CHANGE, .buf = bytes}, 1);
    node->log_count = 1;
    node->log_first = 1;
    node->may_vote = true;
    raft_free(bytes.base);
    return 0;
}

static int io_recover(struct raft_io *io, const struct raft_configuration *configuration)
{
    (void)io;
    (void)configuration;
    return RAFT_INVALID;
}

static bool has_disk_error(struct sim_node *node)
{
    bool is_error = !sim.is_calm && (sim.setting.faults & SIM_DISK) != 0 &&
                    sim_chance(sim.setting.hostile != 0 ? 1500 : 200);
    node->disk_errors += is_error;
    return is_error;
}

static int io_set_term(struct raft_io *io, raft_term term)
{
    struct sim_node *node = io->impl;
    if (has_disk_error(node)) {
        return RAFT_IOERR;
    }
    node->term = term;
    node->vote = 0;
    return 0;
}

static int io_set_vote(struct raft_io *io, raft_id vote)
{
    struct sim_node *node = io->impl;
    if (has_disk_error(node)) {
        return RAFT_IOERR;
    }
    node->vote = vote;
    return 0;
}

static struct sim_message *copy_message(const struct sim_node *from,
                                        const struct raft_message *message,
                                        const struct sim_node *to)
{
    struct sim_message *copy = calloc(1, sizeof *copy);
    ensure(copy != NULL);
    *copy = (struct sim_message){.raft = *message, .from = from->id, .to_epoch = to->epoch};
    memcpy(copy->address, from->address, sizeof copy->address);
    if (message->type == RAFT_IO_APPEND_ENTRIES) {
        copy->n = message->append_entries.n_entries;
        copy->entries = sim_copy_from_raft(message->append_entries.entries, copy->n);
    } else if (message->type == RAFT_IO_INSTALL_SNAPSHOT) {
        struct raft_buffer data = message->install_snapshot.data;
        copy->snapshot = sim_copy_snapshot(&(struct raft_snapshot){
            .configuration = message->install_snapshot.conf, .bufs = &data, .n_bufs = 1});
    }
    return copy;
}

static uint64_t delivery_time(const struct sim_node *from, const struct sim_node *to)
{
    uint64_t time = sim_now + 200 + sim_below(sim.latency);
    if (from->is_slow || to->is_slow) {
        time += sim_below(300 * SIM_MS);
    }
    uint64_t *last = &sim.last_delivery[from->i][to->i];
    if (sim.is_fifo && time <= *last) {
        time = *last + 1;
    }
    *last = time;
    return time;
}

static int io_send(struct raft_io *io,
                   struct raft_io_send *request,
                   const struct raft_message *message,
                   raft_io_send_cb cb)
{
    struct sim_node *node = io->impl;
    request->cb = cb;
    sim_call_at(sim_now + 50, SIM_EVENT_SENT, node, request, (union sim_callback){.send = cb});
    sim.stats->messages++;
    if (message->server_id == 0 || message->server_id > sim.n) {
        return 0; /* the real one would crash here (G7) */
    }
    struct sim_node *to = sim.nodes[message->server_id - 1];
    for (int copies = 1 + (!sim.is_calm && sim_chance(sim.duplicate)); copies > 0; copies--) {
        if (!sim.is_calm && sim_chance(sim.loss)) {
            continue;
        }
        struct sim_message *copy = copy_message(node, message, to);
        sim_at(delivery_time(node, to), SIM_EVENT_DELIVER, to, copy, node->i);
    }
    return 0;
}

static void enqueue(struct sim_node *node, struct sim_operation operation)
{
    struct sim_operation *copy = malloc(sizeof *copy);
    ensure(copy != NULL);
    *copy = operation;
    uint64_t time = sim_now + 100 + sim_below(sim.disk_latency);
    if (node->is_slow) {
        time += sim_below(500 * SIM_MS);
    }
    if (time <= node->disk_free_at) {
        time = node->disk_free_at + 1;
    }
    node->disk_free_at = time;
    *node->operations_tail = copy;
    node->operations_tail = &copy->next;
    sim_at(time, SIM_EVENT_DISK, node, NULL, 0);
}

static int io_append(struct raft_io *io,
                     struct raft_io_append *request,
                     const struct raft_entry entries[],
                     unsigned n,
                     raft_io_append_cb cb)
{
    struct sim_node *node = io->impl;
    if (has_disk_error(node)) {
        return RAFT_NOSPACE;
    }
    int status = has_disk_error(node) ? RAFT_NOSPACE : 0;
    enqueue(node, (struct sim_operation){.kind = SIM_APPEND,
                                         .append = request,
                                         .append_cb = cb,
                                         .entries = sim_copy_from_raft(entries, n),
                                         .n = n,
                                         .status = status});
    return 0;
}

static int io_truncate(struct raft_io *io, raft_index index)
{
    struct sim_node *node = io->impl;
    if (node->puts != 0) { /* the real one forgets the barrier of one of the two (L3) */
        node->is_poisoned = true;
    }
    bool is_lost =
        !sim.is_calm && (sim.setting.faults & SIM_TRUNCATE_LOST) != 0 && sim_chance(100000);
    enqueue(node, (struct sim_operation){
                      .kind = SIM_TRUNCATE, .index = index, .status = is_lost ? RAFT_IOERR : 0});
    return 0;
}

static int io_snapshot_put(struct raft_io *io,
                           unsigned trailing,
                           struct raft_io_snapshot_put *request,
                           const struct raft_snapshot *snapshot,
                           raft_io_snapshot_put_cb cb)
{
    struct sim_node *node = io->impl;
    node->puts++;
    sim.stats->installs += trailing == 0;
    int status = has_disk_error(node) ? RAFT_NOSPACE : 0;
    enqueue(node, (struct sim_operation){.kind = SIM_SNAPSHOT,
                                         .put = request,
                                         .put_cb = cb,
                                         .snapshot = sim_copy_snapshot(snapshot),
                                         .trailing = trailing,
                                         .status = status});
    return 0;
}

static int io_snapshot_get(struct raft_io *io,
                           struct raft_io_snapshot_get *request,
                           raft_io_snapshot_get_cb cb)
{
    request->cb = cb;
    sim_call_at(sim_now + 100 + sim_below(sim.disk_latency), SIM_EVENT_SNAPSHOT_GET, io->impl,
                request, (union sim_callback){.snapshot_get = cb});
    return 0;
}

static raft_time io_time(struct raft_io *io)
{
    const struct sim_node *node = io->impl;
    return (raft_time)((double)sim_now * node->clock_rate / SIM_MS);
}

static int io_random(struct raft_io *io, int min, int max)
{
    (void)io;
    return min + (int)sim_below((uint64_t)(max - min));
}

static int io_async_work(struct raft_io *io,
                         struct raft_io_async_work *request,
                         raft_io_async_work_cb cb)
{
    sim_call_at(sim_now + SIM_MS, SIM_EVENT_WORK, io->impl, request,
                (union sim_callback){.work = cb});
    return 0;
}

void sim_io_init(struct sim_node *node)
{
    node->io = (struct raft_io){.version = 2,
                                .impl = node,
                                .init = io_init,
                                .close = io_close,
                                .load = io_load,
                                .start = io_start,
                                .bootstrap = io_bootstrap,
                                .recover = io_recover,
                                .set_term = io_set_term,
                                .set_vote = io_set_vote,
                                .send = io_send,
                                .append = io_append,
                                .truncate = io_truncate,
                                .snapshot_put = io_snapshot_put,
                                .snapshot_get = io_snapshot_get,
                                .time = io_time,
                                .random = io_random,
                                .async_work = io_async_work};
}

/* The platter. */

static void write_entries(struct sim_node *node, const struct sim_operation *operation, unsigned n)
{
    node->log = realloc(node->log, (node->log_count + n + 1) * sizeof *node->log);
    ensure(node->log != NULL);
    memcpy(node->log + node->log_count, operation->entries, n * sizeof *node->log);
    node->log_count += n;
}

static void write_truncation(struct sim_node *node, raft_index index)
{
    size_t keep = index < node->log_first ? 0 : (size_t)(index - node->log_first);
    if (keep < node->log_count) {
        node->log_count = keep;
    }
}

static void write_snapshot(struct sim_node *node, const struct sim_operation *operation)
{
    node->snapshot = operation->snapshot;
    raft_index index = operation->snapshot->index;
    raft_index keep_from = index > operation->trailing ? index - operation->trailing + 1 : 1;
    if (operation->trailing == 0) { /* an installed one replaces everything */
        node->log_count = 0;
        node->log_first = index + 1;
    } else if (keep_from > node->log_first) {
        size_t drop = (size_t)(keep_from - node->log_first);
        drop = drop < node->log_count ? drop : node->log_count;
        memmove(node->log, node->log + drop, (node->log_count - drop) * sizeof *node->log);
        node->log_count -= drop;
        node->log_first = keep_from;
    }
}

/* [entries]: how many of an append. */
static void reach_platter(struct sim_node *node,
                          const struct sim_operation *operation,
                          unsigned entries)
{
    switch (operation->kind) {
        case SIM_APPEND:
            write_entries(node, operation, entries);
            break;
        case SIM_TRUNCATE:
            write_truncation(node, operation->index);
            break;
        case SIM_SNAPSHOT:
            write_snapshot(node, operation);
            break;
    }
}

int sim_disk_truncated(const struct sim_node *node, raft_index index)
{
    return node->operations == NULL && node->log_first + node->log_count <= index;
}

void sim_disk_done(struct sim_node *node)
{
    struct sim_operation *operation = node->operations;
    node->operations = operation->next;
    if (node->operations == NULL) {
        node->operations_tail = &node->operations;
    }
    if (operation->kind == SIM_SNAPSHOT) {
        node->puts--;
    }
    if (operation->status == 0) {
        reach_platter(node, operation, operation->n);
    }
    node->has_failed_write = operation->status != 0 && operation->kind != SIM_TRUNCATE;
    if (operation->kind == SIM_APPEND) {
        operation->append_cb(operation->append, operation->status);
    } else if (operation->kind == SIM_SNAPSHOT) {
        operation->put_cb(operation->put, operation->status);
    }
}

void sim_disk_crash(struct sim_node *node)
{
    struct sim_operation *operation = node->operations;
    for (; operation != NULL && !node->has_failed_write; operation = operation->next) {
        if (operation->status != 0) {
            break; /* nothing behind a failed write */
        }
        unsigned n = 0;
        bool is_torn = false;
        if (operation->kind == SIM_APPEND) {
            n = (unsigned)sim_below(operation->n + 1);
            is_torn = n < operation->n;
        } else {
            is_torn = sim_chance(500000);
        }
        if (is_torn) {
            if (n > 0) {
                reach_platter(node, operation, n);
            }
            break;
        }
        reach_platter(node, operation, operation->n);
    }
    node->operations = NULL;
}
