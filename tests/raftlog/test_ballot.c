/* The term and the vote, kept a second time. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "raftlog/ballot.h"
#include "raftlog/raft_dir.h"
#include "tests/rpc/leaks.h"

TestSuite(ballot, .fini = leaks_abort);

static char directory[64];
static char path[128];

static void new_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/raftlog-ballot-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/ballot", directory);
}

static void remove_all(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", directory);
    cr_assert_eq(system(command), 0);
}

static struct ballot reopened(void)
{
    struct ballot ballot;
    cr_assert_eq(ballot_open(&ballot, directory), 0);
    ballot_close(&ballot);
    return ballot;
}

static void write_once(uint64_t term, uint64_t vote)
{
    struct ballot ballot;
    cr_assert_eq(ballot_open(&ballot, directory), 0);
    cr_assert_eq(ballot_write(&ballot, term, vote), 0);
    ballot_close(&ballot);
}

Test(ballot, is_unknown_until_it_is_written_and_remembered_then)
{
    new_directory();
    cr_assert_not(reopened().is_known);
    write_once(7, 3);
    write_once(8, 0);
    struct ballot ballot = reopened();
    cr_assert(ballot.is_known);
    cr_assert_eq(ballot.term, 8);
    cr_assert_eq(ballot.vote, 0);
    remove_all();
}

Test(ballot, any_flipped_bit_and_any_cut_makes_it_unknown)
{
    uint8_t bytes[64];
    new_directory();
    write_once(7, 3);
    int fd = open(path, O_RDWR);
    ssize_t len = read(fd, bytes, sizeof bytes);
    cr_assert_gt(len, 0);
    for (ssize_t bit = 0; bit < len * 8; bit++) {
        uint8_t flipped = bytes[bit / 8] ^ (uint8_t)(1 << bit % 8);
        cr_assert_eq(pwrite(fd, &flipped, 1, bit / 8), 1);
        cr_assert_not(reopened().is_known, "bit %zd", bit);
        cr_assert_eq(pwrite(fd, &bytes[bit / 8], 1, bit / 8), 1);
    }
    cr_assert(reopened().is_known);
    for (off_t cut = len - 1; cut >= 0; cut--) {
        cr_assert_eq(ftruncate(fd, cut), 0);
        cr_assert_not(reopened().is_known, "cut to %ld", (long)cut);
    }
    close(fd);
    remove_all();
}

Test(ballot, is_the_truth_but_for_a_higher_term)
{
    struct ballot ballot = {.is_known = true, .term = 7, .vote = 3};
    static const struct {
        uint64_t term, vote;
        enum ballot_match match;
    } cases[] = {
        {7, 3, BALLOT_SAME},  {7, 0, BALLOT_NEWER},   {6, 2, BALLOT_NEWER},
        {7, 2, BALLOT_NEWER}, {8, 0, BALLOT_DAMAGED}, {8, 3, BALLOT_DAMAGED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct raft_dir found = {.term = cases[i].term, .vote = cases[i].vote};
        cr_assert_eq(ballot_compare(&ballot, &found), cases[i].match, "case %zu", i);
        ballot.is_known = false;
        cr_assert_eq(ballot_compare(&ballot, &found), BALLOT_UNKNOWN);
        ballot.is_known = true;
    }
}

Test(ballot, metadata_is_brought_up_to_date)
{
    struct raft_dir found;
    new_directory();
    cr_assert_eq(raft_dir_inspect(directory, &found), 0);
    cr_assert_eq(found.term, 0);
    for (uint64_t term = 1; term <= 3; term++) {
        cr_assert_eq(raft_dir_write_metadata(directory, &found, term, term + 10), 0);
        cr_assert_eq(raft_dir_inspect(directory, &found), 0);
        cr_assert_eq(found.metadata_version, term);
        cr_assert_eq(found.term, term);
        cr_assert_eq(found.vote, term + 10);
    }
    remove_all();
}
