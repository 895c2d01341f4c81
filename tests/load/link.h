/* One connection to a node, and the requests that are on it.
 *
 * Every request ends exactly once: with its reply, with the connection, or with its timeout. After
 * a timeout the owner goes elsewhere and lets the link linger: a server owes each request a reply
 * or a closed connection, also after it was frozen, and lingering links find out whether it pays
 * (link_unanswered()). */
#ifndef LOAD_LINK_H
#define LOAD_LINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct link;

enum link_end { LINK_REPLY, LINK_CLOSED, LINK_TIMEOUT };

struct link_outcome {
    enum link_end end;
    const void *response; /* LINK_REPLY: struct <api>_response, valid during the call */
    uint64_t sent_ns;     /* when the request was handed over */
};

typedef void link_done(void *ctx, const struct link_outcome *outcome);

struct link_request {
    int16_t api_key;
    int16_t version;
    const void *body;    /* struct <api>_request, encoded at once */
    unsigned timeout_ms; /* 0: none */
    link_done *done;
    void *ctx;
};

/* Begins to connect; requests may be sent at once. A failure to connect is a closed connection. */
struct link *link_open(uv_loop_t *loop, const struct sockaddr_in *address);

void link_send(struct link *link, const struct link_request *request);

/* False once the connection is lost; the link must still be given up. */
bool link_is_up(const struct link *link);
/* When link_open() was called. */
uint64_t link_opened_ns(const struct link *link);
const struct sockaddr_in *link_address(const struct link *link);

/* Give the link up.
 * close: now, with a reset, so that no port is left waiting; done() of what is on it is not called.
 * linger: when nothing is owed on it any more; done() is not called either.
 * retire: as linger, but done() is called, for each request as ever. */
void link_close(struct link *link);
void link_linger(struct link *link);
void link_retire(struct link *link);

/* Requests on lingering links, and those that got neither reply nor close within the patience. */
struct link_debts {
    uint64_t open;
    uint64_t unanswered;
};
struct link_debts link_debts(void);
/* How long a lingering link waits; 30 s unless set. */
void link_set_patience_ms(uint64_t ms);

#endif
