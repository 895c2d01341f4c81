#include "tests/sim/clients/tube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "rpc/frame.h"
#include "tests/sim/clients/message_frame.h"
#include "tests/sim/life/time.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/oracle/oracle.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/node.h"

enum { CONNECT_MS = 3000, REPLY_BYTES_MAX = 64 << 20 };

enum tube_state { TUBE_OPENS, TUBE_GREETS, TUBE_READY };

struct tube {
    struct life *life;
    struct network_conn *conn; /* NULL: closed */
    enum tube_state state;
    int16_t greeting_version;
    struct buf in;
    bool is_deaf;
};

/* ---- All messages ---- */

void wire_open(struct life *life)
{
    life->wire = calloc(1, sizeof *life->wire);
    ensure(life->wire != NULL);
    life->wire->messages_count = 1;
}

void wire_close(struct life *life)
{
    struct wire *wire = life->wire;
    for (int32_t i = 1; i < wire->messages_count; i++) {
        if (wire->messages[i] != NULL) {
            message_unlink(wire->messages[i]);
        }
    }
    for (int32_t i = 1; i < wire->messages_count; i++) {
        if (wire->messages[i] != NULL) {
            message_unref(wire->messages[i]);
        }
    }
    free(wire->messages);
    free(wire);
    life->wire = NULL;
}

struct message *wire_find(struct life *life, int32_t correlation_id)
{
    const struct wire *wire = life->wire;
    bool is_known = correlation_id > 0 && correlation_id < wire->messages_count;
    return is_known ? wire->messages[correlation_id] : NULL;
}

void wire_forget(struct life *life, struct message *message)
{
    struct wire *wire = life->wire;
    if (wire->messages[message->correlation_id] == message) {
        wire->messages[message->correlation_id] = NULL;
        message_unref(message);
    }
}

static void remember(struct life *life, struct message *message)
{
    struct wire *wire = life->wire;
    if (wire->messages_count >= wire->messages_cap) {
        wire->messages_cap = wire->messages_cap * 2 + 1024;
        size_t cap = (size_t)wire->messages_cap;
        wire->messages = realloc(wire->messages, cap * sizeof *wire->messages);
        ensure(wire->messages != NULL);
    }
    message->correlation_id = wire->messages_count++;
    message->refs++;
    wire->messages[message->correlation_id] = message;
}

/* ---- Lanes ---- */

void lane_init(struct life *life, struct lane *lane, int host, int64_t timeout_ms)
{
    *lane =
        (struct lane){.host = host, .machine = -1, .last = &lane->first, .timeout_ms = timeout_ms};
    lane->next = life->wire->lanes;
    life->wire->lanes = lane;
    lane->tube = calloc(1, sizeof *lane->tube);
    ensure(lane->tube != NULL);
    lane->tube->life = life;
}

void lane_close(struct lane *lane)
{
    if (lane->tube == NULL) {
        return;
    }
    for (struct message *message = lane->first, *next; message != NULL; message = next) {
        next = message->next;
        message->lane = NULL;
        message_unref(message);
    }
    lane->first = NULL;
    if (lane->tube->conn != NULL) {
        network_reset(lane->tube->conn);
    }
    buf_close(&lane->tube->in);
    free(lane->tube);
    lane->tube = NULL;
}

/* The connection is gone or to be closed; whoever waits hears of it. */
static void end(struct lane *lane, bool is_open)
{
    struct tube *tube = lane->tube;
    struct life *life = tube->life;
    struct message *message = lane->first;
    struct network_conn *conn = tube->conn;
    lane->epoch++;
    lane->machine = -1;
    lane->first = NULL;
    lane->last = &lane->first;
    tube->conn = NULL;
    tube->in.len = 0;
    if (conn != NULL && is_open) {
        if (chance_in(&life->chance, 300)) {
            network_reset(conn);
        } else {
            network_close(conn);
        }
    }
    for (struct message *next; message != NULL; message = next) {
        next = message->next;
        message->lane = NULL;
        message->done(life, message, NULL);
        message_unref(message);
    }
}

void lane_break(struct life *life, struct lane *lane)
{
    life->wire->broken++;
    end(lane, true);
}

static void end_deafness(struct life *life, void *who, uint64_t what)
{
    struct lane *lane = who;
    if (lane->epoch != what || lane->tube == NULL || lane->tube->conn == NULL) {
        return;
    }
    if (lane->deaf_until_ms > life->now_ms) {
        events_add(life, lane->deaf_until_ms, end_deafness, lane, what);
        return;
    }
    lane->tube->is_deaf = false;
    network_pause(lane->tube->conn, false);
}

static void write_request(struct lane *lane, const struct message *message)
{
    struct buf frame = BUF_EMPTY;
    message_frame(message, &frame);
    network_write(lane->tube->conn, frame.data, frame.len);
    buf_close(&frame);
}

static void greet(struct lane *lane)
{
    struct tube *tube = lane->tube;
    const struct api *api = api_find(API_ApiVersions);
    tube->state = TUBE_GREETS;
    tube->greeting_version =
        (int16_t)chance_between(&tube->life->chance, api->min_version, api->max_version);
    struct message *message =
        message_alloc(tube->life, API_ApiVersions, tube->greeting_version, "greeting");
    struct api_versions_request request;
    codec_set_defaults(api_versions_request_schema(), &request);
    request.client_software_name = SPAN_LITERAL("simulated");
    request.client_software_version = SPAN_LITERAL("1");
    message_set_request(tube->life, message, &request);
    message->correlation_id = CORRELATION_GREETING;
    write_request(lane, message);
    message_unref(message);
}

static void opened(void *ctx, struct network_conn *conn)
{
    struct lane *lane = ctx;
    (void)conn;
    time_enter(lane->tube->life);
    greet(lane);
}

static void closed(void *ctx, struct network_conn *conn, enum network_closing closing)
{
    struct lane *lane = ctx;
    struct life *life = lane->tube->life;
    time_enter(life);
    if (conn != lane->tube->conn) {
        return;
    }
    life_trace(life, "host %d: connection to n%d %s", lane->host, lane->machine + 1,
               network_closing_text(closing));
    end(lane, false);
}

/* ---- Replies ---- */

static void greeted(struct lane *lane, struct span content)
{
    struct tube *tube = lane->tube;
    struct life *life = tube->life;
    struct arena arena;
    struct api_versions_response response;
    struct reader reader = reader_of(content);
    arena_init(&arena, SIZE_MAX);
    if (reader_be32(&reader) != CORRELATION_GREETING ||
        codec_decode(api_versions_response_schema(), tube->greeting_version, &reader, &arena,
                     &response) != CODEC_OK ||
        reader_left(&reader) != 0 || response.error_code != 0) {
        life_fail(life, "n%d does not say which APIs it serves", lane->machine + 1);
    }
    for (const struct api *api = api_next(NULL); api != NULL; api = api_next(api)) {
        int32_t i = 0;
        while (i < response.api_keys_count && response.api_keys[i].api_key != api->key) {
            i++;
        }
        if (api->is_advertised && i == response.api_keys_count) {
            life_fail(life, "n%d does not serve API %d", lane->machine + 1, api->key);
        }
    }
    arena_close(&arena);
    life->wire->greetings++;
    tube->state = TUBE_READY;
    for (const struct message *at = lane->first; at != NULL; at = at->next) {
        write_request(lane, at);
    }
}

static void take_reply(struct lane *lane, struct span content)
{
    struct life *life = lane->tube->life;
    struct message *message = lane->first;
    struct reader reader = reader_of(content);
    int32_t correlation_id = (int32_t)reader_be32(&reader);
    if (message == NULL || reader_is_failed(&reader) || message->correlation_id != correlation_id) {
        life_fail(life, "n%d answers %d where %d is the next", lane->machine + 1, correlation_id,
                  message == NULL ? -1 : message->correlation_id);
    }
    void *response = message_read_reply(life, message, &reader);
    life->wire->replies++;
    lane->first = message->next;
    if (lane->first == NULL) {
        lane->last = &lane->first;
    }
    message->lane = NULL;
    message->done(life, message, response);
    message_unref(message);
}

static void listen_again(struct lane *lane)
{
    struct tube *tube = lane->tube;
    if (!tube->is_deaf) {
        tube->is_deaf = true;
        network_pause(tube->conn, true);
        events_add(tube->life, lane->deaf_until_ms, end_deafness, lane, lane->epoch);
    }
}

static void take_frames(struct lane *lane)
{
    struct tube *tube = lane->tube;
    uint64_t epoch = lane->epoch;
    size_t used = 0;
    while (lane->epoch == epoch) {
        struct frame frame;
        struct span rest = span_of(tube->in.data + used, tube->in.len - used);
        enum frame_status status =
            rest.len == 0 ? FRAME_INCOMPLETE : frame_parse(rest, REPLY_BYTES_MAX, &frame);
        if (status == FRAME_INVALID) {
            life_fail(tube->life, "n%d sent no frame", lane->machine + 1);
        }
        if (status != FRAME_COMPLETE) {
            break;
        }
        used += FRAME_PREFIX_BYTES + frame.size;
        if (tube->state == TUBE_GREETS) {
            greeted(lane, frame.content);
        } else {
            take_reply(lane, frame.content);
        }
    }
    if (lane->epoch == epoch && used > 0) {
        memmove(tube->in.data, tube->in.data + used, tube->in.len - used);
        tube->in.len -= used;
    }
}

static void bytes_came(void *ctx, struct network_conn *conn, const uint8_t *bytes, size_t len)
{
    struct lane *lane = ctx;
    struct tube *tube = lane->tube;
    time_enter(tube->life);
    if (conn != tube->conn) {
        return;
    }
    buf_append(&tube->in, bytes, len);
    if (lane->deaf_until_ms > tube->life->now_ms) {
        listen_again(lane);
        return;
    }
    take_frames(lane);
}

void lane_open(struct life *life, struct lane *lane, int machine)
{
    static const struct network_events events = {opened, bytes_came, closed};
    char host[TEXT];
    ensure(lane->first == NULL && lane->tube->conn == NULL);
    lane->machine = machine;
    lane->incarnation = life->machines[machine].incarnation;
    lane->tube->state = TUBE_OPENS;
    lane->tube->in.len = 0;
    lane->tube->is_deaf = false;
    snprintf(host, sizeof host, "n%d", machine + 1);
    lane->tube->conn = network_connect(lane->host, host, NODE_CLIENT_PORT,
                                       (int64_t)CONNECT_MS * WORLD_MS, &events, lane);
}

/* ---- Requests ---- */

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
    remember(life, message);
    return message;
}

static void time_out(struct life *life, void *who, uint64_t what)
{
    struct lane *lane = who;
    const struct message *at = lane->tube == NULL ? NULL : lane->first;
    while (at != NULL && at->correlation_id != (int32_t)what) {
        at = at->next;
    }
    if (at != NULL && lane->deaf_until_ms > life->now_ms) {
        events_add(life, lane->deaf_until_ms + 1000, time_out, lane, what); /* it may be there */
    } else if (at != NULL) {
        life->wire->timeouts++;
        life_trace(life, "host %d: API %d (%d) has no answer from n%d", lane->host,
                   at->call.api_key, at->correlation_id, lane->machine + 1);
        time_out_noticed(life, at);
        lane_break(life, lane);
    }
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
    message->sent_ms = life->now_ms;
    message_set_request(life, message, request);
    oracle_sent(life, message);
    *lane->last = message;
    lane->last = &message->next;
    if (lane->tube->state == TUBE_READY) {
        write_request(lane, message);
    }
    int64_t most_ms = message->timeout_ms > 0 ? message->timeout_ms : lane->timeout_ms;
    events_add(life, life->now_ms + most_ms, time_out, lane, (uint64_t)message->correlation_id);
}

void wire_break_some(struct life *life, int per_mille)
{
    for (struct lane *lane = life->wire->lanes; lane != NULL; lane = lane->next) {
        if (lane->tube->conn != NULL && chance_in(&life->chance, per_mille)) {
            lane_break(life, lane);
        }
    }
}
