"""What a node's log held before snapshots cut it: its disk keeps the segments and snapshots that
the node removes (lossfs: keep).

A piece is a copy of a data directory with segments that follow on each other, and with a snapshot
where they do not begin with the first entry. Which of several removed segments that end with the
same entry counts? The one that was removed last: a segment that is truncated is removed, and
written anew. What a piece says may still be of entries that were never committed; who uses it has
to compare states (../checkers/dumps.py).
"""

import dataclasses
import pathlib
import re
import shutil

SEGMENT = re.compile(r"(\d{16})-(\d{16})$")
SNAPSHOT = re.compile(r"snapshot-\d+-(\d+)-\d+$")
LOG = pathlib.Path("raft/raft")  # in a data directory


@dataclasses.dataclass
class Piece:
    data: pathlib.Path  # what the rest of the directory is like
    start: int  # the entry before the first that is applied
    end: int
    paths: list  # segments and a snapshot

    def assemble(self, target):
        """Makes the directory [target]."""
        shutil.copytree(self.data, target, ignore=shutil.ignore_patterns(
            "lock", "snapshot-*", "open-*", "????????????????-????????????????"))
        for path in self.paths:
            shutil.copyfile(path, target / LOG / original(path))


def original(path):
    """The name without the number of its removal."""
    return path.name.split(".", 1)[1] if path.parent.name == "kept" else path.name


def removal(path):
    """Its number in the order of removals; of what is still there: greater than all."""
    return int(path.name.split(".", 1)[0]) if path.parent.name == "kept" else 1 << 62


def segments(paths):
    """[(first entry, last entry, path)] of closed segments, in the order of their removal."""
    found = [(SEGMENT.search(path.name), path) for path in paths]
    rows = [(int(match[1]), int(match[2]), path) for match, path in found if match]
    return sorted(rows, key=lambda row: (removal(row[2]), row[1]))


def chains(paths):
    """[(first entry, last entry, paths)]: each goes back as far as it can from the newest segment
    that no chain has yet."""
    rows = segments(paths)
    by_end = {end: (begin, path) for begin, end, path in rows}
    taken, found = set(), []
    for begin, end, path in reversed(rows):
        if path in taken:
            continue
        first, used = begin, [path]
        taken.add(path)
        while first - 1 in by_end and by_end[first - 1][1] not in taken:
            first, path = by_end[first - 1]
            used.append(path)
            taken.add(path)
        found.append((first, end, used))
    return found


def pieces(data, kept):
    """Those of one node. [kept]: where its disk puts what was removed."""
    paths = [*(data / LOG).iterdir(), *kept.iterdir()]
    metas = {original(path): path for path in paths if original(path).endswith(".meta")}
    snapshots = []
    for path in paths:
        match = SNAPSHOT.search(original(path))
        meta = metas.get(original(path) + ".meta")
        if match and meta is not None:
            snapshots.append((int(match[1]), [path, meta]))
    snapshots.sort(key=lambda row: row[0])
    found = []
    for first, end, used in chains(paths):
        if first == 1:
            found.append(Piece(data, 0, end, used))
            continue
        fitting = [row for row in snapshots if first - 1 <= row[0] < end]
        if fitting:
            index, files = fitting[0]
            found.append(Piece(data, index, end, used + files))
    return found


def before(candidates, index):
    """Of [candidates], those that lead to the entry [index] from an earlier one; the longest
    first."""
    fitting = [piece for piece in candidates if piece.start < index <= piece.end]
    return sorted(fitting, key=lambda piece: piece.start)
