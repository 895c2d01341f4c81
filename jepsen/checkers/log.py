"""C2: the history against the log. The strongest check: order and outcomes are known.

Positions are (index, proposal). Each acknowledged commit stands in the log exactly once, accepted,
each refused one is nowhere accepted, positions rise in real time, each accepted commit was made
under the generation that its group had there by a member that it had, and each fetch equals the
state at one position between its begin and its end.

Where the log does not reach back to the first entry, what came before is taken from the snapshot
and operations that lie before it are not judged (`coverage`).
"""

import bisect
import collections

from ops import FOREVER, Sweep
from registers import NONE, identity
from verdict import Violation, seconds

BEGINNING = (0, 0)
END = (1 << 60, 0)


class Timeline:
    """A register through the log: positions and the value from there on."""

    def __init__(self):
        self.positions, self.values = [BEGINNING], [NONE]
        self.version = 0  # the batch that wrote the value, or the row's own word for it

    def put(self, position, value, version=None):
        self.version = position[0] if version is None else version
        if self.positions[-1] == position:
            self.values[-1] = value
        else:
            self.positions.append(position)
            self.values.append(value)

    def spans(self, value, lo, hi):
        """[(from, to)) within [lo, hi] in which the value stood."""
        at = max(0, bisect.bisect_right(self.positions, lo) - 1)
        while at < len(self.positions) and self.positions[at] <= hi:
            if self.values[at] == value:
                end = self.positions[at + 1] if at + 1 < len(self.positions) else END
                yield max(lo, self.positions[at]), end
            at += 1

    def at(self, position):
        return self.values[max(0, bisect.bisect_right(self.positions, position) - 1)]


class Replay:
    """What the covered records did, by their verdicts."""

    def __init__(self, log):
        self.timelines = collections.defaultdict(Timeline)
        self.commits = collections.defaultdict(list)  # value by register -> positions
        self.contents = {}
        self.generations = {}  # group -> (generation, names)
        self.contents_of = {}  # (group, generation) -> (protocol, leader, names, position)
        self.violations = []
        self.last = BEGINNING
        for fact in log.facts:
            self._fact(fact, (log.first - 1, 0))
        for index, number, record in log.records():
            self.last = (index, number + 1)
            verdict = record.get("verdict") or {}
            if verdict.get("error", 0) == 0:
                self._record(record["record"], record["body"], self.last)

    def _fact(self, fact, position):
        body, group = fact["body"], fact.get("group")
        if fact["row"] == "offsets":
            for offset in body["offsets"]:
                key = (group, body.get("topic_name"), offset["partition"])
                self.timelines[key].put(
                    position, identity(offset["offset"], offset["metadata"]), offset.get("version")
                )
        elif fact["row"] == "group":
            self.generations[body["name"]] = (body["generation"], None)

    def _record(self, kind, body, position):
        group = body.get("group_name")
        if kind == "offsets":
            self._offsets(group, body, position)
        elif kind == "offsets_deleted":
            for partition in body["partitions"]:
                self.timelines[group, body.get("topic_name"), partition].put(position, NONE)
        elif kind == "offsets_expired":
            for row in body["offsets"]:
                timeline = self.timelines[group, row.get("topic_name"), row["partition"]]
                if timeline.version == row["version"]:  # else committed meanwhile (R5)
                    timeline.put(position, NONE)
        elif kind == "group_deleted":
            self.generations.pop(group, None)
            self._clear(lambda key: key[0] == group, position)
        elif kind == "topic_deleted":
            self._clear(lambda key: key[1] == body.get("topic_name"), position)
        elif kind == "generation":
            self._generation(group, body, position)
        elif kind in ("members_removed", "member_replaced"):
            self._forget(group, kind, body)

    def _clear(self, is_meant, position):
        for key, timeline in self.timelines.items():
            if is_meant(key):
                timeline.put(position, NONE)

    def _forget(self, group, kind, body):
        generation, names = self.generations.get(group, (None, None))
        if names is None:
            return
        names = set(names)
        if kind == "members_removed":
            names -= set(body.get("members_name") or [])
        else:
            names.discard(body.get("old_name"))
            names |= {member["member_id"] for member in body.get("members") or []}
        self.generations[group] = (generation, names)

    def _generation(self, group, body, position):
        before = self.generations.get(group, (0, None))[0]
        if body["generation"] <= (before or 0):
            self.violations.append(
                Violation(
                    "I5",
                    "C2",
                    f"{group}: generation {body['generation']} was begun at {position[0]} after "
                    f"{before}",
                )
            )
        # Members that were staged in chunks stand in records of their own: the set is not known
        # here.
        names = {member["member_id"] for member in body["members"]} if body["members"] else None
        if names is not None and any(
            m.get("is_kept") and not m["member_id"] for m in body["members"]
        ):
            names = None
        self.generations[group] = (body["generation"], names)
        self.contents_of[group, body["generation"]] = (
            body.get("protocol_name"),
            body.get("leader"),
            position,
        )

    def _offsets(self, group, body, position):
        generation, names = self.generations.get(group, (None, None))
        member = body.get("member_name")
        if body["member"] and generation is not None:
            if body["generation"] != generation:
                self.violations.append(
                    Violation(
                        "I4",
                        "C2",
                        f"{group}: a commit of generation {body['generation']} was accepted at "
                        f"{position[0]}, where the generation is {generation}",
                    )
                )
            elif names is not None and member is not None and member not in names:
                self.violations.append(
                    Violation(
                        "I4",
                        "C2",
                        f"{group}: a commit of {member} was accepted at {position[0]}, where the "
                        f"members are {', '.join(sorted(names))}",
                    )
                )
        for offset in body["offsets"]:
            key = (group, body.get("topic_name"), offset["partition"])
            value = identity(offset["offset"], offset["metadata"])
            self.timelines[key].put(position, value)
            self.commits[key, value].append(position)
            self.contents[key, value] = (offset["offset"], offset["leader_epoch"])


class LogCheck:
    def __init__(self, history, log):
        self.history, self.log = history, log
        self.replay = Replay(log)
        self.positions = {}  # id(op) -> position
        self.coverage = {
            "first": log.first,
            "last": self.replay.last[0],
            "commits": 0,
            "fetches": 0,
            "resolved": 0,
            "share": 1.0,  # of the acknowledged commits, that are covered
        }

    def _at(self, time):
        return seconds(time, self.history.begin)

    def check(self):
        yield from self.log.violations
        yield from self.replay.violations
        if not self.log.batches:
            self.covered_from = FOREVER
            self._measure()
            return
        self.covered_from = self._covered_from()
        self._measure()
        yield from self._commits()
        yield from self._order()
        yield from self._fetches()
        yield from self._joins()

    def _covered_from(self):
        """From when on every operation's record lies in what is covered: 0 if the log is whole."""
        if self.log.first == 1:
            return -FOREVER
        ends = [
            op.ret
            for op in self.history.by_f["commit"]
            if op.kind == "ok" and any(self.replay.commits.get(key) for key in self._keys(op))
        ]
        return min(ends, default=FOREVER)

    def _measure(self):
        done = [op for op in self.history.by_f["commit"] if op.kind == "ok"]
        covered = sum(op.call > self.covered_from for op in done)
        self.coverage["share"] = round(covered / len(done), 4) if done else 1.0

    def _keys(self, op):
        for topic, partition, offset, _, metadata in op.value["parts"]:
            yield (op.group, topic, partition), identity(offset, metadata)

    def _commits(self):
        for op in self.history.by_f["commit"]:
            errors = {(t, p): error for t, p, error in op.answer.get("parts") or []}
            for key, value in self._keys(op):
                places = self.replay.commits.get((key, value), [])
                error = errors.get(key[1:], 0 if op.kind == "ok" else None)
                if places:
                    self.coverage["commits"] += 1
                    self.coverage["resolved"] += op.is_unknown
                    self.positions[id(op)] = places[0]
                story = None
                if op.kind == "ok" and error == 0 and not places and op.call > self.covered_from:
                    story, invariant = "was acknowledged, but is not in the log", "I2"
                elif len(places) > 1 and not op.may_repeat and value == self._metadata(op, key):
                    story, invariant = f"stands in the log {len(places)} times", "I1"
                elif (
                    op.is_refusal(error)
                    and places
                    and value == self._metadata(op, key)
                ):
                    story = f"was refused with {op.error or error}, but accepted at {places[0][0]}"
                    invariant = "I3"
                if story:
                    yield Violation(
                        invariant,
                        "C2",
                        f"{key[0]} {key[1]}/{key[2]}: the commit of {value} "
                        f"by process {op.process} {story}",
                        op.events(),
                        op.call,
                        op.ended,
                    )

    @staticmethod
    def _metadata(op, key):
        return next((m for t, p, _, _, m in op.value["parts"] if (t, p) == key[1:]), None)

    def _order(self):
        done = [op for op in self.history.by_f["commit"] if id(op) in self.positions]
        self.before = Sweep((op.ret, (self.positions[id(op)], op.index)) for op in done)
        by_index = {op.index: op for op in done}
        for op in done:
            best = self.before.before(op.call)
            if best and best[0] > self.positions[id(op)]:
                other = by_index[best[1]]
                yield Violation(
                    "I1",
                    "C2",
                    f"a commit sent at {self._at(op.call)} stands in the log before "
                    f"one that was acknowledged at {self._at(other.ret)}",
                    other.events() + op.events(),
                    other.call,
                    op.ended,
                )

    def _fetches(self):
        """Each at the earliest position that fits; later ones not before it."""
        starts = sorted(
            (op.call, self.positions[id(op)])
            for op in self.history.by_f["commit"]
            if id(op) in self.positions
        )
        times = [time for time, _ in starts]
        bounds, least = [END] * (len(starts) + 1), END
        for n in range(len(starts) - 1, -1, -1):
            least = min(least, starts[n][1])
            bounds[n] = least
        finished = []  # (ret, highest position so far), by ret
        ordered = sorted(
            (op for op in self.history.by_f["fetch"] if op.kind == "ok"), key=lambda op: op.ret
        )
        for op in ordered:
            if op.call <= self.covered_from:
                continue
            best = self.before.before(op.call)
            lo = best[0] if best else BEGINNING
            at = bisect.bisect_left(finished, (op.call,)) - 1
            if at >= 0:
                lo = max(lo, finished[at][1])
            hi = bounds[bisect.bisect_right(times, op.ret)]
            place = self._place(op, lo, hi)
            self.coverage["fetches"] += 1
            if place is None:
                yield self._misfit(op, lo, hi)
                continue
            highest = max(place, finished[-1][1]) if finished else place
            finished.append((op.ret, highest))

    def _reads(self, op):
        listed = set()
        for topic, partition, offset, _, metadata, error in op.answer.get("parts") or []:
            listed.add((op.group, topic, partition))
            if error == 0:
                yield (op.group, topic, partition), (
                    NONE if offset < 0 else identity(offset, metadata)
                )
        if op.value.get("parts") is None:
            for key in self.replay.timelines:
                if key[0] == op.group and key not in listed:
                    yield key, NONE

    def _place(self, op, lo, hi):
        """The first position in [lo, hi) at which all that was read stood."""
        reads = [(self.replay.timelines[key], value) for key, value in self._reads(op)]
        place = lo
        while place < hi:
            moved = False
            for timeline, value in reads:
                span = next(timeline.spans(value, place, hi), None)
                if span is None or span[0] >= hi:
                    return None
                if span[0] > place:
                    place, moved = span[0], True
            if not moved:
                return place
        return None

    def _misfit(self, op, lo, hi):
        reads = dict(self._reads(op))
        story = (
            "; ".join(
                f"{key[1]}/{key[2]} was read as {value}, the log has "
                f"{', '.join(self._values(key, lo, hi))}"
                for key, value in reads.items()
                if value not in self._values(key, lo, hi)
            )
            or "no single position has all of what was read"
        )
        return Violation(
            "I1",
            "C2",
            f"{op.group}: a fetch on {op.node} from {self._at(op.call)} to "
            f"{self._at(op.ret)}, between positions {lo[0]} and "
            f"{'the end' if hi == END else hi[0]}: {story}",
            op.events(),
            op.call,
            op.ret,
        )

    def _values(self, key, lo, hi):
        timeline = self.replay.timelines[key]
        begin = max(0, bisect.bisect_right(timeline.positions, lo) - 1)
        end = bisect.bisect_left(timeline.positions, hi)
        return timeline.values[begin : max(end, begin + 1)][:8]

    def _joins(self):
        """What a join was told is a generation in the log."""
        for op in self.history.by_f["join"]:
            if op.kind != "ok" or op.call <= self.covered_from:
                continue
            key = (op.group, op.answer["gen"])
            fact = self.replay.contents_of.get(key)
            if fact is None:
                if self.log.first == 1:
                    yield Violation(
                        "I5",
                        "C2",
                        f"{op.group}: a join was told generation {key[1]}, which is "
                        f"not in the log",
                        op.events(),
                        op.call,
                        op.ret,
                    )
            elif fact[0] != op.answer["protocol"]:
                yield Violation(
                    "I5",
                    "C2",
                    f"{op.group} generation {key[1]}: a join was told protocol "
                    f"{op.answer['protocol']}, the log says {fact[0]}",
                    op.events(),
                    op.call,
                    op.ret,
                )
