/* Truncations of the log that a crash interrupts (L8): which files were there, and which remain. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raftlog/truncation.h"
#include "tests/rpc/leaks.h"

TestSuite(truncation, .fini = leaks_abort);

static char directory[64];

static void write_file(const char *name, const char *text, size_t len)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, len, file), len);
    fclose(file);
}

static void write_closed(int first, int last)
{
    char name[64];
    snprintf(name, sizeof name, "%016d-%016d", first, last);
    write_file(name, "", 0);
}

static void new_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/raftlog-truncation-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    write_file("metadata1", "", 0);
    write_closed(1, 4);
    write_file("open-9", "\0\0\0\0\0\0\0\0", 8); /* prepared */
}

static void remove_all(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", directory);
    cr_assert_eq(system(command), 0);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The closed files behind entry 4, as "5-7 8-9". */
static const char *rest(void)
{
    static char text[256];
    char names[8][64];
    size_t count = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int first;
        int last;
        if (sscanf(entry->d_name, "%16d-%16d", &first, &last) == 2 && first > 4) {
            snprintf(names[count++], sizeof names[0], "%d-%d", first, last);
        }
    }
    closedir(dir);
    qsort(names, count, sizeof names[0], by_text);
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i == 0 ? "" : " ", names[i]);
    }
    return text;
}

static void assert_finished(uint64_t index, int removed, const char *remains)
{
    cr_assert_eq(truncation_finish(directory, index), removed);
    cr_assert_str_eq(rest(), remains);
    cr_assert_eq(truncation_finish(directory, index), 0, "once more");
    cr_assert_str_eq(rest(), remains);
    remove_all();
}

Test(truncation, that_had_not_begun_is_left_to_the_library)
{
    new_directory();
    write_closed(5, 8);
    write_closed(9, 9);
    assert_finished(7, 0, "5-8 9-9");
}

Test(truncation, that_had_not_begun_and_needs_no_new_file)
{
    new_directory();
    write_closed(5, 6);
    write_closed(7, 8);
    write_file("open-8", "\1\0\0\0\0\0\0\0", 8); /* from entry 9 on */
    assert_finished(7, 2, "5-6");
}

Test(truncation, that_had_not_begun_within_the_open_entries)
{
    new_directory();
    write_closed(5, 6);
    write_file("open-8", "\1\0\0\0\0\0\0\0", 8); /* from entry 7 on */
    assert_finished(9, 0, "5-6");
}

Test(truncation, that_had_removed_files_but_not_the_open_one)
{
    new_directory();
    write_closed(5, 6);
    write_closed(5, 8);
    write_file("open-8", "\1\0\0\0\0\0\0\0", 8); /* from entry 9 on: its end could not be written */
    assert_finished(7, 2, "5-6");
}

Test(truncation, that_had_written_the_new_file)
{
    new_directory();
    write_closed(5, 6);
    write_closed(5, 8);
    write_closed(9, 9);
    assert_finished(7, 2, "5-6");
}

Test(truncation, that_had_removed_the_old_file_but_not_those_behind_it)
{
    new_directory();
    write_closed(5, 6);
    write_closed(9, 9);
    write_closed(10, 12);
    assert_finished(7, 2, "5-6");
}

Test(truncation, that_had_removed_those_behind_it_first)
{
    new_directory();
    write_closed(5, 6);
    write_closed(5, 8);
    assert_finished(7, 1, "5-6");
}

Test(truncation, at_the_beginning_of_a_file_needs_no_new_one)
{
    new_directory();
    write_closed(5, 8);
    write_closed(9, 9);
    assert_finished(5, 2, "");
}

Test(truncation, that_was_done)
{
    new_directory();
    write_closed(5, 6);
    assert_finished(7, 0, "5-6");
}

Test(truncation, of_a_directory_that_is_gone)
{
    new_directory();
    remove_all();
    cr_assert(truncation_finish(directory, 7) < 0);
    cr_assert(truncation_is_done(directory, 7) < 0);
    struct truncation truncation;
    cr_assert(truncation_open(&truncation, directory) < 0);
    truncation_close(&truncation);
}

Test(truncation, is_seen_when_it_is_done)
{
    enum { INDEX = 7 };
    new_directory();
    write_file("open-1", "\1\0\0\0\0\0\0\0", 8);
    cr_assert_eq(truncation_is_done(directory, INDEX), 0, "a file in use may hold it");
    write_file("open-1", "\0\0\0\0\0\0\0\0", 8);
    cr_assert_eq(truncation_is_done(directory, INDEX), 1, "one that is prepared does not");
    write_closed(5, 7);
    cr_assert_eq(truncation_is_done(directory, INDEX), 0);
    cr_assert_eq(truncation_is_done(directory, INDEX + 1), 1);
    char name[160];
    snprintf(name, sizeof name, "%s/open-2", directory);
    cr_assert_eq(symlink("nothing", name), 0); /* its name is read, and it is not there */
    cr_assert_eq(truncation_is_done(directory, INDEX + 1), 0, "to be looked at again");
    remove_all();
}

Test(truncation, is_remembered_until_it_is_done)
{
    new_directory();
    struct truncation truncation;
    cr_assert_eq(truncation_open(&truncation, directory), 0);
    cr_assert_eq(truncation.index, 0, "nothing was ever noted");
    cr_assert_eq(truncation_note(&truncation, 7), 0);
    truncation_close(&truncation);
    cr_assert_eq(truncation_open(&truncation, directory), 0);
    cr_assert_eq(truncation.index, 7);
    cr_assert_eq(truncation_note(&truncation, 0), 0);
    truncation_close(&truncation);
    cr_assert_eq(truncation_open(&truncation, directory), 0);
    cr_assert_eq(truncation.index, 0);
    truncation_close(&truncation);
    remove_all();
}
