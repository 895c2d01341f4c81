#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config.h"
#include "server/core/node.h"

static struct config config;
static struct buf errors;

static void set_up(void)
{
    config_init(&config);
    errors = BUF_EMPTY;
}

static void tear_down(void)
{
    config_close(&config);
    buf_close(&errors);
}

TestSuite(config, .init = set_up, .fini = tear_down);

static const char *messages(void)
{
    buf_append(&errors, "", 1);
    errors.len--;
    return (const char *)errors.data;
}

static void load(const char *text)
{
    config_load_text(&config, span_from_cstr(text), "file", &errors);
}

#define assert_says(text) \
    cr_assert_not_null(strstr(messages(), (text)), "no \"%s\" in:\n%s", (text), messages())
#define assert_silent() cr_assert_eq(errors.len, 0, "%s", messages())

static enum config_action load_all(const char *const *argv, const char *const *environment)
{
    int argc = 0;
    while (argv[argc] != NULL) {
        argc++;
    }
    return config_load(&config, argc, argv, environment, &errors);
}

static const char *const no_environment[] = {NULL};

/* A file of the test's own; unlink() it. */
static const char *write_file(const char *text, mode_t mode)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/roster-config-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

Test(config, defaults_are_valid)
{
    config_check(&config, &errors);
    assert_silent();
    cr_assert_eq(config.peers_count, 1);
    cr_assert_eq(config.peers[0].id, 1);
    cr_assert_eq(config.listeners_count, 1);
    cr_assert_str_eq(config.listener[0].name, "PLAINTEXT");
    cr_assert_eq(config.advertised[0].at.port, 9092);
    cr_assert_str_neq(config.advertised[0].at.host, "");
    cr_assert_eq(config.level, LOG_LEVEL_INFO);
}

Test(config, every_default_is_in_its_range)
{
    for (size_t i = 0; i < config_rows_count; i++) {
        const struct config_row *row = &config_rows[i];
        if (row->key != NULL && row->text == NULL) {
            cr_assert(row->min <= row->initial && row->initial <= row->max, "%s", row->key);
        }
    }
}

Test(config, file_syntax)
{
    load("# a comment\n\n  node.id = 7 \r\nlog.level=warn\n\tcluster.id=a=b");
    assert_silent();
    cr_assert_eq(config.node_id, 7);
    cr_assert_str_eq(config.log_level, "warn");
    cr_assert_str_eq(config.cluster_id, "a=b");
}

Test(config, file_mistakes_say_where)
{
    load("node.id\nnode.id=1\nnode.id=2\nnode.ids=3\nbogus=1\n");
    assert_says("file:1: neither key=value nor a comment");
    assert_says("file:3: node.id stands in this file twice");
    assert_says("file:4: unknown key \"node.ids\"; did you mean node.id?");
    assert_says("file:5: unknown key \"bogus\"\n");
}

Test(config, nearest_key)
{
    cr_assert_str_eq(config_nearest(SPAN_LITERAL("group.max.sise")), "group.max.size");
    cr_assert_str_eq(config_nearest(SPAN_LITERAL("session.timeout.min.ms")) == NULL ? "" : "near",
                     "");
    cr_assert_str_eq(config_nearest(SPAN_LITERAL("Listeners")), "listeners");
    cr_assert_str_eq(config_nearest(SPAN_LITERAL("advertised.listener")), "advertised.listeners");
    cr_assert_null(config_nearest(SPAN_LITERAL("zookeeper.connect")));
}

Test(config, numbers)
{
    load(
        "node.id=\nmax.connections=10k\nsocket.request.max.bytes=99999999999999999999\n"
        "raft.election.timeout.ms=49\nraft.heartbeat.interval.ms= 5 0\n");
    assert_says("file:1: node.id=: not a whole number");
    assert_says("file:2: max.connections=10k: not a whole number");
    assert_says("file:3: socket.request.max.bytes=99999999999999999999: not a whole number");
    assert_says("file:4: raft.election.timeout.ms=49: must be from 50 to 60000");
    assert_says("file:5: raft.heartbeat.interval.ms=5 0: not a whole number");
}

Test(config, range_at_its_ends)
{
    load("raft.election.timeout.ms=50\nsocket.listen.backlog.size=65535\n");
    assert_silent();
    load("socket.listen.backlog.size=65536\nmax.connections=0\n");
    assert_says("file:1: socket.listen.backlog.size=65536: must be from 1 to 65535");
    assert_says("file:2: max.connections=0: must be from 1 to 1000000");
}

Test(config, long_values)
{
    char text[CONFIG_VALUE_BYTES + 32] = "cluster.nodes=";
    size_t head = strlen(text);
    memset(text + head, 'x', CONFIG_VALUE_BYTES);
    load(text);
    assert_silent();
    text[head + CONFIG_VALUE_BYTES] = 'x';
    load(text);
    assert_says("the value of cluster.nodes is longer than 4096 bytes");
}

Test(config, flag_over_environment_over_file)
{
    const char *path = write_file("node.id=2\nlog.level=debug\nbroker.rack=r1\n", 0600);
    const char *const argv[] = {"rosterd", "--config", path, "--node.id=4", NULL};
    const char *const environment[] = {"ROSTER_NODE_ID=3", "ROSTER_LOG_LEVEL=error", "HOME=/",
                                       NULL};
    cr_assert_eq(load_all(argv, environment), CONFIG_RUN);
    unlink(path);
    assert_silent();
    cr_assert_eq(config.node_id, 4);
    cr_assert_str_eq(config.log_level, "error");
    cr_assert_str_eq(config.broker_rack, "r1");
}

Test(config, flags_with_separate_values)
{
    const char *const argv[] = {"rosterd", "--node.id", "5", "--check-config", NULL};
    cr_assert_eq(load_all(argv, no_environment), CONFIG_CHECK);
    assert_silent();
    cr_assert_eq(config.node_id, 5);
}

Test(config, actions)
{
    static const struct {
        const char *flag;
        enum config_action action;
    } actions[] = {{"--help", CONFIG_HELP},
                   {"--version", CONFIG_VERSION},
                   {"--docs", CONFIG_DOCS},
                   {"--check-config", CONFIG_CHECK}};
    for (size_t i = 0; i < 4; i++) {
        const char *const argv[] = {"rosterd", actions[i].flag, NULL};
        cr_assert_eq(load_all(argv, no_environment), actions[i].action);
    }
    assert_silent();
}

Test(config, usage)
{
    const char *const stray[] = {"rosterd", "node.id=1", NULL};
    cr_assert_eq(load_all(stray, no_environment), CONFIG_USAGE);
    assert_says("\"node.id=1\" is not a flag");
    const char *const bare[] = {"rosterd", "--node.id", NULL};
    cr_assert_eq(load_all(bare, no_environment), CONFIG_USAGE);
    assert_says("--node.id needs a value");
}

Test(config, unknown_flag)
{
    const char *const argv[] = {"rosterd", "--listener=PLAINTEXT://:1", NULL};
    load_all(argv, no_environment);
    assert_says("command line: unknown key \"listener\"; did you mean listeners?");
}

Test(config, environment_of_others)
{
    const char *const argv[] = {"rosterd", NULL};
    const char *const environment[] = {"ROSTER_SERVICE_HOST=10.0.0.1", "ROSTER_PORT_9092_TCP=x",
                                       "ROSTER_PORT=tcp://10.0.0.1:9092", NULL};
    load_all(argv, environment);
    assert_silent();
}

Test(config, misspelt_environment)
{
    const char *const argv[] = {"rosterd", NULL};
    const char *const environment[] = {"ROSTER_NODEID=3", "ROSTER_MAX_CONNECTIONS=many", NULL};
    load_all(argv, environment);
    assert_says("unknown variable ROSTER_NODEID; did you mean ROSTER_NODE_ID?");
    assert_says("environment: ROSTER_MAX_CONNECTIONS: max.connections=many: not a whole number");
}

Test(config, missing_file)
{
    const char *const argv[] = {"rosterd", "--config=/nonexistent/roster.properties", NULL};
    load_all(argv, no_environment);
    assert_says("/nonexistent/roster.properties: cannot be opened: No such file or directory");
}

/* Loads [text], checks it, and expects [message]. */
static void assert_refused(const char *text, const char *message)
{
    tear_down();
    set_up();
    load(text);
    assert_silent();
    config_check(&config, &errors);
    assert_says(message);
}

Test(config, relations)
{
    assert_refused("group.min.session.timeout.ms=1199\n", "is less than four times");
    assert_refused("raft.heartbeat.interval.ms=151\n",
                   "raft.heartbeat.interval.ms: must be at most half of raft.election.timeout.ms");
    assert_refused("group.max.session.timeout.ms=5999\n", "more than group.max.session.timeout.ms");
    assert_refused("queued.max.bytes=104857599\n", "queued.max.bytes: less than");
    assert_refused("group.max.metadata.bytes=786431\n", "group.max.member.metadata.bytes: more");
    assert_refused("data.dir=\n", "data.dir: empty");
    char rack[NODE_NAME_BYTES_MAX + 32] = "broker.rack=";
    memset(rack + strlen(rack), 'r', NODE_NAME_BYTES_MAX + 1);
    assert_refused(rack, "broker.rack: longer than 255 bytes");
    assert_refused("cluster.id=\n", "cluster.id: 1 to 100 letters");
    assert_refused("cluster.id=a b\n", "cluster.id: 1 to 100 letters");
    assert_refused("log.level=loud\n", "log.level: \"loud\": must be debug, info, warn or error");
}

Test(config, relations_at_their_ends)
{
    load(
        "group.min.session.timeout.ms=1200\nraft.heartbeat.interval.ms=150\n"
        "queued.max.bytes=104857600\n");
    config_check(&config, &errors);
    assert_silent();
    char rack[NODE_NAME_BYTES_MAX + 32] = "broker.rack=";
    memset(rack + strlen(rack), 'r', NODE_NAME_BYTES_MAX);
    load(rack);
    config_check(&config, &errors);
    assert_silent();
}

Test(config, nodes)
{
    assert_refused("cluster.nodes=1@a:1,2@b\n", "cluster.nodes: \"2@b\": the port is missing");
    assert_refused("cluster.nodes=1@a:1,1@b:1\n", "cluster.nodes: id 1 stands there twice");
    assert_refused("cluster.nodes=1@a:1,2@a:1\n", "nodes 1 and 2 have the same address");
    assert_refused("node.id=4\ncluster.nodes=1@a:1,2@b:1\n", "node.id: 4 is not among");
    assert_refused("cluster.nodes=1@a:1,2@b:1\n", "peer.secret.file: required when");
    assert_refused("cluster.nodes=1@a:1,2@a:2,3@a:3,4@a:4,5@a:5,6@a:6,7@a:7,8@a:8,9@a:9,10@a:10\n",
                   "more than 9 nodes");
}

Test(config, one_node_needs_no_secret)
{
    load("cluster.nodes=1@a:1\n");
    config_check(&config, &errors);
    assert_silent();
}

static void load_with_secret(const char *path)
{
    char text[256];
    snprintf(text, sizeof text, "cluster.nodes=1@a:1,2@[::1]:2\npeer.secret.file=%s\n", path);
    load(text);
    config_check(&config, &errors);
}

Test(config, secret)
{
    const char *path = write_file("0123456789abcdef\n", 0600);
    load_with_secret(path);
    unlink(path);
    assert_silent();
    cr_assert_eq(config.secret_len, 16);
    cr_assert_eq(memcmp(config.secret, "0123456789abcdef", 16), 0);
}

Test(config, short_secret)
{
    const char *path = write_file("0123456789abcde\n", 0600);
    load_with_secret(path);
    unlink(path);
    assert_says("holds 15 bytes, must hold 16 to 4096");
}

Test(config, secret_that_others_can_read)
{
    const char *path = write_file("0123456789abcdef", 0640);
    load_with_secret(path);
    unlink(path);
    assert_says("can be used by others than its owner (mode 640); run: chmod 600");
}

Test(config, missing_secret)
{
    load_with_secret("/nonexistent/secret");
    assert_says("peer.secret.file: /nonexistent/secret cannot be opened");
}

Test(config, listeners)
{
    load(
        "listeners=INTERNAL://0.0.0.0:9092, EXTERNAL://:9094\n"
        "advertised.listeners=EXTERNAL://k.example.com:19094\n");
    config_check(&config, &errors);
    assert_silent();
    cr_assert_eq(config.listeners_count, 2);
    cr_assert_str_eq(config.advertised[1].at.host, "k.example.com");
    cr_assert_eq(config.advertised[1].at.port, 19094);
    cr_assert_eq(config.advertised[0].at.port, 9092);
    cr_assert_not(endpoint_is_any(&config.advertised[0].at));
}

Test(config, listener_mistakes)
{
    assert_refused("listeners=\n", "listeners: empty");
    assert_refused("listeners=:9092\n", "listeners: \":9092\": write NAME://host:port");
    assert_refused("listeners=A://:1,A://:2\n", "listeners: the name A stands there twice");
    assert_refused("listeners=A://:1,B://h:1\n", "listeners: A and B have the same address");
    assert_refused("listeners=A://h:1,B://h:1\n", "listeners: A and B have the same address");
    assert_refused("advertised.listeners=B://h:1\n", "B is not among listeners");
    assert_refused("advertised.listeners=PLAINTEXT://0.0.0.0:1\n",
                   "clients cannot connect to every");
    assert_refused("advertised.listeners=PLAINTEXT://h:1,PLAINTEXT://h:2\n",
                   "PLAINTEXT stands there");
    assert_refused("advertised.listeners=PLAINTEXT://h\n", "the port is missing");
    assert_refused(
        "listeners=L1://:1,L2://:2,L3://:3,L4://:4,L5://:5,L6://:6,L7://:7,L8://:8,"
        "L9://:9,L10://:10,L11://:11,L12://:12,L13://:13,L14://:14,L15://:15,L16://:16,"
        "L17://:17\n",
        "listeners: more than 16");
}

Test(config, limits_reach_the_core)
{
    load("offsets.retention.minutes=3\ngroup.max.size=9\nraft.election.timeout.ms=400\n");
    struct coordinator_limits limits = config_limits(&config);
    cr_assert_eq(limits.offsets_retention_ms, 180000);
    cr_assert_eq(limits.group_size_max, 9);
    cr_assert_eq(limits.election_timeout_ms, 400);
}

Test(config, help_and_docs_name_every_key)
{
    static void (*const printers[])(FILE *) = {config_print_help, config_print_docs};
    for (size_t p = 0; p < 2; p++) {
        char *text;
        size_t len;
        FILE *out = open_memstream(&text, &len);
        printers[p](out);
        fclose(out);
        for (size_t i = 0; i < config_rows_count; i++) {
            if (config_rows[i].key != NULL) {
                cr_assert_not_null(strstr(text, config_rows[i].key), "%s", config_rows[i].key);
            }
        }
        free(text);
    }
}
