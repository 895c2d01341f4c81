/* Closed loops: every connection always has [depth] requests on it. What a server's time per
 * request is measured with; the first line printed says when the loop begins, the last when it has
 * ended, so that the server's CPU time in between can be read from outside. */
#ifndef LOAD_STEADY_H
#define LOAD_STEADY_H

#include <stdbool.h>

#include "tests/load/crowd.h"

struct steady_options {
    bool commits; /* else heartbeats */
    bool raw; /* a floor program: members are made up, the first bootstrap address is the server */
    int connections;
    int depth;
    double seconds;
};

/* The crowd's members are formed and parked, or with [raw] made up here. Returns when the loop has
 * ended; false if a reply was not a success. */
bool steady_run(struct crowd *crowd, const struct steady_options *options);

#endif
