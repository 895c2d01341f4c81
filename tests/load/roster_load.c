/* The load generator: many members of many groups in one process, over Kafka's protocol.
 *
 *   heartbeat   closed loop of heartbeats       } of members that joined before
 *   commit      closed loop of commits          }
 *   idle        registers members and waits for the end of standard input
 *   offsets     fills many groups with offsets; with --check reads them
 *   mixed       members beat and commit for --seconds
 *   failover    the same, with commands on standard input (failover.h)
 *
 * Prints key=value lines. Exit status 0: all is as it must be. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/load/console.h"
#include "tests/load/crowd.h"
#include "tests/load/failover.h"
#include "tests/load/fill.h"
#include "tests/load/steady.h"

struct options {
    const char *mode;
    const char *bootstrap;
    struct crowd_options crowd;
    struct steady_options steady;
    bool checks;
    double commits_per_s;
    double seconds;
};

/* All numbers, so that one table is the parser and the help. */
struct row {
    const char *name;
    const char *help;
    int *as_int;
    unsigned *as_unsigned;
    double *as_double;
    bool *as_flag;
};

static struct options options = {
    .crowd = {.groups = 1000,
              .members = 5000,
              .partitions = 10,
              .forming_max = 200,
              .session_ms = 45000,
              .rebalance_ms = 60000,
              .heartbeat_ms = 3000,
              .request_ms = 1000,
              .backoff_min_ms = 20,
              .backoff_max_ms = 320,
              .sync_delay_ms = 500,
              .churn_ms = 1500},
    .steady = {.connections = 64, .depth = 1},
    .commits_per_s = 200,
    .seconds = 5,
};

static const struct row rows[] = {
    {"run", "0-999, part of the groups' names: another run has other groups",
     .as_int = &options.crowd.run},
    {"groups", "groups", .as_int = &options.crowd.groups},
    {"members", "members of all groups together", .as_int = &options.crowd.members},
    {"churning", "groups whose members come and go", .as_int = &options.crowd.churning},
    {"partitions", "of the topic load-topic-1", .as_int = &options.crowd.partitions},
    {"forming", "groups that form at the same time", .as_int = &options.crowd.forming_max},
    {"session-ms", "session timeout", .as_unsigned = &options.crowd.session_ms},
    {"rebalance-ms", "rebalance timeout", .as_unsigned = &options.crowd.rebalance_ms},
    {"heartbeat-ms", "heartbeat interval", .as_unsigned = &options.crowd.heartbeat_ms},
    {"request-ms", "a request's timeout", .as_unsigned = &options.crowd.request_ms},
    {"backoff-ms", "first pause before a retry", .as_unsigned = &options.crowd.backoff_min_ms},
    {"backoff-max-ms", "longest pause", .as_unsigned = &options.crowd.backoff_max_ms},
    {"sync-delay-ms", "leaders of churning groups think for up to this",
     .as_unsigned = &options.crowd.sync_delay_ms},
    {"churn-ms", "mean time between changes of such a group",
     .as_unsigned = &options.crowd.churn_ms},
    {"connections", "of heartbeat, commit, offsets", .as_int = &options.steady.connections},
    {"depth", "requests on each connection", .as_int = &options.steady.depth},
    {"commits", "per second, of mixed and failover", .as_double = &options.commits_per_s},
    {"seconds", "of heartbeat, commit, mixed", .as_double = &options.seconds},
    {"raw", "the server is a floor program", .as_flag = &options.steady.raw},
    {"check", "offsets: read instead of write", .as_flag = &options.checks},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_help(void)
{
    printf(
        "usage: roster_load MODE --bootstrap HOST:PORT[,…] [options]\n"
        "modes: heartbeat commit idle offsets mixed failover\n");
    for (int i = 0; i < ROWS; i++) {
        printf("  --%-16s %s\n", rows[i].name, rows[i].help);
    }
}

static bool set_option(const struct row *row, const char *value)
{
    if (row->as_flag != NULL) {
        *row->as_flag = true;
        return true;
    }
    char *end;
    double number = strtod(value, &end);
    if (*value == '\0' || *end != '\0' || number < 0 || number > 1e9) {
        return false;
    }
    if (row->as_int != NULL) {
        *row->as_int = (int)number;
    } else if (row->as_unsigned != NULL) {
        *row->as_unsigned = (unsigned)number;
    } else {
        *row->as_double = number;
    }
    return true;
}

static bool parse(int argc, char **argv)
{
    struct option names[ROWS + 2] = {{0}};
    for (int i = 0; i < ROWS; i++) {
        names[i].name = rows[i].name;
        names[i].has_arg = rows[i].as_flag == NULL;
    }
    names[ROWS] = (struct option){.name = "bootstrap", .has_arg = required_argument};
    int index;
    for (int c; (c = getopt_long(argc, argv, "", names, &index)) != -1;) {
        if (c != 0) {
            return false;
        }
        if (index == ROWS) {
            options.bootstrap = optarg;
        } else if (!set_option(&rows[index], optarg)) {
            fprintf(stderr, "--%s: not a number it can have\n", rows[index].name);
            return false;
        }
    }
    options.mode = optind == argc - 1 ? argv[optind] : NULL;
    return options.mode != NULL && options.bootstrap != NULL && options.crowd.groups > 0 &&
           options.crowd.partitions > 0 && options.steady.connections > 0 &&
           options.steady.depth > 0;
}

static void stop_loop(void *ctx)
{
    uv_stop(ctx);
}

static void form_and_park(struct crowd *crowd)
{
    crowd_form(crowd, true, stop_loop, crowd->loop);
    uv_run(crowd->loop, UV_RUN_DEFAULT);
}

static bool run_steady(struct crowd *crowd, bool commits)
{
    options.steady.commits = commits;
    options.steady.seconds = options.seconds;
    if (!options.steady.raw) {
        form_and_park(crowd);
    }
    return steady_run(crowd, &options.steady);
}

static void on_input(void *ctx, const char *line)
{
    if (line == NULL) {
        uv_stop(ctx);
    }
}

static bool run_idle(struct crowd *crowd)
{
    form_and_park(crowd);
    directory_close(&crowd->directory);
    printf("ready members=%d\n", crowd->options.members);
    console_open(crowd->loop, on_input, crowd->loop);
    uv_run(crowd->loop, UV_RUN_DEFAULT);
    return true;
}

static bool run_fill(void)
{
    static struct directory directory;
    if (!directory_init(&directory, uv_default_loop(), options.bootstrap,
                        options.crowd.request_ms)) {
        return false;
    }
    return fill_run(&directory, &(struct fill_options){
                                    .groups = options.crowd.groups,
                                    .partitions = options.crowd.partitions,
                                    .connections = options.steady.connections,
                                    .checks = options.checks,
                                });
}

/* As many descriptors as the system lets this process have. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool run(struct crowd *crowd)
{
    if (strcmp(options.mode, "heartbeat") == 0 || strcmp(options.mode, "commit") == 0) {
        return run_steady(crowd, options.mode[0] == 'c');
    }
    if (strcmp(options.mode, "idle") == 0) {
        return run_idle(crowd);
    }
    if (strcmp(options.mode, "mixed") == 0 || strcmp(options.mode, "failover") == 0) {
        return failover_run(crowd, options.commits_per_s, options.seconds);
    }
    print_help();
    return false;
}

int main(int argc, char **argv)
{
    static struct crowd crowd; /* its histograms are large */
    if (!parse(argc, argv)) {
        print_help();
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a script waits for each line */
    raise_limit();
    if (strcmp(options.mode, "offsets") == 0) {
        return run_fill() ? 0 : 1;
    }
    if (options.crowd.members < options.crowd.groups || options.crowd.run > 999 ||
        !crowd_init(&crowd, uv_default_loop(), &options.crowd, options.bootstrap)) {
        fprintf(stderr, "roster_load: a member per group, a run below 1000, address:port,…\n");
        return 2;
    }
    return run(&crowd) ? 0 : 1;
}
