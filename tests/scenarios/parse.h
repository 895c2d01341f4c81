/* The text of requests: values by the rows of the message tables (README.md). */
#ifndef TESTS_SCENARIOS_PARSE_H
#define TESTS_SCENARIOS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/schema.h"
#include "tests/scenarios/names.h"

struct parser {
    const char *at; /* in a line that ends with a NUL */
    const struct names *names;
    struct arena *arena; /* of all that is parsed */
    int version;
    char error[200]; /* "": none so far */
};

void parse_fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next word, a null span at the end of the line. */
struct span parse_word(struct parser *p);
/* The word without moving on. */
struct span parse_peek(struct parser *p);
/* True and moves on if the next characters are [prefix] right in front of a value: "client=". */
bool parse_prefix(struct parser *p, const char *prefix);
bool parse_is_number(struct span word, int64_t *number);
/* Text in any of its forms. */
struct span parse_text(struct parser *p);

/* FIELD=VALUE up to the end of the line, into a struct that has its defaults. */
void parse_struct(struct parser *p, const struct kafka_schema *schema, void *out);

#endif
