/* A truncation of the library's log, from before it begins until it is on the disk (L8).
 *
 * The library truncates file by file: it writes the file that contains the index anew, up to there,
 * and removes the old one and those behind it. A crash between these steps leaves files (two that
 * begin with the same entry, or a hole) with which it does not start any more, or of which, behind
 * a snapshot, it may take the wrong one. So the index is noted first; with it a start can tell what
 * happened, and finish it. What was to go was never committed, and nothing is appended behind it
 * before all is done (G11). */
#ifndef RAFTLOG_TRUNCATION_H
#define RAFTLOG_TRUNCATION_H

#include <stdint.h>

#include "raftlog/sector.h"

struct truncation {
    struct sector note; /* "truncation" */
    uint64_t index;     /* 0: none is on its way */
};

/* Opens the note in [dir], creating it. 0, or a negative errno. */
int truncation_open(struct truncation *truncation, const char *dir);
void truncation_close(struct truncation *truncation);

/* Before it is noted: makes durable what was renamed and removed in [path] so far, which the
 * library does not do everywhere. 0, or a negative errno. */
int truncation_prepare(const char *path);
/* Durably notes that the log is going to end before [index] (0: that it does). 0, or a negative
 * errno. */
int truncation_note(struct truncation *truncation, uint64_t index);

/* Whether a running library has truncated its log in [path] at [index]: no file holds entries from
 * there on, and that is durable. 1, 0: not yet; or a negative errno. Nothing may be appended behind
 * the truncation before. */
int truncation_is_done(const char *path, uint64_t index);

/* Before the library is opened: goes on from where it was, unless it had not begun and the library
 * would have to begin. All that this start has seen is durable then. The number of files removed,
 * or a negative errno. */
int truncation_finish(const char *path, uint64_t index);

#endif
