#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/datadir.h"

static char parent[64];
static char path[96];
static char message[512];
static struct datadir datadir;

static void set_up(void)
{
    snprintf(parent, sizeof parent, "/tmp/roster-datadir-XXXXXX");
    cr_assert_not_null(mkdtemp(parent));
    snprintf(path, sizeof path, "%s/data", parent);
    message[0] = '\0';
}

static void tear_down(void)
{
    char command[128];
    datadir_close(&datadir);
    snprintf(command, sizeof command, "rm -rf %s", parent);
    cr_assert_eq(system(command), 0);
}

TestSuite(datadir, .init = set_up, .fini = tear_down);

static bool open_as(const char *cluster_id, uint64_t node_id)
{
    return datadir_open(&datadir, path, cluster_id, node_id, message, sizeof message);
}

#define assert_refused(opened, text)                                                           \
    do {                                                                                       \
        cr_assert_not(opened);                                                                 \
        cr_assert_not_null(strstr(message, (text)), "\"%s\" says no \"%s\"", message, (text)); \
        cr_assert_not_null(strstr(message, path), "%s", message);                              \
    } while (0)

static void write_file(const char *name, const char *text)
{
    char file[160];
    snprintf(file, sizeof file, "%s/%s", path, name);
    FILE *out = fopen(file, "w");
    cr_assert_not_null(out);
    fputs(text, out);
    fclose(out);
}

Test(datadir, made_and_opened_again)
{
    cr_assert(open_as("c", 1), "%s", message);
    cr_assert_not_null(strstr(datadir.raft, "/data/raft"));
    datadir_close(&datadir);
    cr_assert(open_as("c", 1), "%s", message);
}

Test(datadir, of_one_process)
{
    struct datadir first;
    cr_assert(datadir_open(&first, path, "c", 1, message, sizeof message));
    assert_refused(open_as("c", 1), "in use by another rosterd; end that one");
    datadir_close(&first);
    cr_assert(open_as("c", 1));
}

Test(datadir, of_one_node)
{
    cr_assert(open_as("c", 1));
    datadir_close(&datadir);
    assert_refused(open_as("c", 2), "belongs to another node or cluster");
    cr_assert_null(strchr(message, '\n'));
    assert_refused(open_as("d", 1), "node.id=1");
    assert_refused(open_as("d", 1), "if they are right, the file is damaged: remove this node's");
}

Test(datadir, newer_format)
{
    cr_assert(open_as("c", 1));
    datadir_close(&datadir);
    write_file("format", "roster-data 2\nwhatever\n");
    assert_refused(open_as("c", 1), "written by a newer rosterd (format 2, this one knows 1)");
}

Test(datadir, strange_format)
{
    cr_assert_eq(mkdir(path, 0700), 0);
    write_file("format", "something else");
    assert_refused(open_as("c", 1), "its file format is not ours");
}

Test(datadir, of_somebody_else)
{
    cr_assert_eq(mkdir(path, 0700), 0);
    write_file("precious", "bytes");
    assert_refused(open_as("c", 1), "has files in it but none called format");
}

/* A crash between the two steps of writing the format. */
Test(datadir, format_half_made)
{
    cr_assert_eq(mkdir(path, 0700), 0);
    write_file("format.new", "roster-da");
    cr_assert(open_as("c", 1), "%s", message);
}

Test(datadir, without_parent)
{
    snprintf(path, sizeof path, "%s/missing/data", parent);
    assert_refused(open_as("c", 1),
                   "cannot be created: No such file or directory; its parent must");
}

Test(datadir, file_in_the_way)
{
    FILE *out = fopen(path, "w");
    fclose(out);
    assert_refused(open_as("c", 1), "a file is in the way");
}
