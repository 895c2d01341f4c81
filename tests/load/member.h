/* One member of a group, behaving like a consumer: it finds the coordinator, joins, syncs, beats,
 * commits, and after whatever goes wrong tries again where the coordinator is then.
 *
 *   AWAY -> JOINING -> [DELAYING ->] SYNCING -> STABLE -> LEAVING -> AWAY
 *              ^______________________________|
 *
 * In every phase but AWAY it may be without a link; it then looks for the coordinator, with a
 * growing pause, and goes on where it was. */
#ifndef LOAD_MEMBER_H
#define LOAD_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "rpc/span.h"
#include "tests/load/directory.h"

enum { MEMBER_ID_BYTES_MAX = 128, MEMBER_PARTITIONS_MAX = 64 };

enum member_phase {
    MEMBER_AWAY,
    MEMBER_JOINING,
    MEMBER_DELAYING, /* the leader thinks about its assignment */
    MEMBER_SYNCING,
    MEMBER_STABLE,
    MEMBER_LEAVING,
};

struct member_commit {
    bool is_open; /* an offset is to be committed; retried until it is acked or fenced */
    bool is_sent;
    int partition;
    int64_t offset;
    int32_t generation; /* under which it was begun */
    uint64_t begun_ns;
};

struct member {
    struct crowd_group *group;
    int number; /* in the group */
    enum member_phase phase;
    char id[MEMBER_ID_BYTES_MAX];
    size_t id_len; /* 0: none yet */
    int32_t generation;
    bool is_leader;
    struct span *others; /* the leader's: ids of all members, one allocation with their bytes */
    int others_count;
    int partitions[MEMBER_PARTITIONS_MAX];
    int partitions_count;

    struct link *link; /* NULL: looking for the coordinator */
    struct directory_question question;
    bool is_asking;
    unsigned backoff_ms;
    uv_timer_t timer;
    bool beats;        /* a heartbeat is on the link */
    uint64_t heard_ns; /* when the last heartbeat was accepted */
    struct member_commit commit;
};

void member_init(struct member *member, struct crowd_group *group, int number);
/* AWAY: begins to join, without an id. */
void member_start(struct member *member);
/* STABLE: leaves; AWAY afterwards. */
void member_leave(struct member *member);
/* STABLE, and nothing on its link: gives the link away and falls silent. */
void member_park(struct member *member);
/* STABLE, no commit open: commits the next offset of one of its partitions. False if it has none.
 */
bool member_commit(struct member *member);

static inline struct span member_id(const struct member *member)
{
    return span_of(member->id, member->id_len);
}

#endif
