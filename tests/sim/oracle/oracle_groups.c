/* Members and generations. A member may go only for a reason; a generation is one member set, one
 * leader, one protocol, one assignment, whatever happens. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/oracle/oracle.h"

enum { KEY = 4 * TEXT };

/* ---- Who is who ---- */

static void note_identity(struct life *life, const struct member *member)
{
    char key[KEY];
    char id[TEXT];
    char identity[TEXT];
    oracle_text(id, member->member_id);
    oracle_text(identity,
                span_is_null(member->instance_id) ? member->member_id : member->instance_id);
    snprintf(key, sizeof key, "who/%s", id);
    book_set(life->oracle->book, key, identity);
}

void oracle_identity(const struct life *life, const char *member_id, char identity[TEXT])
{
    char key[KEY];
    snprintf(key, sizeof key, "who/%s", member_id);
    const char *found = book_get(life->oracle->book, key);
    snprintf(identity, TEXT, "%s", found == NULL ? member_id : found);
}

/* ---- What a generation is ---- */

static void agree(struct life *life, const char *key, const char *value)
{
    const char *was = book_get(life->oracle->book, key);
    if (was != NULL && strcmp(was, value) != 0) {
        life_fail(life, "%s was \"%s\" and now is \"%s\"", key, was, value);
    }
    if (was == NULL) {
        book_set(life->oracle->book, key, value);
    }
}

static void generation_key(char key[KEY],
                           const struct group *group,
                           int32_t generation,
                           const char *what)
{
    snprintf(key, KEY, "generation/%" PRIu64 "/%d/%s", group->id, generation, what);
}

static void append_identity(const struct life *life, char *text, size_t size, struct span member_id)
{
    char id[TEXT];
    char identity[TEXT];
    oracle_text(id, member_id);
    oracle_identity(life, id, identity);
    size_t len = strlen(text);
    size_t more = strlen(identity);
    ensure(len + more + 2 <= size);
    memcpy(text + len, identity, more);
    memcpy(text + len + more, " ", 2);
}

enum { LIST = (WORKERS_MAX + GHOSTS_MAX + 20) * TEXT };

void oracle_note_generation(struct life *life, const struct group *group)
{
    char key[KEY];
    char list[LIST] = "";
    char text[TEXT + 2] = "";
    const struct member *leader = group_member_by_id(group, group->leader);
    life->oracle->generations++;
    for (int32_t i = 0; i < group->members_count; i++) {
        note_identity(life, group->members[i]);
        append_identity(life, list, sizeof list, group->members[i]->member_id);
    }
    if (group->is_changed) {
        return; /* a replacement in a group that has lost somebody */
    }
    generation_key(key, group, group->generation, "members");
    agree(life, key, list);
    if (leader != NULL) {
        append_identity(life, text, sizeof text, leader->member_id);
    }
    generation_key(key, group, group->generation, "leader");
    agree(life, key, text);
    oracle_text(text, group->protocol_name);
    generation_key(key, group, group->generation, "protocol");
    agree(life, key, text);
}

void oracle_assigned(struct life *life, const char *text)
{
    char key[KEY];
    snprintf(key, sizeof key, "assigned/%s", text);
    book_set_number(life->oracle->book, key, 1);
}

void oracle_note_assignment(struct life *life, const struct group *group)
{
    for (int32_t i = 0; group->has_assignment && i < group->members_count; i++) {
        const struct member *member = group->members[i];
        char key[KEY];
        char id[TEXT];
        char identity[TEXT];
        char text[2 * TEXT];
        char own[2 * TEXT];
        oracle_text(id, member->member_id);
        oracle_identity(life, id, identity);
        snprintf(text, sizeof text, "%.*s", (int)member->assignment.len,
                 (const char *)member->assignment.data);
        snprintf(own, sizeof own, "A%d|%s|", group->generation, identity);
        if (text[0] == 'A' && strncmp(text, own, strlen(own)) != 0) {
            life_fail(life, "the assignment of %s in generation %d is \"%s\"", identity,
                      group->generation, text);
        }
        snprintf(key, sizeof key, "assigned/%s", text);
        if (text[0] != 0 && book_get(life->oracle->book, key) == NULL) {
            life_fail(life, "the assignment \"%s\" was sent by nobody", text);
        }
        snprintf(own, sizeof own, "assignment/%s", identity);
        generation_key(key, group, group->generation, own);
        agree(life, key, text);
    }
}

/* ---- Signs of life ---- */

static void member_key(char key[KEY],
                       const char *what,
                       const struct machine *machine,
                       uint64_t group,
                       uint64_t member)
{
    snprintf(key, KEY, "%s/%d/%" PRIu64 "/%" PRIu64 "/%" PRIu64, what, machine->at, machine->term,
             group, member);
}

void oracle_heard(struct life *life,
                  const struct machine *machine,
                  const struct group *group,
                  const struct member *member,
                  int parked)
{
    char key[KEY];
    (void)parked;
    member_key(key, "alive", machine, group->id, member->id);
    book_set_number(life->oracle->book, key, machine_group_ms(machine));
}

static int64_t silent_ms(const struct life *life,
                         const struct machine *machine,
                         const struct group *group,
                         const struct member *member)
{
    char key[KEY];
    member_key(key, "alive", machine, group->id, member->id);
    int64_t last_ms = book_number(life->oracle->book, key, INT64_MIN);
    last_ms = last_ms > machine->serving_ms ? last_ms : machine->serving_ms;
    return machine_group_ms(machine) - last_ms;
}

static int64_t parked_calls(const struct life *life,
                            const struct machine *machine,
                            const struct group *group,
                            const struct member *member)
{
    int64_t count = 0;
    for (const struct message *at = life->started; at != NULL; at = at->next_all) {
        count += at->machine == machine->at && at->parked_term == machine->term &&
                 at->parked_group == group->id && at->parked_member == member->id;
    }
    return count;
}

void oracle_elected(struct life *life, const struct machine *machine)
{
    (void)life;
    (void)machine;
}

/* ---- Reasons to go ---- */

static void set_reason(struct life *life,
                       const struct machine *machine,
                       const struct group *group,
                       const struct member *member,
                       const char *reason)
{
    char key[KEY];
    member_key(key, "reason", machine, group->id, member->id);
    book_set(life->oracle->book, key, reason);
}

static void check_expired(struct life *life,
                          const struct machine *machine,
                          const struct group *group,
                          const struct member *member)
{
    int64_t ms = silent_ms(life, machine, group, member);
    if (ms < member->session_timeout_ms || parked_calls(life, machine, group, member) > 0) {
        life_fail(life, "n%d evicts %.*s after %lld ms (%lld calls parked), its session is %d ms",
                  machine->at + 1, (int)member->member_id.len, (const char *)member->member_id.data,
                  (long long)ms, (long long)parked_calls(life, machine, group, member),
                  member->session_timeout_ms);
    }
    life->oracle->evictions++;
    set_reason(life, machine, group, member, "session");
}

static int64_t since(const struct life *life,
                     const struct machine *machine,
                     const struct group *group,
                     const char *what)
{
    char key[KEY];
    member_key(key, what, machine, group->id, 0);
    int64_t began_ms = book_number(life->oracle->book, key, INT64_MIN);
    began_ms = began_ms > machine->serving_ms ? began_ms : machine->serving_ms;
    return machine_group_ms(machine) - began_ms;
}

static void note_time(struct life *life,
                      const struct machine *machine,
                      const struct group *group,
                      const char *what)
{
    char key[KEY];
    member_key(key, what, machine, group->id, 0);
    book_set_number(life->oracle->book, key, machine_group_ms(machine));
}

static void check_sync_expired(struct life *life,
                               const struct machine *machine,
                               const struct group *group,
                               const struct member *member)
{
    int64_t ms = since(life, machine, group, "begun");
    if (ms < member->rebalance_timeout_ms || parked_calls(life, machine, group, member) > 0) {
        life_fail(life, "n%d removes %.*s for its SyncGroup after %lld ms", machine->at + 1,
                  (int)member->member_id.len, (const char *)member->member_id.data, (long long)ms);
    }
    set_reason(life, machine, group, member, "sync");
}

void oracle_logged(struct life *life, const struct machine *machine, const char *line)
{
    char event[TEXT] = "";
    char name[TEXT] = "";
    char id[TEXT] = "";
    int generation;
    if (sscanf(line, "%95s group=%95s", event, name) < 2 ||
        (sscanf(line, "%*s group=%*s member=%95s", id) < 1 &&
         sscanf(line, "%*s group=%*s generation=%d member=%95s", &generation, id) < 1)) {
        id[0] = 0;
    }
    const struct group_slot *slot =
        state_group(coordinator_state(machine->core), span_from_cstr(name));
    if (slot == NULL) {
        return;
    }
    const struct group *group = slot->facts;
    const struct member *member = group_find_member(group, span_from_cstr(id));
    if (strcmp(event, "rebalance_started") == 0) {
        note_time(life, machine, group, "rebalance");
    } else if (strcmp(event, "generation_begun") == 0) {
        note_time(life, machine, group, "begun");
    } else if (member != NULL && strcmp(event, "member_expired") == 0) {
        check_expired(life, machine, group, member);
    } else if (member != NULL && strcmp(event, "sync_expired") == 0) {
        check_sync_expired(life, machine, group, member);
    } else if (member != NULL && strcmp(event, "member_left") == 0) {
        set_reason(life, machine, group, member, "left");
    }
}

/* Whoever is not in the next generation: it left, its time was up, or it did not come back in time.
 * [is_rejoin]: the barrier says so. */
void oracle_check_removal(struct life *life,
                          const struct machine *machine,
                          const struct group *group,
                          const struct member *member,
                          bool is_rejoin)
{
    char key[KEY];
    member_key(key, "reason", machine, group->id, member->id);
    if (book_get(life->oracle->book, key) != NULL || (!is_rejoin && member->joined_without_id)) {
        return;
    }
    bool is_unheard =
        member->joined_without_id && silent_ms(life, machine, group, member) >= LIMIT_UNHEARD_MS;
    bool is_late = span_is_null(member->instance_id) &&
                   since(life, machine, group, "rebalance") >= member->rebalance_timeout_ms;
    if (!is_rejoin || (!is_late && !is_unheard) || parked_calls(life, machine, group, member) > 0) {
        life_fail(life, "n%d drops %.*s without a reason (%lld ms into the rebalance)",
                  machine->at + 1, (int)member->member_id.len, (const char *)member->member_id.data,
                  (long long)since(life, machine, group, "rebalance"));
    }
}

/* ---- Answers ---- */

static const struct group *facts_of(const struct machine *machine, struct span name)
{
    const struct group_slot *slot = state_group(coordinator_state(machine->core), name);
    return slot == NULL ? NULL : slot->facts;
}

static void check_list(struct life *life,
                       const struct group *group,
                       const struct join_group_response *response)
{
    char key[KEY];
    char list[LIST] = "";
    for (int32_t i = 0; i < response->members_count; i++) {
        append_identity(life, list, sizeof list, response->members[i].member_id);
    }
    generation_key(key, group, response->generation_id, "members");
    agree(life, key, list);
}

/* Generations never go back, as seen by anybody who asks the one that leads. */
static void check_order(struct life *life,
                        const struct machine *machine,
                        const struct group *group,
                        int32_t generation)
{
    char key[KEY];
    snprintf(key, sizeof key, "newest/%" PRIu64, group->id);
    int64_t newest = book_number(life->oracle->book, key, -1);
    if (machine->is_cut || machine->term != life->term) {
        life->oracle->stale++;
        return;
    }
    if (generation < newest) {
        life_fail(life, "generation %d was answered after %lld", generation, (long long)newest);
    }
    book_set_number(life->oracle->book, key, generation);
}

void oracle_check_join(struct life *life,
                       const struct machine *machine,
                       const struct message *message,
                       const struct join_group_response *response)
{
    const struct join_group_request *request = message->call.request;
    const struct group *group = facts_of(machine, request->group_id);
    const struct member *member =
        group == NULL ? NULL : group_find_member(group, response->member_id);
    if (member == NULL || group->generation != response->generation_id) {
        life_fail(life, "JoinGroup was answered with generation %d, which is no fact",
                  response->generation_id);
    }
    char key[KEY];
    char text[TEXT + 2] = "";
    append_identity(life, text, sizeof text, response->leader);
    generation_key(key, group, response->generation_id, "leader");
    if (book_get(life->oracle->book, key) == NULL) {
        life_fail(life, "JoinGroup was answered with generation %d, which the log does not have",
                  response->generation_id);
    }
    agree(life, key, text);
    oracle_text(text, response->protocol_name);
    generation_key(key, group, response->generation_id, "protocol");
    agree(life, key, text);
    bool is_leader = span_equal(response->leader, response->member_id);
    if (is_leader != (response->members_count > 0)) {
        life_fail(life, "JoinGroup's list of members goes to somebody who does not lead");
    }
    if (is_leader) {
        check_list(life, group, response);
    }
    if (coordinator_is_leading(machine->core)) {
        oracle_heard(life, machine, group, member, 0);
    }
    check_order(life, machine, group, response->generation_id);
}

void oracle_check_sync(struct life *life,
                       const struct machine *machine,
                       const struct message *message,
                       const struct sync_group_response *response)
{
    const struct sync_group_request *request = message->call.request;
    const struct group *group = facts_of(machine, request->group_id);
    const struct member *member =
        group == NULL ? NULL : group_find_member(group, request->member_id);
    if (member == NULL || group->generation != request->generation_id) {
        life_fail(life, "SyncGroup was answered for generation %d, which is not the group's",
                  request->generation_id);
    }
    char key[KEY];
    char id[TEXT];
    char identity[TEXT];
    char what[2 * TEXT];
    char text[2 * TEXT];
    oracle_text(id, request->member_id);
    oracle_identity(life, id, identity);
    snprintf(what, sizeof what, "assignment/%s", identity);
    generation_key(key, group, group->generation, what);
    snprintf(text, sizeof text, "%.*s", (int)response->assignment.len,
             (const char *)response->assignment.data);
    if (book_get(life->oracle->book, key) == NULL) {
        life_fail(life, "SyncGroup was answered with an assignment that the log does not have");
    }
    agree(life, key, text);
    check_order(life, machine, group, request->generation_id);
}
