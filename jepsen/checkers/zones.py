"""C1: is each register linearizable? Exact, O(n log n), for registers whose values are unique.

Gibbons and Korach: all that touches one value is its cluster. With f the earliest end and s the
latest begin in a cluster, f < s means that the value was there all the time from f to s (a forward
zone); else the cluster fits into one moment anywhere in [s, f] (a backward zone). The register is
linearizable if and only if no read ends before its write begins, no two forward zones overlap and
no backward zone lies inside a forward one. Writes of unknown outcome that nobody read are left out:
they may never have happened.
"""

import bisect

from ops import FOREVER
from registers import NONE, describe
from verdict import Violation, seconds


class Zone:
    __slots__ = ("value", "write", "first", "last", "f", "s")

    def __init__(self, value, write, reads):
        self.value, self.write = value, write
        accesses = reads if write is None else [write, *reads]
        self.first = min(accesses, key=lambda a: a.hi)  # whose end is f
        self.last = max(accesses, key=lambda a: a.lo)  # whose begin is s
        self.f = self.first.hi if write is not None else -FOREVER
        self.s = self.last.lo

    @property
    def is_forward(self):
        return self.f < self.s


def find_zones(register):
    """(zones, violations). Of the initial NONE: a zone from the beginning of time."""
    reads = {}
    for access in register.reads:
        reads.setdefault(access.value, []).append(access)
    zones, early = [], []
    for value in set(register.writes) | set(reads):
        write = register.writes.get(value)
        those = reads.get(value, [])
        if write is not None and not those and not write.is_sure:
            continue
        for read in those:
            if write is not None and read.hi < write.lo:
                early.append((read, write))
        zones.append(Zone(value, write, those))
    return zones, early


def check_register(register, origin=0):
    """The first violation of I1 in a register without ambiguous values, or None."""
    zones, early = find_zones(register)
    if early:
        read, write = early[0]
        return _violation(
            register,
            [read, write],
            f"{describe(read)} ended at "
            f"{seconds(read.hi, origin)}, before its commit can have taken effect",
        )
    forward = sorted((z for z in zones if z.is_forward), key=lambda z: z.f)
    for before, after in zip(forward, forward[1:]):
        if after.f < before.s:
            return _broken(register, before, after, origin)
    begins = [z.f for z in forward]
    for zone in zones:
        if zone.is_forward:
            continue
        at = bisect.bisect_left(begins, zone.s) - 1
        if at >= 0 and forward[at].s > zone.f:
            return _broken(register, forward[at], zone, origin)
    return None


def _broken(register, outer, inner, origin):
    """[outer]'s value was there before and after a moment at which [inner]'s must have been."""
    begin = (
        "from the beginning"
        if outer.value == NONE
        else f"at {seconds(outer.f, origin)} ({describe(outer.first)})"
    )
    text = (
        f"{outer.value} was there {begin} and still at {seconds(outer.s, origin)} "
        f"({describe(outer.last)}), yet {inner.value} was in between ({describe(inner.first)}, "
        f"{seconds(inner.first.lo, origin)} to {seconds(inner.first.hi, origin)})"
    )
    return _violation(register, [outer.first, inner.first, inner.last, outer.last], text)


def _violation(register, accesses, text):
    events = sorted({index for access in accesses for index in access.op.events()})
    ends = [a.op.ended for a in accesses if a.op.ended < FOREVER]
    return Violation(
        "I1",
        "C1",
        f"{register}: {text}",
        events,
        min(a.op.call for a in accesses),
        max(ends + [a.op.call for a in accesses]),
    )
