/* Commands from standard input, a line each, so that a script can tell a run what it does to the
 * cluster and when. */
#ifndef LOAD_CONSOLE_H
#define LOAD_CONSOLE_H

#include <uv.h>

/* [command] is called with each line, without its end, and once with NULL when the input ends.
 * Standard input must be a pipe; anything else counts as ended at once. */
void console_open(uv_loop_t *loop, void (*command)(void *ctx, const char *line), void *ctx);

#endif
