#include "tests/sim/life/time.h"

#include <stdlib.h>

#include "rpc/ensure.h"

/* Taken from chunks, so that what has not happened at the end of the life can be freed. */
struct event {
    struct life *life;
    event_fn *fn;
    void *who;
    uint64_t what;
    struct event *next; /* free */
};

enum { CHUNK = 1024 };

struct chunk {
    struct chunk *next;
    struct event events[CHUNK];
};

static struct chunk *chunks;
static struct event *unused;

static struct event *take(void)
{
    if (unused == NULL) {
        struct chunk *chunk = calloc(1, sizeof *chunk);
        ensure(chunk != NULL);
        chunk->next = chunks;
        chunks = chunk;
        for (int i = 0; i < CHUNK; i++) {
            chunk->events[i].next = unused;
            unused = &chunk->events[i];
        }
    }
    struct event *event = unused;
    unused = event->next;
    return event;
}

static void fire(void *ctx, uint64_t what)
{
    struct event *at = ctx;
    struct event event = *at;
    (void)what;
    at->next = unused;
    unused = at;
    time_enter(event.life);
    event.fn(event.life, event.who, event.what);
}

void events_add(struct life *life, int64_t at_ms, event_fn *fn, void *who, uint64_t what)
{
    struct event *event = take();
    *event = (struct event){life, fn, who, what, NULL};
    world_at(at_ms * WORLD_MS, fire, event, 0);
}

void time_close(void)
{
    while (chunks != NULL) {
        struct chunk *next = chunks->next;
        free(chunks);
        chunks = next;
    }
    unused = NULL;
}
