"""I2: what was acknowledged or read is never taken back.

Beside the exact check, and independent of it: at the begin of each read, what has certainly been in
effect (an acknowledged commit, a value that an earlier read returned) bounds what it may return. A
value whose commit was certainly over before that one's commit can have begun is a regression.
"""

from ops import FOREVER
from registers import NONE, describe
from verdict import Violation, seconds


def check_register(register, can_expire=False, origin=0):
    """Violations of one register; [] where values are not unique. One per lost value is told.
    [can_expire]: an offset may be gone."""
    if register.extra:
        return []
    marks = [(w.hi, 1, w.lo, n, w) for n, w in enumerate(register.writes.values()) if w.is_sure]
    for n, read in enumerate(register.reads):
        write = register.writes.get(read.value)
        if write is not None:
            marks.append((read.hi, 1, write.lo, n, read))
    asks = [(read.lo, 0, 0, n, read) for n, read in enumerate(register.reads)]
    latest, found, told = (-FOREVER, None), [], set()
    for _, is_mark, lo, _, access in sorted(marks + asks, key=lambda m: m[:4]):
        if is_mark:
            latest = max(latest, (lo, access), key=lambda pair: pair[0])
        elif can_expire and access.value == NONE:
            continue
        elif _last_moment(register, access) < latest[0] and latest[1].value not in told:
            told.add(latest[1].value)
            found.append(_violation(register, access, latest[1], origin))
    return found


def _last_moment(register, read):
    if read.value != NONE:
        return register.writes[read.value].hi
    return max((d.hi for d in register.deletes if d.lo <= read.hi), default=-FOREVER)


def _violation(register, read, known, origin):
    return Violation(
        "I2",
        "C1",
        f"{register}: {describe(read)} at {seconds(read.lo, origin)} returned {read.value}, "
        f"although {known.value} was in effect by {seconds(known.hi, origin)} ({describe(known)}) "
        f"and was committed later than that",
        known.op.events() + read.op.events(),
        known.op.call,
        read.hi,
    )
