/* What libuv's thread pool does. Each piece of work has a fiber of its own, so that it waits for
 * the disk while the loop goes on; as many run at once as the pool has threads. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

enum { THREADS = 8 }; /* as main.c has them */

struct work {
    struct work *next;
    struct process *process;
    uv_work_t *request;
    uv_work_cb run;
    uv_after_work_cb after;
    uv_getaddrinfo_t *resolve; /* instead */
};

static int64_t short_wait_us(void)
{
    return chance_between(world_chance(WORLD_CHANCE_TIMING), 5, 60);
}

static void begin(struct work *work);

static void run_work(void *arg)
{
    struct work *work = arg;
    struct process *process = work->process;
    struct loop *loop = &process->loop;
    if (work->resolve == NULL) {
        work->run(work->request);
    } else {
        task_sleep(short_wait_us() * 10);
    }
    *(struct work **)loop->done_last = work;
    loop->done_last = (void **)&work->next;
    loop_wake(process);
    process->works_running--;
    struct work *next = process->works_first;
    if (next != NULL) {
        process->works_first = next->next;
        if (process->works_first == NULL) {
            process->works_last = &process->works_first;
        }
        next->next = NULL;
        begin(next);
    }
}

static void begin(struct work *work)
{
    struct process *process = work->process;
    process->works_running++;
    process_start_task(process, run_work, work, world_now_us() + short_wait_us());
}

static void submit(struct work work)
{
    /* In the node's memory, so that it goes with it. */
    struct work *copy = malloc(sizeof *copy);
    ensure(copy != NULL);
    *copy = work;
    struct process *process = work.process;
    process->loop.active++;
    if (process->works_running < THREADS) {
        begin(copy);
    } else {
        *(struct work **)process->works_last = copy;
        process->works_last = (void **)&copy->next;
    }
}

int uv_queue_work(uv_loop_t *uv, uv_work_t *request, uv_work_cb run, uv_after_work_cb after)
{
    request->type = UV_WORK;
    request->loop = uv;
    request->work_cb = run;
    request->after_work_cb = after;
    submit((struct work){
        .process = process_current(), .request = request, .run = run, .after = after});
    return 0;
}

void pool_run_done(struct loop *loop)
{
    struct work *work = loop->done_first;
    loop->done_first = NULL;
    loop->done_last = &loop->done_first;
    while (work != NULL) {
        struct work *next = work->next;
        struct work done = *work;
        free(work);
        loop->active--;
        if (done.resolve != NULL) {
            done.resolve->cb(done.resolve, done.resolve->retcode, done.resolve->addrinfo);
        } else if (done.after != NULL) {
            done.after(done.request, 0);
        }
        work = next;
    }
}

/* ---- Names ---- */

/* In one piece of the node's memory: the result and its address. */
struct found {
    struct addrinfo info;
    struct sockaddr_in address;
};

static int find(const char *host, const char *port, struct addrinfo **result)
{
    int node = node_host_of(host);
    struct in_addr numeric;
    *result = NULL;
    if (node == 0 && inet_pton(AF_INET, host, &numeric) != 1) {
        return UV_EAI_NONAME;
    }
    struct found *found = calloc(1, sizeof *found);
    ensure(found != NULL);
    found->address.sin_family = AF_INET;
    found->address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    found->address.sin_addr.s_addr =
        node != 0 ? htonl(0x0a000000U + (uint32_t)node) : numeric.s_addr;
    found->info.ai_family = AF_INET;
    found->info.ai_socktype = SOCK_STREAM;
    found->info.ai_addrlen = sizeof found->address;
    found->info.ai_addr = (struct sockaddr *)&found->address;
    *result = &found->info;
    return 0;
}

int uv_getaddrinfo(uv_loop_t *uv,
                   uv_getaddrinfo_t *request,
                   uv_getaddrinfo_cb cb,
                   const char *host,
                   const char *port,
                   const struct addrinfo *hints)
{
    (void)hints;
    request->loop = uv;
    request->cb = cb;
    request->retcode = find(host, port, &request->addrinfo);
    if (cb == NULL) {
        return request->retcode;
    }
    submit((struct work){.process = process_current(), .resolve = request});
    return 0;
}

void uv_freeaddrinfo(struct addrinfo *info)
{
    free(info);
}

int __wrap_getaddrinfo(const char *host,
                       const char *port,
                       const struct addrinfo *hints,
                       struct addrinfo **result);
int __wrap_getaddrinfo(const char *host,
                       const char *port,
                       const struct addrinfo *hints,
                       struct addrinfo **result)
{
    (void)hints;
    return find(host, port, result) == 0 ? 0 : EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *info);
void __wrap_freeaddrinfo(struct addrinfo *info)
{
    free(info);
}

/* ---- Addresses as text, errors as text ---- */

int uv_ip4_addr(const char *ip, int port, struct sockaddr_in *address)
{
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, ip, &address->sin_addr) == 1 ? 0 : UV_EINVAL;
}

int uv_ip6_addr(const char *ip, int port, struct sockaddr_in6 *address)
{
    memset(address, 0, sizeof *address);
    address->sin6_family = AF_INET6;
    address->sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, ip, &address->sin6_addr) == 1 ? 0 : UV_EINVAL;
}

int uv_ip4_name(const struct sockaddr_in *address, char *text, size_t size)
{
    return inet_ntop(AF_INET, &address->sin_addr, text, (socklen_t)size) != NULL ? 0 : UV_ENOSPC;
}

int uv_ip6_name(const struct sockaddr_in6 *address, char *text, size_t size)
{
    return inet_ntop(AF_INET6, &address->sin6_addr, text, (socklen_t)size) != NULL ? 0 : UV_ENOSPC;
}

const char *uv_strerror(int error)
{
    switch (error) {
#define XX(name, text) \
    case UV_##name:    \
        return text;
        UV_ERRNO_MAP(XX)
#undef XX
        default:
            return "unknown error";
    }
}
