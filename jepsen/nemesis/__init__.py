"""Nemeses: what goes wrong, one file per family (base.py says what a fault is)."""

from nemesis import (clients, clocks, connections, corruption, cpu, crash, disks, flaky, operator,
                     partition, pause, restart)

FAMILIES = {module.__name__.rsplit(".", 1)[1]: module.FAULTS
            for module in (partition, flaky, connections, crash, pause, cpu, disks, corruption,
                           clocks, clients, restart, operator)}
FAULTS = {fault.name: fault for faults in FAMILIES.values() for fault in faults}


def named(words):
    """The faults of these families and names, without doubles."""
    found = {}
    for word in words:
        some = FAMILIES.get(word) or [FAULTS[word]]
        found.update((fault.name, fault) for fault in some)
    return list(found.values())
