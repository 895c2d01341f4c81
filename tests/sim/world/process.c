/* One incarnation of a rosterd. */
#include <errno.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

static struct process *current;

struct process *process_current(void)
{
    return current;
}

/* ---- Tasks ---- */

struct task *task_running(void)
{
    struct fiber *fiber = fiber_running();
    return fiber == NULL ? NULL : fiber_owner(fiber);
}

static void free_task(struct task *task)
{
    struct task **at = &task->process->tasks;
    while (*at != task) {
        at = &(*at)->next;
    }
    *at = task->next;
    world_cancel(task->event);
    fiber_free(task->fiber);
    heap_world_free(task);
}

static void run_task(struct task *task)
{
    struct process *process = task->process;
    task->is_waiting = false;
    current = process;
    heap_switch(&process->heap);
    bool goes_on = fiber_enter(task->fiber);
    heap_switch(NULL);
    current = NULL;
    if (process->ending != NODE_NEVER) {
        node_process_ended(process, process->ending, process->status);
    } else if (!goes_on) {
        free_task(task);
    }
}

static void on_due(void *ctx, uint64_t what)
{
    struct task *task = ctx;
    (void)what;
    task->event = 0;
    if (node_is_halted(task->process->node)) {
        task->is_held = true;
    } else {
        run_task(task);
    }
}

void task_wait(int64_t until_us)
{
    struct task *task = task_running();
    ensure(task != NULL && !task->is_waiting);
    task->is_waiting = true;
    if (until_us != WORLD_NEVER) {
        task->event = world_at(until_us, on_due, task, 0);
    }
    fiber_leave();
}

void task_sleep(int64_t wait_us)
{
    int64_t until_us = world_now_us() + wait_us;
    while (world_now_us() < until_us) {
        task_wait(until_us);
    }
}

void task_wake(struct task *task, int64_t at_us)
{
    if (task->is_waiting && !task->is_held) {
        world_cancel(task->event);
        task->event = world_at(at_us, on_due, task, 0);
    }
}

struct task *process_start_task(struct process *process,
                                void (*fn)(void *arg),
                                void *arg,
                                int64_t at_us)
{
    struct task *task = heap_world_calloc(sizeof *task);
    task->process = process;
    task->fiber = fiber_new(fn, arg, task);
    task->next = process->tasks;
    process->tasks = task;
    task->is_waiting = true;
    task->event = world_at(at_us, on_due, task, 0);
    return task;
}

void process_continue(struct process *process)
{
    for (struct task *task = process->tasks; task != NULL; task = task->next) {
        if (task->is_held) {
            task->is_held = false;
            task->event = world_after(0, on_due, task, 0);
        }
    }
}

/* ---- The process ---- */

struct process *process_new(int node, uint64_t incarnation)
{
    struct process *process = heap_world_calloc(sizeof *process);
    process->node = node;
    process->incarnation = incarnation;
    process->booted_us = world_now_us();
    process->works_last = &process->works_first;
    loop_open(&process->loop);
    while (descriptor_new(process, DESCRIPTOR_NULL) < 2) { /* stdin, stdout, stderr */
    }
    return process;
}

static void drop_descriptors(struct process *process, bool has_power)
{
    for (int fd = 0; fd < process->descriptors_count; fd++) {
        struct descriptor *descriptor = &process->descriptors[fd];
        if (descriptor->kind == DESCRIPTOR_FILE) {
            disk_close_file(descriptor->file);
        }
        descriptor->kind = DESCRIPTOR_FREE;
    }
    heap_world_free(process->descriptors);
    while (process->sockets != NULL) {
        socket_drop(process->sockets, has_power);
    }
}

void process_end(struct process *process, bool has_power)
{
    ensure(current == NULL);
    process->is_gone = true;
    while (process->tasks != NULL) {
        free_task(process->tasks);
    }
    aio_end(process, has_power);
    drop_descriptors(process, has_power);
    loop_close(&process->loop);
    heap_end(&process->heap);
    heap_world_free(process);
}

void process_quit(enum node_end ending, int status)
{
    ensure(current != NULL);
    current->ending = ending;
    current->status = status;
    fiber_leave();
    __builtin_unreachable(); /* nobody enters this fiber again */
}

static bool is_due(unsigned *left)
{
    return *left != 0 && --*left == 0;
}

void process_step(void)
{
    struct process *process = current;
    if (process == NULL) {
        return;
    }
    process->steps++;
    if (is_due(&process->kill_at)) {
        process_quit(NODE_KILLED, 0);
    }
    if (is_due(&process->power_at)) {
        process_quit(NODE_POWER_LOST, 0);
    }
    if (is_due(&process->stop_at)) {
        node_halt_self();
        task_running()->is_waiting = true;
        task_running()->is_held = true;
        fiber_leave();
    }
}

/* ---- Descriptors ---- */

int descriptor_new(struct process *process, enum descriptor_kind kind)
{
    int fd = 0;
    while (fd < process->descriptors_count && process->descriptors[fd].kind != DESCRIPTOR_FREE) {
        fd++;
    }
    if (fd == process->descriptors_count) {
        int count = process->descriptors_count * 2 + 32;
        process->descriptors =
            heap_world_realloc(process->descriptors, (size_t)count * sizeof *process->descriptors);
        memset(process->descriptors + fd, 0, (size_t)(count - fd) * sizeof *process->descriptors);
        process->descriptors_count = count;
    }
    process->descriptors[fd] = (struct descriptor){.kind = kind, .use = ++process->descriptor_uses};
    return fd;
}

struct descriptor *descriptor_get(int fd)
{
    if (fd < 0 || fd >= current->descriptors_count ||
        current->descriptors[fd].kind == DESCRIPTOR_FREE) {
        return NULL;
    }
    return &current->descriptors[fd];
}

int descriptor_close(int fd)
{
    struct descriptor *descriptor = descriptor_get(fd);
    if (descriptor == NULL) {
        return -EBADF;
    }
    if (descriptor->kind == DESCRIPTOR_FILE) {
        disk_close_file(descriptor->file);
    }
    descriptor->kind = DESCRIPTOR_FREE;
    return 0;
}
