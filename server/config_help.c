/* --help and the table for the documentation, from the rows of config.def. */
#include <ctype.h>
#include <string.h>

#include "server/config.h"

enum { HELP_COLUMNS = 78, HELP_INDENT = 8 };

static void print_wrapped(FILE *out, const char *text)
{
    int column = 0;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (column > 0 && HELP_INDENT + column + 1 + word > HELP_COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%*s%.*s", column == 0 ? HELP_INDENT : 1, "", word, text);
        column += word + 1;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void config_print_help(FILE *out)
{
    fprintf(out,
            "rosterd: a replicated coordinator for consumer groups.\n"
            "\n"
            "  rosterd [--config FILE] [--key=value ...]\n"
            "\n"
            "  --config FILE    key=value lines; " CONFIG_DEFAULT_FILE
            " if that exists\n"
            "  --check-config   check the configuration and exit\n"
            "  --version        print the version and exit\n"
            "  --help           print this and exit\n"
            "\n"
            "Each key is a flag (--node.id=1), an environment variable (ROSTER_NODE_ID=1) and a\n"
            "line of the file (node.id=1); the first of these wins.\n"
            "\n"
            "Signals: TERM and INT end the node, handing leadership over first; a second one ends\n"
            "it at once. USR1 writes a line of figures to the log.\n"
            "\n"
            "Exit status: 0 ended as asked, 1 cannot start or run, 64 wrong command line, 70 the\n"
            "replicated log or a disk failed (start it again), 78 wrong configuration.\n");
    for (size_t i = 0; i < config_rows_count; i++) {
        const struct config_row *row = &config_rows[i];
        if (row->section != NULL) {
            fprintf(out, "\n%s\n", row->section);
        } else if (row->text != NULL) {
            fprintf(out, "\n    %s=%s\n", row->key, row->text);
            print_wrapped(out, row->help);
        } else {
            fprintf(out, "\n    %s=%lld    (%lld to %lld)\n", row->key, (long long)row->initial,
                    (long long)row->min, (long long)row->max);
            print_wrapped(out, row->help);
        }
    }
}

void config_print_docs(FILE *out)
{
    for (size_t i = 0; i < config_rows_count; i++) {
        const struct config_row *row = &config_rows[i];
        if (row->section != NULL) {
            fprintf(out, "%s### %s\n\n| key | default | range | meaning |\n|---|---|---|---|\n",
                    i == 0 ? "" : "\n", row->section);
        } else if (row->text != NULL) {
            fprintf(out, "| `%s` | %s%s%s | | %s |\n", row->key, row->text[0] == '\0' ? "" : "`",
                    row->text, row->text[0] == '\0' ? "" : "`", row->help);
        } else {
            fprintf(out, "| `%s` | %lld | %lld–%lld | %s |\n", row->key, (long long)row->initial,
                    (long long)row->min, (long long)row->max, row->help);
        }
    }
}
