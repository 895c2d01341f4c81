"""The nodes' logs, as logdump prints them, joined into the one order that was committed.

Dumps of what the logs held earlier lead to the snapshot with which these begin, each one to that
of the one before it: what passes through a committed state has only committed entries up to there.

An entry is committed if a majority's dumps hold it under the same raft index and term, or a
snapshot covers it. Each committed batch appears once, with the verdicts of a node that applied it.
`first` is the index from which on the order is complete; the facts before it come from a snapshot.
"""

import collections
import json

from verdict import Violation


class Dump:
    """One node's: entries by raft index, and what the snapshot and the end say."""

    def __init__(self, name, lines):
        self.name = name
        self.entries, self.proposals = {}, collections.defaultdict(list)
        self.hashes = {}  # our index -> state hash
        self.snapshot, self.facts, self.end = None, [], None
        self.node = None
        for line in lines:
            self._take(line)

    def _take(self, line):
        kind = line.get("kind")
        if kind == "node":
            self.node = line
        elif kind == "snapshot":
            self.snapshot = line
            self.hashes[line["index"]] = line["hash"]
        elif kind == "fact":
            if self.snapshot is not None and line["at"] == self.snapshot["index"]:
                self.facts.append(line)
        elif kind == "entry":
            self.entries[line["raft_index"]] = line
            if line.get("hash"):
                self.hashes[line["index"]] = line["hash"]
        elif kind == "proposal":
            self.proposals[line["raft_index"]].append(line)
        elif kind == "end":
            self.end = line

    def replayed(self, last):
        """{index: proposals} of what it applied, up to the index [last]."""
        return {
            entry["index"]: self.proposals.get(raft_index, [])
            for raft_index, entry in self.entries.items()
            if entry["type"] == "command" and entry.get("replayed") and entry["index"] <= last
        }

    @property
    def last(self):
        covered = self.snapshot["raft_index"] if self.snapshot else 0
        return max(max(self.entries, default=0), covered)


def read_dump(path):
    with open(path, encoding="utf-8") as file:
        return Dump(path.stem, (json.loads(line) for line in file if line.endswith("\n")))


class Log:
    """batches: [(index, proposals)] in order, complete from `first` on; facts: the rows at first -
    1; violations: I11, where two dumps do not agree on what is committed. [earlier]: dumps, in the
    order in which they lead back."""

    def __init__(self, dumps, nodes_count=None, earlier=()):
        self.dumps = [d for d in dumps if d.end is not None]
        self.incomplete = [d.name for d in dumps if d.end is None]
        self.violations = []
        majority = (nodes_count or len(dumps)) // 2 + 1
        lasts = sorted((d.last for d in self.dumps), reverse=True)
        self.commit = lasts[majority - 1] if len(lasts) >= majority else 0
        self.batches, self.facts, self.first = [], [], 1
        self._join(earlier)

    def _join(self, earlier):
        self._compare()
        base = self._base()
        self.first = (base.snapshot["index"] if base and base.snapshot else 0) + 1
        self.facts = base.facts if base else []
        best = {}
        for dump in self.dumps:
            for raft_index, entry in dump.entries.items():
                if (
                    entry["type"] == "command"
                    and raft_index <= self.commit
                    and entry.get("index", 0) >= self.first
                    and entry.get("replayed")
                ):
                    best.setdefault(entry["index"], dump.proposals.get(raft_index, []))
        snapshot = base.snapshot if base else None
        for dump in earlier:
            if snapshot is None or dump.end is None:
                break
            if dump.hashes.get(snapshot["index"]) != snapshot["hash"]:
                break  # another node's dump begins earlier than the one that it leads to
            best.update(dump.replayed(snapshot["index"]))
            snapshot, self.facts = dump.snapshot, dump.facts
            self.first = (snapshot["index"] if snapshot else 0) + 1
        self.batches = sorted(best.items())

    def _base(self):
        """The dump whose replay begins earliest."""
        whole = [d for d in self.dumps if d.last >= self.commit] or self.dumps
        return min(whole, key=lambda d: d.snapshot["index"] if d.snapshot else 0, default=None)

    def _compare(self):
        seen = {}
        for dump in self.dumps:
            for raft_index, entry in dump.entries.items():
                if raft_index > self.commit:
                    continue
                what = (
                    entry["raft_term"],
                    entry["type"],
                    entry.get("origin"),
                    entry.get("session"),
                )
                other = seen.setdefault(raft_index, (what, dump.name))
                if other[0] != what and len(self.violations) < 20:
                    self.violations.append(
                        Violation(
                            "I11",
                            "C2",
                            f"committed entry {raft_index} is {what} on {dump.name} and "
                            f"{other[0]} on {other[1]}",
                        )
                    )

    def records(self):
        """(index, proposal's number in order, record) of all that is covered, verdicts included."""
        for index, proposals in self.batches:
            for number, proposal in enumerate(proposals):
                for record in proposal["records"]:
                    yield index, number, record
