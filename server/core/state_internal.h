/* What the files that change facts share: state*.c, apply_*.c, snapshot_*.c and the editing halves
 * of group, offsets, topic and node. Nobody else includes it. */
#ifndef SERVER_CORE_STATE_INTERNAL_H
#define SERVER_CORE_STATE_INTERNAL_H

#include "rpc/arena.h"
#include "server/core/record.h"
#include "server/core/state.h"
#include "server/core/state_editions.h"
#include "server/core/state_roll.h"
#include "server/core/table.h"

/* A chunk of a large decision (R8), as it came. */
struct staged {
    struct staged *next;
    uint64_t id; /* from the replicated counter: their order */
    uint64_t group;
    int32_t generation;
    enum record_type type;
    uint8_t version;
    uint32_t made;
    uint64_t hash;
    size_t len;
    uint8_t body[];
};

struct state {
    struct state_totals totals;
    uint64_t next_id;   /* R7 */
    uint64_t rows_hash; /* the sum of the hashes of all rows */

    struct roll groups; /* struct group_slot */
    struct table groups_by_name;
    struct table groups_by_id;
    struct roll topics; /* struct topic */
    struct table topics_by_name;
    struct table topics_by_id;
    struct table topics_by_uuid;
    struct roll nodes; /* struct node */
    struct staged *staged;
    struct staged **staged_last;

    struct editions editions;
    struct frozen *frozen;
    struct state_events events;
    void *events_ctx;
    struct arena arena; /* of the record that is being applied */
};

/* ---- offsets_edit.c ---- */

/* The row of that key, made if need be (then zeroed but for the key). The caller keeps the count.
 */
struct offset_row *offsets_put(struct offsets *offsets, uint64_t topic, int32_t partition);
/* The caller has dropped the row's metadata. */
void offsets_remove(struct offsets *offsets, const struct offset_row *row);
/* All memory of the table, not of metadata. */
void offsets_drop(struct offsets *offsets, struct editions *editions, uint32_t made);
/* The same rows in memory of its own, metadata shared. */
struct offsets offsets_copy(const struct offsets *offsets);
uint64_t offset_row_hash(uint64_t group, const struct offset_row *row);

/* ---- member.c ---- */

/* One allocation of the facts in [from], whose spans may point anywhere, with the bookkeeping. */
struct member *member_new(const struct member *from, uint64_t group, uint32_t made);
/* The same facts at another place, with another assignment. */
struct member *member_with(const struct member *from,
                           uint64_t group,
                           uint32_t made,
                           uint32_t place,
                           struct span assignment);
uint64_t member_hash(const struct member *member, uint64_t group);

/* ---- group_index.c ---- */

struct group_index;
enum { GROUP_SEARCHED_MAX = 16 }; /* members and pending ids above which there is an index */
/* Each may be called at any number; they make the index when there are enough. */
void group_index_add_member(struct group *group, struct member *member);
void group_index_remove_member(struct group *group, const struct member *member);
void group_index_add_pending(struct group *group, int32_t at);
void group_index_remove_pending(struct group *group, int32_t at);
void group_index_free(struct group *group);

/* ---- group_edit.c: the caller edits a version of its own (state_edit_group()) ---- */

struct group *group_new(struct editions *editions, uint64_t id, struct span name);
struct group *group_copy(struct editions *editions, const struct group *group);
/* The version that a copy replaced: what the copy did not take over. */
void group_drop_version(struct editions *editions, struct group *group);
/* The group itself, with all it has. */
void group_drop(struct editions *editions, struct group *group);
/* [member] becomes the group's, at the end. */
void group_add_member(struct group *group, struct member *member);
/* In the place of [old], which is dropped. */
void group_replace_member(struct editions *editions,
                          struct group *group,
                          const struct member *old,
                          struct member *member);
/* Those of the ids that are members go; returns how many. */
int32_t group_remove_members(struct editions *editions,
                             struct group *group,
                             const uint64_t *ids,
                             int32_t count);
void group_clear_members(struct editions *editions, struct group *group);
/* Where it stands in members. O(log n). */
int32_t group_position(const struct group *group, const struct member *member);
void group_add_pending(struct editions *editions,
                       struct group *group,
                       struct span member_id,
                       int32_t session_timeout_ms);
bool group_remove_pending(struct editions *editions, struct group *group, struct span member_id);
void group_set_text(struct editions *editions, struct span *field, struct span value);
uint64_t group_hash(const struct group *group);
uint64_t pending_hash(const struct pending_member *pending, uint64_t group);

/* ---- topic.c, node.c ---- */

struct topic *topic_new(struct editions *editions,
                        uint64_t id,
                        struct span name,
                        const struct uuid *uuid,
                        int32_t partitions_count);
struct topic *topic_copy(struct editions *editions, const struct topic *topic);
void topic_drop(struct editions *editions, struct topic *topic);
void topic_grow(struct topic *topic, int32_t partitions_count);
uint64_t topic_hash(const struct topic *topic);
/* What one partition's high offset contributes to it. */
uint64_t topic_high_hash(uint64_t topic, int32_t partition, int64_t offset);
uint64_t node_hash(const struct node *node);

/* ---- state.c: rows in and out, with totals, tables and hash ---- */

struct group_slot *state_add_group(struct state *state, struct group *group);
void state_remove_group(struct state *state, struct group_slot *slot);
/* A version that may be changed; state_update_group() afterwards, unless only offsets were. */
struct group *state_edit_group(struct state *state, struct group_slot *slot);
/* [members_before]: members_count before the change. */
void state_update_group(struct state *state, struct group *group, int32_t members_before);
/* The same but for the group's version. */
void state_account_group(struct state *state, struct group *group, int32_t members_before);
void state_add_topic(struct state *state, struct topic *topic);
void state_remove_topic(struct state *state, struct topic *topic);
struct topic *state_edit_topic(struct state *state, const struct topic *topic);
void state_set_node(struct state *state, struct node *node);
/* [facts] but for the body and the bookkeeping. */
void state_stage(struct state *state, const struct staged *facts, struct span body);
/* Those of the group; of all groups where it is 0. */
void state_drop_staged(struct state *state, uint64_t group);
uint64_t staged_hash(const struct staged *staged);
/* Drops all rows and what finds them. */
void state_clear(struct state *state, struct editions *editions);
/* totals.hash, from the sum of the rows and the rest. */
void state_seal(struct state *state);

/* ---- apply_*.c ---- */

struct apply {
    struct state *state;
    uint64_t group_made; /* what group 0 means */
    uint8_t version;
    struct span bytes; /* of the body */
    struct verdict verdict;
};

typedef void apply_fn(struct apply *apply, const void *body);
apply_fn apply_group_created, apply_member_pending, apply_pending_removed, apply_members_removed,
    apply_member_replaced, apply_group_deleted, apply_generation, apply_assignment,
    apply_members_staged, apply_assignments_staged, apply_offsets, apply_offsets_deleted,
    apply_offsets_expired, apply_topic_created, apply_topic_grown, apply_topic_deleted, apply_node,
    apply_feature_level;

/* The group that a record names, which the verdict names from now on; NULL: gone, and [error] is
 * the verdict. */
struct group_slot *apply_find_group(struct apply *apply, uint64_t group, int16_t error);
/* The facts of a new member of a record, borrowing from it; protocols in the arena. */
struct member apply_member_facts(struct arena *arena,
                                 const struct record_member *from,
                                 uint64_t id);
/* The group has no members any more; [members_before]: how many it had. */
void apply_empty(struct apply *apply, struct group *group, int32_t members_before);
/* Bodies of what is staged for a group in that generation, in order, in the arena, which must have
 * no limit. They borrow from the chunks. */
struct staged_bodies {
    const void **bodies;
    int count;
};
struct staged_bodies apply_staged_bodies(const struct state *state,
                                         struct arena *arena,
                                         uint64_t group,
                                         int32_t generation,
                                         enum record_type type);

#endif
