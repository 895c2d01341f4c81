/* Ids that this coordinator hands out: "<client id>-<uuid>", for a static member
 * "<instance id>-<uuid>", as Kafka's, with the UUID as RFC 4122 writes it. */
#ifndef SERVER_CORE_MEMBER_ID_H
#define SERVER_CORE_MEMBER_ID_H

#include "server/core/call.h"

/* In the call's arena; the same at each time for the same call. [prefix] is cut at
 * LIMIT_CLIENT_ID_BYTES. */
struct span member_id_make(struct call *call, struct span prefix);

#endif
