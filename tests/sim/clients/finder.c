/* Where the leader is, as a client finds it out: FindCoordinator at any node. */
#include <stdio.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/errors.h"
#include "tests/sim/clients/lane.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/world/node.h"

enum { AGAIN_MS = 100, TIMEOUT_MS = 2000 };

void finder_init(struct life *life, struct finder *finder, int host)
{
    *finder = (struct finder){.machine = -1, .avoided = -1};
    lane_init(life, &finder->lane, host, TIMEOUT_MS);
}

void finder_close(struct finder *finder)
{
    lane_close(&finder->lane);
}

/* The machine behind an address; it must be the node's. */
static int machine_of(struct life *life, int32_t node_id, struct span host, int32_t port)
{
    char name[TEXT];
    snprintf(name, sizeof name, "n%d", node_id);
    if (node_id < 1 || node_id > life->machines_count || !span_equal(host, span_from_cstr(name)) ||
        port != NODE_CLIENT_PORT) {
        life_fail(life, "FindCoordinator says node %d at %.*s:%d", node_id, (int)host.len,
                  (const char *)host.data, port);
    }
    return node_id - 1;
}

static void answered(struct life *life, struct message *message, const void *answer)
{
    struct finder *finder = message->owner;
    const struct find_coordinator_response *response = answer;
    finder->is_asking = false;
    finder->again_ms = life->now_ms + AGAIN_MS;
    finder->avoided = response == NULL ? message->machine : -1;
    if (response == NULL) {
        return;
    }
    int16_t error = response->error_code;
    struct find_coordinator_response_coordinator one = {
        .node_id = response->node_id, .host = response->host, .port = response->port};
    if (message->call.api_version >= 4) {
        if (response->coordinators_count != 1) {
            life_fail(life, "FindCoordinator says %d of one", response->coordinators_count);
        }
        one = response->coordinators[0];
        error = one.error_code;
    }
    if (error == KAFKA_NONE) {
        finder->machine = machine_of(life, one.node_id, one.host, one.port);
    } else if (error != KAFKA_COORDINATOR_NOT_AVAILABLE) {
        life_fail(life, "FindCoordinator got %d", error);
    }
    if (finder->lane.machine >= 0 && chance_in(&life->chance, 300)) {
        lane_break(life, &finder->lane); /* another node the next time */
    }
}

static void ask(struct life *life, struct finder *finder)
{
    const struct api *api = api_find(API_FindCoordinator);
    if (finder->lane.machine < 0) {
        int machine = (int)chance_below(&life->chance, life->machines_count);
        if (finder->avoided >= 0) { /* or it might ask the dead in turn for a long time */
            machine = (finder->avoided + 1) % life->machines_count;
        }
        lane_open(life, &finder->lane, machine);
    }
    int16_t version = (int16_t)chance_between(&life->chance, api->min_version, api->max_version);
    struct message *message =
        message_new(life, &finder->lane, API_FindCoordinator, version, "finder");
    struct span keys[] = {SPAN_LITERAL("g0")};
    struct find_coordinator_request request;
    codec_set_defaults(find_coordinator_request_schema(), &request);
    request.key = keys[0];
    request.coordinator_keys = keys;
    request.coordinator_keys_count = version >= 4 ? 1 : 0;
    finder->is_asking = true;
    message_send(life, message, &request, answered, finder, 0);
}

int finder_leader(struct life *life, struct finder *finder)
{
    if (finder->machine < 0 && !finder->is_asking && finder->again_ms <= life->now_ms) {
        ask(life, finder);
    }
    return finder->machine;
}

void finder_forget(struct finder *finder)
{
    finder->machine = -1;
}
