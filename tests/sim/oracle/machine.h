/* A node, as the oracle sees it: its coordinator, how far its facts are, and the time of its
 * groups. Whoever runs the nodes keeps it up to date around each input of the coordinator. */
#ifndef TESTS_SIM_ORACLE_MACHINE_H
#define TESTS_SIM_ORACLE_MACHINE_H

#include "server/core/coordinator.h"
#include "server/core/state.h"
#include "tests/sim/life/life.h"

struct machine_own; /* what the simulation has to it besides */

struct machine {
    int at;
    uint64_t incarnation;     /* of its process */
    struct coordinator *core; /* NULL: down */
    uint64_t position;        /* proposals: where in the history its facts are */
    uint64_t term;            /* it leads this one, as far as it knows; 0: none */
    bool is_cut;              /* it leads no more, but has not heard of it */
    int64_t pauses_ms;        /* how long it stood still, all together */
    int64_t input_ms;         /* its own time, at its last input */

    /* The time of its groups stands still while it does not lead (R9). */
    bool was_leading;
    int64_t stopped_ms; /* since then; -1: it does not stand still */
    int64_t frozen_ms;
    int64_t serving_ms; /* when this term's leading began */
    struct machine_own *own;
};

/* A time that does not go on while the machine's groups stand still. */
static inline int64_t machine_group_ms(const struct machine *machine)
{
    return machine->input_ms - machine->frozen_ms;
}

/* After each input, and once before its effects are looked at. */
void machine_note_role(struct machine *machine);
/* It leads from now on. */
void machine_begin_serving(struct machine *machine);

#endif
