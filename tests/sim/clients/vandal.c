#include "tests/sim/clients/vandal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "tests/sim/clients/message_frame.h"
#include "tests/sim/life/time.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/node.h"

enum { VANDALS = 2 };

static struct vandal {
    struct life *life;
    int number;
    struct network_conn *conn;
} vandals[VANDALS];

/* ---- What it sends ---- */

static void some_bytes(struct life *life, struct buf *out, size_t len)
{
    uint8_t *at = buf_reserve(out, len);
    for (size_t i = 0; i < len; i++) {
        at[i] = (uint8_t)chance_next(&life->chance);
    }
    out->len += len;
}

/* Of a group that nobody else uses, and no commits: the oracle knows who commits what. */
static void good_frame(struct life *life, struct buf *out)
{
    static const int16_t keys[] = {API_Heartbeat,       API_LeaveGroup,     API_DescribeGroups,
                                   API_ApiVersions,     API_ListGroups,     API_Metadata,
                                   API_FindCoordinator, API_DescribeCluster};
    const struct api *api = api_find(keys[chance_below(&life->chance, 8)]);
    int16_t version = (int16_t)chance_between(&life->chance, api->min_version, api->max_version);
    struct message *message = message_alloc(life, api->key, version, "vandal");
    void *request = arena_alloc(&message->arena, api->request()->size);
    codec_set_defaults(api->request(), request);
    codec_encode(api->request(), version, request, &message->bytes);
    message->correlation_id = -1;
    message_frame(message, out);
    message_unref(message);
}

static void bad_frame(struct life *life, struct buf *out)
{
    size_t start = out->len;
    good_frame(life, out);
    switch (chance_below(&life->chance, 5)) {
        case 0: /* some other length */
            buf_set_be32(out, start, (uint32_t)chance_next(&life->chance));
            break;
        case 1: { /* some other byte, but no other API */
            size_t at = 6 + (size_t)chance_below(&life->chance, (int64_t)(out->len - start - 6));
            bool is_id = at >= 8 && at < 12; /* another's correlation id would pass for his */
            out->data[start + at] =
                is_id ? out->data[start + at] : (uint8_t)chance_next(&life->chance);
            break;
        }
        case 2: /* cut off */
            out->len = start + (size_t)chance_below(&life->chance, (int64_t)(out->len - start));
            break;
        case 3:
            out->len = start;
            buf_put_be32(out, (uint32_t)chance_between(&life->chance, 0, 40));
            buf_put_be16(out, (uint16_t)chance_between(&life->chance, 61, 30000)); /* no such API */
            some_bytes(life, out, 40);
            break;
        default:
            out->len = start;
            buf_put_be32(out, INT32_MAX); /* never more than its beginning comes */
            buf_put_be16(out, API_Metadata);
            some_bytes(life, out, (size_t)chance_below(&life->chance, 300));
            break;
    }
}

/* ---- When ---- */

static void wake(struct life *life, void *who, uint64_t what);

static void opened(void *ctx, struct network_conn *conn)
{
    (void)ctx;
    (void)conn;
}

static void bytes_came(void *ctx, struct network_conn *conn, const uint8_t *bytes, size_t len)
{
    (void)ctx;
    (void)conn;
    (void)bytes;
    (void)len;
}

static void closed(void *ctx, struct network_conn *conn, enum network_closing closing)
{
    struct vandal *vandal = ctx;
    (void)conn;
    (void)closing;
    vandal->conn = NULL;
}

static void drop(struct life *life, struct vandal *vandal)
{
    if (chance_in(&life->chance, 500)) {
        network_reset(vandal->conn);
    } else {
        network_close(vandal->conn);
    }
    vandal->conn = NULL;
}

static void send(struct life *life, struct vandal *vandal)
{
    struct buf bytes = BUF_EMPTY;
    for (int64_t n = chance_between(&life->chance, 1, 20); n > 0; n--) {
        good_frame(life, &bytes);
    }
    if (chance_in(&life->chance, 500)) {
        bad_frame(life, &bytes);
    }
    network_write(vandal->conn, bytes.data, bytes.len);
    network_pause(vandal->conn, chance_in(&life->chance, 300));
    buf_close(&bytes);
}

static void wake(struct life *life, void *who, uint64_t what)
{
    static const struct network_events events = {opened, bytes_came, closed};
    struct vandal *vandal = who;
    char host[TEXT];
    (void)what;
    if (life->stage != STAGE_CHAOS || life->is_over) {
        return;
    }
    events_add(life, life->now_ms + chance_between(&life->chance, 50, 3000), wake, vandal, 0);
    if (vandal->conn != NULL && chance_in(&life->chance, 300)) {
        drop(life, vandal);
    } else if (vandal->conn != NULL) {
        send(life, vandal);
    } else {
        snprintf(host, sizeof host, "n%d",
                 (int)chance_between(&life->chance, 1, life->machines_count));
        vandal->conn = network_connect(VANDAL_HOST + vandal->number, host, NODE_CLIENT_PORT, 0,
                                       &events, vandal);
    }
}

void vandals_start(struct life *life)
{
    for (int i = 0; i < VANDALS; i++) {
        vandals[i] = (struct vandal){.life = life, .number = i};
        events_add(life, life->now_ms + chance_below(&life->chance, 10000), wake, &vandals[i], 0);
    }
}

void vandals_close(void)
{
    for (int i = 0; i < VANDALS; i++) {
        if (vandals[i].conn != NULL) {
            network_reset(vandals[i].conn);
            vandals[i].conn = NULL;
        }
    }
}
