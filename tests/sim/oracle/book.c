#include "tests/sim/oracle/book.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

enum { BUCKETS = 4096 };

struct page {
    struct page *next;
    char *key;
    char *value;
};

struct book {
    struct page *buckets[BUCKETS];
};

struct book *book_new(void)
{
    struct book *book = calloc(1, sizeof *book);
    ensure(book != NULL);
    return book;
}

void book_free(struct book *book)
{
    for (int i = 0; i < BUCKETS; i++) {
        for (struct page *page = book->buckets[i], *next; page != NULL; page = next) {
            next = page->next;
            free(page->key);
            free(page->value);
            free(page);
        }
    }
    free(book);
}

static size_t bucket_of(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key != 0; key++) {
        hash = (hash ^ (uint8_t)*key) * 16777619u;
    }
    return hash % BUCKETS;
}

static struct page *find(const struct book *book, const char *key)
{
    struct page *page = book->buckets[bucket_of(key)];
    while (page != NULL && strcmp(page->key, key) != 0) {
        page = page->next;
    }
    return page;
}

const char *book_get(const struct book *book, const char *key)
{
    const struct page *page = find(book, key);
    return page == NULL ? NULL : page->value;
}

void book_set(struct book *book, const char *key, const char *value)
{
    struct page *page = find(book, key);
    if (page == NULL) {
        struct page **bucket = &book->buckets[bucket_of(key)];
        page = calloc(1, sizeof *page);
        ensure(page != NULL);
        page->key = strdup(key);
        page->next = *bucket;
        *bucket = page;
    }
    free(page->value);
    page->value = strdup(value);
    ensure(page->key != NULL && page->value != NULL);
}

int64_t book_number(const struct book *book, const char *key, int64_t none)
{
    const char *value = book_get(book, key);
    return value == NULL ? none : strtoll(value, NULL, 10);
}

void book_set_number(struct book *book, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    book_set(book, key, text);
}
