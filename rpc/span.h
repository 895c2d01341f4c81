/* Borrowed bytes. A span never owns what it points to and must not outlive it: decoded messages
 * borrow from their frame, records from their batch. What is owned is a struct buf (buf.h) or an
 * arena's (arena.h). */
#ifndef RPC_SPAN_H
#define RPC_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* data == NULL is Kafka's null, which differs from empty (data != NULL, len == 0). */
struct span {
    const uint8_t *data;
    size_t len;
};

#define SPAN_LITERAL(text) ((struct span){(const uint8_t *)("" text), sizeof(text) - 1})
#define SPAN_NULL ((struct span){NULL, 0})
#define SPAN_EMPTY SPAN_LITERAL("")

static inline struct span span_of(const void *data, size_t len)
{
    return (struct span){(const uint8_t *)data, len};
}

/* Of a C string; NULL gives the null span. */
static inline struct span span_from_cstr(const char *text)
{
    return (struct span){(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
}

static inline bool span_is_null(struct span s)
{
    return s.data == NULL;
}

/* Null or empty. */
static inline bool span_is_empty(struct span s)
{
    return s.len == 0;
}

/* Null equals only null. */
static inline bool span_equal(struct span a, struct span b)
{
    if ((a.data == NULL) != (b.data == NULL) || a.len != b.len) {
        return false;
    }
    return a.len == 0 || memcmp(a.data, b.data, a.len) == 0;
}

/* Bytewise order, shorter first on a common prefix; null sorts as empty. */
static inline int span_compare(struct span a, struct span b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.data, b.data, n);
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

#endif
