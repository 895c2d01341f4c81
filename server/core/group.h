/* A group's committed facts. Equal on all nodes at equal index; changed by state_apply() alone.
 *
 * Classic groups only so far; what a group's state is follows from the facts and, on the leader,
 * from its round (R1):
 *
 *   members_count == 0                          Empty
 *   is_changed                                  PreparingRebalance (a member was removed since the
 *                                               generation began)
 *   !is_changed && !has_assignment              CompletingRebalance
 *   !is_changed &&  has_assignment              Stable, unless a round is on
 *
 * A version of a group is never changed while a snapshot holds it: state_edit_group() replaces it by
 * a copy first (R17). So decisions hold struct group_slot pointers and read slot->facts anew. */
#ifndef SERVER_CORE_GROUP_H
#define SERVER_CORE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/span.h"
#include "server/core/offsets.h"

struct member_protocol {
    struct span name;
    struct span metadata;
};

/* All spans of a member point into one allocation of its own. */
struct member {
    uint64_t id;             /* interned: from the replicated counter, never reused (R7) */
    struct span member_id;   /* what the client knows */
    struct span instance_id; /* null: dynamic */
    struct span client_id;
    struct span client_host;
    int32_t session_timeout_ms;
    int32_t rebalance_timeout_ms;
    bool joined_without_id; /* R3: its first JoinGroup (v0-3) came with an empty member id */
    struct member_protocol *protocols; /* in the member's order of preference (R2) */
    int32_t protocols_count;
    struct span assignment; /* empty where the leader named none; null before the assignment */

    /* Bookkeeping. */
    uint64_t hash;
    uint32_t place; /* ascends in the group's order, with gaps where members left; part of the row */
    uint32_t bytes; /* of this allocation */
    uint32_t made;  /* in which edition (copy on write) */
};

/* A member id that was handed out (79 MEMBER_ID_REQUIRED) and has not joined yet. */
struct pending_member {
    struct span member_id;
    int32_t session_timeout_ms;
};

struct group {
    uint64_t id; /* interned, never reused (R7) */
    struct span name;
    uint64_t version;       /* index of the batch that last changed anything but offsets (R5) */
    int32_t generation;     /* 0 before the first; never decreases (promise 2) */
    struct span protocol_type; /* kept when the group becomes Empty; empty for offset-only groups */
    struct span protocol_name; /* null while Empty */
    int64_t empty_since_ms; /* stamp of the batch that made it Empty; -1 while it has members or if
                             * it never had any */
    bool has_assignment;
    bool is_changed;
    uint64_t leader; /* member.id; 0: none */

    struct member **members; /* in the order in which they first joined */
    int32_t members_count;
    struct pending_member *pending;
    int32_t pending_count;

    struct offsets offsets;

    /* Bookkeeping, not facts. */
    uint64_t hash;     /* of the row without offsets; part of the state's hash */
    uint64_t parts;    /* what members and pending ids contribute to it: the sum of their hashes */
    uint32_t made;     /* in which edition (copy on write) */
    struct group_index *index; /* of members and pending ids; NULL while they are few */
    size_t bytes;      /* what members, pending ids and names take, for group.max.metadata.bytes */
};

/* The stable place of a group: the facts may be replaced under it, the slot lives until the group
 * is deleted. */
struct group_slot {
    const struct group *facts;
    void *round; /* the coordinator's soft state of this group; state never touches it but hands
                  * it to state_events.group_deleted */
};

enum group_phase { GROUP_EMPTY, GROUP_PREPARING, GROUP_COMPLETING, GROUP_STABLE };
/* By the facts alone. */
enum group_phase group_phase(const struct group *group);

/* NULL: unknown. O(1) but for small groups, which are searched. */
const struct member *group_find_member(const struct group *group, struct span member_id);
const struct member *group_member_by_id(const struct group *group, uint64_t id);
const struct member *group_member_by_instance(const struct group *group, struct span instance_id);
const struct pending_member *group_pending(const struct group *group, struct span member_id);

/* The metadata the member gave for the group's protocol; empty if it did not name it. */
struct span group_member_metadata(const struct group *group, const struct member *member);

/* Whether a member subscribes to the topic, as far as the coordinator can see (C.7): the v0 prefix
 * of the consumer protocol's subscription. Unparsable metadata of type "consumer": subscribed to
 * everything. Other protocol types: to nothing. */
bool group_subscribes(const struct group *group, struct span topic);

/* Aborts where an invariant is broken (docs/INVARIANTS.md). */
void group_check(const struct group *group);

#endif
