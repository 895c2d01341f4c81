/* Lives of simulated clusters.
 *
 *   sim FIRST LAST SECONDS NODES [name=value ...]   a child per seed, and the totals
 *       rules=HEX (guard.h; 0: the library alone)  faults=HEX (sim.h)  prevote=0|1|2  one=0|1|2
 *       hostile=0|1|2  ask=0|1  chunk=N  trace=0|1
 *   sim case NAME         a named fault (sim_cases.c): it must show without its rule, and not with
 *   sim cases             the names */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpc/ensure.h"
#include "sim_cases.h"

enum { LIFE_SECONDS_MAX = 120 };

/* Shared with the children, one at a time. */
static struct sim_stats *totals;

/* The verdict, or -1 if the child died. */
static int live(const struct sim_setting *setting)
{
    fflush(stdout);
    pid_t pid = fork();
    ensure(pid >= 0);
    if (pid == 0) {
        alarm(LIFE_SECONDS_MAX);
        struct sim_stats stats = {.crashes = 0};
        enum sim_verdict verdict = sim_run(setting, &stats);
        for (size_t i = 0; i < sizeof stats / sizeof(uint64_t); i++) {
            ((uint64_t *)totals)[i] += ((uint64_t *)&stats)[i];
        }
        fflush(stdout);
        _exit((int)verdict);
    }
    int status = 0;
    ensure(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) {
        printf("seed %" PRIu64 ": signal %d\n", setting->seed, WTERMSIG(status));
        return -1;
    }
    return WEXITSTATUS(status) < SIM_VERDICTS ? WEXITSTATUS(status) : -1;
}

static int run_case(const char *name)
{
    const struct sim_case *found = sim_case_find(name);
    if (found == NULL) {
        fprintf(stderr, "no such case: %s\n", name);
        return 2;
    }
    unsigned bad_without = 0;
    unsigned bad_with = 0;
    for (uint64_t seed = found->setting.seed; seed <= found->seed_last; seed++) {
        struct sim_setting setting = found->setting;
        setting.seed = seed;
        bad_without += live(&setting) != SIM_OK;
        setting.rules = found->rules_with;
        setting.one = found->one_with;
        bad_with += live(&setting) != SIM_OK;
    }
    printf("%s: %s: of %" PRIu64 " lives %u are bad without and %u with the rule\n", found->name,
           found->fault, found->seed_last - found->setting.seed + 1, bad_without, bad_with);
    return bad_without == 0 || bad_with != 0;
}

static void print_totals(const struct sim_setting *setting, uint64_t lives, uint64_t died)
{
    static const char *const names[GUARD_COUNTS] = {
        "clamped", "clamped-late", "clamped-snapshot", "early-ack", "real-term", "second-vote",
        "nobody",  "no-vote",      "barrier-retry",    "skipped",   "chunked",   "hastened",
    };
    const struct sim_stats *t = totals;
    printf("rules=%x faults=%x nodes=%u lives=%" PRIu64 " hours=%.1f", setting->rules,
           setting->faults, setting->nodes, lives, (double)(setting->seconds * lives) / 3600);
    for (int i = 0; i < SIM_VERDICTS; i++) {
        printf(" %s=%" PRIu64, sim_verdict_texts[i], t->verdicts[i]);
    }
    printf(" died=%" PRIu64 " | crashes=%" PRIu64 " leaders=%" PRIu64 " acks=%" PRIu64
           " messages=%" PRIu64 " snapshots=%" PRIu64 " installs=%" PRIu64 " transfers=%" PRIu64
           " wipes=%" PRIu64 " rejoins=%" PRIu64 " stops=%" PRIu64 " |",
           died, t->crashes, t->leaders, t->acks, t->messages, t->snapshots, t->installs,
           t->transfers, t->wipes, t->rejoins, t->stops);
    for (int i = 0; i < GUARD_COUNTS; i++) {
        printf(" %s=%" PRIu64, names[i], t->guard[i]);
    }
    printf("\n");
}

static void parse(struct sim_setting *setting, const char *argument)
{
    unsigned ask = setting->ask;
    unsigned trace = setting->trace;
    int n = sscanf(argument, "rules=%x", &setting->rules) == 1 ||
            sscanf(argument, "faults=%x", &setting->faults) == 1 ||
            sscanf(argument, "prevote=%u", &setting->prevote) == 1 ||
            sscanf(argument, "one=%u", &setting->one) == 1 ||
            sscanf(argument, "hostile=%u", &setting->hostile) == 1 ||
            sscanf(argument, "chunk=%u", &setting->chunk) == 1 ||
            sscanf(argument, "ask=%u", &ask) == 1 || sscanf(argument, "trace=%u", &trace) == 1;
    if (n != 1) {
        fprintf(stderr, "unknown argument %s\n", argument);
        exit(2);
    }
    setting->ask = ask != 0;
    setting->trace = trace != 0;
}

int main(int argc, char **argv)
{
    totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ensure(totals != MAP_FAILED);
    if (argc == 3 && strcmp(argv[1], "case") == 0) {
        return run_case(argv[2]);
    }
    if (argc == 2 && strcmp(argv[1], "cases") == 0) {
        sim_case_list();
        return 0;
    }
    if (argc < 5) {
        fprintf(stderr, "usage: sim FIRST LAST SECONDS NODES [name=value ...] | case NAME\n");
        return 2;
    }
    struct sim_setting setting = SIM_SETTING_DEFAULT;
    uint64_t first = strtoull(argv[1], NULL, 10);
    uint64_t last = strtoull(argv[2], NULL, 10);
    setting.seconds = (unsigned)strtoul(argv[3], NULL, 10);
    setting.nodes = (unsigned)strtoul(argv[4], NULL, 10);
    ensure(setting.nodes >= 1 && setting.nodes <= SIM_NODES_MAX);
    for (int i = 5; i < argc; i++) {
        parse(&setting, argv[i]);
    }
    uint64_t died = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        setting.seed = seed;
        died += live(&setting) < 0;
    }
    print_totals(&setting, last - first + 1, died);
    return totals->verdicts[SIM_OK] != last - first + 1;
}
