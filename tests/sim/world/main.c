/* sim: lives of a simulated cluster.
 *
 *   sim FIRST COUNT [word...]      so many seeds, a process each; the end says how many failed
 *   sim --seed N [word...]         one of them, in this process
 *     --trace                      with its transcript
 *     --twice                      each seed twice; the hashes must be equal
 *     --play NAME --nodes N --seconds S
 *
 * Words of the form key=value are the play's. Exit status: 0 all was well, 1 a life failed, 64 the
 * command line is wrong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/world/play.h"
#include "tests/sim/world/plays.h"
#include "tests/sim/world/world.h"

enum { WORDS_MAX = 32, EXIT_USAGE = 64 };

struct command {
    const struct play *play;
    struct play_setting setting;
    const char *words[WORDS_MAX];
    uint64_t first, count; /* count 0: one seed, here */
    bool is_twice;
};

/* What a life in a process of its own comes to. */
struct outcome {
    uint64_t hash;
    uint64_t events;
    int64_t simulated_us;
    bool is_whole; /* it came to its end */
};

static const struct play *find_play(const char *name)
{
    for (size_t i = 0; i < plays_count; i++) {
        if (strcmp(plays[i]->name, name) == 0) {
            return plays[i];
        }
    }
    return NULL;
}

static int usage(void)
{
    fputs(
        "sim FIRST COUNT | --seed N  [--trace] [--twice] [--play NAME] [--nodes 3|5] "
        "[--seconds S] [key=value...]\nplays:\n",
        stderr);
    for (size_t i = 0; i < plays_count; i++) {
        fprintf(stderr, "  %-8s %s\n", plays[i]->name, plays[i]->help);
    }
    return EXIT_USAGE;
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* A flag and, where it has one, its value; returns how many words that were; 0: it is none. */
static int parse_flag(struct command *command, const char *flag, const char *value)
{
    uint64_t number = 0;
    bool has_number = value != NULL && parse_number(value, &number);
    struct play_setting *setting = &command->setting;
    if (strcmp(flag, "--trace") == 0) {
        setting->is_traced = true;
        return 1;
    }
    if (strcmp(flag, "--twice") == 0) {
        command->is_twice = true;
        return 1;
    }
    if (strcmp(flag, "--play") == 0 && value != NULL) {
        command->play = find_play(value);
        return command->play == NULL ? 0 : 2;
    }
    if (!has_number) {
        return 0;
    }
    if (strcmp(flag, "--seed") == 0) {
        command->first = number;
    } else if (strcmp(flag, "--nodes") == 0 && (number == 3 || number == 5)) {
        setting->nodes = (int)number;
    } else if (strcmp(flag, "--seconds") == 0) {
        setting->seconds = (int64_t)number;
    } else {
        return 0;
    }
    return 2;
}

static bool parse(struct command *command, int argc, char **argv)
{
    int numbers = 0;
    bool has_seed = false;
    for (int i = 1; i < argc;) {
        uint64_t number;
        const char *word = argv[i];
        if (word[0] == '-') {
            int used = parse_flag(command, word, i + 1 < argc ? argv[i + 1] : NULL);
            if (used == 0) {
                return false;
            }
            has_seed = has_seed || strcmp(word, "--seed") == 0;
            i += used;
            continue;
        }
        if (parse_number(word, &number) && numbers < 2) {
            *(numbers++ == 0 ? &command->first : &command->count) = number;
        } else if (strchr(word, '=') != NULL && command->setting.words_count < WORDS_MAX) {
            command->words[command->setting.words_count++] = word;
        } else {
            return false;
        }
        i++;
    }
    command->setting.words = command->words;
    return has_seed ? numbers == 0 : numbers == 2 && command->count > 0;
}

static struct outcome live(const struct command *command, uint64_t seed)
{
    struct play_setting setting = command->setting;
    setting.seed = seed;
    struct world_setting world = {
        .seed = seed, .nodes = command->play->nodes(&setting), .is_traced = setting.is_traced};
    world_open(&world);
    command->play->run(&setting);
    struct outcome outcome = {.hash = world_hash(),
                              .events = world_events(),
                              .simulated_us = world_now_us(),
                              .is_whole = true};
    if (command->play->figures != NULL && setting.is_traced) {
        command->play->figures(stdout);
    }
    world_close();
    return outcome;
}

/* In a child; what it prints goes where ours goes. */
static struct outcome live_apart(const struct command *command, uint64_t seed)
{
    struct outcome outcome = {.is_whole = false};
    int ends[2];
    int status = 0;
    fflush(stdout);
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(EXIT_FAILURE);
    }
    pid_t child = fork();
    if (child == 0) {
        FILE *to = fdopen(ends[1], "w");
        struct outcome own = live(command, seed);
        fflush(stdout);
        bool is_told = to != NULL && fwrite(&own, sizeof own, 1, to) == 1 && fflush(to) == 0;
        _exit(is_told ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    FILE *from = fdopen(ends[0], "r");
    fclose(fdopen(ends[1], "w"));
    if (child < 0 || from == NULL || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(EXIT_FAILURE);
    }
    if (fread(&outcome, sizeof outcome, 1, from) != 1) {
        outcome.is_whole = false;
    }
    fclose(from);
    if (WIFSIGNALED(status)) {
        printf("FAILED seed=%llu: signal %d\n", (unsigned long long)seed, WTERMSIG(status));
    }
    outcome.is_whole = outcome.is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return outcome;
}

static void print_outcome(uint64_t seed, const struct outcome *outcome)
{
    printf("seed=%llu hash=%016llx simulated_s=%.1f events=%llu\n", (unsigned long long)seed,
           (unsigned long long)outcome->hash, (double)outcome->simulated_us / WORLD_SECOND,
           (unsigned long long)outcome->events);
}

static bool is_repeatable(const struct command *command, uint64_t seed, uint64_t hash)
{
    struct outcome second = live_apart(command, seed);
    if (second.is_whole && second.hash == hash) {
        return true;
    }
    printf("FAILED seed=%llu: a second run is another life, hash=%016llx\n",
           (unsigned long long)seed, (unsigned long long)second.hash);
    return false;
}

static double cpu_seconds(void)
{
    struct tms used;
    times(&used);
    return (double)(used.tms_utime + used.tms_cutime + used.tms_stime + used.tms_cstime) /
           (double)sysconf(_SC_CLK_TCK);
}

static int live_many(const struct command *command)
{
    uint64_t failed = 0;
    double simulated_s = 0;
    for (uint64_t i = 0; i < command->count; i++) {
        uint64_t seed = command->first + i;
        struct outcome outcome = live_apart(command, seed);
        bool is_good =
            outcome.is_whole && (!command->is_twice || is_repeatable(command, seed, outcome.hash));
        failed += !is_good;
        simulated_s += (double)outcome.simulated_us / WORLD_SECOND;
        if (is_good) {
            print_outcome(seed, &outcome);
        } else {
            printf("seed=%llu failed\n", (unsigned long long)seed);
        }
    }
    double used_s = cpu_seconds();
    printf("lives=%llu failed=%llu simulated_s=%.0f cpu_s=%.1f simulated_per_cpu_s=%.0f\n",
           (unsigned long long)command->count, (unsigned long long)failed, simulated_s, used_s,
           used_s > 0 ? simulated_s / used_s : 0.0);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int live_one(const struct command *command)
{
    uint64_t seed = command->first;
    if (command->is_twice) {
        struct outcome first = live_apart(command, seed);
        if (!first.is_whole || !is_repeatable(command, seed, first.hash)) {
            return EXIT_FAILURE;
        }
        print_outcome(seed, &first);
        return EXIT_SUCCESS;
    }
    struct outcome outcome = live(command, seed);
    print_outcome(seed, &outcome);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct command command = {.play = plays[0]};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(&command, argc, argv)) {
        return usage();
    }
    return command.count > 0 ? live_many(&command) : live_one(&command);
}
