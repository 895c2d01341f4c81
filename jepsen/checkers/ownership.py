"""I6: one owner.

Classic groups: in each generation what SyncGroup hands out is what the elected leader sent, to each
member its part; the parts are disjoint and cover the partitions of all topics that were asked for.
Real clients say what they own by their callbacks: no two own a partition at once, except that one
which was stopped or cut off does not know yet that it was evicted. And nobody commits what has not
been processed.
"""

import collections

from generations import flat
from ops import FOREVER
from verdict import MS, Violation, seconds

SLACK = 300 * MS  # callbacks of two programs reach the history through two pipes


class Ownership:
    def __init__(self, history, generations):
        self.history, self.generations = history, generations

    def _at(self, time):
        return seconds(time, self.history.begin)

    def check(self):
        for group, ops in self.history.by_group.items():
            life = self.generations.lives[group]
            if not life.is_mortal:
                yield from self._assignments(group, life, ops)
        yield from self._callbacks()
        yield from self._processed()

    # ---- Assignments ----

    def _assignments(self, group, life, ops):
        sent, got, topics, leaders, sets = self._collect(life, ops)
        for gen, received in got.items():
            yield from self._compare(
                group, gen, sent.get(gen, []), received, leaders.get(gen), life
            )
            yield from self._disjoint(group, gen, received)
        for gen, members in sets.items():
            received = got.get(gen, [])
            if members and members <= {member for member, _ in received}:
                yield from self._covering(group, gen, received, members, topics)

    def _collect(self, life, ops):
        sent, got = collections.defaultdict(list), collections.defaultdict(list)
        topics, leaders, sets = {}, {}, {}
        for op in ops["join"]:
            if op.kind == "ok":
                gen = op.answer["gen"]
                topics[life.name(op.answer["member"])] = op.value.get("topics") or []
                leaders[gen] = life.name(op.answer["leader"])
                if op.answer.get("members"):
                    sets[gen] = {life.name(member) for member, _ in op.answer["members"]}
        for op in ops["sync"]:
            if op.value.get("assignments") and op.kind != "fail":
                sent[op.value["gen"]].append(op)
            if op.kind == "ok":
                got[op.value["gen"]].append((life.name(op.value["member"]), op))
        return sent, got, topics, leaders, sets

    def _compare(self, group, gen, sent, received, leader, life):
        """All that was received fits one of the requests of the leader."""
        by_leader = [op for op in sent if leader is None or life.name(op.value["member"]) == leader]
        if not by_leader:
            if sent and any(flat(op.answer["assignment"]) for _, op in received):
                yield Violation(
                    "I6",
                    "C4",
                    f"{group} generation {gen}: assignments were handed out, "
                    f"but the leader {leader} sent none",
                    sent[0].events(),
                    sent[0].call,
                    sent[0].ended,
                )
            return
        complaints = []
        for op in by_leader:
            wanted = {
                life.name(member): flat(parts) for member, parts in op.value["assignments"].items()
            }
            wrong = [
                (member, got)
                for member, got in received
                if flat(got.answer["assignment"]) != wanted.get(member, frozenset())
            ]
            if not wrong:
                return
            complaints.append((op, wrong[0], wanted))
        op, (member, got), wanted = complaints[0]
        yield Violation(
            "I6",
            "C4",
            f"{group} generation {gen}: {member} got {_plain(got.answer['assignment'])} at "
            f"{self._at(got.ret)}, the leader sent it {_plain_flat(wanted.get(member, ()))}",
            op.events() + got.events(),
            op.call,
            got.ret,
        )

    def _disjoint(self, group, gen, received):
        owner = {}
        for member, op in received:
            for partition in flat(op.answer["assignment"]):
                holder, other = owner.setdefault(partition, (member, op))
                if holder != member:
                    yield Violation(
                        "I6",
                        "C4",
                        f"{group} generation {gen}: {partition[0]}/{partition[1]} was given to "
                        f"{other.value['member']} and to {op.value['member']}",
                        other.events() + op.events(),
                        min(op.call, other.call),
                        max(op.ret, other.ret),
                    )
                    return

    def _covering(self, group, gen, received, members, topics):
        counts = self.history.options.get("topics") or {}
        wanted = {
            (topic, p)
            for member in members
            for topic in topics.get(member, [])
            for p in range(counts.get(topic, 0))
        }
        given = set().union(*(flat(op.answer["assignment"]) for _, op in received))
        missing = sorted(wanted - given)
        if missing:
            last = max((op for _, op in received), key=lambda op: op.ret)
            yield Violation(
                "I6",
                "C4",
                f"{group} generation {gen}: nobody was given "
                f"{', '.join(f'{t}/{p}' for t, p in missing[:5])}",
                last.events(),
                last.call,
                last.ret,
            )

    # ---- Callbacks of real clients ----

    def _callbacks(self):
        spans = self._spans()
        for key, those in spans.items():
            those.sort(key=lambda span: span.begin)
            for n, later in enumerate(those):
                for earlier in those[max(0, n - 20) : n]:
                    if (
                        earlier.process == later.process
                        or earlier.end <= later.begin + SLACK
                        or later.end <= later.begin + SLACK
                    ):
                        continue
                    story = self._unexcused(earlier, later)
                    if story:
                        group, topic, partition = key
                        yield Violation(
                            "I6",
                            "C4",
                            f"{group}: {topic}/{partition} was assigned to {later.process} at "
                            f"{self._at(later.begin)} while {earlier.process} owned it since "
                            f"{self._at(earlier.begin)}{story}",
                            [earlier.event, later.event],
                            earlier.begin,
                            later.begin,
                        )

    def _spans(self):
        """{(group, topic, partition): [when a process owned it by its own word]}"""
        spans, open_ = collections.defaultdict(list), {}
        for event in self._events():
            value, process = event["value"], event["process"]
            if event["f"] == "life":
                if value["what"] in ("kill", "close"):
                    for key in [k for k in open_ if k[0] in (process, event.get("client"))]:
                        open_.pop(key).end = event["time"]
                continue
            for topic, partitions in value.get("parts") or []:
                for partition in partitions:
                    key = (process, value["group"], topic, partition)
                    if event["f"] == "assigned":
                        if key in open_:
                            open_.pop(key).end = event["time"]
                        open_[key] = span = Span(event)
                        spans[key[1:]].append(span)
                    elif key in open_:
                        open_.pop(key).end = event["time"]
        return spans

    def _events(self):
        return sorted(self.history.callbacks + self.history.life, key=lambda event: event["index"])

    def _unexcused(self, earlier, later):
        """Why two owners at once are no zombie's ignorance; None if they may be."""
        if earlier.gen is not None and earlier.gen == later.gen:
            return f", both in generation {later.gen}"
        patience = int(self.history.options.get("zombie_ms", 60_000) * MS)
        if any(
            fault.begin <= later.begin
            and fault.end >= earlier.begin
            and fault.end >= later.begin - patience
            for fault in self.history.faults
        ):
            return None
        for event in self.history.life:
            if (
                event["value"]["what"] in ("pause", "resume")
                and event["process"] in (earlier.process, later.process)
                and later.begin - patience <= event["time"] <= later.begin
            ):
                return None
        return ", and nothing had stopped or cut off either"

    def _processed(self):
        """A real client commits only what it has processed."""
        reached = {}
        marks = [(e["time"], 0, e) for e in self.history.processed]
        marks += [(op.call, 1, op) for op in self.history.by_f["commit"]]
        groups = {e["value"]["group"] for e in self.history.processed}
        for _, is_commit, what in sorted(marks, key=lambda mark: mark[:2]):
            if not is_commit:
                value = what["value"]
                key = (value["group"], value["topic"], value["partition"])
                reached[key] = max(reached.get(key, -1), value["offset"])
            elif what.group in groups:
                for topic, partition, offset, _, _ in what.value["parts"]:
                    done = reached.get((what.group, topic, partition), -1)
                    if offset > done:
                        yield Violation(
                            "I6",
                            "C4",
                            f"{what.group}: process {what.process} commits {offset} on "
                            f"{topic}/{partition}, but only {done} has been processed",
                            what.events(),
                            what.call,
                            what.ended,
                        )


class Span:
    __slots__ = ("process", "gen", "begin", "end", "event")

    def __init__(self, event):
        self.process, self.gen = event["process"], event["value"].get("gen")
        self.begin, self.end, self.event = event["time"], FOREVER, event["index"]


def _plain(assignment):
    return _plain_flat(flat(assignment))


def _plain_flat(partitions):
    return "{" + ", ".join(f"{topic}/{p}" for topic, p in sorted(partitions)) + "}"
