#include "tests/sim/oracle/copies.h"

#include <inttypes.h>

#include "raftlog/internal.h"
#include "server/server.h"
#include "tests/sim/life/cluster.h"
#include "tests/sim/oracle/machine.h"
#include "tests/sim/world/node.h"

static const struct raftlog *log_of(int machine)
{
    const struct server *server = node_server(machine + 1);
    const struct raftlog *log = server == NULL ? NULL : server->driver.log;
    return log != NULL && log->is_started ? log : NULL;
}

/* The term of its entry; 0: it has none there, UINT64_MAX: only a snapshot. */
static uint64_t term_at(const struct raft *raft, uint64_t index)
{
    const struct raft_log *log = &raft->log;
    if (index <= log->snapshot.last_index) {
        return UINT64_MAX;
    }
    size_t count =
        log->front <= log->back ? log->back - log->front : log->size - log->front + log->back;
    if (index <= log->offset || index > log->offset + count) {
        return 0;
    }
    return log->entries[(log->front + (size_t)(index - log->offset) - 1) % log->size].term;
}

static bool may_have(const struct life *life, int machine, uint64_t index, uint64_t term)
{
    const struct raftlog *log = log_of(machine);
    if (log == NULL || life->cluster->is_damaged[machine]) {
        return true;
    }
    uint64_t own = term_at(&log->raft, index);
    return own == UINT64_MAX || (own == term && index <= log->raft.last_stored);
}

void copies_check(struct life *life, int machine)
{
    const struct raftlog *log = log_of(machine);
    if (log == NULL) {
        return;
    }
    uint64_t index = log->raft.last_applied + 1;
    uint64_t term = term_at(&log->raft, index);
    int copies = 0;
    for (int i = 0; i < life->machines_count; i++) {
        copies += may_have(life, i, index, term);
    }
    if (term != UINT64_MAX && copies <= life->machines_count / 2) {
        life_fail(life,
                  "n%d applies entry %" PRIu64 " of term %" PRIu64
                  ", which only %d nodes can have on their disks",
                  machine + 1, index, term, copies);
    }
}
