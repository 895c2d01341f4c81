/* What must hold in every life (DESIGN section 2; chaos I1-I11). It knows what was asked, when and
 * where each answer was given, and the facts after each record; and it ends the life at the first
 * answer that cannot be right. */
#ifndef TESTS_SIM_ORACLE_ORACLE_H
#define TESTS_SIM_ORACLE_ORACLE_H

#include "tests/sim/clients/lane.h"
#include "tests/sim/oracle/book.h"
#include "tests/sim/oracle/machine.h"

/* One partition of one OffsetCommit; its id is the offset, and stands in the metadata. */
struct op {
    uint64_t id;
    int32_t generation;
    char member_id[TEXT];
    char instance_id[TEXT];
    bool is_acknowledged;
    bool is_refused;
    uint64_t position; /* where in the log it took effect; 0: nowhere so far */
};

/* What a partition's offset was, from which position in the log on. */
struct version {
    uint64_t position;
    int64_t op; /* -1: none */
};

struct cell {
    struct cell *next;
    char group[TEXT];
    char topic[TEXT];
    int32_t partition;
    struct version *versions;
    size_t count, cap;
};

struct oracle {
    struct book *book;
    struct op *ops;
    size_t ops_count, ops_cap;
    struct cell *cells;
    uint64_t seen_position; /* the newest facts that any reply has shown */
    uint64_t acknowledged, fenced, reads, generations, evictions, stale;
};

void oracle_init(struct life *life);
void oracle_close(struct life *life);

/* ---- oracle_calls.c: each call, each answer ---- */

void oracle_sent(struct life *life, struct message *message);
void oracle_called(struct life *life, const struct machine *machine, struct message *message);
void oracle_answered(struct life *life,
                     const struct machine *machine,
                     struct message *message,
                     const void *response);
void oracle_lost(struct life *life, const struct message *message);
void oracle_check_bound(struct life *life,
                        const struct machine *machine,
                        const struct message *message);

/* ---- oracle_log.c: each record ---- */

void oracle_proposed(struct life *life, const struct machine *machine, struct span records);
/* Before and after the reference applies a proposal. */
void oracle_applies(struct life *life, struct span records);
void oracle_applied(struct life *life, struct span records);

/* ---- oracle_groups.c: members and generations ---- */

void oracle_logged(struct life *life, const struct machine *machine, const char *line);
void oracle_elected(struct life *life, const struct machine *machine);
/* A sign of life of a member; [parked]: how many of its calls wait from now on. */
void oracle_heard(struct life *life,
                  const struct machine *machine,
                  const struct group *group,
                  const struct member *member,
                  int parked);
void oracle_check_removal(struct life *life,
                          const struct machine *machine,
                          const struct group *group,
                          const struct member *member,
                          bool is_rejoin);
/* A group's leader is about to send this assignment. */
void oracle_assigned(struct life *life, const char *text);
void oracle_note_generation(struct life *life, const struct group *group);
void oracle_note_assignment(struct life *life, const struct group *group);
void oracle_check_join(struct life *life,
                       const struct machine *machine,
                       const struct message *message,
                       const struct join_group_response *response);
void oracle_check_sync(struct life *life,
                       const struct machine *machine,
                       const struct message *message,
                       const struct sync_group_response *response);

/* ---- oracle_offsets.c: the offsets as registers ---- */

struct op *oracle_new_op(struct life *life);
struct op *oracle_op(struct life *life, int64_t id);
void oracle_offset_written(struct life *life,
                           const struct group *group,
                           const struct topic *topic,
                           int32_t partition,
                           struct span metadata);
/* All of the group, of the topic, or the one row, whichever are not NULL and -1, are gone. */
void oracle_offsets_gone(struct life *life,
                         const char *group,
                         const char *topic,
                         int32_t partition);
/* What a read may have shown that was as new as [low] at least and [high] at most. */
void oracle_check_read(struct life *life,
                       const char *group,
                       struct span topic,
                       int32_t partition,
                       int64_t offset,
                       struct span metadata,
                       uint64_t low,
                       uint64_t high);
/* A read of all: what must have been there. */
void oracle_check_whole(struct life *life,
                        const char *group,
                        const struct offset_fetch_response_topic *topics,
                        int32_t count,
                        uint64_t low,
                        uint64_t high);
/* The facts say the same as the history. */
void oracle_check_cells(struct life *life);

/* ---- Helpers ---- */

static inline void oracle_text(char text[TEXT], struct span from)
{
    size_t len = from.len < TEXT - 1 ? from.len : TEXT - 1;
    if (len > 0) {
        memcpy(text, from.data, len);
    }
    text[len] = 0;
}

/* Who a member is, over the incarnations of a static one. */
void oracle_identity(const struct life *life, const char *member_id, char identity[TEXT]);

#endif
