"""A node's log from its beginning, though snapshots cut it: the segments that the node has removed
are kept by its disk (lossfs: keep), and put before those that are left.

Which of several removed segments of the same entries counts? The one that was removed last: a
segment that is truncated is removed, and written anew.
"""

import pathlib
import re
import shutil

SEGMENT = re.compile(r"(\d{16})-(\d{16})$")
LOG = pathlib.Path("raft/raft")  # in a data directory


def segments(paths):
    """[(first entry, last entry, path)] of those that are closed segments."""
    found = []
    for path in paths:
        match = SEGMENT.search(path.name)
        if match:
            found.append((int(match[1]), int(match[2]), path))
    return found


def number(path):
    """Of a kept file: in the order of removals."""
    return int(path.name.split(".", 1)[0])


def chain(current, kept):
    """(the first entry that can be reached from those of [current] without a gap, the kept paths
    that lead there). [current], [kept]: paths."""
    there = segments(current)
    first = min((begin for begin, _, _ in there), default=0)
    by_end = {}
    for begin, end, path in sorted(segments(kept), key=lambda found: number(found[2])):
        by_end[end] = (begin, path)
    used = []
    while first > 1 and first - 1 in by_end:
        first, path = by_end[first - 1]
        used.append(path)
    return first, used


def assemble(data, kept, target):
    """Copies the directory [data] to [target], with the segments that were removed and without the
    snapshots that stand for them. True: its log begins with entry 1."""
    current = list((data / LOG).iterdir())
    first, used = chain(current, kept.iterdir())
    if first != 1:
        return False
    shutil.copytree(data, target, ignore=shutil.ignore_patterns("lock", "snapshot-*"))
    for path in used:
        shutil.copyfile(path, target / LOG / path.name.split(".", 1)[1])
    return True
