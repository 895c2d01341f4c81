/* ApiVersions (18): which APIs this node serves, in which versions. Answered by any node in any
 * state, before everything else a client asks. */
#ifndef SERVER_API_VERSIONS_H
#define SERVER_API_VERSIONS_H

#include "rpc/schema.h"
#include "server/core/call.h"

/* The reply to a decoded request, in the call's arena: INVALID_REQUEST where a client's software
 * name or version (v3+) is not made as KIP-511 wants it, or where it names only one of cluster and
 * node (v5+); REBOOTSTRAP_REQUIRED where it believes to talk to another cluster or node (KIP-1242).
 */
const struct api_versions_response *api_versions_handle(const struct call *call,
                                                        struct span cluster_id,
                                                        uint64_t node_id);

/* The reply to a version that is not served, to be sent in version 0: UNSUPPORTED_VERSION and the
 * versions of ApiVersions alone, so that the client can choose one (KIP-511). */
const struct api_versions_response *api_versions_unsupported(const struct call *call);

#endif
