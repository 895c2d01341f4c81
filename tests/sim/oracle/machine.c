#include "tests/sim/oracle/machine.h"

void machine_note_role(struct machine *machine)
{
    bool is_leading = coordinator_is_leading(machine->core);
    if (is_leading && !machine->was_leading && machine->stopped_ms >= 0) {
        machine->frozen_ms += machine->input_ms - machine->stopped_ms;
    }
    if (is_leading) {
        machine->stopped_ms = -1;
    }
    machine->was_leading = is_leading;
}

void machine_begin_serving(struct machine *machine)
{
    machine->serving_ms = machine->input_ms;
    machine->stopped_ms = -1;
    machine->was_leading = true;
    machine->frozen_ms = 0;
}
