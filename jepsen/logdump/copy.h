/* A scratch copy of a folder of files. */
#ifndef JEPSEN_LOGDUMP_COPY_H
#define JEPSEN_LOGDUMP_COPY_H

#include <stdbool.h>
#include <stddef.h>

enum { COPY_PATH_MAX = 1024 };

/* Copies the files in [from] into a new folder under $TMPDIR, whose path goes to [to]. False:
 * [message] says why; nothing is left behind. */
bool copy_make(const char *from, char to[COPY_PATH_MAX], char *message, size_t message_len);

/* Removes it again. */
void copy_remove(const char *path);

#endif
