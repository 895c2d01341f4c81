#include "raftlog/options.h"

#include <string.h>

#include "raftlog/batch.h"
#include "raftlog/hello.h"

const struct raftlog_peer *options_self(const struct raftlog_options *options)
{
    for (size_t i = 0; i < options->peers_count; i++) {
        if (options->peers[i].id == options->node_id) {
            return &options->peers[i];
        }
    }
    return NULL;
}

static const char *check_peers(const struct raftlog_options *options)
{
    if (options->peers_count == 0 || options->peers_count > OPTIONS_PEERS_MAX) {
        return "there must be 1 to 31 nodes";
    }
    for (size_t i = 0; i < options->peers_count; i++) {
        const struct raftlog_peer *peer = &options->peers[i];
        if (peer->id == 0 || peer->id > INT32_MAX) {
            return "node ids must be 1 to 2147483647";
        }
        if (peer->host == NULL || peer->host[0] == '\0' || peer->port == 0) {
            return "each node needs a host and a port";
        }
        for (size_t k = 0; k < i; k++) {
            if (options->peers[k].id == peer->id) {
                return "two nodes have the same id";
            }
        }
    }
    return options_self(options) == NULL ? "this node's id is not among the nodes" : NULL;
}

static const char *check_sizes(const struct raftlog_options *options)
{
    if (options->proposal_bytes_max == 0 || options->batch_bytes_max == 0 ||
        options->proposal_bytes_max > BATCH_RAW_BYTES_MAX - BATCH_ITEM_LEN ||
        options->batch_bytes_max > BATCH_RAW_BYTES_MAX) {
        return "a proposal and a batch must be 1 byte to 16 MiB";
    }
    if (options->queue_bytes_max < options->proposal_bytes_max + BATCH_ITEM_LEN) {
        return "the queue must hold at least one proposal";
    }
    if (options->snapshot_threshold_bytes == 0) {
        return "the snapshot threshold must not be 0";
    }
    return NULL;
}

const char *options_check(const struct raftlog_options *options)
{
    const char *error = check_peers(options);
    if (error != NULL) {
        return error;
    }
    if (options->cluster_id == NULL || options->cluster_id[0] == '\0' ||
        strlen(options->cluster_id) > HELLO_CLUSTER_ID_MAX ||
        strpbrk(options->cluster_id, "\r\n") != NULL) {
        return "the cluster id must be one line of 1 to 255 bytes";
    }
    if (options->peers_count > 1 && options->secret.len < OPTIONS_SECRET_BYTES_MIN) {
        return "the peer secret must have at least 16 bytes";
    }
    if (options->card.len > HELLO_CARD_MAX) {
        return "the card is too long";
    }
    if (options->heartbeat_ms == 0 || options->election_timeout_ms < 2 * options->heartbeat_ms) {
        return "the election timeout must be at least twice the heartbeat";
    }
    return check_sizes(options);
}
