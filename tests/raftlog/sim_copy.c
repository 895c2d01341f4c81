/* Copies between the library's memory and the simulated disk or wire. */
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "sim_parts.h"

struct sim_entry *sim_copy_from_raft(const struct raft_entry *from, unsigned n)
{
    struct sim_entry *to = calloc(n + 1, sizeof *to);
    ensure(to != NULL);
    for (unsigned i = 0; i < n; i++) {
        to[i] = (struct sim_entry){.term = from[i].term,
                                   .type = from[i].type,
                                   .len = from[i].buf.len,
                                   .data = malloc(from[i].buf.len + 1)};
        ensure(to[i].data != NULL);
        memcpy(to[i].data, from[i].buf.base, from[i].buf.len);
    }
    return to;
}

struct raft_entry *sim_copy_to_raft(const struct sim_entry *from, size_t n)
{
    if (n == 0) {
        return NULL;
    }
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        len += from[i].len;
    }
    char *batch = raft_malloc(len + 8);
    struct raft_entry *to = raft_calloc(n, sizeof *to);
    ensure(batch != NULL && to != NULL);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        to[i].term = from[i].term;
        to[i].type = from[i].type;
        to[i].buf = (struct raft_buffer){.base = batch + at, .len = from[i].len};
        to[i].batch = batch;
        memcpy(batch + at, from[i].data, from[i].len);
        at += from[i].len;
    }
    return to;
}

static void copy_configuration(const struct raft_configuration *from, struct raft_configuration *to)
{
    raft_configuration_init(to);
    for (unsigned i = 0; i < from->n; i++) {
        const struct raft_server *server = &from->servers[i];
        ensure(raft_configuration_add(to, server->id, server->address, server->role) == 0);
    }
}

struct raft_snapshot *sim_copy_snapshot(const struct raft_snapshot *from)
{
    struct raft_snapshot *to = raft_malloc(sizeof *to);
    ensure(to != NULL);
    *to = *from;
    copy_configuration(&from->configuration, &to->configuration);
    to->bufs = raft_malloc(sizeof *to->bufs);
    ensure(to->bufs != NULL);
    to->bufs->len = from->bufs->len;
    to->bufs->base = raft_malloc(from->bufs->len);
    ensure(to->bufs->base != NULL);
    memcpy(to->bufs->base, from->bufs->base, from->bufs->len);
    return to;
}
