/* The configuration: the rows of config.def, from a file, the environment and the command line.
 *
 * Of a key's values the flag (--node.id=1) wins over the environment (ROSTER_NODE_ID=1), this over
 * the file (node.id=1), this over the default. An unknown key is an error that names the nearest
 * known one. All errors are collected, so that one run shows them all. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpc/buf.h"
#include "rpc/span.h"
#include "server/core/limits.h"
#include "server/endpoint.h"
#include "server/log.h"

enum {
    CONFIG_PEERS_MAX = 9,
    CONFIG_LISTENERS_MAX = 16,
    CONFIG_VALUE_BYTES = 4096,
    CONFIG_SECRET_BYTES_MIN = 16,
    CONFIG_SECRET_BYTES_MAX = 4096
};

#define CONFIG_DEFAULT_FILE "/etc/roster/roster.properties"

struct config {
#define SECTION(title)
#define INT(field, key, initial, min, max, help) int64_t field;
#define TEXT(field, key, initial, help) char *field;
#include "server/config.def"
#undef SECTION
#undef INT
#undef TEXT

    /* What config_check() makes of the texts. */
    struct endpoint_peer peers[CONFIG_PEERS_MAX];
    size_t peers_count;
    struct endpoint_listener listener[CONFIG_LISTENERS_MAX];
    struct endpoint_listener advertised[CONFIG_LISTENERS_MAX]; /* parallel to listener */
    size_t listeners_count;
    enum log_level level;
    uint8_t secret[CONFIG_SECRET_BYTES_MAX];
    size_t secret_len;
};

/* What the command line asks for. */
enum config_action {
    CONFIG_RUN,
    CONFIG_CHECK,   /* --check-config */
    CONFIG_HELP,    /* --help */
    CONFIG_VERSION, /* --version */
    CONFIG_DOCS,    /* --docs: the table for the documentation */
    CONFIG_USAGE,   /* the command line itself is wrong */
};

/* All defaults. */
void config_init(struct config *config);
void config_close(struct config *config);

/* Sets one key. [where] (a line of a file, a variable, a flag) begins the message that is appended
 * to [errors] if the key is unknown or the value is no value of it. */
bool config_set(struct config *config,
                struct span key,
                struct span value,
                const char *where,
                struct buf *errors);

/* The key that is spelt most like [key]; NULL: none is near. */
const char *config_nearest(struct span key);

/* Appends one message, a line. */
void config_error(struct buf *errors, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads command line, environment and file. Messages go to [errors]; none: all is well. The config
 * must be initialised. */
enum config_action config_load(struct config *config,
                               int argc,
                               const char *const *argv,
                               const char *const *environment,
                               struct buf *errors);

/* The text of a file, as config_load() reads it; [name] is for messages. */
void config_load_text(struct config *config,
                      struct span text,
                      const char *name,
                      struct buf *errors);

/* What keys mean together; fills the parsed fields. */
void config_check(struct config *config, struct buf *errors);

struct coordinator_limits config_limits(const struct config *config);

/* --help and --docs. */
void config_print_help(FILE *out);
void config_print_docs(FILE *out);

/* The rows, for those who walk them. */
struct config_row {
    const char *section; /* not NULL: a title and nothing else */
    const char *key;
    const char *help;
    const char *text; /* the default; NULL: a number */
    int64_t initial, min, max;
    size_t offset; /* of the field in struct config */
};
extern const struct config_row config_rows[];
extern const size_t config_rows_count;

#endif
