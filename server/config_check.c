/* What the keys mean together. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config.h"
#include "server/core/node.h"

/* What a line about one item of a list begins with. */
#define ITEM(key, item) key, (int)((item).len > 100 ? 100 : (item).len), (const char *)(item).data

static bool is_own_peer(const struct config *config)
{
    for (size_t i = 0; i < config->peers_count; i++) {
        if (config->peers[i].id == (uint64_t)config->node_id) {
            return true;
        }
    }
    return false;
}

static void add_peer(struct config *config, const struct endpoint_peer *peer, struct buf *errors)
{
    for (size_t i = 0; i < config->peers_count; i++) {
        const struct endpoint_peer *other = &config->peers[i];
        if (other->id == peer->id) {
            config_error(errors, "cluster.nodes: id %llu stands there twice",
                         (unsigned long long)peer->id);
        } else if (strcmp(other->at.host, peer->at.host) == 0 && other->at.port == peer->at.port) {
            config_error(errors, "cluster.nodes: nodes %llu and %llu have the same address",
                         (unsigned long long)other->id, (unsigned long long)peer->id);
        }
    }
    if (config->peers_count == CONFIG_PEERS_MAX) {
        config_error(errors, "cluster.nodes: more than %d nodes; three or five are usual",
                     CONFIG_PEERS_MAX);
        return;
    }
    config->peers[config->peers_count++] = *peer;
}

static void check_peers(struct config *config, struct buf *errors)
{
    size_t before = errors->len;
    struct span list = span_from_cstr(config->cluster_nodes);
    struct span item;
    config->peers_count = 0;
    while (endpoint_next_item(&list, &item) && config->peers_count <= CONFIG_PEERS_MAX) {
        struct endpoint_peer peer;
        const char *wrong = endpoint_parse_peer(item, &peer);
        if (wrong != NULL) {
            config_error(errors, "%s: \"%.*s\": %s", ITEM("cluster.nodes", item), wrong);
        } else {
            add_peer(config, &peer, errors);
        }
    }
    if (errors->len != before) {
        return;
    }
    if (config->peers_count == 0) {
        struct endpoint_peer alone = {.id = (uint64_t)config->node_id,
                                      .at = {.host = "127.0.0.1", .port = 9093}};
        config->peers[config->peers_count++] = alone;
    } else if (!is_own_peer(config)) {
        config_error(errors, "node.id: %lld is not among cluster.nodes (%s)",
                     (long long)config->node_id, config->cluster_nodes);
    }
}

static bool read_secret(struct config *config, int fd, struct buf *errors)
{
    uint8_t bytes[CONFIG_SECRET_BYTES_MAX + 1];
    ssize_t got = read(fd, bytes, sizeof bytes);
    size_t len = got < 0 ? 0 : (size_t)got;
    if (got < 0) {
        config_error(errors, "peer.secret.file: %s cannot be read: %s", config->peer_secret_file,
                     strerror(errno));
        return false;
    }
    /* An editor's newline at the end is not part of it. */
    while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r')) {
        len--;
    }
    if (len < CONFIG_SECRET_BYTES_MIN || len > CONFIG_SECRET_BYTES_MAX) {
        config_error(errors,
                     "peer.secret.file: %s holds %zu bytes, must hold %d to %d; make one with: "
                     "head -c 32 /dev/urandom | base64 > %s",
                     config->peer_secret_file, len, CONFIG_SECRET_BYTES_MIN,
                     CONFIG_SECRET_BYTES_MAX, config->peer_secret_file);
        return false;
    }
    memcpy(config->secret, bytes, len);
    config->secret_len = len;
    return true;
}

static void check_secret(struct config *config, struct buf *errors)
{
    config->secret_len = 0;
    if (config->peer_secret_file[0] == '\0') {
        if (config->peers_count > 1) {
            config_error(errors,
                         "peer.secret.file: required when cluster.nodes names more than one node");
        }
        return;
    }
    int fd = open(config->peer_secret_file, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        config_error(errors, "peer.secret.file: %s cannot be opened: %s", config->peer_secret_file,
                     strerror(errno));
    } else if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        config_error(errors,
                     "peer.secret.file: %s can be used by others than its owner (mode %03o); run: "
                     "chmod 600 %s",
                     config->peer_secret_file, (unsigned)status.st_mode & 0777U,
                     config->peer_secret_file);
    } else {
        read_secret(config, fd, errors);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static struct endpoint_listener *find_listener(struct config *config, const char *name)
{
    for (size_t i = 0; i < config->listeners_count; i++) {
        if (strcmp(config->listener[i].name, name) == 0) {
            return &config->listener[i];
        }
    }
    return NULL;
}

static void add_listener(struct config *config,
                         const struct endpoint_listener *listener,
                         struct buf *errors)
{
    if (find_listener(config, listener->name) != NULL) {
        config_error(errors, "listeners: the name %s stands there twice", listener->name);
        return;
    }
    for (size_t i = 0; i < config->listeners_count; i++) {
        const struct endpoint *other = &config->listener[i].at;
        if (other->port == listener->at.port &&
            (endpoint_is_any(other) || endpoint_is_any(&listener->at) ||
             strcmp(other->host, listener->at.host) == 0)) {
            config_error(errors, "listeners: %s and %s have the same address",
                         config->listener[i].name, listener->name);
        }
    }
    if (config->listeners_count == CONFIG_LISTENERS_MAX) {
        config_error(errors, "listeners: more than %d", CONFIG_LISTENERS_MAX);
        return;
    }
    config->listener[config->listeners_count++] = *listener;
}

static void check_listeners(struct config *config, struct buf *errors)
{
    struct span list = span_from_cstr(config->listeners);
    struct span item;
    config->listeners_count = 0;
    while (endpoint_next_item(&list, &item)) {
        struct endpoint_listener listener;
        const char *wrong = endpoint_parse_listener(item, &listener);
        if (wrong != NULL) {
            config_error(errors, "%s: \"%.*s\": %s", ITEM("listeners", item), wrong);
        } else {
            add_listener(config, &listener, errors);
        }
    }
    if (span_is_empty(span_from_cstr(config->listeners))) {
        config_error(errors, "listeners: empty; clients need at least one");
    }
}

/* A listener's own host, or the machine's name where it listens on every address. */
static void advertise_itself(struct config *config, size_t i, struct buf *errors)
{
    struct endpoint_listener *to = &config->advertised[i];
    *to = config->listener[i];
    if (!endpoint_is_any(&to->at)) {
        return;
    }
    errno = 0;
    if (gethostname(to->at.host, sizeof to->at.host) != 0 || to->at.host[0] == '\0') {
        config_error(
            errors,
            "advertised.listeners: the machine has no name to be told to clients (%s); set "
            "this key",
            strerror(errno));
    }
    to->at.host[sizeof to->at.host - 1] = '\0';
}

static void check_advertised(struct config *config, struct buf *errors)
{
    struct span list = span_from_cstr(config->advertised_listeners);
    struct span item;
    bool is_set[CONFIG_LISTENERS_MAX] = {false};
    while (endpoint_next_item(&list, &item)) {
        struct endpoint_listener told;
        const char *wrong = endpoint_parse_listener(item, &told);
        struct endpoint_listener *of = wrong == NULL ? find_listener(config, told.name) : NULL;
        if (wrong != NULL) {
            config_error(errors, "%s: \"%.*s\": %s", ITEM("advertised.listeners", item), wrong);
        } else if (of == NULL) {
            config_error(errors, "advertised.listeners: %s is not among listeners", told.name);
        } else if (endpoint_is_any(&told.at)) {
            config_error(errors, "%s: \"%.*s\": clients cannot connect to every address; give one",
                         ITEM("advertised.listeners", item));
        } else if (is_set[of - config->listener]) {
            config_error(errors, "advertised.listeners: the name %s stands there twice", told.name);
        } else {
            is_set[of - config->listener] = true;
            config->advertised[of - config->listener] = told;
        }
    }
    for (size_t i = 0; i < config->listeners_count; i++) {
        if (!is_set[i]) {
            advertise_itself(config, i, errors);
        }
    }
}

static void check_cluster_id(const struct config *config, struct buf *errors)
{
    size_t len = strlen(config->cluster_id);
    size_t good = strspn(config->cluster_id,
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    if (len == 0 || len > 100 || good != len) {
        config_error(errors, "cluster.id: 1 to 100 letters, digits, '.', '_' and '-'");
    }
}

static void check_relations(const struct config *config, struct buf *errors)
{
    /* A leader that was just deposed may answer heartbeats for a while; its successor grants a
     * full session to everybody, which must be the longer time by far. */
    if (config->session_timeout_min_ms < 4 * config->election_timeout_ms) {
        config_error(errors,
                     "group.min.session.timeout.ms: %lld is less than four times "
                     "raft.election.timeout.ms (%lld)",
                     (long long)config->session_timeout_min_ms,
                     (long long)config->election_timeout_ms);
    }
    if (config->session_timeout_min_ms > config->session_timeout_max_ms) {
        config_error(errors,
                     "group.min.session.timeout.ms: more than group.max.session.timeout.ms");
    }
    if (2 * config->heartbeat_ms > config->election_timeout_ms) {
        config_error(
            errors, "raft.heartbeat.interval.ms: must be at most half of raft.election.timeout.ms");
    }
    if (config->queued_bytes_max < config->request_bytes_max) {
        config_error(errors,
                     "queued.max.bytes: less than socket.request.max.bytes, so that the "
                     "longest request could never arrive");
    }
    if (config->member_metadata_bytes_max > config->group_metadata_bytes_max) {
        config_error(errors, "group.max.member.metadata.bytes: more than group.max.metadata.bytes");
    }
    if (strlen(config->broker_rack) > NODE_NAME_BYTES_MAX) {
        config_error(errors, "broker.rack: longer than %d bytes", NODE_NAME_BYTES_MAX);
    }
    if (config->data_dir[0] == '\0') {
        config_error(errors, "data.dir: empty");
    }
}

void config_check(struct config *config, struct buf *errors)
{
    if (!log_parse_level(config->log_level, &config->level)) {
        config_error(errors, "log.level: \"%.60s\": must be debug, info, warn or error",
                     config->log_level);
    }
    check_cluster_id(config, errors);
    check_peers(config, errors);
    check_secret(config, errors);
    check_listeners(config, errors);
    check_advertised(config, errors);
    check_relations(config, errors);
}
