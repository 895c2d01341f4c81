/* What this process knows of each other node, from hellos, status messages and acknowledgements. */
#ifndef RAFTLOG_PEERS_H
#define RAFTLOG_PEERS_H

#include "raftlog/hello.h"
#include "raftlog/raftlog.h"
#include "raftlog/report.h"

struct peer {
    uint64_t id;
    const char *host;
    uint16_t port;
    /* Of its latest hello or status; nothing if !is_known. */
    bool is_known;
    enum hello_standing standing;
    uint64_t boot_id;
    uint64_t term;
    uint64_t last_index;
    bool is_disk_low;
    uint64_t heard_at_ms; /* monotonic */
    /* What its wall clock showed, and when that was (monotonic; 0: never). Not how far it was from
     * ours: that is worth nothing any more when ours is set. */
    int64_t clock_ms;
    uint64_t clock_at_ms;
    /* What it acknowledged to us as its leader, and how far that was committed then: entries up to
     * [remembered] it can never truncate, so a shorter log of it has lost some (R18). */
    uint64_t ack_term;
    uint64_t ack_index;
    uint64_t remembered;
    struct report_limit unreachable; /* log lines */
    struct report_limit refused;
    struct report_limit broken;
};

struct peers {
    struct peer *items; /* the other nodes, in the order of the configuration */
    size_t count;
};

/* All of [options] but this node. */
void peers_init(struct peers *peers, const struct raftlog_options *options);
void peers_close(struct peers *peers);

/* NULL: not one of them. */
struct peer *peers_find(const struct peers *peers, uint64_t id);

#endif
