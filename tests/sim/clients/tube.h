/* The simulation's side of a lane: a TCP connection to a node's listener. It begins, as every
 * client's, with ApiVersions; requests go out behind its answer. */
#ifndef TESTS_SIM_CLIENTS_TUBE_H
#define TESTS_SIM_CLIENTS_TUBE_H

#include "tests/sim/clients/lane.h"

enum { CORRELATION_GREETING = 0 };

struct wire {
    struct lane *lanes;
    struct message **messages; /* by correlation id; NULL: answered, or given up */
    int32_t messages_count, messages_cap;
    uint64_t greetings, broken, timeouts, replies;
};

void wire_open(struct life *life);
void wire_close(struct life *life);
/* NULL: no such message, or nobody minds it any more. */
struct message *wire_find(struct life *life, int32_t correlation_id);
/* A coordinator has answered it, or never will. */
void wire_forget(struct life *life, struct message *message);
/* The client gets nothing more of what a node that has ended would have sent it. */
void wire_break_some(struct life *life, int per_mille);

#endif
