/* What the pages of a file held when they were last durable: only those that differ since. A page
 * is what a page cache writes out, a sector what a disk writes at once. */
#ifndef JEPSEN_DISK_PAGES_H
#define JEPSEN_DISK_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE_BYTES = 4096, SECTOR_BYTES = 512 };

struct page {
    uint64_t number;
    uint8_t *before; /* PAGE_BYTES; zeros behind the file's end */
};

struct pages {
    struct page *items; /* by number */
    size_t count;
    size_t room;
};

void pages_close(struct pages *pages);

/* Reads the pages that [offset, offset + len) touches from [fd], unless they are kept already. */
void pages_keep(struct pages *pages, int fd, uint64_t offset, uint64_t len);

/* Forgets them: they are durable. */
void pages_drop(struct pages *pages, uint64_t offset, uint64_t len);

/* Writes all of them back into [fd], newer content is gone. With [chance], a power loss that hits a
 * disk at work: of each page all, nothing, or any sectors are written back. */
void pages_restore(const struct pages *pages, int fd, uint64_t *chance);

#endif
