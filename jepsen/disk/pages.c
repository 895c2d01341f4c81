#include "jepsen/disk/pages.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jepsen/lab/chance.h"
#include "rpc/ensure.h"

void pages_close(struct pages *pages)
{
    for (size_t i = 0; i < pages->count; i++) {
        free(pages->items[i].before);
    }
    free(pages->items);
    *pages = (struct pages){.items = NULL};
}

/* The first one that is not below [number]. */
static size_t find(const struct pages *pages, uint64_t number)
{
    size_t low = 0;
    size_t high = pages->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pages->items[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void insert(struct pages *pages, size_t at, uint64_t number, int fd)
{
    if (pages->count == pages->room) {
        pages->room = pages->room == 0 ? 64 : pages->room * 2;
        pages->items = realloc(pages->items, pages->room * sizeof *pages->items);
        ensure(pages->items != NULL);
    }
    memmove(pages->items + at + 1, pages->items + at, (pages->count - at) * sizeof *pages->items);
    pages->count++;
    uint8_t *before = calloc(1, PAGE_BYTES);
    ensure(before != NULL);
    ensure(pread(fd, before, PAGE_BYTES, (off_t)(number * PAGE_BYTES)) >= 0);
    pages->items[at] = (struct page){.number = number, .before = before};
}

void pages_keep(struct pages *pages, int fd, uint64_t offset, uint64_t len)
{
    if (len == 0) {
        return;
    }
    uint64_t last = (offset + len - 1) / PAGE_BYTES;
    size_t at = find(pages, offset / PAGE_BYTES);
    for (uint64_t number = offset / PAGE_BYTES; number <= last; number++, at++) {
        if (at == pages->count || pages->items[at].number != number) {
            insert(pages, at, number, fd);
        }
    }
}

void pages_drop(struct pages *pages, uint64_t offset, uint64_t len)
{
    if (len == 0) {
        return;
    }
    size_t from = find(pages, offset / PAGE_BYTES);
    size_t to = find(pages, (offset + len - 1) / PAGE_BYTES + 1);
    for (size_t i = from; i < to; i++) {
        free(pages->items[i].before);
    }
    if (to > from) {
        memmove(pages->items + from, pages->items + to, (pages->count - to) * sizeof *pages->items);
        pages->count -= to - from;
    }
}

static void write_back(int fd, const struct page *page, size_t from, size_t len)
{
    ssize_t n = pwrite(fd, page->before + from, len, (off_t)(page->number * PAGE_BYTES + from));
    ensure(n == (ssize_t)len);
}

void pages_restore(const struct pages *pages, int fd, uint64_t *chance)
{
    enum { WRITTEN, LOST, TORN, FATES };
    for (size_t i = 0; i < pages->count; i++) {
        uint64_t fate = chance == NULL ? LOST : chance_below(chance, FATES);
        if (fate == LOST) {
            write_back(fd, &pages->items[i], 0, PAGE_BYTES);
        }
        for (size_t at = 0; fate == TORN && at < PAGE_BYTES; at += SECTOR_BYTES) {
            if (chance_below(chance, 2) == 0) {
                write_back(fd, &pages->items[i], at, SECTOR_BYTES);
            }
        }
    }
}
