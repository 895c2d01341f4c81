/* Random bytes of the operating system, for member ids and topic uuids. */
#ifndef SERVER_ENTROPY_H
#define SERVER_ENTROPY_H

#include <stddef.h>

/* Fills [out]; a system call for every few hundred calls only. [len] is at most 256. One thread. */
void entropy_fill(void *out, size_t len);

#endif
