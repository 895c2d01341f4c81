/* The only places where the daemon asks what time it is, but for the loop's cached uv_now(). */
#ifndef SERVER_CLOCK_H
#define SERVER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read_ms(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Never goes back; of no meaning outside this process. */
static inline int64_t clock_monotonic_ms(void)
{
    return clock_read_ms(CLOCK_MONOTONIC);
}

/* Since 1970, as the operating system believes. */
static inline int64_t clock_wall_ms(void)
{
    return clock_read_ms(CLOCK_REALTIME);
}

#endif
