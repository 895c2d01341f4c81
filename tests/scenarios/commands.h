/* One line of a script, carried out (README.md lists the commands). */
#ifndef TESTS_SCENARIOS_COMMANDS_H
#define TESTS_SCENARIOS_COMMANDS_H

#include "tests/scenarios/world.h"

/* What it printed is in w->out; w->error says what is wrong with it. */
void commands_run(struct world *w, const char *line);

#endif
