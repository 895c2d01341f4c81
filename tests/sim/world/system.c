/* The rest of POSIX as a node sees it: clocks, chance, its end, limits. Outside of nodes the real
 * functions are called. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "rpc/ensure.h"
#include "tests/sim/world/parts.h"

_Noreturn void __real__exit(int status);
_Noreturn void __real_abort(void);
_Noreturn void __wrap__exit(int status);
_Noreturn void __wrap_abort(void);
int __real_clock_gettime(clockid_t id, struct timespec *time);
int __wrap_clock_gettime(clockid_t id, struct timespec *time);
int __wrap_gettimeofday(struct timeval *time, void *zone);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags);
int __wrap_rand(void);
void __wrap_srand(unsigned seed);
int __wrap_getrlimit(int resource, struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit);
int __wrap_gethostname(char *name, size_t len);
void (*__wrap_signal(int number, void (*handler)(int)))(int);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
char *__wrap_getenv(const char *name);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap___poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size);

enum { OPEN_FILES_MAX = 65536 };

_Noreturn void system_end_process(int status)
{
    __real__exit(status);
}

_Noreturn void __wrap__exit(int status)
{
    if (process_current() != NULL) {
        process_quit(NODE_QUIT, status);
    }
    __real__exit(status);
}

_Noreturn void __wrap_abort(void)
{
    if (process_current() != NULL) {
        process_quit(NODE_ABORTED, 134);
    }
    __real_abort();
}

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
    int node = node_current();
    ensure(node != 0); /* nothing else may ask for it */
    int64_t us = id == CLOCK_REALTIME ? node_wall_us(node) : node_monotonic_us(node);
    time->tv_sec = us / 1000000;
    time->tv_nsec = us % 1000000 * 1000;
    return 0;
}

int __wrap_gettimeofday(struct timeval *time, void *zone)
{
    int64_t us = node_wall_us(node_current());
    (void)zone;
    time->tv_sec = us / 1000000;
    time->tv_usec = us % 1000000;
    return 0;
}

ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags)
{
    struct chance *chance = world_chance(WORLD_CHANCE_NODES);
    (void)flags;
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = chance_next(chance);
        memcpy((char *)bytes + at, &word, len - at < 8 ? len - at : 8);
    }
    return (ssize_t)len;
}

int __wrap_rand(void)
{
    return (int)chance_below(world_chance(WORLD_CHANCE_NODES), RAND_MAX);
}

void __wrap_srand(unsigned seed)
{
    (void)seed;
}

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
    (void)resource;
    limit->rlim_cur = limit->rlim_max = OPEN_FILES_MAX;
    return 0;
}

int __wrap_setrlimit(int resource, const struct rlimit *limit)
{
    (void)resource;
    (void)limit;
    return 0;
}

int __wrap_gethostname(char *name, size_t len)
{
    ensure(len > 2);
    name[0] = 'n';
    name[1] = (char)('0' + node_current());
    name[2] = '\0';
    return 0;
}

/* Nodes get theirs from node_signal(). */
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    (void)how;
    (void)set;
    (void)old;
    return 0;
}

void (*__wrap_signal(int number, void (*handler)(int)))(int)
{
    (void)number;
    (void)handler;
    return SIG_DFL;
}

/* No node has an environment. */
char *__wrap_getenv(const char *name)
{
    (void)name;
    return NULL;
}

/* Of the log alone: stderr can always be written to. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)timeout_ms;
    ensure(count == 1 && fds[0].fd == STDERR_FILENO);
    fds[0].revents = POLLOUT;
    return 1;
}

int __wrap___poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size)
{
    (void)size;
    return __wrap_poll(fds, count, timeout_ms);
}
