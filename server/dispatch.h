/* From a frame to whoever answers it, and from his answer to the connection.
 *
 *   header, API table, body --> ApiVersions        here (api_versions.h)
 *                               group APIs         the coordinator (driver.h), at once or later
 *                               all else           local.h, at once
 *
 * What is no request that this node serves closes its connection without a reply, as Kafka does. */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include "server/driver.h"
#include "server/hint.h"
#include "server/request.h"

struct node;

struct dispatch {
    struct driver *driver;
    const char *cluster_id;
    uint64_t node_id;
    const struct node *self; /* this node's own card, for as long as the registry lacks it */
    struct hints hints;
};

void dispatch_init(struct dispatch *dispatch,
                   struct driver *driver,
                   const char *cluster_id,
                   uint64_t node_id);

/* The events of conns.h; [ctx] is the dispatch. */
void dispatch_request(void *ctx, struct request *request);
void dispatch_gone(void *ctx, struct request *request);

/* The coordinator's answer to a call of dispatch_request(). */
void dispatch_reply(struct call *call, const void *response);

#endif
