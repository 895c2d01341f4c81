#include "tests/core/random/cluster.h"

static const struct coordinator_limits defaults = {
    .initial_rebalance_delay_ms = 3000,
    .session_timeout_min_ms = 6000,
    .session_timeout_max_ms = 1800000,
    .group_size_max = INT32_MAX,
    .offset_metadata_bytes_max = 4096,
    .offsets_retention_ms = INT64_C(7) * 24 * 3600 * 1000,
    .offsets_check_interval_ms = 600000,
    .groups_max = 100000,
    .topics_max = 10000,
    .partitions_max = 200000,
    .offsets_max = 2000000,
    .member_metadata_bytes_max = 1 << 20,
    .group_metadata_bytes_max = 64 << 20,
    .election_timeout_ms = 300,
};

static bool coin(struct chance *chance)
{
    return chance_in(chance, 500);
}

static void draw_limits(struct options *options, struct chance *chance)
{
    struct coordinator_limits *limits = &options->limits;
    *limits = defaults;
    limits->initial_rebalance_delay_ms = coin(chance) ? 3000 : (int32_t)chance_below(chance, 500);
    if (coin(chance)) {
        limits->initial_rebalance_delay_ms = 0;
    }
    limits->offsets_check_interval_ms = chance_between(chance, 2, 20) * 1000;
    options->has_small_limits = chance_in(chance, 250);
    if (options->has_small_limits) {
        limits->group_size_max = (int32_t)chance_between(chance, 1, 5);
        limits->offset_metadata_bytes_max = (int32_t)chance_between(chance, 4, 12);
        limits->groups_max = (int32_t)chance_between(chance, 1, 6);
        limits->topics_max = (int32_t)chance_between(chance, 2, 4);
        limits->partitions_max = chance_between(chance, 8, 20);
        limits->offsets_max = chance_between(chance, 3, 40);
        limits->group_metadata_bytes_max = chance_between(chance, 400, 4000);
    }
}

static void draw_faults(struct faults *faults, struct chance *chance)
{
    faults->takes_over = coin(chance);
    faults->cuts = coin(chance);
    faults->crashes = coin(chance);
    faults->pauses = coin(chance);
    faults->stops = coin(chance);
    faults->refuses = coin(chance);
    faults->is_slow = coin(chance);
    faults->jumps_wall = coin(chance);
    faults->loses_wall = coin(chance);
    faults->snapshots = coin(chance);
    faults->installs = coin(chance);
    faults->breaks_lanes = coin(chance);
}

void options_draw(struct life *life)
{
    struct options *options = &life->options;
    struct chance *chance = &life->chance;
    static const int32_t sessions[] = {6000, 6000, 10000, 30000};
    static const int32_t rebalances[] = {3000, 6000, 15000, 30000};
    draw_limits(options, chance);
    draw_faults(life->faults, chance);
    options->churns = chance_in(chance, 750);
    options->groups = (int)chance_between(chance, 1, 3);
    options->workers = (int)chance_between(chance, 3, 14);
    options->simples = (int)chance_below(chance, 4);
    options->admins = (int)chance_below(chance, 3);
    options->liars = (int)chance_below(chance, 3);
    options->session_ms = sessions[chance_below(chance, 4)];
    options->rebalance_ms = rebalances[chance_below(chance, 4)];
    options->beat_ms = (int32_t)chance_between(chance, 500, 2000);
    options->has_mixed_protocols = chance_in(chance, 150);
    options->has_large_metadata = !options->has_small_limits && chance_in(chance, 60);
    options->chaos_ms = chance_between(chance, 20, 120) * 1000;
}
