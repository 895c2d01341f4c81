/* Machines and what is done to them. */
#include "tests/sim/world/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "server/config.h"
#include "server/log.h"
#include "server/server.h"
#include "tests/sim/world/parts.h"

enum { WORDS_BYTES = 600, STATUS_USAGE = 78 };

/* 2026-11-30, give or take: some time that is not the beginning of time. */
static const int64_t wall_begin_us = INT64_C(1796000000) * 1000000;

/* It shows [shown_us] at the world's [at_us], and runs on from there. */
struct node_clock {
    int64_t at_us;
    int64_t shown_us;
    int drift; /* millionths */
};

struct machine {
    struct process *process; /* NULL: off */
    bool has_power;
    bool is_stopped, is_frozen, loses_time;
    struct node_clock clock;
    int64_t wall_ahead_us; /* of the monotonic clock */
    int64_t cost_least_us, cost_most_us;
    size_t segment_bytes;
    uint64_t incarnation;
    enum node_end ended;
    int status;
    char words[WORDS_BYTES];
    char *lines; /* of its configuration */
};

static struct {
    struct machine machines[WORLD_NODES_MAX + 1];
    struct node_events events;
    void *ctx;
} nodes;

static struct machine *machine_of(int node)
{
    ensure(node >= 1 && node <= world_nodes());
    return &nodes.machines[node];
}

const char *node_end_text(enum node_end end)
{
    static const char *const texts[NODE_ENDS] = {"never",   "exited", "quit",
                                                 "aborted", "killed", "power lost"};
    return texts[end];
}

void node_listen(const struct node_events *events, void *ctx)
{
    nodes.events = *events;
    nodes.ctx = ctx;
}

/* ---- Clocks ---- */

int64_t node_monotonic_us(int node)
{
    const struct machine *machine = machine_of(node);
    const struct node_clock *clock = &machine->clock;
    if (machine->is_frozen && machine->loses_time) {
        return clock->shown_us;
    }
    int64_t passed_us = world_now_us() - clock->at_us;
    return clock->shown_us + passed_us + passed_us * clock->drift / 1000000;
}

static void set_clock(struct machine *machine, int64_t shown_us)
{
    machine->clock.at_us = world_now_us();
    machine->clock.shown_us = shown_us;
}

int64_t node_wall_us(int node)
{
    return node_monotonic_us(node) + machine_of(node)->wall_ahead_us;
}

int64_t node_monotonic_ms(int node)
{
    return node_monotonic_us(node) / 1000;
}

int64_t node_wall_ms(int node)
{
    return node_wall_us(node) / 1000;
}

int64_t node_when_us(int node, int64_t monotonic_us)
{
    int64_t left_us = monotonic_us - node_monotonic_us(node);
    int drift = machine_of(node)->clock.drift;
    if (left_us <= 0) {
        return world_now_us();
    }
    return world_now_us() + left_us - left_us * drift / (1000000 + drift) + 1;
}

void node_step_wall_clock(int node, int64_t by_ms)
{
    machine_of(node)->wall_ahead_us += by_ms * 1000;
    world_trace(node, "wall clock steps by %lld ms", (long long)by_ms);
}

void node_set_drift(int node, int millionths)
{
    struct machine *machine = machine_of(node);
    set_clock(machine, node_monotonic_us(node));
    machine->clock.drift = millionths;
}

void node_set_turn_cost(int node, int64_t least_us, int64_t most_us)
{
    machine_of(node)->cost_least_us = least_us;
    machine_of(node)->cost_most_us = most_us;
}

void node_set_segment_bytes(int node, size_t bytes)
{
    machine_of(node)->segment_bytes = bytes;
}

/* libraft's: only raftlog may include its headers. */
struct raft_io;
struct raft_uv_transport;
void raft_uv_set_segment_size(struct raft_io *io, size_t size);
int __real_raft_uv_init(struct raft_io *io,
                        struct uv_loop_s *loop,
                        const char *dir,
                        struct raft_uv_transport *transport);
int __wrap_raft_uv_init(struct raft_io *io,
                        struct uv_loop_s *loop,
                        const char *dir,
                        struct raft_uv_transport *transport);
int __wrap_raft_uv_init(struct raft_io *io,
                        struct uv_loop_s *loop,
                        const char *dir,
                        struct raft_uv_transport *transport)
{
    int error = __real_raft_uv_init(io, loop, dir, transport);
    if (error == 0) {
        raft_uv_set_segment_size(io, machine_of(node_current())->segment_bytes);
    }
    return error;
}

int64_t node_turn_cost_us(int node)
{
    const struct machine *machine = machine_of(node);
    return chance_between(world_chance(WORLD_CHANCE_TIMING), machine->cost_least_us,
                          machine->cost_most_us);
}

/* ---- Configuration and the process' main function ---- */

void node_configure(int node, const char *lines)
{
    struct machine *machine = machine_of(node);
    size_t size = strlen(lines) + 1;
    machine->lines = heap_world_realloc(machine->lines, size);
    memcpy(machine->lines, lines, size);
}

static void append_line(struct buf *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append_line(struct buf *text, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    buf_append(text, line, (size_t)len);
}

static void write_config(int node, struct buf *text)
{
    append_line(text, "node.id=%d\ncluster.id=sim\ncluster.nodes=", node);
    for (int id = 1; id <= world_nodes(); id++) {
        append_line(text, "%s%d@n%d:%d", id == 1 ? "" : ",", id, id, NODE_PEER_PORT);
    }
    append_line(text,
                "\npeer.secret.file=/etc/roster/peer.secret\ndata.dir=" DISK_DATA_DIR
                "\nlisteners=PLAINTEXT://:%d\nadvertised.listeners=PLAINTEXT://n%d:%d\n",
                NODE_CLIENT_PORT, node, NODE_CLIENT_PORT);
    const char *lines = machine_of(node)->lines;
    if (lines != NULL) {
        buf_append(text, lines, strlen(lines));
    }
}

static void on_broken_invariant(const char *condition, const char *file, int line, const char *func)
{
    if (process_current() == NULL) {
        world_fail("%s at %s:%d, %s()", condition, file, line, func);
    }
    log_event(LOG_LEVEL_ERROR, "broken_invariant condition=\"%s\" at=%s:%d function=%s", condition,
              file, line, func);
}

/* As main.c does it. */
static void run_process(void *arg)
{
    struct process *process = arg;
    struct config *config = calloc(1, sizeof *config);
    struct server *server = calloc(1, sizeof *server);
    ensure(config != NULL && server != NULL);
    struct buf text = BUF_EMPTY;
    struct buf errors = BUF_EMPTY;
    char message[2048];
    config_init(config);
    write_config(process->node, &text);
    config_load_text(config, buf_span(&text), "roster.properties", &errors);
    if (errors.len == 0) {
        config_check(config, &errors);
    }
    if (errors.len > 0) {
        log_event(LOG_LEVEL_ERROR, "configuration %.*s", (int)errors.len, (char *)errors.data);
        process_quit(NODE_QUIT, STATUS_USAGE);
    }
    buf_close(&text);
    buf_close(&errors);
    log_set_level(config->level);
    process->server = server;
    if (!server_open(server, config, message, sizeof message)) {
        log_event(LOG_LEVEL_ERROR, "cannot_start reason=\"%s\"", message);
        process_quit(NODE_QUIT, EXIT_FAILURE);
    }
    server_run(server);
    log_event(LOG_LEVEL_INFO, "stopped");
    config_close(config);
    process_quit(NODE_EXITED, EXIT_SUCCESS);
}

/* ---- Beginning and end ---- */

bool node_start(int node, void (*run)(void *process))
{
    struct machine *machine = machine_of(node);
    if (machine->process != NULL || machine->is_frozen) {
        return false;
    }
    if (!machine->has_power) { /* the monotonic clock begins anew, the wall clock runs on */
        int64_t wall_us = node_wall_us(node);
        machine->has_power = true;
        set_clock(machine,
                  chance_between(world_chance(WORLD_CHANCE_TIMING), 1, 1000) * WORLD_SECOND);
        machine->wall_ahead_us = wall_us - node_monotonic_us(node);
    }
    machine->is_stopped = false;
    machine->words[0] = '\0';
    struct process *process = process_new(node, ++machine->incarnation);
    machine->process = process;
    world_note(NOTE_BOOT, node, NULL, 0);
    world_trace(node, "boots, incarnation %llu", (unsigned long long)process->incarnation);
    process->loop.task = process_start_task(process, run, process, world_now_us() + 2 * WORLD_MS);
    if (nodes.events.booted != NULL) {
        nodes.events.booted(nodes.ctx, node);
    }
    return true;
}

bool node_boot(int node)
{
    return node_start(node, run_process);
}

void node_process_ended(struct process *process, enum node_end ending, int status)
{
    int node = process->node;
    struct machine *machine = machine_of(node);
    ensure(machine->process == process);
    world_note(NOTE_END, node, &ending, sizeof ending);
    world_trace(node, "ends: %s, status %d", node_end_text(ending), status);
    if (nodes.events.ended != NULL) {
        nodes.events.ended(nodes.ctx, node, ending);
    }
    machine->process = NULL;
    machine->ended = ending;
    machine->status = status;
    machine->is_stopped = false;
    if (ending == NODE_POWER_LOST) {
        machine->has_power = false;
        machine->is_frozen = false;
    }
    process_end(process, machine->has_power);
    if (ending == NODE_POWER_LOST) {
        disk_lose_power(node);
    }
}

bool node_kill(int node)
{
    struct machine *machine = machine_of(node);
    if (machine->process == NULL || machine->is_frozen) {
        return false;
    }
    node_process_ended(machine->process, NODE_KILLED, 0);
    return true;
}

bool node_lose_power(int node)
{
    struct machine *machine = machine_of(node);
    if (!machine->has_power) {
        return false;
    }
    if (machine->process != NULL) {
        node_process_ended(machine->process, NODE_POWER_LOST, 0);
        return true;
    }
    machine->has_power = false;
    machine->is_frozen = false;
    world_trace(node, "the machine loses power");
    disk_lose_power(node);
    return true;
}

bool node_kill_at_step(int node, unsigned steps)
{
    struct process *process = machine_of(node)->process;
    if (process == NULL) {
        return false;
    }
    process->kill_at = steps;
    return true;
}

bool node_lose_power_at_step(int node, unsigned steps)
{
    struct process *process = machine_of(node)->process;
    if (process == NULL) {
        return false;
    }
    process->power_at = steps;
    return true;
}

bool node_signal(int node, int number)
{
    struct machine *machine = machine_of(node);
    if (machine->process == NULL) {
        return false;
    }
    world_trace(node, "signal %d", number);
    loop_raise(machine->process, number);
    return true;
}

/* ---- Stopping ---- */

bool node_is_halted(int node)
{
    const struct machine *machine = machine_of(node);
    return machine->is_stopped || machine->is_frozen;
}

static void go_on(int node)
{
    struct machine *machine = machine_of(node);
    if (machine->process != NULL && !node_is_halted(node)) {
        process_continue(machine->process);
    }
}

bool node_stop(int node)
{
    struct machine *machine = machine_of(node);
    if (machine->process == NULL || machine->is_stopped) {
        return false;
    }
    machine->is_stopped = true;
    world_trace(node, "SIGSTOP");
    return true;
}

void node_halt_self(void)
{
    int node = process_current()->node;
    machine_of(node)->is_stopped = true;
    world_trace(node, "SIGSTOP, in the middle of a turn");
}

bool node_stop_at_step(int node, unsigned steps)
{
    struct machine *machine = machine_of(node);
    if (machine->process == NULL || machine->is_stopped) {
        return false;
    }
    machine->process->stop_at = steps;
    return true;
}

bool node_continue(int node)
{
    struct machine *machine = machine_of(node);
    if (machine->process != NULL) {
        machine->process->stop_at = 0;
    }
    if (machine->process == NULL || !machine->is_stopped) {
        return false;
    }
    machine->is_stopped = false;
    world_trace(node, "SIGCONT");
    go_on(node);
    return true;
}

bool node_freeze(int node, bool loses_time)
{
    struct machine *machine = machine_of(node);
    if (!machine->has_power || machine->is_frozen) {
        return false;
    }
    set_clock(machine, node_monotonic_us(node));
    machine->is_frozen = true;
    machine->loses_time = loses_time;
    world_trace(node, "the machine freezes%s", loses_time ? ", its clocks too" : "");
    return true;
}

bool node_thaw(int node)
{
    struct machine *machine = machine_of(node);
    if (!machine->is_frozen) {
        return false;
    }
    set_clock(machine, node_monotonic_us(node));
    machine->is_frozen = false;
    world_trace(node, "the machine goes on");
    go_on(node);
    return true;
}

/* ---- Questions ---- */

bool node_is_on(int node)
{
    return machine_of(node)->process != NULL;
}

bool node_is_stopped(int node)
{
    return node_is_on(node) && node_is_halted(node);
}

bool node_has_power(int node)
{
    return machine_of(node)->has_power;
}

bool node_is_frozen(int node)
{
    return machine_of(node)->is_frozen;
}

uint64_t node_incarnation(int node)
{
    return machine_of(node)->incarnation;
}

unsigned node_steps(int node)
{
    const struct process *process = machine_of(node)->process;
    return process == NULL ? 0 : process->steps;
}

enum node_end node_ended(int node)
{
    return machine_of(node)->ended;
}

int node_exit_status(int node)
{
    return machine_of(node)->status;
}

const char *node_last_words(int node)
{
    return machine_of(node)->words;
}

const struct server *node_server(int node)
{
    const struct process *process = machine_of(node)->process;
    return process == NULL ? NULL : process->server;
}

struct process *node_process(int node)
{
    return machine_of(node)->process;
}

int node_current(void)
{
    const struct process *process = process_current();
    return process == NULL ? 0 : process->node;
}

size_t node_memory(int node)
{
    const struct process *process = machine_of(node)->process;
    return process == NULL ? 0 : process->heap.bytes;
}

int node_host_of(const char *name)
{
    if (name[0] == 'n' && name[1] >= '1' && name[1] <= '9' && name[2] == '\0') {
        int node = name[1] - '0';
        return node <= world_nodes() ? node : 0;
    }
    return 0;
}

void node_log(struct process *process, const char *line, size_t len)
{
    int node = process->node;
    struct machine *machine = machine_of(node);
    char text[WORDS_BYTES];
    while (len > 0 && line[len - 1] == '\n') {
        len--;
    }
    size_t size = len < sizeof text - 1 ? len : sizeof text - 1;
    memcpy(text, line, size);
    text[size] = '\0';
    /* The time that begins the line is the node's own. */
    world_note(NOTE_LOG, node, line, len);
    world_trace(node, "%s", text);
    if (strstr(text, " ERROR ") != NULL) {
        memcpy(machine->words, text, size + 1);
    }
    if (nodes.events.logged != NULL) {
        struct heap *from = heap_switch(NULL);
        nodes.events.logged(nodes.ctx, node, text);
        heap_switch(from);
    }
}

/* ---- The world ---- */

void machines_open(void)
{
    memset(&nodes, 0, sizeof nodes);
    ensure_set_hook(on_broken_invariant);
    struct chance *chance = world_chance(WORLD_CHANCE_TIMING);
    size_t segment_bytes = chance_in(chance, 250) ? 8 << 20 : 1 << 20;
    for (int node = 1; node <= WORLD_NODES_MAX; node++) {
        struct machine *machine = &nodes.machines[node];
        machine->has_power = true;
        machine->clock.shown_us = chance_between(chance, 1, 100000) * WORLD_SECOND;
        machine->wall_ahead_us =
            wall_begin_us - machine->clock.shown_us + chance_between(chance, -50, 50) * WORLD_MS;
        machine->cost_least_us = 20;
        machine->cost_most_us = 80;
        machine->segment_bytes = segment_bytes;
    }
}

void machines_close(void)
{
    memset(&nodes.events, 0, sizeof nodes.events);
    for (int node = 1; node <= world_nodes(); node++) {
        struct machine *machine = machine_of(node);
        if (machine->process != NULL) {
            node_process_ended(machine->process, NODE_KILLED, 0);
        }
        heap_world_free(machine->lines);
    }
    fiber_close_all();
}
