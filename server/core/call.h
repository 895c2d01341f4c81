/* A client's request on its way through the coordinator.
 *
 * The shell owns the call: its memory, the frame that the decoded request borrows from, its arena.
 * From coordinator_request() until the effect that answers it has been handled, the coordinator
 * may keep it parked and read all of it; the shell must keep it alive, also when the connection is
 * gone (coordinator_gone()). The reply is built in the call's arena. */
#ifndef SERVER_CORE_CALL_H
#define SERVER_CORE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/span.h"

struct call {
    int16_t api_key;
    int16_t api_version;
    const void *request;      /* the decoded struct <api>_request */
    struct span client_id;    /* from the request header; null was made empty */
    struct span client_host;  /* textual address with a leading "/", as Kafka shows it */
    uint8_t entropy[16];      /* random bytes, for a member id or a topic's uuid */
    struct arena *arena;      /* the reply is built here */
    bool gone;                /* the connection is closed; set by coordinator_gone() */

    /* The coordinator's while the call is parked. */
    struct call *next;
    struct call **link;     /* what points to this call in its list; NULL: in none */
    int64_t deadline_ms;    /* R11 */
    uint64_t sequence;      /* order of arrival */
    void *seat;             /* the member that waits with it, if any */
};

#endif
