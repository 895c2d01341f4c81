/* How the lab's programs are commanded: a connection to a Unix socket, one line of text in, an
 * answer of any number of lines out, closed. An answer that begins with "error" is a refusal. */
#ifndef JEPSEN_LAB_CONTROL_H
#define JEPSEN_LAB_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/buf.h"

enum { CONTROL_LINE_MAX = 4096, CONTROL_PATIENCE_MS = 1000 };

/* A listening socket at [path], which is replaced if it exists; or a negative errno. */
int control_listen(const char *path);

/* Takes one connection, waits for its line (no longer than CONTROL_PATIENCE_MS) and answers it. The
 * callee may change [line]. */
void control_serve(int listener,
                   void (*answer)(void *ctx, char *line, struct buf *reply),
                   void *ctx);

/* Appends text to a reply. */
__attribute__((format(printf, 2, 3))) void control_say(struct buf *reply, const char *format, ...);

/* The next word of a line, NUL-terminated in place, or NULL. [*line] moves behind it. */
char *control_word(char **line);

/* A whole word that is a number of at most [max]. */
bool control_number(const char *word, uint64_t max, uint64_t *out);

#endif
