/* Connections: requests and replies as bytes of their versions, one after the other. A connection
 * (a lane) is what a client holds; the server's side works as the shell does (R12): commits may be
 * in flight together, any other call waits for those before it, replies leave in order. */
#ifndef TESTS_CORE_RANDOM_WIRE_H
#define TESTS_CORE_RANDOM_WIRE_H

#include "tests/sim/clients/lane.h"

struct wire {
    struct lane *lanes;
    uint64_t next_entropy;
};

/* ---- For cluster.c ---- */

void wire_answered(struct life *life, int machine, struct call *call, const void *response);
/* The machine's process is gone: its connections break. */
void wire_crashed(struct life *life, int machine);
/* The machine is cut off from the others: half of its clients are on their side. */
void wire_cut(struct life *life, int machine);
/* Calls that should have been answered by now. */
void wire_check(struct life *life);
void wire_close(struct life *life);

#endif
