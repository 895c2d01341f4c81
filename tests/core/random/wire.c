#include "tests/core/random/wire.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "tests/core/random/cluster.h"
#include "tests/core/random/oracle.h"

enum { LATENCY_MS = 3, COMMITS_IN_FLIGHT = 8 };

/* Not inlined: the compiler cannot count references and warns of what never happens. */
static __attribute__((noinline)) void unref(struct message *message)
{
    if (--message->refs > 0) {
        return;
    }
    arena_close(&message->arena);
    buf_close(&message->bytes);
    free(message);
}

static int64_t latency(struct life *life)
{
    return chance_in(&life->chance, 30) ? chance_below(&life->chance, 100 * LATENCY_MS)
                                        : chance_below(&life->chance, LATENCY_MS + 1);
}

/* ---- Lanes ---- */

void lane_init(struct life *life, struct lane *lane, int64_t timeout_ms)
{
    *lane = (struct lane){.machine = -1, .last = &lane->first, .timeout_ms = timeout_ms};
    lane->next = life->wire->lanes;
    life->wire->lanes = lane;
}

void lane_open(struct life *life, struct lane *lane, int machine)
{
    ensure(lane->first == NULL);
    lane->machine = machine;
    lane->incarnation = life->cluster->machines[machine].incarnation;
}

static void unlink_started(struct message *message)
{
    if (message->link_all == NULL) {
        return;
    }
    *message->link_all = message->next_all;
    if (message->next_all != NULL) {
        message->next_all->link_all = message->link_all;
    }
    message->link_all = NULL;
}

static void tell_gone(struct life *life, void *who, uint64_t what)
{
    struct message *message = who;
    struct machine *machine = &life->cluster->machines[message->machine];
    (void)what;
    bool is_there = message->state == MESSAGE_STARTED && machine->core != NULL &&
                    machine->incarnation == message->incarnation;
    if (is_there && cluster_is_paused(life, machine)) {
        events_add(life, machine->resume_ms, tell_gone, message, 0);
        return;
    }
    if (is_there) {
        cluster_begin_input(life, machine);
        coordinator_gone(machine->core, &message->call, life->now_ms);
        cluster_end_input(life, machine);
    }
    unref(message);
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
        unref(message);
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
    struct message *message = calloc(1, sizeof *message);
    ensure(message != NULL && lane->machine >= 0);
    arena_init(&message->arena, SIZE_MAX);
    message->lane = lane;
    message->epoch = lane->epoch;
    message->machine = lane->machine;
    message->incarnation = lane->incarnation;
    message->refs = 1;
    message->call.arena = &message->arena;
    message->call.api_key = key;
    message->call.api_version = version;
    message->call.client_id = arena_copy(&message->arena, span_from_cstr(client_id));
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
    struct machine *machine = &life->cluster->machines[message->machine];
    struct wire *wire = life->wire;
    message->state = MESSAGE_STARTED;
    message->refs++;
    message->started_ms = life->now_ms;
    message->pauses_ms = machine->pauses_ms;
    message->next_all = wire->started;
    message->link_all = &wire->started;
    if (wire->started != NULL) {
        wire->started->link_all = &message->next_all;
    }
    wire->started = message;
    life->calls++;
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
    struct machine *machine = &life->cluster->machines[lane->machine];
    if (machine->core == NULL || machine->incarnation != lane->incarnation) {
        lane_break(life, lane); /* nobody listens there */
        return;
    }
    if (cluster_is_paused(life, machine)) {
        events_add(life, machine->resume_ms, pump, lane, what);
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
    unref(message);
}

static void time_out(struct life *life, void *who, uint64_t what)
{
    struct message *message = who;
    (void)what;
    if (message->lane != NULL) {
        lane_break(life, message->lane);
    }
    unref(message);
}

static void check_request(struct life *life, struct message *message, const void *request)
{
    const struct kafka_schema *schema = api_find(message->call.api_key)->request();
    codec_encode(schema, message->call.api_version, request, &message->bytes);
    struct reader reader =
        reader_of(message->bytes.data == NULL ? SPAN_EMPTY : buf_span(&message->bytes));
    void *decoded = arena_alloc(&message->arena, schema->size);
    enum codec_error error =
        codec_decode(schema, message->call.api_version, &reader, &message->arena, decoded);
    if (error != CODEC_OK || reader_left(&reader) != 0) {
        life_fail(life, "a request does not decode: %s", codec_error_name(error));
    }
    message->call.request = decoded;
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
    check_request(life, message, request);
    oracle_sent(life, message);
    *lane->last = message;
    lane->last = &message->next;
    int64_t at_ms = life->now_ms + latency(life);
    lane->arrival_ms = at_ms > lane->arrival_ms ? at_ms : lane->arrival_ms;
    message->refs += 2;
    events_add(life, lane->arrival_ms, arrive, message, 0);
    events_add(life, life->now_ms + lane->timeout_ms, time_out, message, 0);
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
        unref(message);
    }
    unref(message);
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

static void *through_bytes(struct life *life, struct message *message, const void *response)
{
    const struct kafka_schema *schema = api_find(message->call.api_key)->response();
    struct buf bytes = BUF_EMPTY;
    codec_encode(schema, message->call.api_version, response, &bytes);
    struct span copy =
        arena_copy(&message->arena, bytes.data == NULL ? SPAN_EMPTY : buf_span(&bytes));
    buf_close(&bytes);
    struct reader reader = reader_of(copy);
    void *decoded = arena_alloc(&message->arena, schema->size);
    enum codec_error error =
        codec_decode(schema, message->call.api_version, &reader, &message->arena, decoded);
    if (error != CODEC_OK || reader_left(&reader) != 0) {
        life_fail(life, "a reply does not decode: %s", codec_error_name(error));
    }
    return decoded;
}

void wire_answered(struct life *life, int machine, struct call *call, const void *response)
{
    struct message *message = (struct message *)(void *)call; /* its first member */
    if (message->state != MESSAGE_STARTED || message->machine != machine) {
        life_fail(life, "a call of API %d was answered twice", call->api_key);
    }
    message->state = MESSAGE_ANSWERED;
    unlink_started(message);
    message->response = through_bytes(life, message, response);
    oracle_answered(life, &life->cluster->machines[machine], message, message->response);
    if (message->lane != NULL) {
        flush(life, message->lane);
        events_add(life, life->now_ms, pump, message->lane, message->epoch);
    }
    unref(message);
}

void wire_crashed(struct life *life, int machine)
{
    for (struct message *at = life->wire->started, *next; at != NULL; at = next) {
        next = at->next_all;
        if (at->machine == machine) {
            at->state = MESSAGE_WAITS; /* for ever */
            unlink_started(at);
            oracle_lost(life, at);
            unref(at);
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
    for (const struct message *at = life->wire->started; at != NULL; at = at->next_all) {
        oracle_check_bound(life, &life->cluster->machines[at->machine], at);
    }
}

void wire_close(struct life *life)
{
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        lane->machine = -1;
        for (struct message *at = lane->first, *next; at != NULL; at = next) {
            next = at->next;
            at->lane = NULL;
            unref(at);
        }
        lane->first = NULL;
    }
}
