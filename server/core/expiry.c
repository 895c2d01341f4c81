/* The sweep: offsets that have expired and groups that nothing is left of (protocol C.7).
 *
 * The leader alone looks, each offsets.retention.check.interval.ms, and proposes what it found as
 * conditional records (R5): a row goes only if it still is what was looked at. A pass over all
 * groups is cut into turns of bounded work, one per tick, and a turn waits until the proposal of
 * the one before is decided. Rows that change place meanwhile may be missed; the next pass finds
 * them. While the wall clock is not to be trusted (R19) only dead rows go: those need no clock.
 *
 * Each group's loss is logged with count and reason once it has happened. */
#include <stdlib.h>

#include "rpc/ensure.h"
#include "server/core/expiry_rule.h"
#include "server/core/internal.h"
#include "server/core/record.h"

enum {
    RETRY_MS = 1000,    /* while a turn's proposal is in flight, or after the log refused it */
    MEMBERS_PER_ROW = 8 /* subscriptions that cost as much to read as a row to look at */
};

struct found_row {
    uint64_t topic;
    int32_t partition;
    enum expiry_reason reason;
};

/* What a turn proposed for one group. */
struct found_group {
    uint64_t id;
    struct span name; /* owned */
    int32_t rows_first;
    int32_t rows_count;
    bool is_deleted;
};

/* A turn; lives from its proposal to its end. */
struct turn {
    struct sweep *sweep; /* NULL: the coordinator is gone */
    struct effects *effects;
    bool is_void; /* the log refused its proposal */
    struct found_row rows[LIMIT_EXPIRE_ROWS];
    int32_t rows_count;
    struct found_group *groups;
    int32_t groups_count;
    int32_t groups_cap;
};

struct sweep {
    struct deadline due;
    struct turn *turn;     /* in flight; NULL: none */
    struct turn *spare;    /* room for the next one */
    int64_t pass_began_ms; /* -1: between two passes */
    int64_t next_ms;       /* when the next turn is due, but for a proposal in flight */
    uint64_t at;           /* of state_next_group() */
    uint64_t group;        /* where the last turn stopped in the middle; 0: between two */
    uint32_t row;          /* of its offsets_next() */
    int64_t work;          /* rows that this turn may still look at */
    struct expiry_rule rule;
    struct record_expired_offset expired[LIMIT_EXPIRE_ROWS];
};

/* ---- After apply ---- */

static void turn_free(struct turn *turn)
{
    if (turn->sweep != NULL) {
        turn->sweep->turn = NULL;
    }
    for (int32_t i = 0; i < turn->groups_count; i++) {
        free((void *)(uintptr_t)turn->groups[i].name.data);
    }
    free(turn->groups);
    free(turn);
}

static const char *reason_name(int reason)
{
    static const char *const names[EXPIRY_REASONS] = {
        [EXPIRY_RETENTION] = "retention",
        [EXPIRY_EXPLICIT] = "retention_of_the_commit",
        [EXPIRY_TOPIC_DELETED] = "topic_deleted",
    };
    return names[reason];
}

/* [slot]: the group now; NULL: it is gone. Rows that are still there were written anew. */
static void log_rows(struct coordinator *c,
                     const struct group_slot *slot,
                     const struct turn *turn,
                     const struct found_group *group)
{
    int32_t gone[EXPIRY_REASONS] = {0};
    for (int32_t i = 0; i < group->rows_count; i++) {
        const struct found_row *row = &turn->rows[group->rows_first + i];
        if (slot == NULL ||
            offsets_find(&slot->facts->offsets, row->topic, row->partition) == NULL) {
            gone[row->reason]++;
        }
    }
    for (int reason = EXPIRY_KEEP + 1; reason < EXPIRY_REASONS; reason++) {
        if (gone[reason] > 0) {
            c->counters.offsets_expired += (uint64_t)gone[reason];
            effects_log(&c->effects, EFFECT_INFO, "offsets_expired group=%s count=%d reason=%s",
                        effect_text(&c->effects, group->name), gone[reason], reason_name(reason));
        }
    }
}

static void give_up(struct coordinator *c, struct proposal *proposal, int16_t error, bool is_void)
{
    struct turn *turn = proposal->data;
    (void)c;
    (void)error;
    turn->is_void = turn->is_void || is_void;
}

/* Leadership was lost first: nobody here will know what became of it. */
static void turn_drop(void *data)
{
    struct turn *turn = data;
    for (int32_t i = 0; i < turn->groups_count && !turn->is_void; i++) {
        const struct found_group *group = &turn->groups[i];
        effects_log(turn->effects, EFFECT_INFO,
                    "offsets_expired group=%s count=%d deletes_group=%s outcome=unknown",
                    effect_text(turn->effects, group->name), group->rows_count,
                    group->is_deleted ? "yes" : "no");
    }
    turn_free(turn);
}

static void set_due(struct coordinator *c, int64_t least_ms)
{
    int64_t next_ms = c->sweep->next_ms;
    deadline_set(&c->deadlines, &c->sweep->due, next_ms > least_ms ? next_ms : least_ms);
}

static void turn_done(struct coordinator *c,
                      struct proposal *proposal,
                      const struct verdict *verdicts,
                      int count)
{
    struct turn *turn = proposal->data;
    int at = 0;
    for (int32_t i = 0; i < turn->groups_count; i++) {
        const struct found_group *group = &turn->groups[i];
        if (group->rows_count > 0) {
            if (verdicts[at].error == 0) {
                log_rows(c, state_group_by_id(c->state, group->id), turn, group);
            } else if (c->sweep->group == group->id) {
                c->sweep->group = 0; /* it changes under us: the next pass will see */
            }
            at++;
        }
        if (group->is_deleted && verdicts[at++].error == 0) {
            c->counters.groups_deleted++;
            effects_log(&c->effects, EFFECT_INFO, "group_deleted group=%s reason=nothing_left",
                        effect_text(&c->effects, group->name));
        }
    }
    ensure(at == count);
    turn_free(turn);
    set_due(c, c->now_ms + 1); /* one turn per tick */
}

/* ---- A turn ---- */

static struct found_group *add_group(struct turn *turn, const struct group *group)
{
    if (turn->groups_count == turn->groups_cap) {
        turn->groups_cap = turn->groups_cap == 0 ? 16 : 2 * turn->groups_cap;
        turn->groups = realloc(turn->groups, sizeof *turn->groups * (size_t)turn->groups_cap);
        ensure(turn->groups != NULL);
    }
    uint8_t *name = malloc(group->name.len + 1);
    ensure(name != NULL);
    memcpy(name, group->name.data, group->name.len);
    struct found_group *found = &turn->groups[turn->groups_count++];
    *found = (struct found_group){
        .id = group->id, .name = span_of(name, group->name.len), .rows_first = turn->rows_count};
    return found;
}

/* Looks at rows until the group or the turn's work ends; true: the group is done. */
static bool look_at_rows(struct coordinator *c,
                         const struct group_slot *slot,
                         struct turn *turn,
                         int32_t *expired)
{
    struct sweep *sweep = c->sweep;
    struct expiry_rule *rule = &sweep->rule;
    bool is_done = false;
    expiry_rule_init(rule, c, slot);
    *expired = 0;
    while (sweep->work > rule->work / MEMBERS_PER_ROW) {
        const struct offset_row *row = offsets_next(&slot->facts->offsets, &sweep->row);
        if (row == NULL) {
            is_done = true;
            break;
        }
        enum expiry_reason reason = expiry_rule_of(rule, row);
        sweep->work--;
        if (reason != EXPIRY_KEEP) {
            turn->rows[turn->rows_count + *expired] =
                (struct found_row){row->topic, row->partition, reason};
            sweep->expired[(*expired)++] =
                (struct record_expired_offset){.topic = row->topic,
                                               .partition = (uint64_t)row->partition,
                                               .version = row->version};
        }
    }
    sweep->work -= rule->work / MEMBERS_PER_ROW;
    return is_done;
}

static void look_at_group(struct coordinator *c,
                          const struct group_slot *slot,
                          struct turn *turn,
                          struct buf *records)
{
    struct sweep *sweep = c->sweep;
    const struct group *group = slot->facts;
    int32_t expired = 0;
    uint32_t first_row = sweep->row;
    bool is_done = look_at_rows(c, slot, turn, &expired);
    bool is_over = is_done && (uint32_t)expired == group->offsets.count &&
                   round_phase(slot) == GROUP_EMPTY && group->pending_count == 0;
    sweep->group = is_done ? 0 : group->id;
    if (!is_done && expired > 0) {
        sweep->row = first_row; /* rows from the end will fill the gaps */
    }
    if (expired == 0 && !is_over) {
        return;
    }
    struct found_group *found = add_group(turn, group);
    if (expired > 0) {
        struct record_offsets_expired record = {.group = group->id,
                                                .version = group->version,
                                                .offsets = sweep->expired,
                                                .offsets_count = expired};
        record_append(records, RECORD_OFFSETS_EXPIRED, &record);
        found->rows_count = expired;
        turn->rows_count += expired;
    }
    if (is_over) {
        struct record_group_deleted record = {.group = group->id, .only_without_offsets = true};
        record_append(records, RECORD_GROUP_DELETED, &record);
        found->is_deleted = true;
    }
}

/* The group that the turn goes on with; NULL: the pass is over. */
static struct group_slot *next_group(struct coordinator *c)
{
    struct sweep *sweep = c->sweep;
    if (sweep->group != 0) {
        struct group_slot *slot = state_group_by_id(c->state, sweep->group);
        if (slot != NULL) {
            return slot;
        }
    }
    sweep->row = 0;
    return state_next_group(c->state, &sweep->at);
}

/* True: the pass is over. */
static bool look_around(struct coordinator *c, struct turn *turn, struct buf *records)
{
    c->sweep->work = LIMIT_EXPIRE_ROWS;
    for (int n = 0; n < LIMIT_SLICE_GROUPS && c->sweep->work > 0; n++) {
        const struct group_slot *slot = next_group(c);
        if (slot == NULL) {
            return true;
        }
        look_at_group(c, slot, turn, records);
    }
    return false;
}

static void begin_pass(struct coordinator *c)
{
    c->sweep->pass_began_ms = c->now_ms;
    c->sweep->at = 0;
    c->sweep->group = 0;
    c->sweep->row = 0;
}

static void propose(struct coordinator *c, struct buf *records)
{
    struct sweep *sweep = c->sweep;
    struct proposal *proposal = proposal_make(c, NULL, records, turn_done);
    sweep->turn = sweep->spare;
    sweep->spare = NULL;
    proposal->data = sweep->turn;
    proposal->give_up = give_up;
    proposal->drop = turn_drop;
}

static void take_turn(struct coordinator *c, struct deadline *deadline)
{
    struct sweep *sweep = c->sweep;
    (void)deadline;
    if (sweep->turn != NULL) {
        set_due(c, c->now_ms + RETRY_MS);
        return;
    }
    if (sweep->pass_began_ms < 0) {
        begin_pass(c);
    }
    if (sweep->spare == NULL) {
        sweep->spare = calloc(1, sizeof *sweep->spare);
        ensure(sweep->spare != NULL);
        sweep->spare->sweep = sweep;
        sweep->spare->effects = &c->effects;
    }
    struct buf records = BUF_EMPTY;
    sweep->next_ms = c->now_ms;
    if (look_around(c, sweep->spare, &records)) {
        sweep->next_ms = sweep->pass_began_ms + c->limits.offsets_check_interval_ms;
        sweep->pass_began_ms = -1;
    }
    if (sweep->spare->groups_count > 0) {
        propose(c, &records);
    }
    set_due(c, c->now_ms + (sweep->turn != NULL ? RETRY_MS : 1));
}

/* ---- Its life ---- */

void sweep_init(struct coordinator *c)
{
    c->sweep = calloc(1, sizeof *c->sweep);
    ensure(c->sweep != NULL);
    deadline_init(&c->sweep->due, take_turn);
    c->sweep->pass_began_ms = -1;
}

void sweep_close(struct coordinator *c)
{
    if (c->sweep->turn != NULL) {
        c->sweep->turn->sweep = NULL;
    }
    free(c->sweep->spare);
    free(c->sweep);
    c->sweep = NULL;
}

void sweep_start(struct coordinator *c)
{
    c->sweep->pass_began_ms = -1;
    c->sweep->next_ms = c->now_ms + c->limits.offsets_check_interval_ms;
    set_due(c, c->now_ms);
}

void sweep_stop(struct coordinator *c)
{
    deadline_clear(&c->deadlines, &c->sweep->due);
}
