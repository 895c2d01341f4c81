#include "raftlog/wall_clock.h"

#include "rpc/build.h"
#include "rpc/ensure.h"

void wall_clock_init(struct wall_clock *clock, size_t nodes_count)
{
    *clock = (struct wall_clock){.nodes_count = nodes_count, .known_count = 1};
}

void wall_clock_add(struct wall_clock *clock, int64_t offset_ms)
{
    ensure(clock->known_count < WALL_CLOCK_NODES_MAX);
    size_t at = clock->known_count++;
    while (at > 0 && clock->offsets_ms[at - 1] > offset_ms) {
        clock->offsets_ms[at] = clock->offsets_ms[at - 1];
        at--;
    }
    clock->offsets_ms[at] = offset_ms;
}

static size_t majority(const struct wall_clock *clock)
{
    return clock->nodes_count / 2 + 1;
}

bool wall_clock_has_majority(const struct wall_clock *clock)
{
    return clock->known_count >= majority(clock);
}

int64_t wall_clock_median_ms(const struct wall_clock *clock)
{
    return clock->offsets_ms[(clock->known_count - 1) / 2];
}

bool wall_clock_is_trusted(const struct wall_clock *clock)
{
#if ROSTER_BUG == 2192 /* offsets expire by whatever this node's clock says */
    return true;
#endif
    int64_t median_ms = wall_clock_median_ms(clock);
    if (!wall_clock_has_majority(clock) || median_ms > WALL_CLOCK_SPREAD_MS_MAX ||
        median_ms < -WALL_CLOCK_SPREAD_MS_MAX) {
        return false;
    }
    for (size_t i = 0; i + majority(clock) <= clock->known_count; i++) {
        if (clock->offsets_ms[i + majority(clock) - 1] - clock->offsets_ms[i] <=
            WALL_CLOCK_SPREAD_MS_MAX) {
            return true;
        }
    }
    return false;
}

int64_t wall_clock_stamp_ms(const struct wall_clock *clock,
                            int64_t now_ms,
                            int64_t last_ms,
                            int64_t since_ms)
{
    int64_t limit_ms = INT64_MAX;
    if (wall_clock_has_majority(clock)) {
        limit_ms = now_ms + wall_clock_median_ms(clock) + WALL_CLOCK_AHEAD_MS_MAX;
    } else if (last_ms != 0) {
        limit_ms = last_ms + since_ms;
    }
#if ROSTER_BUG == 2191 /* a clock that is set to next year is believed */
    limit_ms = INT64_MAX;
#endif
    int64_t stamp_ms = now_ms < limit_ms ? now_ms : limit_ms;
    return stamp_ms > last_ms ? stamp_ms : last_ms;
}
