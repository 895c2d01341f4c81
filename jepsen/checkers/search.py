"""C1 for registers whose values are not unique: deleted ones, and those that may expire. Exact, by
search: the states in which the register can be, moved on from event to event.

A configuration is (value, how many deletions of unknown outcome have taken effect, which of the
open operations have). When an operation ends, only configurations survive in which it has. Reads
take effect as soon as they can: they change nothing. Deletions of unknown outcome are all alike
once they have been asked for, never end, and matter only where none is read: there one is used, if
there is one left, and of two configurations that differ in this alone the one that has used fewer
can do all the other can. The number of configurations is bounded by how many writes are open at
once; beyond STATES_MAX the answer is "not decided", which fails a run.
"""

from ops import FOREVER
from registers import NONE, describe
from verdict import Violation, seconds

STATES_MAX = 200_000


class Undecided(Exception):
    pass


def check_register(register, retention=None, origin=0):
    """The first violation of I1, or None. [retention], ns: how long after its commit an offset may
    be forgotten; None: never."""
    accesses = _relevant(register)
    events = sorted(
        [(a.lo, 0, i) for i, a in enumerate(accesses)]
        + [(a.hi, 1, i) for i, a in enumerate(accesses) if a.hi < FOREVER]
    )
    search = _Search(accesses, retention)
    try:
        for time, is_end, i in events:
            if not is_end:
                search.begin(i)
            elif not search.end(i, time):
                return _violation(register, accesses[i], search.values_before, origin)
    except Undecided:
        return Violation("I1", "C1", f"{register}: too many operations at once; not decided")
    return None


def _relevant(register):
    """All accesses but writes of unknown outcome that nobody read. One whose value was read, and
    that only it has written, took effect before that read's end."""
    read_by = {}
    for access in register.reads:
        read_by[access.value] = min(read_by.get(access.value, FOREVER), access.hi)
    twice = {access.value for access in register.extra}
    kept = []
    for access in register.accesses():
        if access.is_write and not access.is_sure:
            if access.value not in read_by:
                continue
            if access.value != NONE and access.value not in twice:
                access.hi = min(access.hi, read_by[access.value])
                access.is_sure = True
        kept.append(access)
    return kept


class _Search:
    def __init__(self, accesses, retention):
        self.accesses, self.retention = accesses, retention
        self.open = set()
        self.configurations = {(NONE, 0, frozenset())}
        self.deletions = 0  # of unknown outcome, that have been asked for
        self.values_before = set()
        self.written = {}  # value -> earliest moment it can have been written
        for access in accesses:
            if access.is_write:
                self.written[access.value] = min(self.written.get(access.value, FOREVER), access.lo)

    def begin(self, i):
        access = self.accesses[i]
        if access.value == NONE and access.is_write and not access.is_sure:
            self.deletions += 1
            return
        self.open.add(i)
        if not access.is_write:
            self.configurations = {
                (value, used, done | {i} if value == access.value else done)
                for value, used, done in self.configurations
            }

    def end(self, i, time):
        """False: in no configuration can operation [i] have taken effect by now."""
        self.values_before = {value for value, _, _ in self.configurations}
        reached = self._reach(i, time)
        if self.accesses[i].is_write and not self.accesses[i].is_sure:
            reached |= self.configurations
        self.open.discard(i)
        least = {}
        for value, used, done in reached:
            key = (value, done - {i})
            least[key] = min(used, least.get(key, used))
        self.configurations = {(value, used, done) for (value, done), used in least.items()}
        return bool(self.configurations)

    def _reach(self, i, time):
        found, seen, stack = set(), set(), list(self.configurations)
        while stack:
            configuration = stack.pop()
            if configuration in seen:
                continue
            seen.add(configuration)
            if len(seen) > STATES_MAX:
                raise Undecided
            value, used, done = configuration
            if i in done:
                found.add(configuration)
                continue  # what else could be done by now can be done later as well
            for k in self.open - done:
                if self.accesses[k].is_write:
                    stack.append(self._settle(self.accesses[k].value, used, done | {k}))
            if value != NONE and any(self._wants_none(k) for k in self.open - done):
                if used < self.deletions:
                    stack.append(self._settle(NONE, used + 1, done))
                if self.retention is not None and time >= self.written[value] + self.retention:
                    stack.append(self._settle(NONE, used, done))
        return found

    def _wants_none(self, k):
        return not self.accesses[k].is_write and self.accesses[k].value == NONE

    def _settle(self, value, used, done):
        reads = {
            k
            for k in self.open
            if not self.accesses[k].is_write and self.accesses[k].value == value
        }
        return value, used, done | reads


def _violation(register, access, values, origin):
    could = ", ".join(sorted(values))
    return Violation(
        "I1",
        "C1",
        f"{register}: {describe(access)}, {seconds(access.op.call, origin)} to "
        f"{seconds(access.op.ended, origin)}, fits nowhere: before it the value can only have been "
        f"{could}",
        access.op.events(),
        access.op.call,
        min(access.op.ended, access.hi),
    )
