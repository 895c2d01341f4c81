#include "server/entropy.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "rpc/ensure.h"

/* Up to this size getrandom() returns all of it, uninterrupted. */
enum { DRAW_BYTES = 256 };

static uint8_t pool[DRAW_BYTES * 16];
static size_t left;

static void refill(void)
{
    for (size_t at = 0; at < sizeof pool; at += DRAW_BYTES) {
        ensure(getrandom(pool + at, DRAW_BYTES, 0) == DRAW_BYTES);
    }
    left = sizeof pool;
}

void entropy_fill(void *out, size_t len)
{
    ensure(len <= DRAW_BYTES);
    if (len > left) {
        refill();
    }
    left -= len;
    memcpy(out, pool + left, len);
    /* What was handed out must not be found in memory as the source of something else. */
    memset(pool + left, 0, len);
}
