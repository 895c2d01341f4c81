#include "tests/core/random/wire.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "tests/core/random/cluster.h"
#include "tests/sim/oracle/oracle.h"

enum { LATENCY_MS = 3, COMMITS_IN_FLIGHT = 8 };

static int64_t latency(struct life *life)
{
    return chance_in(&life->chance, 30) ? chance_below(&life->chance, 100 * LATENCY_MS)
                                        : chance_below(&life->chance, LATENCY_MS + 1);
}

/* ---- Lanes ---- */

void lane_init(struct life *life, struct lane *lane, int host, int64_t timeout_ms)
{
    *lane =
        (struct lane){.host = host, .machine = -1, .last = &lane->first, .timeout_ms = timeout_ms};
    lane->next = life->wire->lanes;
    life->wire->lanes = lane;
}

void lane_close(struct lane *lane)
{
    (void)lane;
}

void lane_open(struct life *life, struct lane *lane, int machine)
{
    ensure(lane->first == NULL);
    lane->machine = machine;
    lane->incarnation = life->machines[machine].incarnation;
}

static void tell_gone(struct life *life, void *who, uint64_t what)
{
    struct message *message = who;
    struct machine *machine = &life->machines[message->machine];
    (void)what;
    bool is_there = message->state == MESSAGE_STARTED && machine->core != NULL &&
                    machine->incarnation == message->incarnation;
    if (is_there && cluster_is_paused(life, machine)) {
        events_add(life, machine->own->resume_ms, tell_gone, message, 0);
        return;
    }
    if (is_there) {
        cluster_begin_input(life, machine);
        coordinator_gone(machine->core, &message->call, life->now_ms);
        cluster_end_input(life, machine);
    }
    message_unref(message);
}

void lane_break(struct life *life, struct lane *lane)
{
    struct message *message = lane->first;
    lane->epoch++;
    lane->machine = -1;
    lane->first = NULL;
    lane->last = &lane->first;
    lane->arrival_ms = 0;
    lane->reply_ms = 0;
    for (struct message *next; message != NULL; message = next) {
        next = message->next;
        message->lane = NULL;
        if (message->state == MESSAGE_STARTED) {
            int64_t later = chance_in(&life->chance, 500) ? chance_below(&life->chance, 1000) : 0;
            message->refs++;
            events_add(life, life->now_ms + later, tell_gone, message, 0);
        }
        message->done(life, message, NULL);
        message_unref(message);
    }
}

static void broken(struct life *life, void *who, uint64_t what)
{
    struct lane *lane = who;
    if (lane->epoch == what) {
        lane_break(life, lane);
    }
}

/* ---- A message's way ---- */

struct message *message_new(struct life *life,
                            struct lane *lane,
                            int16_t key,
                            int16_t version,
                            const char *client_id)
{
    struct message *message = message_alloc(life, key, version, client_id);
    ensure(lane->machine >= 0);
    message->lane = lane;
    message->epoch = lane->epoch;
    message->machine = lane->machine;
    message->incarnation = lane->incarnation;
    message->call.client_host = SPAN_LITERAL("/10.0.0.1");
    struct chance entropy = {.state = ++life->wire->next_entropy};
    for (size_t i = 0; i < sizeof message->call.entropy; i += 8) {
        uint64_t word = chance_next(&entropy);
        memcpy(message->call.entropy + i, &word, 8);
    }
    return message;
}

static bool can_start(const struct message *message)
{
    int in_flight = 0;
    for (const struct message *at = message->lane->first; at != message; at = at->next) {
        bool is_pair =
            at->call.api_key == API_OffsetCommit && message->call.api_key == API_OffsetCommit;
        if (at->state != MESSAGE_ANSWERED && !is_pair) {
            return false;
        }
        in_flight += at->state == MESSAGE_STARTED;
    }
    return in_flight < COMMITS_IN_FLIGHT;
}

static void start(struct life *life, struct message *message)
{
    struct machine *machine = &life->machines[message->machine];
    message_start(life, message, machine);
    cluster_begin_input(life, machine);
    oracle_called(life, machine, message);
    coordinator_request(machine->core, &message->call, life->now_ms);
    cluster_end_input(life, machine);
}

/* Starts what may start. */
static void pump(struct life *life, void *who, uint64_t what)
{
    struct lane *lane = who;
    if (lane->epoch != what || lane->machine < 0) {
        return;
    }
    struct machine *machine = &life->machines[lane->machine];
    if (machine->core == NULL || machine->incarnation != lane->incarnation) {
        lane_break(life, lane); /* nobody listens there */
        return;
    }
    if (cluster_is_paused(life, machine)) {
        events_add(life, machine->own->resume_ms, pump, lane, what);
        return;
    }
    for (struct message *at = lane->first; at != NULL; at = at->next) {
        if (at->state == MESSAGE_WAITS && can_start(at)) {
            start(life, at);
            return; /* its end goes on with the next */
        }
        if (at->state == MESSAGE_WAITS || at->state == MESSAGE_TRAVELS) {
            return;
        }
    }
}

static void arrive(struct life *life, void *who, uint64_t what)
{
    struct message *message = who;
    (void)what;
    if (message->lane != NULL) {
        message->state = MESSAGE_WAITS;
        pump(life, message->lane, message->epoch);
    }
    message_unref(message);
}

static void time_out(struct life *life, void *who, uint64_t what)
{
    struct message *message = who;
    (void)what;
    if (message->lane != NULL) {
        lane_break(life, message->lane);
    }
    message_unref(message);
}

void message_send(struct life *life,
                  struct message *message,
                  const void *request,
                  message_fn *done,
                  void *owner,
                  uint64_t tag)
{
    struct lane *lane = message->lane;
    message->done = done;
    message->owner = owner;
    message->tag = tag;
    message_set_request(life, message, request);
    oracle_sent(life, message);
    *lane->last = message;
    lane->last = &message->next;
    int64_t at_ms = life->now_ms + latency(life);
    lane->arrival_ms = at_ms > lane->arrival_ms ? at_ms : lane->arrival_ms;
    message->refs += 2;
    events_add(life, lane->arrival_ms, arrive, message, 0);
    int64_t most_ms = message->timeout_ms > 0 ? message->timeout_ms : lane->timeout_ms;
    events_add(life, life->now_ms + most_ms, time_out, message, 0);
}

/* ---- And back ---- */

static void deliver(struct life *life, void *who, uint64_t what)
{
    struct message *message = who;
    struct lane *lane = message->lane;
    (void)what;
    if (lane != NULL && lane->deaf_until_ms > life->now_ms) {
        events_add(life, lane->deaf_until_ms, deliver, message, 0);
        return;
    }
    if (lane != NULL) {
        ensure(lane->first == message);
        lane->first = message->next;
        if (lane->first == NULL) {
            lane->last = &lane->first;
        }
        message->lane = NULL;
        message->done(life, message, message->response);
        message_unref(message);
    }
    message_unref(message);
}

/* Replies leave in order. */
static void flush(struct life *life, struct lane *lane)
{
    for (struct message *at = lane->first; at != NULL && at->state == MESSAGE_ANSWERED;
         at = at->next) {
        if (at->is_leaving) {
            continue;
        }
        at->is_leaving = true;
        int64_t at_ms = life->now_ms + latency(life);
        lane->reply_ms = at_ms > lane->reply_ms ? at_ms : lane->reply_ms;
        at->refs++;
        events_add(life, lane->reply_ms, deliver, at, 0);
    }
}

void wire_answered(struct life *life, int machine, struct call *call, const void *response)
{
    struct message *message = (struct message *)(void *)call; /* its first member */
    if (message->state != MESSAGE_STARTED || message->machine != machine) {
        life_fail(life, "a call of API %d was answered twice", call->api_key);
    }
    message->state = MESSAGE_ANSWERED;
    message_unlink(message);
    message->response = message_through_bytes(life, message, response, &message->reply);
    oracle_answered(life, &life->machines[machine], message, message->response);
    if (message->lane != NULL) {
        flush(life, message->lane);
        events_add(life, life->now_ms, pump, message->lane, message->epoch);
    }
    message_unref(message);
}

void wire_crashed(struct life *life, int machine)
{
    for (struct message *at = life->started, *next; at != NULL; at = next) {
        next = at->next_all;
        if (at->machine == machine) {
            at->state = MESSAGE_WAITS; /* for ever */
            message_unlink(at);
            oracle_lost(life, at);
            message_unref(at);
        }
    }
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        if (lane->machine == machine && !chance_in(&life->chance, 200)) {
            events_add(life, life->now_ms + chance_below(&life->chance, 100), broken, lane,
                       lane->epoch);
        }
    }
}

void wire_cut(struct life *life, int machine)
{
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        if (lane->machine == machine && chance_in(&life->chance, 500)) {
            events_add(life, life->now_ms + chance_below(&life->chance, 100), broken, lane,
                       lane->epoch);
        }
    }
}

void wire_check(struct life *life)
{
    for (const struct message *at = life->started; at != NULL; at = at->next_all) {
        oracle_check_bound(life, &life->machines[at->machine], at);
    }
}

void wire_close(struct life *life)
{
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        lane->machine = -1;
        for (struct message *at = lane->first, *next; at != NULL; at = next) {
            next = at->next;
            at->lane = NULL;
            message_unref(at);
        }
        lane->first = NULL;
    }
}

/* ---- Where the leader is ---- */

void finder_init(struct life *life, struct finder *finder, int host)
{
    (void)life;
    (void)host;
    *finder = (struct finder){.machine = -1};
}

void finder_close(struct finder *finder)
{
    (void)finder;
}

int finder_leader(struct life *life, struct finder *finder)
{
    const struct machine *asked = &life->machines[chance_below(&life->chance, MACHINES)];
    if (finder->machine >= 0) {
        return finder->machine;
    }
    if (asked->core == NULL || cluster_is_paused(life, asked)) {
        return -1;
    }
    int leader = (int)coordinator_leader_id(asked->core) - 1;
    finder->machine = leader < 0 ? (int)chance_below(&life->chance, MACHINES) : leader;
    return finder->machine;
}

void finder_forget(struct finder *finder)
{
    finder->machine = -1;
}
