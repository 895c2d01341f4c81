/* Runs transcripts: run_scenarios FILE…; with BLESS=1 in the environment it rewrites what they
 * expect. A plain main, so that it runs under every sanitizer. README.md describes the files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/buf.h"
#include "rpc/ensure.h"
#include "tests/scenarios/commands.h"
#include "tests/scenarios/print.h"

/* A file as lines, and what it would say if all its expectations were right. */
struct transcript {
    const char *path;
    struct buf text; /* with a NUL behind the last line */
    char *at;
    int line;
    struct buf blessed;
    int failures;
};

static bool read_file(struct transcript *t)
{
    FILE *file = fopen(t->path, "rb");
    char part[65536];
    size_t n;
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", t->path, strerror(errno));
        return false;
    }
    while ((n = fread(part, 1, sizeof part, file)) > 0) {
        buf_append(&t->text, part, n);
    }
    fclose(file);
    buf_put_u8(&t->text, 0);
    t->at = (char *)t->text.data;
    return true;
}

static bool write_file(const struct transcript *t)
{
    FILE *file = fopen(t->path, "wb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", t->path, strerror(errno));
        return false;
    }
    bool ok = fwrite(t->blessed.data, 1, t->blessed.len, file) == t->blessed.len;
    return fclose(file) == 0 && ok;
}

/* The next line, cut off in place; NULL at the end. */
static char *next_line(struct transcript *t)
{
    if (*t->at == 0) {
        return NULL;
    }
    char *line = t->at;
    char *end = strchr(line, '\n');
    if (end == NULL) {
        t->at = line + strlen(line);
    } else {
        *end = 0;
        t->at = end + 1;
    }
    t->line++;
    return line;
}

static void report(struct transcript *t, const char *what, const char *expected, const char *actual)
{
    t->failures++;
    fprintf(stderr, "%s:%d: %s\n", t->path, t->line, what);
    if (expected != NULL) {
        fprintf(stderr, "expected:\n%sgot:\n%s\n", expected, actual);
    }
}

/* What stands between ---- and the next empty line. */
static struct buf read_expected(struct transcript *t)
{
    struct buf expected = BUF_EMPTY;
    char *line;
    while ((line = next_line(t)) != NULL && line[0] != 0) {
        buf_append(&expected, line, strlen(line));
        buf_put_u8(&expected, '\n');
    }
    buf_put_u8(&expected, 0);
    return expected;
}

static void run_line(struct transcript *t, struct world *w, const char *line)
{
    commands_run(w, line);
    if (w->error[0] != 0) {
        report(t, w->error, NULL, NULL);
    }
}

static void compare(struct transcript *t, struct world *w)
{
    struct buf expected = read_expected(t);
    buf_put_u8(&w->out, 0);
    if (strcmp((const char *)expected.data, (const char *)w->out.data) != 0) {
        report(t, "not as expected", (const char *)expected.data, (const char *)w->out.data);
    }
    buf_append(&t->blessed, w->out.data, w->out.len - 1);
    buf_append(&t->blessed, "\n", 1);
    w->out.len = 0;
    buf_close(&expected);
}

/* Blocks up to the end of the file or the first command that cannot be carried out. */
static void run_blocks(struct transcript *t, struct world *w)
{
    char *line;
    bool has_commands = false;
    while (w->error[0] == 0 && (line = next_line(t)) != NULL) {
        bool is_rule = strcmp(line, "----") == 0;
        bool is_end = line[0] == 0;
        if (is_end && has_commands) {
            report(t, "a block without ----", NULL, NULL);
            buf_append(&t->blessed, "----\n", 5);
            buf_append(&t->blessed, w->out.data, w->out.len);
            w->out.len = 0;
            has_commands = false;
        }
        buf_append(&t->blessed, line, strlen(line));
        buf_put_u8(&t->blessed, '\n');
        if (is_rule) {
            compare(t, w);
            has_commands = false;
        } else if (!is_end && line[0] != '#') {
            has_commands = true;
            run_line(t, w, line);
        }
    }
    if (has_commands && w->error[0] == 0) {
        report(t, "a block without ---- at the end", NULL, NULL);
        buf_append(&t->blessed, "----\n", 5);
        buf_append(&t->blessed, w->out.data, w->out.len);
    }
}

static bool run_file(const char *path, bool is_blessing)
{
    struct transcript t = {.path = path};
    struct world w;
    if (!read_file(&t)) {
        return false;
    }
    world_init(&w);
    run_blocks(&t, &w);
    if (w.error[0] == 0 && w.is_started) {
        world_finish(&w);
        if (w.error[0] != 0) {
            report(&t, w.error, NULL, NULL);
        }
    }
    bool is_sound = w.error[0] == 0;
    world_close(&w);
    while (t.blessed.len > 1 && t.blessed.data[t.blessed.len - 1] == '\n' &&
           t.blessed.data[t.blessed.len - 2] == '\n') {
        t.blessed.len--;
    }
    bool ok = t.failures == 0;
    if (is_blessing && is_sound && !ok) {
        ok = write_file(&t);
    }
    buf_close(&t.text);
    buf_close(&t.blessed);
    return ok;
}

static void say_broken(const char *condition, const char *file, int line, const char *function)
{
    (void)function;
    fprintf(stderr, "broken_invariant %s (%s:%d)\n", condition, file, line);
}

int main(int argc, char **argv)
{
    ensure_set_hook(say_broken);
    const char *bless = getenv("BLESS");
    bool is_blessing = bless != NULL && strcmp(bless, "1") == 0;
    bool ok = argc > 1;
    for (int i = 1; i < argc; i++) {
        ok = run_file(argv[i], is_blessing) && ok;
    }
    return ok ? 0 : 1;
}
