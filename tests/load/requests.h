/* The requests that members send, and the bytes inside them that only members understand. */
#ifndef LOAD_REQUESTS_H
#define LOAD_REQUESTS_H

#include "rpc/span.h"
#include "tests/load/link.h"
#include "tests/load/member.h"

enum {
    JOIN_VERSION = 9,
    SYNC_VERSION = 5,
    HEARTBEAT_VERSION = 4,
    LEAVE_VERSION = 5,
    COMMIT_VERSION = 8,
};

/* Over the member's link; each ends in one call of [done] with the member. */
void requests_join(struct member *member, link_done *done);
/* The leader's has the assignments: partition p goes to member p modulo their number. */
void requests_sync(struct member *member, link_done *done);
void requests_heartbeat(struct member *member, link_done *done);
void requests_leave(struct member *member, link_done *done);
/* member->commit; its metadata holds the offset once more, as "op=<offset>". */
void requests_commit(struct member *member, link_done *done);

/* The same two over any link, with any owner, without a timeout: for closed loops. */
void requests_heartbeat_on(struct link *link,
                           const struct member *member,
                           link_done *done,
                           void *ctx);
void requests_commit_on(struct link *link, const struct member *member, link_done *done, void *ctx);

/* Fills [partitions] (MEMBER_PARTITIONS_MAX) and returns their number. */
int requests_parse_assignment(struct span assignment, int *partitions);

#endif
