/* A file of a few numbers with a checksum, shorter than a sector and written in place: after a
 * crash it says what it said before or what was to be written, and damage is noticed. */
#ifndef RAFTLOG_SECTOR_H
#define RAFTLOG_SECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SECTOR_NUMBERS_MAX = 2 };

struct sector {
    int fd;         /* -1: not open */
    uint32_t magic; /* what kind of file it is */
    size_t count;   /* of numbers */
};

/* Opens [name] in [dir], creating it, and reads it: false in [is_known] where it says nothing that
 * can be relied on, as when it is new. What is read is durable. 0, or a negative errno. */
int sector_open(struct sector *sector,
                const char *dir,
                const char *name,
                uint64_t *numbers,
                bool *is_known);
void sector_close(struct sector *sector);

/* Durable when it returns. 0, or a negative errno. */
int sector_write(const struct sector *sector, const uint64_t *numbers);

#endif
