/* What a seed is about. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/sim/life/cluster.h"
#include "tests/sim/world/world.h"

const char *const fault_names[FAULT_KINDS] = {
#define X(name, help) #name,
    FAULTS(X)
#undef X
};

static bool coin(struct chance *chance)
{
    return chance_in(chance, 500);
}

/* Its own draw: the number of nodes is asked for before anything else is there. */
int options_nodes(const struct play_setting *setting)
{
    struct chance chance = {.state = setting->seed * UINT64_C(0x9e3779b97f4a7c15) + 7};
    return setting->nodes != 0 ? setting->nodes : chance_in(&chance, 350) ? 5 : 3;
}

/* ---- Limits: they are the nodes' configuration, too ---- */

static const struct coordinator_limits defaults = {
    .initial_rebalance_delay_ms = 3000,
    .session_timeout_min_ms = 6000,
    .session_timeout_max_ms = 1800000,
    .group_size_max = 100000,
    .offset_metadata_bytes_max = 4096,
    .offsets_retention_ms = INT64_C(10080) * 60 * 1000,
    .offsets_check_interval_ms = 600000,
    .groups_max = 1000000,
    .topics_max = 100000,
    .partitions_max = 1000000,
    .offsets_max = 20000000,
    .member_metadata_bytes_max = 786432,
    .group_metadata_bytes_max = 67108864,
    .election_timeout_ms = 300,
};

static void draw_limits(struct options *options, struct chance *chance)
{
    static const int32_t elections[] = {150, 300, 300, 300, 1000};
    struct coordinator_limits *limits = &options->limits;
    *limits = defaults;
    limits->initial_rebalance_delay_ms = coin(chance) ? 3000 : (int32_t)chance_below(chance, 500);
    if (coin(chance)) {
        limits->initial_rebalance_delay_ms = 0;
    }
    limits->election_timeout_ms = elections[chance_below(chance, 5)];
    limits->offsets_check_interval_ms = chance_between(chance, 2, 20) * 1000;
    if (chance_in(chance, 400)) {
        limits->offsets_retention_ms = chance_between(chance, 1, 2) * 60000;
    }
    options->has_small_limits = chance_in(chance, 200);
    if (options->has_small_limits) {
        limits->group_size_max = (int32_t)chance_between(chance, 1, 5);
        limits->offset_metadata_bytes_max = (int32_t)chance_between(chance, 4, 12);
        limits->groups_max = (int32_t)chance_between(chance, 1, 6);
        limits->topics_max = (int32_t)chance_between(chance, 2, 4);
        limits->partitions_max = chance_between(chance, 8, 20);
        limits->offsets_max = chance_between(chance, 3, 40);
        limits->group_metadata_bytes_max = chance_between(chance, 1024, 8000);
        limits->member_metadata_bytes_max = 1024;
    }
}

static void configure(struct life *life, struct chance *chance)
{
    const struct coordinator_limits *limits = &life->options.limits;
    struct cluster *cluster = life->cluster;
    int64_t threshold = coin(chance) ? 65536 : chance_between(chance, 65536, 4 << 20);
    int64_t trailing = coin(chance) ? 4096 : chance_between(chance, 4096, 1 << 20);
    int64_t batch = coin(chance) ? 524288 : chance_between(chance, 4096, 65536);
    int64_t shutdown_ms = chance_between(chance, 1000, 10000);
    int64_t linger_ms = chance_below(chance, 4000);
    int len = snprintf(
        cluster->config, sizeof cluster->config,
        "group.initial.rebalance.delay.ms=%d\ngroup.min.session.timeout.ms=%d\n"
        "group.max.session.timeout.ms=%d\ngroup.max.size=%d\noffset.metadata.max.bytes=%d\n"
        "offsets.retention.minutes=%" PRId64 "\noffsets.retention.check.interval.ms=%" PRId64
        "\n"
        "coordinator.max.groups=%d\ncoordinator.max.topics=%d\ncoordinator.max.partitions=%" PRId64
        "\ncoordinator.max.offsets=%" PRId64
        "\ngroup.max.member.metadata.bytes=%d\n"
        "group.max.metadata.bytes=%" PRId64
        "\nraft.election.timeout.ms=%d\n"
        "raft.heartbeat.interval.ms=%d\nraft.snapshot.threshold.bytes=%" PRId64
        "\nraft.snapshot.trailing.bytes=%" PRId64 "\nraft.batch.max.bytes=%" PRId64
        "\ndisk.free.min.bytes=%d\nshutdown.timeout.ms=%" PRId64 "\nshutdown.linger.ms=%" PRId64
        "\n",
        limits->initial_rebalance_delay_ms, limits->session_timeout_min_ms,
        limits->session_timeout_max_ms, limits->group_size_max, limits->offset_metadata_bytes_max,
        limits->offsets_retention_ms / 60000, limits->offsets_check_interval_ms, limits->groups_max,
        limits->topics_max, limits->partitions_max, limits->offsets_max,
        limits->member_metadata_bytes_max, limits->group_metadata_bytes_max,
        limits->election_timeout_ms, limits->election_timeout_ms / 6, threshold, trailing, batch,
        8 << 20, shutdown_ms, linger_ms);
    ensure(len > 0 && (size_t)len < sizeof cluster->config);
}

/* ---- Words of the command line ---- */

static bool is_in_list(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; *at != 0; at += at[0] == ',') {
        size_t word = strcspn(at, ",");
        if (word == len && strncmp(at, name, len) == 0) {
            return true;
        }
        at += word;
    }
    return false;
}

static void switch_off(struct life *life, const char *list)
{
    struct options *options = &life->options;
    for (int i = 0; i < FAULT_KINDS; i++) {
        life->faults->is_on[i] &= !is_in_list(list, fault_names[i]) && !is_in_list(list, "all");
    }
    options->churns &= !is_in_list(list, "churn");
    options->has_mixed_protocols &= !is_in_list(list, "protocols");
    options->has_large_metadata &= !is_in_list(list, "large");
    options->liars = is_in_list(list, "liars") ? 0 : options->liars;
    options->simples = is_in_list(list, "simples") ? 0 : options->simples;
    options->admins = is_in_list(list, "admins") ? 0 : options->admins;
    life->faults->dead = is_in_list(list, "dead") ? 0 : life->faults->dead;
}

static void obey(struct life *life, const char *word)
{
    int64_t number = strchr(word, '=') == NULL ? 0 : strtoll(strchr(word, '=') + 1, NULL, 10);
    if (strncmp(word, "off=", 4) == 0) {
        switch_off(life, word + 4);
    } else if (strncmp(word, "workers=", 8) == 0) {
        life->options.workers = (int)(number < WORKERS_MAX ? number : WORKERS_MAX);
    } else if (strncmp(word, "pace_ms=", 8) == 0) {
        life->faults->pace_ms = number;
    } else if (strncmp(word, "length_ms=", 10) == 0) {
        life->faults->length_ms = number;
    } else if (strncmp(word, "groups=", 7) == 0) {
        life->options.groups = (int)(number < GROUPS_MAX ? number : GROUPS_MAX);
    } else {
        life_fail(life,
                  "\"%s\" is no option: off=NAME,NAME workers=N groups=N pace_ms=N length_ms=N",
                  word);
    }
}

/* ---- All ---- */

static void draw_faults(struct faults *faults, struct chance *chance, int nodes)
{
    for (int i = 0; i < FAULT_KINDS; i++) {
        faults->is_on[i] = coin(chance);
    }
    faults->pace_ms =
        coin(chance) ? chance_between(chance, 500, 2000) : chance_between(chance, 2000, 8000);
    faults->length_ms =
        coin(chance) ? chance_between(chance, 500, 2000) : chance_between(chance, 2000, 8000);
    if (chance_in(chance, 250)) { /* hardly anything gets done, but much goes wrong in it */
        faults->pace_ms = chance_between(chance, 100, 600);
        faults->length_ms = chance_between(chance, 50, 2000);
    }
    faults->leader_per_mille = (int)chance_between(chance, 200, 700);
    faults->dead = coin(chance) ? (int)chance_between(chance, 1, nodes / 2) : 0;
}

static void draw_clients(struct options *options, struct chance *chance)
{
    static const int32_t sessions[] = {6000, 6000, 10000, 30000};
    static const int32_t rebalances[] = {3000, 6000, 15000, 30000};
    options->groups = (int)chance_between(chance, 1, GROUPS_MAX);
    options->workers = (int)chance_between(chance, 3, WORKERS_MAX);
    options->simples = (int)chance_between(chance, 1, 4);
    options->admins = (int)chance_below(chance, 3);
    options->liars = (int)chance_below(chance, 3);
    options->session_ms = sessions[chance_below(chance, 4)];
    options->rebalance_ms = rebalances[chance_below(chance, 4)];
    options->beat_ms = (int32_t)chance_between(chance, 500, 2000);
    options->has_mixed_protocols = chance_in(chance, 150);
    options->has_large_metadata = !options->has_small_limits && chance_in(chance, 60);
    options->churns = chance_in(chance, 750);
}

void options_draw(struct life *life, const struct play_setting *setting)
{
    struct options *options = &life->options;
    struct chance *chance = &life->chance;
    draw_limits(options, chance);
    configure(life, chance);
    draw_faults(life->faults, chance, world_nodes());
    draw_clients(options, chance);
    options->chaos_ms = chance_between(chance, 60, 300) * 1000;
    if (setting->seconds > 0) {
        options->chaos_ms = setting->seconds * 1000;
    }
    for (size_t i = 0; i < setting->words_count; i++) {
        obey(life, setting->words[i]);
    }
}

void options_print(const struct life *life, FILE *out)
{
    const struct options *options = &life->options;
    const struct faults *faults = life->faults;
    fprintf(out,
            "nodes=%d chaos_s=%" PRId64
            " groups=%d workers=%d simples=%d admins=%d liars=%d "
            "session_ms=%d rebalance_ms=%d beat_ms=%d small_limits=%d mixed_protocols=%d "
            "large_metadata=%d churns=%d pace_ms=%" PRId64 " length_ms=%" PRId64
            " dead=%d\nfaults:",
            life->machines_count, options->chaos_ms / 1000, options->groups, options->workers,
            options->simples, options->admins, options->liars, options->session_ms,
            options->rebalance_ms, options->beat_ms, options->has_small_limits,
            options->has_mixed_protocols, options->has_large_metadata, options->churns,
            faults->pace_ms, faults->length_ms, faults->dead);
    for (int i = 0; i < FAULT_KINDS; i++) {
        if (faults->is_on[i]) {
            fprintf(out, " %s=%" PRIu64, fault_names[i], faults->struck[i]);
        }
    }
    fprintf(out, "\n%s", life->cluster->config);
}
