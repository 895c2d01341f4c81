/* The ways between hosts, and what is done to them. */
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/world/tcp.h"

struct way {
    struct network_link link;
    bool is_cut;
    bool is_held;
    bool is_parted; /* cut by a partition */
};

static struct {
    struct way ways[NETWORK_HOSTS][NETWORK_HOSTS];
    int splitting;
    uint64_t delivered, lost;
} links;

const struct network_link network_link_default = {.least_us = 100,
                                                  .most_us = 400,
                                                  .tail_per_mille = 1,
                                                  .tail_us = 5000};

void links_open(void)
{
    memset(&links, 0, sizeof links);
    links.splitting = 250;
    network_set_link(0, 0, &network_link_default);
}

static struct way *way_of(int from, int to)
{
    ensure(from > 0 && from < NETWORK_HOSTS && to > 0 && to < NETWORK_HOSTS);
    return &links.ways[from][to];
}

/* Calls for each way that is meant. */
#define FOR_EACH_WAY(from, to)                                                                     \
    for (int a = (from) == 0 ? 1 : (from); a < NETWORK_HOSTS && ((from) == 0 || a == (from)); a++) \
        for (int b = (to) == 0 ? 1 : (to); b < NETWORK_HOSTS && ((to) == 0 || b == (to)); b++)

void network_set_link(int from, int to, const struct network_link *link)
{
    FOR_EACH_WAY(from, to)
    {
        way_of(a, b)->link = *link;
    }
}

void network_cut(int from, int to, bool is_cut)
{
    world_trace(0, "link %d -> %d %s", from, to, is_cut ? "is cut" : "is whole");
    FOR_EACH_WAY(from, to)
    {
        way_of(a, b)->is_cut = is_cut;
    }
}

void network_partition(unsigned side)
{
    world_trace(0, "partition %x", side);
    for (int a = 1; a <= WORLD_NODES_MAX; a++) {
        for (int b = 1; b <= WORLD_NODES_MAX; b++) {
            way_of(a, b)->is_parted = (side >> a & 1) != (side >> b & 1);
        }
    }
}

void network_hold(int from, int to, bool is_held)
{
    world_trace(0, "link %d -> %d %s", from, to, is_held ? "is held" : "is released");
    FOR_EACH_WAY(from, to)
    {
        struct way *way = way_of(a, b);
        bool was_held = way->is_held;
        way->is_held = is_held;
        if (was_held && !is_held) {
            tcp_released(a, b);
        }
    }
}

void network_heal(bool resets_links)
{
    world_trace(0, "the network heals");
    for (int a = 1; a < NETWORK_HOSTS; a++) {
        for (int b = 1; b < NETWORK_HOSTS; b++) {
            struct way *way = way_of(a, b);
            bool was_held = way->is_held;
            *way = (struct way){.link = resets_links ? network_link_default : way->link};
            if (was_held) {
                tcp_released(a, b);
            }
        }
    }
}

void network_set_splitting(int per_mille)
{
    links.splitting = per_mille;
}

int link_splitting(void)
{
    return links.splitting;
}

bool network_is_cut(int from, int to)
{
    const struct way *way = way_of(from, to);
    return way->is_cut || way->is_parted;
}

bool link_is_held(int from, int to)
{
    return way_of(from, to)->is_held;
}

int64_t link_latency_us(int from, int to)
{
    const struct network_link *link = &way_of(from, to)->link;
    struct chance *chance = world_chance(WORLD_CHANCE_NETWORK);
    int64_t wait_us = chance_between(chance, link->least_us, link->most_us);
    if (link->tail_per_mille > 0 && chance_in(chance, link->tail_per_mille)) {
        wait_us += chance_below(chance, link->tail_us + 1);
    }
    return wait_us;
}

static bool is_silent(int host)
{
    return host <= world_nodes() && (!node_has_power(host) || node_is_frozen(host));
}

bool link_passes(int from, int to)
{
    const struct way *way = way_of(from, to);
    if (way->is_cut || way->is_parted || is_silent(to)) {
        return false;
    }
    return way->link.loss_per_mille == 0 ||
           !chance_in(world_chance(WORLD_CHANCE_NETWORK), way->link.loss_per_mille);
}

void link_count(bool was_delivered)
{
    links.delivered += was_delivered;
    links.lost += !was_delivered;
}

uint64_t network_delivered(void)
{
    return links.delivered;
}

uint64_t network_lost(void)
{
    return links.lost;
}

/* ---- What the nemesis does to connections ---- */

void tcp_released(int from, int to)
{
    for (struct connection *connection = tcp_first(); connection != NULL;
         connection = connection->next_all) {
        for (int i = 0; i < 2; i++) {
            struct endpoint *end = &connection->ends[i];
            if (end->is_waiting && end->host == from && end->peer->host == to) {
                end->is_waiting = false;
                tcp_go_on(end);
            }
        }
    }
}

static bool is_between(const struct connection *connection, int a, int b)
{
    int x = connection->ends[0].host;
    int y = connection->ends[1].host;
    return ((a == 0 || x == a) && (b == 0 || y == b)) || ((a == 0 || y == a) && (b == 0 || x == b));
}

unsigned network_break(int a, int b)
{
    unsigned count = 0;
    struct connection *next = NULL;
    for (struct connection *connection = tcp_first(); connection != NULL; connection = next) {
        next = connection->next_all;
        struct endpoint *ends = connection->ends;
        if (connection->is_local || !is_between(connection, a, b) ||
            ends[1].state != ENDPOINT_OPEN || ends[0].state != ENDPOINT_OPEN) {
            continue;
        }
        count++;
        for (int i = 0; i < 2; i++) {
            tcp_break(&ends[i], UV_ECONNRESET);
        }
    }
    world_trace(0, "RST on %u connections between %d and %d", count, a, b);
    return count;
}
