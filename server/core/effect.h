/* What the coordinator wants done: data in a queue, in order, drained by the shell after each
 * input. Nothing is called back, so nothing re-enters. */
#ifndef SERVER_CORE_EFFECT_H
#define SERVER_CORE_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/span.h"
#include "server/core/call.h"

enum effect_kind {
    EFFECT_REPLY,   /* encode and send [response]; the call is over */
    EFFECT_PROPOSE, /* raftlog_propose(number, records); refused: coordinator_refused() */
    EFFECT_LOG      /* one line for the log */
};

enum effect_level { EFFECT_DEBUG, EFFECT_INFO, EFFECT_WARN, EFFECT_ERROR };

struct effect {
    enum effect_kind kind;
    struct effect *next;
    /* EFFECT_REPLY */
    struct call *call;
    const void *response; /* struct <api>_response in the call's arena */
    /* EFFECT_PROPOSE */
    uint64_t number;
    struct span records; /* valid until effects_reset() */
    /* EFFECT_LOG: an event name, then key=value pairs */
    enum effect_level level;
    const char *line;
};

struct effects {
    struct effect *first;
    struct effect **last;
    struct arena arena; /* effects, records and lines; kept between turns */
};

void effects_init(struct effects *effects);
void effects_close(struct effects *effects);

void effects_reply(struct effects *effects, struct call *call, const void *response);
/* [records] are copied. */
void effects_propose(struct effects *effects, uint64_t number, struct span records);
/* Values are escaped by the caller through effect_text() where a client chose them. */
void effects_log(struct effects *effects, enum effect_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes back a proposal; false if it has been taken off the queue already. */
bool effects_cancel(struct effects *effects, uint64_t number);

/* The next effect, taken off the queue; NULL: none. It stays valid until effects_reset(). */
struct effect *effects_next(struct effects *effects);
/* Call it when the queue is empty and all taken effects have been handled. */
void effects_reset(struct effects *effects);

/* A client's text for a log line: printable ASCII, anything else as \xNN, at most 128 bytes, quoted
 * where it holds a blank. In the effects' arena. */
const char *effect_text(struct effects *effects, struct span text);

#endif
