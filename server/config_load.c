/* Where values come from: file, environment, command line, in rising order of precedence. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config.h"

enum { FILE_BYTES_MAX = 1 << 20, KEY_BYTES_MAX = 64 };

static struct span trim(struct span text)
{
    while (text.len > 0 && isspace(text.data[0])) {
        text = span_of(text.data + 1, text.len - 1);
    }
    while (text.len > 0 && isspace(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

/* Splits at the first '='; false: there is none. */
static bool split(struct span text, struct span *key, struct span *value)
{
    const uint8_t *equals = text.len == 0 ? NULL : memchr(text.data, '=', text.len);
    if (equals == NULL) {
        return false;
    }
    size_t len = (size_t)(equals - text.data);
    *key = trim(span_of(text.data, len));
    *value = trim(span_of(equals + 1, text.len - len - 1));
    return true;
}

/* Which rows a file has set already, to find a key that stands there twice. */
struct seen {
    bool row[128];
};

static bool is_repeated(struct seen *seen, struct span key)
{
    for (size_t i = 0; i < config_rows_count && i < sizeof seen->row; i++) {
        if (config_rows[i].key != NULL && span_equal(key, span_from_cstr(config_rows[i].key))) {
            bool before = seen->row[i];
            seen->row[i] = true;
            return before;
        }
    }
    return false;
}

static void load_line(struct config *config,
                      struct span line,
                      const char *where,
                      struct seen *seen,
                      struct buf *errors)
{
    struct span key;
    struct span value;
    line = trim(line);
    if (line.len == 0 || line.data[0] == '#') {
        return;
    }
    if (!split(line, &key, &value)) {
        config_error(errors, "%s: neither key=value nor a comment (#)", where);
    } else if (is_repeated(seen, key)) {
        config_error(errors, "%s: %.*s stands in this file twice", where, (int)key.len,
                     (const char *)key.data);
    } else {
        config_set(config, key, value, where, errors);
    }
}

void config_load_text(struct config *config, struct span text, const char *name, struct buf *errors)
{
    struct seen seen = {{false}};
    for (unsigned number = 1; text.len > 0; number++) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.data);
        char where[300];
        snprintf(where, sizeof where, "%.256s:%u", name, number);
        load_line(config, span_of(text.data, len), where, &seen, errors);
        len += end == NULL ? 0 : 1;
        text = span_of(text.data + len, text.len - len);
    }
}

static void load_file(struct config *config, const char *path, bool is_required, struct buf *errors)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        if (is_required || errno != ENOENT) {
            config_error(errors, "%s: cannot be opened: %s", path, strerror(errno));
        }
        return;
    }
    struct buf text = BUF_EMPTY;
    size_t got;
    do {
        uint8_t *room = buf_reserve(&text, 4096);
        got = fread(room, 1, 4096, file);
        text.len += got;
    } while (got > 0 && text.len <= FILE_BYTES_MAX);
    if (ferror(file)) {
        config_error(errors, "%s: cannot be read: %s", path, strerror(errno));
    } else if (text.len > FILE_BYTES_MAX) {
        config_error(errors, "%s: longer than %d bytes", path, FILE_BYTES_MAX);
    } else {
        config_load_text(config, buf_span(&text), path, errors);
    }
    fclose(file);
    buf_close(&text);
}

/* ROSTER_NODE_ID from node.id. */
static void variable_name(const char *key, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "ROSTER_");
    for (; *key != '\0' && at + 1 < size; key++) {
        out[at++] = (char)(*key == '.' ? '_' : toupper((unsigned char)*key));
    }
    out[at] = '\0';
}

static const struct config_row *find_variable(const char *name, size_t len)
{
    for (size_t i = 0; i < config_rows_count; i++) {
        char known[KEY_BYTES_MAX + 8];
        if (config_rows[i].key == NULL) {
            continue;
        }
        variable_name(config_rows[i].key, known, sizeof known);
        if (strlen(known) == len && memcmp(name, known, len) == 0) {
            return &config_rows[i];
        }
    }
    return NULL;
}

/* A variable that is nearly a key is an error. Others are not: where a service of the name runs,
 * Kubernetes sets ROSTER_SERVICE_HOST and its like. */
static void report_misspelt(const char *name, size_t len, struct buf *errors)
{
    char key[KEY_BYTES_MAX];
    size_t at = 0;
    for (size_t i = strlen("ROSTER_"); i < len && at < sizeof key; i++) {
        key[at++] = (char)(name[i] == '_' ? '.' : tolower((unsigned char)name[i]));
    }
    const char *nearest = config_nearest(span_of(key, at));
    size_t known_len = nearest == NULL ? 0 : strlen(nearest);
    bool is_near = nearest != NULL && at + 1 >= known_len && at <= known_len + 1;
    if (is_near) {
        char known[KEY_BYTES_MAX + 8];
        variable_name(nearest, known, sizeof known);
        config_error(errors, "environment: unknown variable %.*s; did you mean %s?", (int)len, name,
                     known);
    }
}

static void load_environment(struct config *config,
                             const char *const *environment,
                             struct buf *errors)
{
    for (; *environment != NULL; environment++) {
        const char *name = *environment;
        const char *equals = strchr(name, '=');
        if (equals == NULL || strncmp(name, "ROSTER_", strlen("ROSTER_")) != 0) {
            continue;
        }
        size_t len = (size_t)(equals - name);
        const struct config_row *row = find_variable(name, len);
        if (row == NULL) {
            report_misspelt(name, len, errors);
            continue;
        }
        char where[KEY_BYTES_MAX + 32];
        snprintf(where, sizeof where, "environment: %.*s", (int)len, name);
        config_set(config, span_from_cstr(row->key), trim(span_from_cstr(equals + 1)), where,
                   errors);
    }
}

/* One argument, "--name=value" or "--name value". */
struct flag {
    struct span name;
    const char *value; /* NULL: none is attached */
};

static bool parse_flag(const char *argument, struct flag *flag)
{
    if (strncmp(argument, "--", 2) != 0 || argument[2] == '\0') {
        return false;
    }
    const char *equals = strchr(argument, '=');
    size_t len = equals == NULL ? strlen(argument) : (size_t)(equals - argument);
    flag->name = span_of(argument + 2, len - 2);
    flag->value = equals == NULL ? NULL : equals + 1;
    return true;
}

static bool find_action(struct span name, enum config_action *action)
{
    static const struct {
        const char *name;
        enum config_action action;
    } actions[] = {
        {"help", CONFIG_HELP},
        {"version", CONFIG_VERSION},
        {"docs", CONFIG_DOCS},
        {"check-config", CONFIG_CHECK},
    };
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (span_equal(name, span_from_cstr(actions[i].name))) {
            *action = actions[i].action;
            return true;
        }
    }
    return false;
}

/* What the command line says besides keys; each key found is given to config_set() if [config] is
 * not NULL. The first pass finds the file, the second, after the file, the keys. */
static enum config_action walk_arguments(struct config *config,
                                         int argc,
                                         const char *const *argv,
                                         const char **file,
                                         struct buf *errors)
{
    enum config_action action = CONFIG_RUN;
    for (int i = 1; i < argc; i++) {
        struct flag flag;
        if (!parse_flag(argv[i], &flag)) {
            config_error(errors, "command line: \"%.100s\" is not a flag (--key=value)", argv[i]);
            return CONFIG_USAGE;
        }
        if (flag.value == NULL && find_action(flag.name, &action)) {
            continue;
        }
        if (flag.value == NULL && i + 1 < argc) {
            flag.value = argv[++i];
        }
        if (flag.value == NULL) {
            config_error(errors, "command line: %.100s needs a value", argv[i]);
            return CONFIG_USAGE;
        }
        if (span_equal(flag.name, SPAN_LITERAL("config"))) {
            *file = flag.value;
        } else if (config != NULL) {
            config_set(config, flag.name, span_from_cstr(flag.value), "command line", errors);
        }
    }
    return action;
}

enum config_action config_load(struct config *config,
                               int argc,
                               const char *const *argv,
                               const char *const *environment,
                               struct buf *errors)
{
    const char *file = NULL;
    enum config_action action = walk_arguments(NULL, argc, argv, &file, errors);
    if (action != CONFIG_RUN && action != CONFIG_CHECK) {
        return action;
    }
    load_file(config, file == NULL ? CONFIG_DEFAULT_FILE : file, file != NULL, errors);
    load_environment(config, environment, errors);
    return walk_arguments(config, argc, argv, &file, errors);
}
