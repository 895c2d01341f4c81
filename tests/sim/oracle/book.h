/* Texts by key: what has been seen and must not be contradicted. */
#ifndef TESTS_SIM_ORACLE_BOOK_H
#define TESTS_SIM_ORACLE_BOOK_H

#include <stddef.h>
#include <stdint.h>

struct book;

struct book *book_new(void);
void book_free(struct book *book);
/* NULL: nothing. */
const char *book_get(const struct book *book, const char *key);
void book_set(struct book *book, const char *key, const char *value);
/* Numbers are texts, too; [none] where there is nothing. */
int64_t book_number(const struct book *book, const char *key, int64_t none);
void book_set_number(struct book *book, const char *key, int64_t value);

#endif
