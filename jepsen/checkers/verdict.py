"""What a checker says."""

import dataclasses

MS = 1_000_000  # nanoseconds
S = 1000 * MS


@dataclasses.dataclass
class Violation:
    """One thing that must not be. [invariant]: "I1" to "I13", or "FORMAT" for a history that is not
    one. [checker]: "C1" to "C6". [text]: the story in words. [events]: indexes in the history.
    [begin], [end]: the time it spans, nanoseconds; end 0: no time in particular."""

    invariant: str
    checker: str
    text: str
    events: list = dataclasses.field(default_factory=list)
    begin: int = 0
    end: int = 0

    def as_dict(self):
        return dataclasses.asdict(self)


def seconds(ns, origin=0):
    return f"{(ns - origin) / S:.3f} s"
