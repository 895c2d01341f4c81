#include "tests/sim/world/plays.h"

#include "tests/sim/life/play_life.h"
#include "tests/sim/world/trials.h"

const struct play *const plays[] = {&play_life, &play_smoke, &play_disk, &play_network};
const size_t plays_count = sizeof plays / sizeof plays[0];
