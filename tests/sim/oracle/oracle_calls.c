/* Each call from its start to its answer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "rpc/errors.h"
#include "tests/sim/oracle/oracle.h"

void oracle_init(struct life *life)
{
    life->oracle = calloc(1, sizeof *life->oracle);
    ensure(life->oracle != NULL);
    life->oracle->book = book_new();
}

void oracle_close(struct life *life)
{
    struct oracle *oracle = life->oracle;
    for (struct cell *cell = oracle->cells, *next; cell != NULL; cell = next) {
        next = cell->next;
        free(cell->versions);
        free(cell);
    }
    book_free(oracle->book);
    free(oracle->ops);
    free(oracle);
    life->oracle = NULL;
}

/* ---- Who calls ---- */

struct caller {
    struct span group;
    struct span member_id;
    struct span instance_id;
    int32_t generation; /* INT32_MIN: the API has none */
};

static struct caller caller_of(const struct message *message)
{
    struct caller caller = {SPAN_EMPTY, SPAN_EMPTY, SPAN_NULL, INT32_MIN};
    if (message->call.api_key == API_JoinGroup) {
        const struct join_group_request *request = message->call.request;
        caller = (struct caller){request->group_id, request->member_id, request->group_instance_id,
                                 INT32_MIN};
    } else if (message->call.api_key == API_SyncGroup) {
        const struct sync_group_request *request = message->call.request;
        caller = (struct caller){request->group_id, request->member_id, request->group_instance_id,
                                 request->generation_id};
    } else if (message->call.api_key == API_Heartbeat) {
        const struct heartbeat_request *request = message->call.request;
        caller = (struct caller){request->group_id, request->member_id, request->group_instance_id,
                                 request->generation_id};
    } else if (message->call.api_key == API_OffsetCommit) {
        const struct offset_commit_request *request = message->call.request;
        caller = (struct caller){request->group_id, request->member_id, request->group_instance_id,
                                 request->generation_id_or_member_epoch};
    }
    return caller;
}

static const struct group *facts_of(const struct machine *machine, struct span name)
{
    const struct group_slot *slot = state_group(coordinator_state(machine->core), name);
    return slot == NULL ? NULL : slot->facts;
}

/* The member that calls, if it is one and nothing is wrong with its ids. */
static const struct member *member_of(const struct group *group, const struct caller *caller)
{
    const struct member *member =
        group == NULL ? NULL : group_find_member(group, caller->member_id);
    bool is_other = member != NULL && !span_is_null(caller->instance_id) &&
                    !span_equal(member->instance_id, caller->instance_id);
    return is_other ? NULL : member;
}

/* ---- Start ---- */

void oracle_sent(struct life *life, struct message *message)
{
    message->low_position = life->oracle->seen_position;
}

/* A join or sync of a member that the machine knows: it is alive while it waits. */
void oracle_called(struct life *life, const struct machine *machine, struct message *message)
{
    struct caller caller = caller_of(message);
    const struct group *group = facts_of(machine, caller.group);
    const struct member *member = member_of(group, &caller);
    bool waits = message->call.api_key == API_JoinGroup ||
                 (message->call.api_key == API_SyncGroup && group != NULL &&
                  caller.generation == group->generation);
    (void)life;
    if (member != NULL && waits && coordinator_is_leading(machine->core)) {
        message->parked_term = machine->term;
        message->parked_group = group->id;
        message->parked_member = member->id;
    }
}

void oracle_lost(struct life *life, const struct message *message)
{
    (void)life;
    (void)message;
}

/* ---- Bounds (R11) ---- */

static int64_t bound_ms(const struct life *life, const struct message *message)
{
    int64_t rebalance_ms = life->options.rebalance_ms > life->options.session_ms
                               ? life->options.rebalance_ms
                               : life->options.session_ms;
    int64_t proposal_ms = LIMIT_PROPOSAL_TIMEOUT_MS + 400;
    switch (message->call.api_key) {
        case API_JoinGroup:
            return 2 * rebalance_ms + 5 * proposal_ms;
        case API_SyncGroup:
            return rebalance_ms + 4 * proposal_ms;
        case API_LeaveGroup:
        case API_OffsetCommit:
            return 2 * proposal_ms;
        default:
            return proposal_ms;
    }
}

void oracle_check_bound(struct life *life,
                        const struct machine *machine,
                        const struct message *message)
{
    int64_t ms = life->now_ms - message->started_ms;
    ms -= machine->pauses_ms - message->pauses_ms;
    if (ms > bound_ms(life, message)) {
        life_fail(life, "API %d v%d waits for %lld ms at n%d", message->call.api_key,
                  message->call.api_version, (long long)ms, machine->at + 1);
    }
}

/* ---- Answers ---- */

static bool is_unknown(int16_t error)
{
    return error == KAFKA_REQUEST_TIMED_OUT || error == KAFKA_COORDINATOR_NOT_AVAILABLE ||
           error == KAFKA_NOT_COORDINATOR;
}

/* Errors that say something about the facts, which are known. */
static void check_error(struct life *life,
                        const struct machine *machine,
                        const struct message *message,
                        int16_t error)
{
    struct caller caller = caller_of(message);
    const struct group *group = facts_of(machine, caller.group);
    const struct member *member = member_of(group, &caller);
    bool is_wrong = false;
    switch (error) {
        case KAFKA_UNKNOWN_MEMBER_ID:
            is_wrong = member != NULL;
            if (message->call.api_key == API_JoinGroup && caller.member_id.len == 0) {
                /* It asked for an id; but a liar may remove by instance whoever waits. */
                is_wrong = !message->call.gone &&
                           (span_is_null(caller.instance_id) || life->options.liars == 0);
            }
            break;
        case KAFKA_ILLEGAL_GENERATION:
            is_wrong = member != NULL && caller.generation == group->generation;
            break;
        case KAFKA_FENCED_INSTANCE_ID:
            is_wrong = member != NULL;
            break;
        case KAFKA_MEMBER_ID_REQUIRED:
            is_wrong = caller.member_id.len > 0 || message->call.api_version < 4;
            break;
        default:
            break;
    }
    if (is_wrong) {
        life_fail(life, "API %d of \"%.*s\" (generation %d) got %d, which the facts do not say",
                  message->call.api_key, (int)caller.member_id.len,
                  (const char *)caller.member_id.data, caller.generation, error);
    }
}

static void check_beat(struct life *life,
                       const struct machine *machine,
                       const struct message *message,
                       int16_t error)
{
    struct caller caller = caller_of(message);
    const struct group *group = facts_of(machine, caller.group);
    const struct member *member = member_of(group, &caller);
    bool is_sign = error == KAFKA_NONE || error == KAFKA_REBALANCE_IN_PROGRESS;
    if (is_sign && member != NULL && caller.generation == group->generation &&
        coordinator_is_leading(machine->core)) {
        oracle_heard(life, machine, group, member, 0);
    }
}

static void take_commit(struct life *life,
                        const struct machine *machine,
                        const struct message *message,
                        struct op *op,
                        int16_t error)
{
    if (error == KAFKA_NONE) {
        if (op->position == 0) {
            life_fail(life, "commit %" PRIu64 " was acknowledged and is not in the log", op->id);
        }
        op->is_acknowledged = true;
        life->oracle->acknowledged++;
        if (op->position > life->oracle->seen_position) {
            life->oracle->seen_position = op->position;
        }
        check_beat(life, machine, message, error);
    } else if (!is_unknown(error)) {
        if (op->position != 0) {
            life_fail(life, "commit %" PRIu64 " was refused with %d and took effect", op->id,
                      error);
        }
        op->is_refused = true;
        life->oracle->fenced++;
        check_error(life, machine, message, error);
    }
}

static void check_commit(struct life *life,
                         const struct machine *machine,
                         const struct message *message,
                         const struct offset_commit_response *response)
{
    uint64_t id = message->first_op;
    for (int32_t i = 0; i < response->topics_count; i++) {
        for (int32_t k = 0; k < response->topics[i].partitions_count; k++) {
            struct op *op = oracle_op(life, (int64_t)id++);
            ensure(op != NULL);
            take_commit(life, machine, message, op, response->topics[i].partitions[k].error_code);
        }
    }
    if (id != message->first_op + (uint64_t)message->ops) {
        life_fail(life, "OffsetCommit's answer is not about what was asked");
    }
}

static void check_topics(struct life *life,
                         const struct machine *machine,
                         const struct message *message,
                         struct span group,
                         const struct offset_fetch_response_topic *topics,
                         int32_t count,
                         bool is_whole)
{
    bool is_behind = machine->position < message->low_position; /* which is not allowed to show */
    uint64_t high = is_behind ? message->low_position : machine->position;
    char name[TEXT];
    oracle_text(name, group);
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < topics[i].partitions_count; k++) {
            const struct offset_fetch_response_partition *partition = &topics[i].partitions[k];
            if (partition->error_code == KAFKA_NONE && message->call.api_version < 10) {
                oracle_check_read(life, name, topics[i].name, partition->partition_index,
                                  partition->committed_offset, partition->metadata,
                                  message->low_position, high);
            }
        }
    }
    if (is_whole && message->call.api_version < 10) {
        oracle_check_whole(life, name, topics, count, message->low_position, high);
    }
    if (high > life->oracle->seen_position) {
        life->oracle->seen_position = high;
    }
}

static void check_fetch(struct life *life,
                        const struct machine *machine,
                        const struct message *message,
                        const struct offset_fetch_response *response)
{
    const struct offset_fetch_request *request = message->call.request;
    for (int32_t i = 0; i < response->groups_count; i++) {
        const struct offset_fetch_response_group *group = &response->groups[i];
        if (group->error_code == KAFKA_NONE) {
            check_topics(life, machine, message, group->group_id, group->topics,
                         group->topics_count, request->groups[i].topics_count < 0);
        }
    }
    bool is_error = response->error_code != KAFKA_NONE ||
                    (message->call.api_version < 2 && response->topics_count > 0 &&
                     response->topics[0].partitions_count > 0 &&
                     response->topics[0].partitions[0].error_code != KAFKA_NONE);
    if (message->call.api_version < 8 && !is_error) {
        check_topics(life, machine, message, request->group_id, response->topics,
                     response->topics_count, request->topics_count < 0);
    }
}

static void check_leave(struct life *life,
                        const struct machine *machine,
                        const struct message *message,
                        const struct leave_group_response *response)
{
    const struct leave_group_request *request = message->call.request;
    const struct group *group = facts_of(machine, request->group_id);
    bool is_one = message->call.api_version < 3;
    for (int32_t i = 0;
         group != NULL && response->error_code == 0 && i < (is_one ? 1 : response->members_count);
         i++) {
        struct span id = is_one ? request->member_id : response->members[i].member_id;
        int16_t error = is_one ? response->error_code : response->members[i].error_code;
        if (error == KAFKA_NONE && id.len > 0 && group_find_member(group, id) != NULL) {
            life_fail(life, "LeaveGroup was answered and %.*s is there still", (int)id.len,
                      (const char *)id.data);
        }
    }
}

static void check_deleted_groups(struct life *life,
                                 const struct machine *machine,
                                 const struct delete_groups_response *response)
{
    for (int32_t i = 0; i < response->results_count; i++) {
        if (response->results[i].error_code == KAFKA_NONE &&
            facts_of(machine, response->results[i].group_id) != NULL) {
            life_fail(life, "DeleteGroups was answered and the group is there still");
        }
    }
}

static void check_topics_calls(struct life *life,
                               const struct machine *machine,
                               const struct message *message,
                               const void *response)
{
    const struct state *state = coordinator_state(machine->core);
    if (message->call.api_key == API_CreateTopics) {
        const struct create_topics_request *request = message->call.request;
        const struct create_topics_response *created = response;
        for (int32_t i = 0; !request->validate_only && i < created->topics_count; i++) {
            if (created->topics[i].error_code == 0 &&
                state_topic(state, created->topics[i].name) == NULL) {
                life_fail(life, "CreateTopics was answered and there is no such topic");
            }
        }
    } else {
        const struct delete_topics_response *deleted = response;
        for (int32_t i = 0; i < deleted->responses_count; i++) {
            if (deleted->responses[i].error_code == 0 &&
                state_topic(state, deleted->responses[i].name) != NULL) {
                life_fail(life, "DeleteTopics was answered and the topic is there still");
            }
        }
    }
}

/* A member that was refused for the group's size is on its way out. */
static void note_size(struct life *life,
                      const struct machine *machine,
                      const struct message *message)
{
    struct caller caller = caller_of(message);
    const struct group *group = facts_of(machine, caller.group);
    if (group == NULL) {
        return;
    }
    const struct member *member = group_find_member(group, caller.member_id);
    if (member == NULL && !span_is_null(caller.instance_id)) {
        member = group_member_by_instance(group, caller.instance_id);
    }
    if (member != NULL) {
        char key[4 * TEXT];
        snprintf(key, sizeof key, "reason/%d/%" PRIu64 "/%" PRIu64 "/%" PRIu64, machine->at,
                 machine->term, group->id, member->id);
        book_set(life->oracle->book, key, "size");
    }
}

void oracle_answered(struct life *life,
                     const struct machine *machine,
                     struct message *message,
                     const void *response)
{
    int16_t error;
    oracle_check_bound(life, machine, message);
    message->parked_term = 0;
    switch (message->call.api_key) {
        case API_JoinGroup:
            error = ((const struct join_group_response *)response)->error_code;
            check_error(life, machine, message, error);
            if (error == KAFKA_NONE) {
                oracle_check_join(life, machine, message, response);
            } else if (error == KAFKA_GROUP_MAX_SIZE_REACHED) {
                note_size(life, machine, message);
            }
            break;
        case API_SyncGroup:
            error = ((const struct sync_group_response *)response)->error_code;
            check_error(life, machine, message, error);
            check_beat(life, machine, message, error);
            if (error == KAFKA_NONE) {
                oracle_check_sync(life, machine, message, response);
            }
            break;
        case API_Heartbeat:
            error = ((const struct heartbeat_response *)response)->error_code;
            check_error(life, machine, message, error);
            check_beat(life, machine, message, error);
            break;
        case API_LeaveGroup:
            check_leave(life, machine, message, response);
            break;
        case API_OffsetCommit:
            check_commit(life, machine, message, response);
            break;
        case API_OffsetFetch:
            check_fetch(life, machine, message, response);
            break;
        case API_DeleteGroups:
            check_deleted_groups(life, machine, response);
            break;
        case API_CreateTopics:
        case API_DeleteTopics:
            check_topics_calls(life, machine, message, response);
            break;
        default:
            break;
    }
}
