#include "raftlog/peers.h"

#include <stdlib.h>

#include "rpc/ensure.h"

void peers_init(struct peers *peers, const struct raftlog_options *options)
{
    peers->count = 0;
    peers->items = calloc(options->peers_count, sizeof *peers->items);
    ensure(peers->items != NULL);
    for (size_t i = 0; i < options->peers_count; i++) {
        const struct raftlog_peer *from = &options->peers[i];
        if (from->id != options->node_id) {
            peers->items[peers->count++] =
                (struct peer){.id = from->id, .host = from->host, .port = from->port};
        }
    }
}

void peers_close(struct peers *peers)
{
    free(peers->items);
    *peers = (struct peers){.items = NULL};
}

struct peer *peers_find(const struct peers *peers, uint64_t id)
{
    for (size_t i = 0; i < peers->count; i++) {
        if (peers->items[i].id == id) {
            return &peers->items[i];
        }
    }
    return NULL;
}
