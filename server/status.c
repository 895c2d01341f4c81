/* The line of figures that SIGUSR1 asks for. Tests read it; a metrics page shows the same later. */
#include <stdio.h>

#include "server/core/coordinator.h"
#include "server/core/state.h"
#include "server/log.h"
#include "server/server.h"

static const char *role_of(const struct server *server)
{
    if (server->stop_phase != STOP_RUNNING) {
        return "stopping";
    }
    if (driver_is_leading(&server->driver)) {
        return "leading";
    }
    return server->driver.leader_id == server->driver.node_id ? "settling" : "following";
}

struct line {
    char text[6144];
    size_t len;
};

static void add(struct line *line, const char *name, uint64_t value)
{
    int more = snprintf(line->text + line->len, sizeof line->text - line->len, " %s=%llu", name,
                        (unsigned long long)value);
    if (more > 0 && line->len + (size_t)more < sizeof line->text) {
        line->len += (size_t)more;
    }
}

static void add_hash(struct line *line, uint64_t hash)
{
    int more = snprintf(line->text + line->len, sizeof line->text - line->len,
                        " state_hash=%016llx", (unsigned long long)hash);
    line->len += more > 0 ? (size_t)more : 0;
}

static void add_facts(struct line *line, const struct server *server)
{
    const struct state_totals *totals = state_totals(driver_state(&server->driver));
    struct raftlog_stats stats = {0};
    raftlog_stats(server->driver.log, &stats);
    add(line, "term", stats.term);
    add(line, "leader", driver_leader_id(&server->driver));
    add(line, "index", totals->index);
    add_hash(line, coordinator_state_hash(server->driver.coordinator));
    add(line, "groups", totals->groups);
    add(line, "members", totals->members);
    add(line, "offsets", totals->offsets);
    add(line, "topics", totals->topics);
    add(line, "partitions", totals->partitions);
    add(line, "log_applied_index", stats.applied_index);
    add(line, "log_bytes", stats.log_bytes);
    add(line, "log_batches", stats.batches_submitted);
    add(line, "log_proposals", stats.proposals_submitted);
    add(line, "log_queue_bytes", stats.queue_bytes);
    add(line, "snapshots_taken", stats.snapshots_taken);
    add(line, "snapshots_installed", stats.snapshots_installed);
    add(line, "elections_won", stats.elections_won);
    add(line, "peers_refused", stats.peers_refused);
    add(line, "rejoining", stats.rejoining);
}

static void add_counters(struct line *line, const struct server *server)
{
    const struct coordinator_counters *core = coordinator_counters(server->driver.coordinator);
    const struct conns_counters *conns = &server->conns.counters;
#define X(name, help) add(line, "core_" #name, core->name);
    COORDINATOR_COUNTERS(X)
#undef X
#define X(name, help) add(line, "conn_" #name, conns->name);
    CONNS_COUNTERS(X)
#undef X
}

void status_log(struct server *server)
{
    struct line line = {{0}, 0};
    const struct conns *conns = &server->conns;
    add_facts(&line, server);
    add(&line, "parked", driver_parked_calls(&server->driver));
    add(&line, "connections", conns->count);
    add(&line, "requests_in_use", conns->requests.in_use);
    add(&line, "paused", conns->paused);
    add(&line, "queued_bytes", conns->budget.used);
    add(&line, "queued_bytes_peak", conns->budget.peak);
    add(&line, "longest_turn_ms", (uint64_t)server->longest_turn_ms);
    add_counters(&line, server);
    log_event(LOG_LEVEL_INFO, "status role=%s%s", role_of(server), line.text);
    server->longest_turn_ms = 0;
}
