/* The kernel's asynchronous writes (io_submit), as libraft writes its segments: with O_DSYNC, so a
 * write that is reported as done is on the platter. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

int __wrap_io_setup(unsigned events, aio_context_t *context);
int __wrap_io_destroy(aio_context_t context);
int __wrap_io_submit(aio_context_t context, long count, struct iocb **iocbs);
int __wrap_io_getevents(aio_context_t context,
                        long least,
                        long most,
                        struct io_event *events,
                        struct timespec *timeout);

enum { BLOCKING_PER_MILLE = 30 }; /* of writes that must not block: the kernel says EAGAIN */

struct aio {
    struct aio *next;
    struct aio_context *context;
    struct disk_handle *handle;
    uint64_t data;
    int event_fd;       /* -1: none */
    uint64_t event_use; /* of that descriptor, which may have been closed and given anew */
    int64_t offset;
    uint64_t event;
    long result;
    bool is_done;
    size_t len;
    uint8_t bytes[];
};

struct aio_context {
    struct aio_context *next;
    uint64_t number;
    struct process *process;
    struct aio *first; /* in the order of their submission */
    struct task *waiting;
};

static struct aio_context *find(aio_context_t number)
{
    struct aio_context *context = process_current()->aios;
    while (context != NULL && context->number != number) {
        context = context->next;
    }
    return context;
}

int __wrap_io_setup(unsigned events, aio_context_t *number)
{
    struct process *process = process_current();
    (void)events;
    process_step();
    struct aio_context *context = heap_world_calloc(sizeof *context);
    context->process = process;
    context->number = process->aios == NULL ? 1 : process->aios->number + 1;
    context->next = process->aios;
    process->aios = context;
    *number = context->number;
    return 0;
}

static void free_aio(struct aio *aio)
{
    world_cancel(aio->event);
    disk_close_file(aio->handle);
    heap_world_free(aio);
}

static void end_context(struct aio_context *context, bool has_power)
{
    while (context->first != NULL) {
        struct aio *aio = context->first;
        context->first = aio->next;
        if (!aio->is_done && has_power) {
            disk_write_through(aio->handle, aio->bytes, aio->len, aio->offset);
        } else if (!aio->is_done) {
            disk_write_torn(aio->handle, aio->bytes, aio->len, aio->offset);
        }
        free_aio(aio);
    }
    heap_world_free(context);
}

int __wrap_io_destroy(aio_context_t number)
{
    struct aio_context **at = &process_current()->aios;
    while (*at != NULL && (*at)->number != number) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        errno = EINVAL;
        return -1;
    }
    struct aio_context *context = *at;
    *at = context->next;
    end_context(context, true);
    return 0;
}

void aio_end(struct process *process, bool has_power)
{
    while (process->aios != NULL) {
        struct aio_context *context = process->aios;
        process->aios = context->next;
        end_context(context, has_power);
    }
}

static void on_done(void *ctx, uint64_t what)
{
    struct aio *aio = ctx;
    struct process *process = aio->context->process;
    (void)what;
    aio->event = 0;
    aio->is_done = true;
    if (aio->result == 0) {
        int error = disk_write_fails(process->node);
        if (error == 0) {
            disk_write_through(aio->handle, aio->bytes, aio->len, aio->offset);
            aio->result = (long)aio->len;
        } else {
            disk_write_torn(aio->handle, aio->bytes, aio->len, aio->offset);
            aio->result = -error;
        }
        world_note(NOTE_DISK, process->node, aio->bytes, aio->len);
    }
    if (aio->event_fd >= 0 && process->descriptors[aio->event_fd].kind == DESCRIPTOR_EVENT &&
        process->descriptors[aio->event_fd].use == aio->event_use) {
        process->descriptors[aio->event_fd].count++;
        loop_wake(process);
    }
    if (aio->context->waiting != NULL) {
        task_wake(aio->context->waiting, world_now_us());
    }
}

/* What PWRITE and PWRITEV give. */
static struct aio *gather(const struct iocb *iocb)
{
    struct iovec one = {(void *)(uintptr_t)iocb->aio_buf, iocb->aio_nbytes};
    const struct iovec *parts = &one;
    size_t count = 1;
    if (iocb->aio_lio_opcode == IOCB_CMD_PWRITEV) {
        parts = (const struct iovec *)(uintptr_t)iocb->aio_buf;
        count = iocb->aio_nbytes;
    }
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += parts[i].iov_len;
    }
    struct aio *aio = heap_world_calloc(sizeof *aio + len);
    for (size_t i = 0; i < count; i++) {
        memcpy(aio->bytes + aio->len, parts[i].iov_base, parts[i].iov_len);
        aio->len += parts[i].iov_len;
    }
    return aio;
}

int __wrap_io_submit(aio_context_t number, long count, struct iocb **iocbs)
{
    const struct iocb *iocb = iocbs[0];
    struct aio_context *context = find(number);
    struct descriptor *descriptor = descriptor_get((int)iocb->aio_fildes);
    ensure(count == 1 && context != NULL);
    ensure(descriptor != NULL && descriptor->kind == DESCRIPTOR_FILE);
    process_step();
    struct aio *aio = gather(iocb);
    aio->context = context;
    aio->handle = disk_hold(descriptor->file);
    aio->data = iocb->aio_data;
    aio->offset = iocb->aio_offset;
    aio->event_fd = (iocb->aio_flags & IOCB_FLAG_RESFD) != 0 ? (int)iocb->aio_resfd : -1;
    aio->event_use = aio->event_fd >= 0 ? context->process->descriptors[aio->event_fd].use : 0;
    bool must_not_block = (iocb->aio_rw_flags & RWF_NOWAIT) != 0;
    int64_t due_us = world_now_us() + 1;
    if (must_not_block && aio->event_fd >= 0 &&
        chance_in(world_chance(WORLD_CHANCE_DISK), BLOCKING_PER_MILLE)) {
        aio->result = -EAGAIN;
    } else {
        due_us = disk_write_due_us(context->process->node);
    }
    struct aio **at = &context->first;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = aio;
    aio->event = world_at(due_us, on_done, aio, 0);
    return 1;
}

static long take_done(struct aio_context *context, long most, struct io_event *events)
{
    long taken = 0;
    for (struct aio **at = &context->first; *at != NULL && taken < most;) {
        struct aio *aio = *at;
        if (!aio->is_done) {
            at = &aio->next;
            continue;
        }
        *at = aio->next;
        events[taken++] = (struct io_event){.data = aio->data, .res = aio->result};
        free_aio(aio);
    }
    return taken;
}

int __wrap_io_getevents(aio_context_t number,
                        long least,
                        long most,
                        struct io_event *events,
                        struct timespec *timeout)
{
    struct aio_context *context = find(number);
    ensure(context != NULL && timeout == NULL);
    long taken = take_done(context, most, events);
    while (taken < least) {
        context->waiting = task_running();
        task_wait(WORLD_NEVER);
        context->waiting = NULL;
        taken += take_done(context, most - taken, events + taken);
    }
    return (int)taken;
}
