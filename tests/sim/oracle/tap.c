#include "tests/sim/oracle/tap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raftlog/wall_clock.h"
#include "rpc/ensure.h"
#include "server/request.h"
#include "tests/sim/clients/loner.h"
#include "tests/sim/clients/tube.h"
#include "tests/sim/clients/vandal.h"
#include "tests/sim/life/time.h"
#include "tests/sim/oracle/copies.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/oracle/oracle.h"
#include "tests/sim/world/inputs.h"
#include "tests/sim/world/node.h"

enum { CHECK_PER_MILLE = 3, NOTE_APPLIED = 200, AHEAD_MS = 60000, CLOCK_SLACK_MS = 10000 };

/* One proposal of the history. Its position is its place in [entries], from 1 on. */
struct entry {
    uint64_t index, term, number;
    int64_t stamp_ms;
    uint64_t digest; /* of its records */
    uint64_t hash;   /* of the state behind it */
};

struct tap {
    struct entry *entries; /* [0]: the state at the beginning */
    size_t count, cap;
    int64_t median_ms_max; /* that any majority's clocks have had, as far as nodes may know */
    int64_t ahead_ms[2][MACHINES_MAX]; /* of our time, each clock at most: in this period, before */
    int64_t period;
    bool is_inside; /* the reference is at work: its inputs are nobody's */
    struct tap_counts counts;
};

static struct tap tap;

/* ---- The history ---- */

/* Each clock, as far ahead as it was in this period or the one before: a node goes on with what it
 * has measured for WALL_CLOCK_STALE_MS, while the other's clock may have been set back. */
static int64_t latest_ms(const struct life *life, int at)
{
    int64_t ahead_ms = node_wall_ms(at + 1) - life->now_ms;
    if (ahead_ms > tap.ahead_ms[0][at]) {
        tap.ahead_ms[0][at] = ahead_ms;
    }
    bool was_more = tap.ahead_ms[1][at] > tap.ahead_ms[0][at];
    return life->now_ms + tap.ahead_ms[was_more ? 1 : 0][at];
}

/* Of a majority's clocks the median, the lower one of two, is the second at most. */
void tap_note_clocks(const struct life *life)
{
    int64_t first_ms = 0;
    int64_t second_ms = 0;
    if (life->now_ms / WALL_CLOCK_STALE_MS != tap.period) {
        tap.period = life->now_ms / WALL_CLOCK_STALE_MS;
        memcpy(tap.ahead_ms[1], tap.ahead_ms[0], sizeof tap.ahead_ms[0]);
        memset(tap.ahead_ms[0], 0, sizeof tap.ahead_ms[0]);
    }
    for (int i = 0; i < life->machines_count; i++) {
        int64_t wall_ms = latest_ms(life, i);
        if (wall_ms > first_ms) {
            second_ms = first_ms;
            first_ms = wall_ms;
        } else if (wall_ms > second_ms) {
            second_ms = wall_ms;
        }
    }
    tap.median_ms_max = second_ms > tap.median_ms_max ? second_ms : tap.median_ms_max;
}

/* R19. */
static void check_stamp(struct life *life, const struct applied *applied)
{
    tap_note_clocks(life);
    if (applied->stamp_ms > tap.median_ms_max + AHEAD_MS + CLOCK_SLACK_MS) {
        life_fail(life,
                  "batch %" PRIu64 " has a stamp %" PRId64
                  " ms ahead of what a majority's clocks have ever shown",
                  applied->index, applied->stamp_ms - tap.median_ms_max);
    }
}

static uint64_t digest_of(struct span bytes)
{
    uint64_t digest = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes.len; i++) {
        digest = (digest ^ bytes.data[i]) * UINT64_C(1099511628211);
    }
    return digest;
}

static void append(struct life *life, const struct applied *applied)
{
    struct applied foreign = *applied;
    foreign.own = false;
    check_stamp(life, applied);
    tap.is_inside = true;
    oracle_applies(life, applied->records);
    coordinator_apply(life->reference, &foreign, life->now_ms);
    if (effects_next(coordinator_effects(life->reference)) != NULL) {
        life_fail(life, "a follower has something to say about what it applies");
    }
    life->position++;
    oracle_applied(life, applied->records);
    tap.is_inside = false;
    if (tap.count == tap.cap) {
        tap.cap = tap.cap * 2 + 4096;
        tap.entries = realloc(tap.entries, tap.cap * sizeof *tap.entries);
        ensure(tap.entries != NULL);
    }
    const struct entry *last = &tap.entries[tap.count - 1];
    if (applied->index < last->index || applied->index > last->index + 1 ||
        applied->stamp_ms < last->stamp_ms || applied->term < last->term) {
        life_fail(life,
                  "batch %" PRIu64 " of term %" PRIu64 " follows batch %" PRIu64 " of term %" PRIu64
                  "; stamps %" PRId64 " and %" PRId64,
                  applied->index, applied->term, last->index, last->term, applied->stamp_ms,
                  last->stamp_ms);
    }
    tap.entries[tap.count++] = (struct entry){
        .index = applied->index,
        .term = applied->term,
        .number = applied->number,
        .stamp_ms = applied->stamp_ms,
        .digest = digest_of(applied->records),
        .hash = coordinator_state_hash(life->reference),
    };
    tap.counts.entries++;
}

/* The nth applied entry is the same everywhere. */
static void compare(struct life *life,
                    const struct machine *machine,
                    const struct entry *entry,
                    const struct applied *applied)
{
    if (entry->index != applied->index || entry->term != applied->term ||
        entry->number != applied->number || entry->stamp_ms != applied->stamp_ms ||
        entry->digest != digest_of(applied->records)) {
        life_fail(life,
                  "n%d applies (index %" PRIu64 ", term %" PRIu64 ", number %" PRIu64
                  ") where another applied (%" PRIu64 ", %" PRIu64 ", %" PRIu64
                  "), position "
                  "%" PRIu64,
                  machine->at + 1, applied->index, applied->term, applied->number, entry->index,
                  entry->term, entry->number, machine->position + 1);
    }
}

static void apply_begins(struct life *life, struct machine *machine, const struct applied *applied)
{
    uint64_t position = machine->position + 1;
    if (position > life->position) {
        if (applied->index != tap.entries[tap.count - 1].index) {
            copies_check(life, machine->at);
        }
        append(life, applied);
    } else {
        compare(life, machine, &tap.entries[position], applied);
    }
}

static void apply_ends(struct life *life, struct machine *machine)
{
    const struct entry *entry = &tap.entries[++machine->position];
    uint64_t hash = coordinator_state_hash(machine->core);
    tap.counts.applied++;
    if (hash != entry->hash) {
        life_fail(life, "n%d has another state after batch %" PRIu64 ", position %" PRIu64,
                  machine->at + 1, entry->index, machine->position);
    }
    uint64_t note[2] = {machine->position, hash};
    world_note(NOTE_APPLIED, machine->at + 1, note, sizeof note);
}

/* A snapshot is of the end of a batch; which one, its hash says. */
static void restored(struct life *life, struct machine *machine)
{
    uint64_t hash = coordinator_state_hash(machine->core);
    const struct state_totals *totals = state_totals(coordinator_state(machine->core));
    uint64_t position = life->position;
    tap.counts.restored++;
    while (position > 0 && tap.entries[position].index > totals->index) {
        position--;
    }
    if (tap.entries[position].hash != hash || tap.entries[position].index != totals->index) {
        life_fail(life, "n%d has a state of batch %" PRIu64 " that never was", machine->at + 1,
                  totals->index);
    }
    life_trace(life, "n%d restored batch %" PRIu64 ", position %" PRIu64, machine->at + 1,
               totals->index, position);
    machine->position = position;
}

/* ---- Leaders ---- */

/* [what]: the old leader and the new one. */
static void probe(struct life *life, void *who, uint64_t what)
{
    loner_probe(who, (int)(what / MACHINES_MAX), (int)(what % MACHINES_MAX));
    (void)life;
}

/* Who leads still, as far as he knows, must not answer as if he did. */
static void probe_old_leader(struct life *life, const struct machine *next)
{
    for (int i = 0; i < life->machines_count && !life->is_over; i++) {
        const struct machine *old = &life->machines[i];
        if (old != next && old->core != NULL && old->term != 0 &&
            coordinator_is_leading(old->core)) {
            events_add(life, life->now_ms, probe, &life->loners[LONERS_MAX - 1],
                       (uint64_t)(i * MACHINES_MAX + next->at));
            return;
        }
    }
}

static void won(struct life *life, struct machine *machine, uint64_t term)
{
    char key[TEXT];
    snprintf(key, sizeof key, "winner/%" PRIu64, term);
    int64_t other = book_number(life->oracle->book, key, 0);
    if (other != 0) {
        life_fail(life, "n%d and n%" PRId64 " both won term %" PRIu64, machine->at + 1, other,
                  term);
    }
    book_set_number(life->oracle->book, key, machine->at + 1);
    tap.counts.elections++;
    machine->term = term;
    machine->was_leading = false;
    machine->stopped_ms = -1;
    if (term > life->term) {
        life->term = term;
    }
    life_trace(life, "n%d wins term %" PRIu64, machine->at + 1, term);
    probe_old_leader(life, machine);
}

/* ---- Calls ---- */

/* Vandals' frames may claim any correlation id. */
static bool is_vandals(const struct call *call)
{
    char host[TEXT];
    int number = 0;
    oracle_text(host, call->client_host);
    return sscanf(host, "/10.0.1.%d", &number) != 1 || number > VANDAL_HOST; /* from 1 on */
}

static struct message *message_of(struct life *life, const struct call *call)
{
    if (is_vandals(call)) {
        return NULL;
    }
    const struct request *request = (const struct request *)(const void *)call;
    return wire_find(life, request->correlation_id);
}

static void called(struct life *life, struct machine *machine, const struct call *call)
{
    struct message *message = message_of(life, call);
    if (message == NULL) {
        int32_t id = ((const struct request *)(const void *)call)->correlation_id;
        if (!is_vandals(call)) {
            life_fail(life, "API %d (%d) reaches a coordinator twice", call->api_key, id);
        }
        tap.counts.foreign_calls++;
        return;
    }
    if (message->state != MESSAGE_TRAVELS || message->machine != machine->at ||
        message->call.api_key != call->api_key || message->call.api_version != call->api_version) {
        life_fail(life, "API %d (%d) reaches n%d, where it was not sent", call->api_key,
                  message->correlation_id, machine->at + 1);
    }
    message->incarnation = machine->incarnation;
    oracle_called(life, machine, message);
    message_start(life, message, machine);
}

static void replied(struct life *life, struct machine *machine, const struct effect *effect)
{
    struct message *message = message_of(life, effect->call);
    if (message == NULL) {
        return;
    }
    if (message->state != MESSAGE_STARTED || message->machine != machine->at) {
        life_fail(life, "API %d (%d) was answered twice", effect->call->api_key,
                  message->correlation_id);
    }
    message->state = MESSAGE_ANSWERED;
    message_unlink(message);
    message->response = message_through_bytes(life, message, effect->response, &message->reply);
    oracle_answered(life, machine, message, message->response);
    wire_forget(life, message);
    message_unref(message);
}

/* ---- Inputs and effects ---- */

static struct machine *machine_of(struct life *life, const struct input *input)
{
    struct machine *machine = &life->machines[input->node - 1];
    if (machine->core != input->coordinator || machine->incarnation != input->incarnation) {
        ensure(machine->core == NULL);
        machine->core = input->coordinator;
        machine->incarnation = input->incarnation;
        machine->position = 0;
        machine->term = 0;
        machine->was_leading = false;
        machine->stopped_ms = -1;
        machine->frozen_ms = 0;
        machine->serving_ms = 0;
    }
    return machine;
}

static void note_input_time(struct machine *machine, const struct input *input)
{
    if (input->kind != INPUT_LEADER && input->kind != INPUT_RESTORE) {
        machine->input_ms = input->now_ms;
    }
}

static void before(void *ctx, const struct input *input)
{
    struct life *life = ctx;
    if (tap.is_inside) {
        return;
    }
    time_enter(life);
    struct machine *machine = machine_of(life, input);
    life->inputs++;
    if (input->kind == INPUT_SUSPENDED) {
        tap.counts.suspensions++;
        if (coordinator_is_leading(machine->core)) {
            machine->stopped_ms = machine->input_ms;
        }
    }
    note_input_time(machine, input);
    switch (input->kind) {
        case INPUT_REQUEST:
            called(life, machine, input->call);
            break;
        case INPUT_GONE: {
            struct message *message = message_of(life, input->call);
            if (message != NULL) {
                message->call.gone = true;
            }
            break;
        }
        case INPUT_APPLY:
            apply_begins(life, machine, input->applied);
            break;
        case INPUT_TICK:
            if (input->wall_ms > life->wall_ms_max) {
                life->wall_ms_max = input->wall_ms;
            }
            break;
        case INPUT_WINNING:
            won(life, machine, input->term);
            break;
        case INPUT_ELECTED:
            machine_begin_serving(machine);
            life_trace(life, "n%d elected, term %" PRIu64, machine->at + 1, input->term);
            oracle_elected(life, machine);
            break;
        case INPUT_DEPOSED:
            life_trace(life, "n%d deposed, term %" PRIu64, machine->at + 1, machine->term);
            machine->term = 0;
            machine->stopped_ms = -1;
            break;
        default:
            break;
    }
}

static void after(void *ctx, const struct input *input)
{
    struct life *life = ctx;
    if (tap.is_inside) {
        return;
    }
    struct machine *machine = machine_of(life, input);
    if (input->kind == INPUT_APPLY) {
        apply_ends(life, machine);
    } else if (input->kind == INPUT_RESTORE) {
        restored(life, machine);
    }
    machine_note_role(machine);
    if (chance_in(&life->chance, life->options.has_large_metadata ? 1 : CHECK_PER_MILLE)) {
        tap.is_inside = true;
        coordinator_check(machine->core);
        tap.is_inside = false;
    }
}

static void effect(void *ctx,
                   int node,
                   struct coordinator *coordinator,
                   const struct effect *effect)
{
    struct life *life = ctx;
    struct machine *machine = &life->machines[node - 1];
    if (tap.is_inside) {
        return;
    }
    time_enter(life);
    ensure(machine->core == coordinator);
    switch (effect->kind) {
        case EFFECT_REPLY:
            replied(life, machine, effect);
            break;
        case EFFECT_PROPOSE:
            oracle_proposed(life, machine, effect->records);
            break;
        case EFFECT_LOG:
            oracle_logged(life, machine, effect->line);
            break;
    }
}

/* ---- Ends ---- */

void tap_ended(struct life *life, int at)
{
    struct machine *machine = &life->machines[at];
    for (struct message *message = life->started, *next; message != NULL; message = next) {
        next = message->next_all;
        if (message->machine == at) {
            message->state = MESSAGE_WAITS; /* for ever */
            message_unlink(message);
            oracle_lost(life, message);
            wire_forget(life, message);
            message_unref(message);
        }
    }
    machine->core = NULL;
    machine->term = 0;
}

bool tap_has_reached(const struct life *life, uint64_t position)
{
    for (int i = 0; i < life->machines_count; i++) {
        const struct machine *machine = &life->machines[i];
        if (machine->core != NULL && machine->position < position) {
            return false;
        }
    }
    return true;
}

int tap_leader(const struct life *life)
{
    for (int i = 0; i < life->machines_count; i++) {
        const struct machine *machine = &life->machines[i];
        if (machine->core != NULL && machine->term != 0 && machine->term == life->term &&
            coordinator_is_leading(machine->core)) {
            return i;
        }
    }
    return -1;
}

const struct tap_counts *tap_counts(void)
{
    return &tap.counts;
}

void tap_open(struct life *life)
{
    static const struct input_events events = {before, after, effect};
    life->machines_count = world_nodes();
    life->machines = calloc((size_t)life->machines_count, sizeof *life->machines);
    ensure(life->machines != NULL);
    for (int i = 0; i < life->machines_count; i++) {
        life->machines[i].at = i;
        life->machines[i].stopped_ms = -1;
    }
    tap.is_inside = true;
    life->reference = coordinator_new(&life->options.limits, 99);
    tap.is_inside = false;
    tap.cap = 4096;
    tap.entries = calloc(tap.cap, sizeof *tap.entries);
    ensure(tap.entries != NULL);
    tap.entries[0].hash = coordinator_state_hash(life->reference);
    tap.count = 1;
    inputs_listen(&events, life);
}

void tap_close(struct life *life)
{
    static const struct input_events nobody = {NULL, NULL, NULL};
    inputs_listen(&nobody, NULL);
    tap.is_inside = true;
    coordinator_free(life->reference);
    life->reference = NULL;
    free(life->machines);
    free(tap.entries);
    tap = (struct tap){0};
}
