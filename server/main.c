/* rosterd: command line, configuration, then a node that runs until it is told to end. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rpc/build.h"
#include "rpc/ensure.h"
#include "server/config.h"
#include "server/log.h"
#include "server/server.h"
#include "server/signals.h"

/* Documented by config_print_help(). */
enum { EXIT_USAGE = 64, EXIT_CONFIG = 78 };

/* The log's files, snapshots and name lookups share libuv's pool. */
enum { THREADS_MIN = 8 };

static void size_thread_pool(void)
{
    const char *set = getenv("UV_THREADPOOL_SIZE");
    if (set == NULL || strtol(set, NULL, 10) < THREADS_MIN) {
        char size[16];
        snprintf(size, sizeof size, "%d", THREADS_MIN);
        setenv("UV_THREADPOOL_SIZE", size, 1);
    }
}

static void on_broken_invariant(const char *condition, const char *file, int line, const char *func)
{
    log_event(LOG_LEVEL_ERROR, "broken_invariant condition=\"%s\" at=%s:%d function=%s", condition,
              file, line, func);
}

/* -1: run. */
static int act(enum config_action action, const struct buf *errors)
{
    if (action == CONFIG_HELP) {
        config_print_help(stdout);
    } else if (action == CONFIG_VERSION) {
        printf("rosterd %s\n", ROSTER_VERSION);
    } else if (action == CONFIG_DOCS) {
        config_print_docs(stdout);
    } else {
        fprintf(stderr, "%.*s", (int)errors->len,
                errors->len == 0 ? "" : (const char *)errors->data);
        if (action == CONFIG_USAGE) {
            fputs("rosterd --help says what can be given\n", stderr);
            return EXIT_USAGE;
        }
        if (errors->len > 0) {
            return EXIT_CONFIG;
        }
        if (action == CONFIG_RUN) {
            return -1;
        }
        puts("configuration ok");
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(const struct config *config)
{
    static struct server server;
    char message[2048];
    log_set_level(config->level);
    log_event(LOG_LEVEL_INFO, "starting version=%s node=%lld cluster=%s nodes=%zu data_dir=%s",
              ROSTER_VERSION, (long long)config->node_id, config->cluster_id, config->peers_count,
              config->data_dir);
    signals_hold();
    if (!server_open(&server, config, message, sizeof message)) {
        log_event(LOG_LEVEL_ERROR, "cannot_start reason=\"%s\"", message);
        /* Half of a node may run by now; there is nothing to be tidy about. */
        _exit(EXIT_FAILURE);
    }
    signals_release();
    server_run(&server);
    log_event(LOG_LEVEL_INFO, "stopped");
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static struct config config;
    struct buf errors = BUF_EMPTY;
    size_thread_pool();
    ensure_set_hook(on_broken_invariant);
    config_init(&config);
    enum config_action action = config_load(&config, argc, (const char *const *)argv,
                                            (const char *const *)environ, &errors);
    if (action == CONFIG_RUN || action == CONFIG_CHECK) {
        config_check(&config, &errors);
    }
    int status = act(action, &errors);
    buf_close(&errors);
    if (status < 0) {
        status = run(&config);
    }
    config_close(&config);
    return status;
}
