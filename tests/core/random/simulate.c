/* sim_random FIRST COUNT      so many lives, one seed each
 * sim_random --fork FIRST COUNT  each in a process of its own; goes on after one that fails
 * sim_random --seed N [--trace]  one life; with all that the coordinators log */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/random/cluster.h"
#include "tests/sim/oracle/oracle.h"

struct sums {
    int64_t simulated_ms;
    int64_t
        beyond_ms_max; /* how much longer than session and rebalance timeout it took to settle */
    uint64_t beyond_seed;
    uint64_t lives, failed, calls, inputs, faults;
};

static void run(struct sums *sums, uint64_t seed, bool is_traced)
{
    struct life life;
    life_run(&life, seed, is_traced);
    sums->lives++;
    sums->simulated_ms += life.now_ms;
    sums->calls += life.calls;
    sums->inputs += life.inputs;
    sums->faults += life.struck;
    int64_t longest_ms = life.options.session_ms > life.options.rebalance_ms
                             ? life.options.session_ms
                             : life.options.rebalance_ms;
    if (life.settled_ms - longest_ms > sums->beyond_ms_max) {
        sums->beyond_ms_max = life.settled_ms - longest_ms;
        sums->beyond_seed = seed;
    }
}

static void run_apart(struct sums *sums, uint64_t seed)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run(sums, seed, false);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    sums->lives++;
    if (status != 0) {
        sums->failed++;
        printf("seed %" PRIu64 " failed\n", seed);
    }
}

int main(int argc, char **argv)
{
    struct sums sums = {0};
    if (argc > 2 && strcmp(argv[1], "--seed") == 0) {
        run(&sums, strtoull(argv[2], NULL, 10), argc > 3 && strcmp(argv[3], "--trace") == 0);
        return 0;
    }
    bool is_apart = argc > 1 && strcmp(argv[1], "--fork") == 0;
    if (argc < 3 + is_apart) {
        fprintf(stderr, "usage: %s [--fork] FIRST COUNT | --seed N [--trace]\n", argv[0]);
        return 2;
    }
    uint64_t first = strtoull(argv[1 + is_apart], NULL, 10);
    uint64_t count = strtoull(argv[2 + is_apart], NULL, 10);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (is_apart) {
            run_apart(&sums, seed);
        } else {
            run(&sums, seed, false);
        }
    }
    printf("lives=%" PRIu64 " failed=%" PRIu64 " simulated_h=%.1f calls=%" PRIu64 " inputs=%" PRIu64
           " faults=%" PRIu64 " settled_beyond_ms_max=%" PRId64 " (seed %" PRIu64 ")\n",
           sums.lives, sums.failed, (double)sums.simulated_ms / 3600000, sums.calls, sums.inputs,
           sums.faults, sums.beyond_ms_max, sums.beyond_seed);
    return sums.failed == 0 ? 0 : 1;
}
