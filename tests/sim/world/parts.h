/* What the files of the world share. From the outermost to the innermost:
 *
 *   node.c         machines: power, clocks, what the nemesis may do to them
 *   process.c      one incarnation of a rosterd: its fibers, descriptors, memory
 *   loop.c         libuv: loop, timers, check, prepare, signals
 *   stream.c       libuv: TCP and pipes as the process sees them
 *   pool.c         libuv: what its thread pool does
 *   files.c        POSIX file calls and libuv's uv_fs_*
 *   aio.c          the kernel's asynchronous writes, as libraft uses them
 *   system.c       clocks, chance, the end of a process, and the rest of POSIX
 *   disk.c         files, as processes use them; platter.c: what they consist of; disk_damage.c
 *   tcp.c          packets between hosts; endpoint.c, listener.c: their ends; link.c: the ways
 *   network.c      simulated clients' connections */
#ifndef TESTS_SIM_WORLD_PARTS_H
#define TESTS_SIM_WORLD_PARTS_H

#include <uv.h>

#include "tests/sim/world/disk.h"
#include "tests/sim/world/fiber.h"
#include "tests/sim/world/heap.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/node.h"
#include "tests/sim/world/world.h"

#define WORLD_NEVER INT64_MAX

/* Kinds for world_note(). */
enum {
    NOTE_BOOT = 1,
    NOTE_END,
    NOTE_DELIVER,
    NOTE_CONNECT,
    NOTE_BREAK,
    NOTE_DISK,
    NOTE_LOG,
    NOTE_CLIENT_BYTES
};

/* ---- transcript.c ---- */

void transcript_open(bool is_traced);
void transcript_close(void);

/* ---- process.c ---- */

enum descriptor_kind {
    DESCRIPTOR_FREE,
    DESCRIPTOR_FILE,
    DESCRIPTOR_SOCKET,
    DESCRIPTOR_EVENT, /* an eventfd */
    DESCRIPTOR_NULL   /* /dev/null */
};

struct disk_handle;
struct socket;

struct descriptor {
    enum descriptor_kind kind;
    struct disk_handle *file;
    struct socket *socket;
    uint64_t count; /* of an eventfd */
    uint64_t use;   /* which of all that had this number */
};

/* Something that runs in a fiber of a process. */
struct task {
    struct process *process;
    struct fiber *fiber;
    void (*fn)(void *arg);
    void *arg;
    uint64_t event;  /* that lets it go on; 0: none */
    bool is_waiting; /* for task_wake() or its event */
    bool is_held;    /* it would go on, but the process is stopped */
    struct task *next;
};

struct loop {
    uv_loop_t *uv;
    struct task *task; /* the fiber that runs it */
    uv_timer_t **timers;
    size_t timers_count, timers_cap;
    struct socket *ready_first, **ready_last;     /* something has happened to these */
    struct socket *pending_first, **pending_last; /* writes are done, or an error is to be told */
    void *done_first, **done_last;                /* struct work: what the pool has finished */
    uv_poll_t *polls;                             /* started */
    uv_signal_t *signals[32];
    uint32_t signals_raised;
    size_t active; /* handles and requests that keep it running */
    int64_t turn_end_us;
    bool is_polling; /* its task waits for events */
};

struct aio_context;

struct process {
    int node;
    uint64_t incarnation;
    struct heap heap;
    struct loop loop;
    struct task *tasks;
    struct descriptor *descriptors;
    int descriptors_count;
    uint64_t descriptor_uses;
    struct socket *sockets;
    struct aio_context *aios;
    unsigned works_running;
    void *works_first, **works_last; /* struct work: waits for a thread of the pool */
    const struct server *server;
    struct config *config;
    int64_t booted_us;
    unsigned steps;
    unsigned kill_at, power_at, stop_at; /* steps left; 0: not asked for */
    enum node_end ending;                /* set: it ends when the running task leaves */
    int status;
    bool is_gone; /* what is left of it is being cleared away */
};

/* NULL: the world runs. */
struct process *process_current(void);
/* The running process' or, for the world's own use, none. */
struct process *process_new(int node, uint64_t incarnation);
/* [fn] runs in a fiber from [at_us] on. */
struct task *process_start_task(struct process *process,
                                void (*fn)(void *arg),
                                void *arg,
                                int64_t at_us);
/* From outside: all of it is gone. [has_power]: the kernel goes on, and closes what it held. */
void process_end(struct process *process, bool has_power);
/* From within: it ends here, and does not return. */
_Noreturn void process_quit(enum node_end ending, int status);
/* The tasks that were held go on. */
void process_continue(struct process *process);
/* A step of I/O; may not return. */
void process_step(void);

/* The running task waits until then, or until it is woken. */
void task_wait(int64_t until_us);
/* ... for so long, whatever happens. */
void task_sleep(int64_t wait_us);
struct task *task_running(void);
void task_wake(struct task *task, int64_t at_us);

/* The lowest free one. */
int descriptor_new(struct process *process, enum descriptor_kind kind);
/* NULL: not open. */
struct descriptor *descriptor_get(int fd);
int descriptor_close(int fd);

/* ---- node.c ---- */

void machines_open(void);
void machines_close(void);
/* As node_boot(), but what runs is another program; it ends with process_quit(). */
bool node_start(int node, void (*run)(void *process));
struct process *node_process(int node);
/* Its process has ended by itself, or at a step. */
void node_process_ended(struct process *process, enum node_end ending, int status);
void node_log(struct process *process, const char *line, size_t len);
bool node_is_halted(int node); /* stopped or frozen: its tasks are held */
void node_halt_self(void);     /* SIGSTOP, from within */
int64_t node_monotonic_us(int node);
int64_t node_wall_us(int node);
/* When the monotonic clock will show this. */
int64_t node_when_us(int node, int64_t monotonic_us);
int64_t node_turn_cost_us(int node);
/* "n3", or an address; 0: no such host. */
int node_host_of(const char *name);

/* ---- loop.c ---- */

enum { HANDLE_ACTIVE = 1, HANDLE_CLOSING = 2, HANDLE_CLOSED = 4, HANDLE_READING = 8 };

void loop_open(struct loop *loop);
void loop_close(struct loop *loop);
struct loop *loop_current(void);
/* What it waits for may have happened. */
void loop_wake(struct process *process);
void loop_raise(struct process *process, int signal);
void loop_handle_init(uv_loop_t *uv, uv_handle_t *handle, uv_handle_type type);
void loop_handle_start(uv_handle_t *handle);
void loop_handle_stop(uv_handle_t *handle);

/* ---- stream.c ---- */

struct endpoint;
struct listener;

/* A socket of a process, below a uv_tcp_t or uv_pipe_t. */
struct socket {
    struct process *process;
    struct socket *next, **link; /* of its process */
    uv_stream_t *stream;         /* NULL: an end of a pipe that has no handle yet */
    struct endpoint *endpoint;
    struct listener *listener;
    int fd; /* -1: none yet */
    uint16_t port;
    int64_t user_timeout_us;
    int keepalive_s;
    bool is_ready, is_pending; /* in a list of the loop's */
    struct socket *next_ready, *next_pending;
    uv_connect_t *connect;
    bool has_accepted;
    uv_write_t *writes_first, *writes_last; /* not sent completely */
    uv_write_t *done_first, *done_last;     /* to be called back */
};

void socket_ready(struct socket *socket);
void socket_io(struct socket *socket);
void socket_run_pending(struct socket *socket);
/* uv_close()'s two halves. */
void socket_close(uv_stream_t *stream);
void socket_finish_close(uv_stream_t *stream);
/* Its process is gone; with power its kernel says goodbye. */
void socket_drop(struct socket *socket, bool has_power);

/* ---- pool.c ---- */

void pool_run_done(struct loop *loop);

/* ---- tcp.c ---- */

struct endpoint_owner {
    void (*changed)(void *ctx, struct endpoint *endpoint); /* look at it again */
    void *ctx;
};

enum endpoint_state { ENDPOINT_CONNECTING, ENDPOINT_OPEN, ENDPOINT_BROKEN };

void network_open(void);
void network_close_all(void);

/* Begins to connect; the owner is told when the state changes. */
struct endpoint *endpoint_connect(int from_host,
                                  int to_host,
                                  uint16_t port,
                                  struct endpoint_owner owner);
/* Two ends in one process. */
void endpoint_pair(struct endpoint *ends[2]);
void endpoint_own(struct endpoint *endpoint, struct endpoint_owner owner);
void endpoint_set_timeouts(struct endpoint *endpoint, int64_t user_timeout_us, int keepalive_s);
enum endpoint_state endpoint_state(const struct endpoint *endpoint);
int endpoint_error(const struct endpoint *endpoint); /* of a broken one: UV_E... */
/* How many bytes it took: as many as there is room for. */
size_t endpoint_send(struct endpoint *endpoint, const void *bytes, size_t len);
size_t endpoint_room(const struct endpoint *endpoint);
size_t endpoint_unsent(const struct endpoint *endpoint);
/* At most [len], 0: none there. */
size_t endpoint_receive(struct endpoint *endpoint, void *bytes, size_t len);
bool endpoint_has_bytes(const struct endpoint *endpoint);
bool endpoint_is_finished(const struct endpoint *endpoint); /* nothing more will come */
/* The owner has no further interest. FIN behind what was sent; RST where bytes are unread. */
void endpoint_close(struct endpoint *endpoint);
void endpoint_reset(struct endpoint *endpoint);
/* Its machine has lost power: nobody is told. */
void endpoint_vanish(struct endpoint *endpoint);
int endpoint_far_host(const struct endpoint *endpoint);
uint16_t endpoint_near_port(const struct endpoint *endpoint);
uint16_t endpoint_far_port(const struct endpoint *endpoint);
uint64_t endpoint_number(const struct endpoint *endpoint);

/* NULL: the port is taken. */
struct listener *listener_new(int host, uint16_t port, int backlog, struct endpoint_owner owner);
struct endpoint *listener_accept(struct listener *listener); /* NULL: none waits */
bool listener_has_waiting(const struct listener *listener);
void listener_close(struct listener *listener, bool has_power);

/* ---- link.c ---- */

void links_open(void);
int64_t link_latency_us(int from, int to);
bool link_is_held(int from, int to);
/* A packet that arrives now: does it? */
bool link_passes(int from, int to);
void link_count(bool was_delivered);
int link_splitting(void);
/* tcp.c: packets that waited go on. */
void tcp_released(int from, int to);

/* ---- disk.c ---- */

struct disk;

void disks_open(void);
void disks_close(void);
/* What a power loss leaves. */
void disk_lose_power(int node);

/* All return 0 or more, or a negative errno, and count as steps of the running process. */
int disk_open_file(int node, const char *path, int flags, struct disk_handle **handle);
void disk_close_file(struct disk_handle *handle);
long disk_read(struct disk_handle *handle, void *bytes, size_t len);
long disk_write(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset);
int disk_sync(struct disk_handle *handle);
int disk_allocate(struct disk_handle *handle, uint64_t size);
int disk_resize(struct disk_handle *handle, uint64_t size);
int disk_make_dir(int node, const char *path);
int disk_rename(int node, const char *from, const char *to);
int disk_unlink(int node, const char *path);
struct disk_stat {
    bool is_dir;
    uint64_t size;
};
int disk_stat(int node, const char *path, struct disk_stat *found);
int disk_stat_handle(struct disk_handle *handle, struct disk_stat *found);
const char *disk_handle_path(const struct disk_handle *handle);
/* Names in a directory, in the order of their making; the world's memory. */
int disk_list(int node, const char *path, char ***names, size_t *count);
void disk_list_free(char **names, size_t count);
/* For aio.c: when a write that is given to the disk now is done; its outcome; and its effect, of
 * which a power loss makes a part. */
int64_t disk_write_due_us(int node);
int disk_write_fails(int node);
void disk_write_through(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset);
void disk_write_torn(struct disk_handle *handle, const void *bytes, size_t len, int64_t offset);
struct disk_handle *disk_hold(struct disk_handle *handle); /* further use of a handle */

/* ---- aio.c ---- */

/* Its process is gone: writes under way are done, or torn. */
void aio_end(struct process *process, bool has_power);

/* ---- system.c ---- */

_Noreturn void system_end_process(int status);

#endif
