/* libuv's loop, above the world's time: the order of a turn is that of libuv 1.44 (core.c). */
#include <errno.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

/* A ring of watchers through their member queue. */
struct ring {
    struct ring *next, *previous;
};

static struct ring *ring_of(void *queue[2])
{
    return (struct ring *)(void *)queue;
}

static void ring_init(struct ring *ring)
{
    ring->next = ring->previous = ring;
}

static void ring_insert(struct ring *item, struct ring *before)
{
    item->next = before;
    item->previous = before->previous;
    item->previous->next = item;
    before->previous = item;
}

static void ring_remove(struct ring *item)
{
    item->next->previous = item->previous;
    item->previous->next = item->next;
}

void loop_open(struct loop *loop)
{
    memset(loop, 0, sizeof *loop);
    loop->ready_last = &loop->ready_first;
    loop->pending_last = &loop->pending_first;
    loop->done_last = &loop->done_first;
}

void loop_close(struct loop *loop)
{
    heap_world_free(loop->timers);
    loop->timers = NULL;
}

struct loop *loop_current(void)
{
    return &process_current()->loop;
}

void loop_wake(struct process *process)
{
    struct loop *loop = &process->loop;
    if (loop->is_polling) {
        int64_t now_us = world_now_us();
        task_wake(loop->task, loop->turn_end_us > now_us ? loop->turn_end_us : now_us);
    }
}

/* ---- Handles ---- */

void loop_handle_init(uv_loop_t *uv, uv_handle_t *handle, uv_handle_type type)
{
    handle->loop = uv;
    handle->type = type;
    handle->flags = 0;
    handle->close_cb = NULL;
    handle->next_closing = NULL;
}

void loop_handle_start(uv_handle_t *handle)
{
    if ((handle->flags & HANDLE_ACTIVE) == 0) {
        handle->flags |= HANDLE_ACTIVE;
        loop_current()->active++;
    }
}

void loop_handle_stop(uv_handle_t *handle)
{
    if ((handle->flags & HANDLE_ACTIVE) != 0) {
        handle->flags &= ~(unsigned)HANDLE_ACTIVE;
        loop_current()->active--;
    }
}

int uv_is_closing(const uv_handle_t *handle)
{
    return (handle->flags & (HANDLE_CLOSING | HANDLE_CLOSED)) != 0;
}

/* ---- Timers: a heap by time, then by the order of their start ---- */

static bool is_before(const uv_timer_t *a, const uv_timer_t *b)
{
    return a->timeout != b->timeout ? a->timeout < b->timeout : a->start_id < b->start_id;
}

static void place(struct loop *loop, size_t at, uv_timer_t *timer)
{
    loop->timers[at] = timer;
    timer->heap_node[0] = (void *)(at + 1);
}

static void sift(struct loop *loop, size_t at, uv_timer_t *timer)
{
    while (at > 0 && is_before(timer, loop->timers[(at - 1) / 2])) {
        place(loop, at, loop->timers[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (size_t child; (child = 2 * at + 1) < loop->timers_count; at = child) {
        if (child + 1 < loop->timers_count &&
            is_before(loop->timers[child + 1], loop->timers[child])) {
            child++;
        }
        if (!is_before(loop->timers[child], timer)) {
            break;
        }
        place(loop, at, loop->timers[child]);
    }
    place(loop, at, timer);
}

int uv_timer_init(uv_loop_t *uv, uv_timer_t *timer)
{
    loop_handle_init(uv, (uv_handle_t *)timer, UV_TIMER);
    timer->timer_cb = NULL;
    timer->timeout = 0;
    timer->repeat = 0;
    timer->heap_node[0] = NULL;
    return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
    struct loop *loop = loop_current();
    size_t at = (size_t)timer->heap_node[0];
    if (at == 0) {
        return 0;
    }
    timer->heap_node[0] = NULL;
    uv_timer_t *last = loop->timers[--loop->timers_count];
    if (last != timer) {
        sift(loop, at - 1, last);
    }
    loop_handle_stop((uv_handle_t *)timer);
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb cb, uint64_t timeout, uint64_t repeat)
{
    struct loop *loop = loop_current();
    if (uv_is_closing((uv_handle_t *)timer) || cb == NULL) {
        return UV_EINVAL;
    }
    uv_timer_stop(timer);
    if (loop->timers_count == loop->timers_cap) {
        loop->timers_cap = loop->timers_cap * 2 + 32;
        loop->timers = heap_world_realloc(loop->timers, loop->timers_cap * sizeof(uv_timer_t *));
    }
    timer->timer_cb = cb;
    timer->timeout = loop->uv->time + timeout;
    timer->repeat = repeat;
    timer->start_id = loop->uv->timer_counter++;
    sift(loop, loop->timers_count++, timer);
    loop_handle_start((uv_handle_t *)timer);
    return 0;
}

static void run_timers(struct loop *loop)
{
    while (loop->timers_count > 0 && loop->timers[0]->timeout <= loop->uv->time) {
        uv_timer_t *timer = loop->timers[0];
        uv_timer_stop(timer);
        if (timer->repeat != 0) {
            uv_timer_start(timer, timer->timer_cb, timer->repeat, timer->repeat);
        }
        timer->timer_cb(timer);
    }
}

/* ---- Check, prepare and idle: each in the order of its start, the newest first ---- */

/* Moves all to a ring of its own, then each back to the end before it is called: those that are
 * started or closed meanwhile are no trouble. */
static void begin_walk(struct ring *walk, struct ring *handles)
{
    ring_init(walk);
    if (handles->next != handles) {
        *walk = *handles;
        walk->next->previous = walk;
        walk->previous->next = walk;
        ring_init(handles);
    }
}

static void *walk_next(struct ring *walk, struct ring *handles)
{
    struct ring *item = walk->next;
    if (item == walk) {
        return NULL;
    }
    ring_remove(item);
    ring_insert(item, handles);
    return item;
}

#define WATCHER(name, UPPER)                                                                  \
    int uv_##name##_init(uv_loop_t *uv, uv_##name##_t *handle)                                \
    {                                                                                         \
        loop_handle_init(uv, (uv_handle_t *)handle, UPPER);                                   \
        handle->name##_cb = NULL;                                                             \
        return 0;                                                                             \
    }                                                                                         \
    int uv_##name##_start(uv_##name##_t *handle, uv_##name##_cb cb)                           \
    {                                                                                         \
        if ((handle->flags & HANDLE_ACTIVE) == 0) {                                           \
            ring_insert(ring_of(handle->queue), ring_of(handle->loop->name##_handles)->next); \
            handle->name##_cb = cb;                                                           \
            loop_handle_start((uv_handle_t *)handle);                                         \
        }                                                                                     \
        return 0;                                                                             \
    }                                                                                         \
    int uv_##name##_stop(uv_##name##_t *handle)                                               \
    {                                                                                         \
        if ((handle->flags & HANDLE_ACTIVE) != 0) {                                           \
            ring_remove(ring_of(handle->queue));                                              \
            loop_handle_stop((uv_handle_t *)handle);                                          \
        }                                                                                     \
        return 0;                                                                             \
    }                                                                                         \
    static void run_##name(uv_loop_t *uv)                                                     \
    {                                                                                         \
        struct ring *handles = ring_of(uv->name##_handles);                                   \
        struct ring walk;                                                                     \
        begin_walk(&walk, handles);                                                           \
        for (char *at; (at = walk_next(&walk, handles)) != NULL;) {                           \
            uv_##name##_t *handle =                                                           \
                (uv_##name##_t *)(void *)(at - offsetof(uv_##name##_t, queue));               \
            handle->name##_cb(handle);                                                        \
        }                                                                                     \
    }

WATCHER(check, UV_CHECK)
WATCHER(prepare, UV_PREPARE)
WATCHER(idle, UV_IDLE)

/* ---- Polling an eventfd, as libraft does ---- */

int uv_poll_init(uv_loop_t *uv, uv_poll_t *poll, int fd)
{
    loop_handle_init(uv, (uv_handle_t *)poll, UV_POLL);
    poll->io_watcher.fd = fd;
    poll->poll_cb = NULL;
    return descriptor_get(fd) == NULL ? UV_EBADF : 0;
}

int uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb cb)
{
    struct loop *loop = loop_current();
    ensure(events == UV_READABLE && (poll->flags & HANDLE_ACTIVE) == 0);
    poll->poll_cb = cb;
    poll->handle_queue[0] = loop->polls;
    loop->polls = poll;
    loop_handle_start((uv_handle_t *)poll);
    return 0;
}

int uv_poll_stop(uv_poll_t *poll)
{
    if ((poll->flags & HANDLE_ACTIVE) != 0) {
        void **at = (void **)&loop_current()->polls;
        while (*at != poll) {
            at = &((uv_poll_t *)*at)->handle_queue[0];
        }
        *at = poll->handle_queue[0];
        loop_handle_stop((uv_handle_t *)poll);
    }
    return 0;
}

static bool is_readable(const uv_poll_t *poll)
{
    const struct descriptor *descriptor = descriptor_get(poll->io_watcher.fd);
    return descriptor != NULL && descriptor->kind == DESCRIPTOR_EVENT && descriptor->count > 0;
}

static uv_poll_t *find_readable(struct loop *loop)
{
    uv_poll_t *poll = loop->polls;
    while (poll != NULL && !is_readable(poll)) {
        poll = poll->handle_queue[0];
    }
    return poll;
}

static void run_polls(struct loop *loop)
{
    for (uv_poll_t *poll = loop->polls; poll != NULL;) {
        uv_poll_t *next = poll->handle_queue[0];
        if (is_readable(poll)) {
            poll->poll_cb(poll, 0, UV_READABLE);
            return; /* the list may be another one; the rest is for the next turn */
        }
        poll = next;
    }
}

/* ---- Signals ---- */

int uv_signal_init(uv_loop_t *uv, uv_signal_t *handle)
{
    loop_handle_init(uv, (uv_handle_t *)handle, UV_SIGNAL);
    handle->signum = 0;
    return 0;
}

int uv_signal_start(uv_signal_t *handle, uv_signal_cb cb, int number)
{
    ensure(number > 0 && number < 32);
    handle->signal_cb = cb;
    handle->signum = number;
    loop_current()->signals[number] = handle;
    loop_handle_start((uv_handle_t *)handle);
    return 0;
}

int uv_signal_stop(uv_signal_t *handle)
{
    if ((handle->flags & HANDLE_ACTIVE) != 0) {
        loop_current()->signals[handle->signum] = NULL;
        loop_handle_stop((uv_handle_t *)handle);
    }
    return 0;
}

void loop_raise(struct process *process, int number)
{
    process->loop.signals_raised |= 1U << number;
    loop_wake(process);
}

static void run_signals(struct loop *loop)
{
    for (int number = 1; loop->signals_raised != 0 && number < 32; number++) {
        if ((loop->signals_raised & 1U << number) != 0) {
            loop->signals_raised &= ~(1U << number);
            uv_signal_t *handle = loop->signals[number];
            if (handle != NULL) {
                handle->signal_cb(handle, number);
            }
        }
    }
}

/* ---- Closing ---- */

void uv_close(uv_handle_t *handle, uv_close_cb cb)
{
    ensure(!uv_is_closing(handle));
    handle->flags |= HANDLE_CLOSING;
    handle->close_cb = cb;
    switch (handle->type) {
        case UV_TIMER:
            uv_timer_stop((uv_timer_t *)handle);
            break;
        case UV_CHECK:
            uv_check_stop((uv_check_t *)handle);
            break;
        case UV_PREPARE:
            uv_prepare_stop((uv_prepare_t *)handle);
            break;
        case UV_IDLE:
            uv_idle_stop((uv_idle_t *)handle);
            break;
        case UV_POLL:
            uv_poll_stop((uv_poll_t *)handle);
            break;
        case UV_SIGNAL:
            uv_signal_stop((uv_signal_t *)handle);
            break;
        default:
            socket_close((uv_stream_t *)handle);
            break;
    }
    handle->next_closing = handle->loop->closing_handles;
    handle->loop->closing_handles = handle;
}

static void run_closing(uv_loop_t *uv)
{
    uv_handle_t *handle = uv->closing_handles;
    uv->closing_handles = NULL;
    while (handle != NULL) {
        uv_handle_t *next = handle->next_closing;
        handle->flags |= HANDLE_CLOSED;
        if (handle->type == UV_TCP || handle->type == UV_NAMED_PIPE) {
            socket_finish_close((uv_stream_t *)handle);
        }
        if (handle->close_cb != NULL) {
            handle->close_cb(handle);
        }
        handle = next;
    }
}

/* ---- The loop ---- */

int uv_loop_init(uv_loop_t *uv)
{
    struct loop *loop = loop_current();
    memset(uv, 0, sizeof *uv);
    loop->uv = uv;
    ring_init(ring_of(uv->check_handles));
    ring_init(ring_of(uv->prepare_handles));
    ring_init(ring_of(uv->idle_handles));
    uv_update_time(uv);
    return 0;
}

int uv_loop_close(uv_loop_t *uv)
{
    const struct loop *loop = loop_current();
    return loop->active > 0 || uv->closing_handles != NULL ? UV_EBUSY : 0;
}

void uv_update_time(uv_loop_t *uv)
{
    uv->time = (uint64_t)node_monotonic_ms(node_current());
}

uint64_t uv_now(const uv_loop_t *uv)
{
    return uv->time;
}

uint64_t uv_hrtime(void)
{
    return (uint64_t)node_monotonic_us(node_current()) * 1000;
}

static bool has_something(struct loop *loop)
{
    return loop->ready_first != NULL || loop->pending_first != NULL || loop->done_first != NULL ||
           loop->signals_raised != 0 || loop->uv->closing_handles != NULL ||
           ring_of(loop->uv->idle_handles)->next != ring_of(loop->uv->idle_handles) ||
           find_readable(loop) != NULL;
}

static bool is_alive(const struct loop *loop)
{
    return loop->active > 0 || loop->uv->closing_handles != NULL;
}

static void wait_for_events(struct loop *loop)
{
    int node = node_current();
    loop->turn_end_us = world_now_us() + node_turn_cost_us(node);
    for (;;) {
        int64_t due_us = WORLD_NEVER;
        if (has_something(loop) || !is_alive(loop)) {
            due_us = loop->turn_end_us;
        } else if (loop->timers_count > 0) {
            due_us = node_when_us(node, (int64_t)loop->timers[0]->timeout * 1000);
        }
        due_us = due_us < loop->turn_end_us ? loop->turn_end_us : due_us;
        if (due_us <= world_now_us()) {
            return;
        }
        loop->is_polling = true;
        task_wait(due_us);
        loop->is_polling = false;
    }
}

/* Those that are there now; what they cause is for the next time. */
static void run_pending(struct loop *loop)
{
    size_t count = 0;
    for (struct socket *socket = loop->pending_first; socket != NULL;
         socket = socket->next_pending) {
        count++;
    }
    while (count-- > 0 && loop->pending_first != NULL) {
        struct socket *socket = loop->pending_first;
        loop->pending_first = socket->next_pending;
        if (loop->pending_first == NULL) {
            loop->pending_last = &loop->pending_first;
        }
        socket->is_pending = false;
        socket_run_pending(socket);
    }
}

static void run_ready(struct loop *loop)
{
    size_t count = 0;
    for (struct socket *socket = loop->ready_first; socket != NULL; socket = socket->next_ready) {
        count++;
    }
    while (count-- > 0 && loop->ready_first != NULL) {
        struct socket *socket = loop->ready_first;
        loop->ready_first = socket->next_ready;
        if (loop->ready_first == NULL) {
            loop->ready_last = &loop->ready_first;
        }
        socket->is_ready = false;
        socket_io(socket);
    }
}

static void poll_events(struct loop *loop)
{
    wait_for_events(loop);
    uv_update_time(loop->uv);
    run_polls(loop);
    run_ready(loop);
    pool_run_done(loop);
    run_signals(loop); /* libuv has them last, too */
}

int uv_run(uv_loop_t *uv, uv_run_mode mode)
{
    struct loop *loop = loop_current();
    ensure(mode == UV_RUN_DEFAULT && uv == loop->uv);
    while (is_alive(loop)) {
        uv_update_time(uv);
        run_timers(loop);
        run_pending(loop);
        run_idle(uv);
        run_prepare(uv);
        poll_events(loop);
        for (int i = 0; i < 8 && loop->pending_first != NULL; i++) {
            run_pending(loop);
        }
        run_check(uv);
        run_closing(uv);
    }
    return 0;
}
