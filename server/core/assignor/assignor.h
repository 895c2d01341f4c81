/* The assignors of server-assigned groups: which member gets which partitions (KIP-848; the rules
 * are those of Kafka's `uniform` and `range`, tightened).
 *
 * Pure functions: no clock, no chance, no state of their own; they may run in any thread over an
 * input that nobody changes meanwhile. They allocate from the given arena alone, scratch memory
 * included, so give them one of their own and keep from it what the result points to. The result
 * depends on what the input says, never on the order of its members or subscriptions.
 *
 * Both hand out every partition that is not withheld and that somebody subscribes to, exactly
 * once, to a subscriber. Members stand in one order: static ones first, by instance id, then the
 * dynamic ones by member id, both bytewise; it settles every tie.
 *
 * range: each topic by itself, over its subscribers in that order: contiguous blocks of the
 *   partitions that may be handed out, of P div N partitions, the first P mod N blocks one longer.
 *   Topics with equal partitions and subscribers are co-partitioned. Ignores what members hold.
 *
 * uniform, equal subscriptions: every member's total over all topics is P div N or one more, and
 *   exactly as many partitions change hands as that requires: who must get one more is chosen among
 *   those that hold one more already, and nobody gives up what is within its share.
 *
 * uniform, different subscriptions: no chain of moves (A gives B a partition that B may have, B
 *   gives C one, ...) from a member to one that has at least two fewer is left. That makes the
 *   loads, largest first, the least possible, and likewise the sum of their squares. Where members
 *   with equal subscriptions share no topic with others, they are balanced and sticky as a group
 *   of their own is. Otherwise each keeps what it has as far as shortest chains of moves allow;
 *   that is not always the least number of moves.
 *
 * Racks: among partitions that need an owner anyway, and among those that a member must give up
 *   anyway, uniform prefers to hand out those with a replica in the member's rack and to take
 *   those without. Neither balance nor the number of moves suffers. range ignores racks.
 *
 * Steps: all work is linear in the input, but for the search for chains: it stops after
 * [input.steps] looked-at pairs of a set of topics and a set of members, and the result says so:
 * it is complete and valid, but perhaps less balanced. */
#ifndef SERVER_CORE_ASSIGNOR_ASSIGNOR_H
#define SERVER_CORE_ASSIGNOR_ASSIGNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/span.h"

enum {
    ASSIGNOR_RACKS = 64,           /* that can be told apart; members in others have no rack */
    ASSIGNOR_STEPS = 10000000,     /* half a second or so; 10,000 members with a random half of
                                    * 1,000 topics each, and no two the same, need half of it */
    ASSIGNOR_PARTITIONS = 1 << 30, /* of all topics; more break an invariant */
};

enum assignor_kind { ASSIGNOR_UNIFORM, ASSIGNOR_RANGE };

/* Partitions [first, first + count) of input.topics[topic]. */
struct assignor_run {
    int32_t topic;
    int32_t first;
    int32_t count;
};

struct assignor_topic {
    int32_t partition_count; /* 0 and more */
    /* Bit p % 64 of word p / 64: partition p is nobody's, say a shard that is retired or consumed
     * to its end, or a child whose parents are not. A sealed one that still has something to
     * consume is handed out like others. NULL: none is withheld. */
    const uint64_t *withheld;
    const uint64_t *racks; /* per partition, bit r: a replica in rack r. NULL: unknown */
};

/* Of one or many members. Members with equal subscriptions may share one or not; sharing is
 * faster. */
struct assignor_subscription {
    const int32_t *topics; /* strictly ascending indices into input.topics */
    int32_t topic_count;
};

struct assignor_member {
    struct span member_id;   /* distinct */
    struct span instance_id; /* null: a dynamic member; distinct otherwise */
    int32_t rack;            /* 0 to ASSIGNOR_RACKS - 1, as in racks of topics; -1: none */
    int32_t subscription;    /* index into input.subscriptions */
    /* Its present target, ascending by topic and first, without overlap. What it may no longer
     * have is passed over: topics unsubscribed, partitions withheld or beyond the topic's count.
     * Of two members that name one partition the first in order has it. */
    const struct assignor_run *current;
    int32_t current_count;
};

struct assignor_input {
    const struct assignor_member *members; /* in any order */
    int32_t member_count;
    const struct assignor_topic *topics;
    int32_t topic_count;
    const struct assignor_subscription *subscriptions;
    int32_t subscription_count;
    int64_t steps; /* most of them; 0: no search at all */
};

/* Ascending by topic and first; runs that touch are one run. Without any, [runs] may be NULL. */
struct assignor_share {
    const struct assignor_run *runs;
    int32_t run_count;
    int32_t partition_count;
};

struct assignor_result {
    struct assignor_share *shares; /* of input.members[i] */
    int64_t steps;                 /* taken */
    bool is_exhausted;             /* the search for a better balance ended early */
};

/* False: no assignor has this name. Names are as Kafka's: lower case, compared bytewise. */
bool assignor_find(struct span name, enum assignor_kind *kind);

struct assignor_result assignor_assign(enum assignor_kind kind,
                                       const struct assignor_input *input,
                                       struct arena *arena);

#endif
