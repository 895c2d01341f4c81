#include "golden.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

struct golden_cursor {
    glob_t files;
    size_t file;
    FILE *in;
    char *line;
    size_t cap;
};

static const struct kafka_schema *(*const messages[])(void) = {
#define API(key_, name_, prefix_, ...) prefix_##_request_schema, prefix_##_response_schema,
#define EMBEDDED(message_, ...) message_##_schema,
#include "rpc/api.def"
#undef API
#undef EMBEDDED
};

const struct kafka_schema *golden_message(unsigned i)
{
    return i < sizeof messages / sizeof messages[0] ? messages[i]() : NULL;
}

const struct kafka_schema *golden_schema(const char *name)
{
    const struct kafka_schema *schema;
    for (unsigned i = 0; (schema = golden_message(i)) != NULL; i++) {
        if (strcmp(schema->name, name) == 0) {
            return schema;
        }
    }
    return NULL;
}

struct golden_cursor *golden_open(void)
{
    struct golden_cursor *cursor = calloc(1, sizeof *cursor);
    cr_assert_eq(glob(GOLDEN_DIR "/*.hex", 0, NULL, &cursor->files), 0, "no golden files");
    return cursor;
}

static bool next_line(struct golden_cursor *cursor)
{
    for (;;) {
        if (cursor->in == NULL) {
            if (cursor->file == cursor->files.gl_pathc) {
                return false;
            }
            cursor->in = fopen(cursor->files.gl_pathv[cursor->file++], "r");
            cr_assert_not_null(cursor->in);
        }
        if (getline(&cursor->line, &cursor->cap, cursor->in) > 0) {
            return true;
        }
        fclose(cursor->in);
        cursor->in = NULL;
    }
}

static void read_hex(const char *hex, struct buf *bytes)
{
    bytes->len = 0;
    buf_reserve(bytes, 1); /* so that no bytes are not null */
    for (; hex[0] > ' '; hex += 2) {
        const char pair[3] = {hex[0], hex[1], '\0'};
        buf_put_u8(bytes, (uint8_t)strtoul(pair, NULL, 16));
    }
}

bool golden_next(struct golden_cursor *cursor, struct golden *entry)
{
    if (!next_line(cursor)) {
        return false;
    }
    int hex_at = 0;
    cr_assert_eq(sscanf(cursor->line, "%63s %d %15s %n", entry->name, &entry->version,
                        entry->variant, &hex_at),
                 3, "%s", cursor->line);
    read_hex(cursor->line + hex_at, &entry->bytes);
    entry->schema = golden_schema(entry->name);
    cr_assert_not_null(entry->schema, "no message %s", entry->name);
    cr_assert(next_line(cursor), "an entry without its values");
    entry->text.len = 0;
    buf_append(&entry->text, cursor->line, strcspn(cursor->line, "\n"));
    return true;
}

void golden_close(struct golden_cursor *cursor, struct golden *entry)
{
    globfree(&cursor->files);
    free(cursor->line);
    free(cursor);
    buf_close(&entry->bytes);
    buf_close(&entry->text);
}
