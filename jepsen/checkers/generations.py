"""I4 fencing and I5 generations, and when each generation can have lived.

A generation is *seen* when an ok that presupposes it has arrived. From the first sight of a greater
one on, it is over: what is asked under it afterwards must be refused, and what was accepted under
it was accepted before. Groups that are deleted begin anew, so nothing is concluded across a
deletion.

Heartbeats and SyncGroups are answered from what a node knows: that a leader which is about to hear
that it was deposed says ok to an old one is harmless, and no violation.
"""

import bisect
import collections

from ops import FOREVER, Sweep
from verdict import Violation, seconds

NEVER = -FOREVER


class Life:
    """What is known about one group's generations."""

    def __init__(self, ops, can_vanish):
        self.can_vanish = can_vanish
        self.deletions = [op for op in ops["delete_group"] if op.kind != "fail"]
        self.instances = {}  # member id -> instance
        self.sights = []  # (ret, gen, op index, op)
        self.births = {}  # gen -> earliest moment it can have begun
        self._read_joins(ops["join"])
        for f in ("sync", "heartbeat", "commit"):
            for op in ops[f]:
                if op.kind == "ok" and op.value["gen"] >= 0:
                    self.sights.append((op.ret, op.value["gen"], op.index, op))
        self.is_mortal = can_vanish or bool(self.deletions)
        self._deaths = self._find_deaths()
        self._gens = [gen for gen, _ in self._deaths]
        self.seen = Sweep((time, (gen, -time, index, op)) for time, gen, index, op in self.sights)

    def _read_joins(self, joins):
        lost = min((op.call for op in joins if op.is_unknown), default=FOREVER)
        for op in joins:
            if op.kind != "ok":
                continue
            gen = op.answer["gen"]
            self.sights.append((op.ret, gen, op.index, op))
            # A join whose answer was lost may have begun what a later one was told of.
            self.births[gen] = min(self.births.get(gen, FOREVER), op.call, lost)
            if op.value.get("instance"):
                self.instances[op.answer["member"]] = op.value["instance"]
            for member, instance in op.answer.get("members") or []:
                if instance:
                    self.instances[member] = instance

    def _find_deaths(self):
        firsts = {}
        for time, gen, _, op in self.sights:
            if gen not in firsts or time < firsts[gen][0]:
                firsts[gen] = (time, op)
        deaths, best = [], (FOREVER, None)
        for gen in sorted(firsts, reverse=True):
            deaths.append((gen, best))
            best = min(best, firsts[gen], key=lambda pair: pair[0])
        deaths.append((NEVER, best))
        return deaths[::-1]  # rising in gen; entry (g, first sight of any above g)

    def death(self, gen):
        """The first sight of a greater generation: (time, op)."""
        if self.is_mortal:
            return FOREVER, None
        return self._deaths[bisect.bisect_right(self._gens, gen) - 1][1]

    def birth(self, gen):
        return NEVER if self.is_mortal else self.births.get(gen, NEVER)

    def name(self, member):
        """A static member keeps its place in the generation under a new id: its instance is its
        name."""
        return self.instances.get(member, member)

    def can_be_reborn(self, begin, end):
        return self.can_vanish or any(op.call <= end and op.ret >= begin for op in self.deletions)


class Generations:
    def __init__(self, history):
        self.history = history
        can_vanish = history.options.get("retention_ms") is not None
        self.lives = {group: Life(ops, can_vanish) for group, ops in history.by_group.items()}

    def clip(self, op):
        """(lo, hi): between which an accepted commit took effect."""
        gen = op.value["gen"]
        life = self.lives[op.group]
        if gen < 0:
            return op.call, op.ret
        lo, hi = max(op.call, life.birth(gen)), min(op.ret, life.death(gen)[0])
        return (lo, hi) if lo <= hi else (op.call, op.ret)  # a violation of I4, told elsewhere

    def last_moment(self, op):
        """Until when a commit of unknown outcome may have taken effect."""
        gen = op.value["gen"]
        return FOREVER if gen < 0 else max(op.call, self.lives[op.group].death(gen)[0])

    def check(self):
        for group, life in self.lives.items():
            ops = self.history.by_group[group]
            yield from self._fencing(group, life, ops)
            yield from self._instances(group, life, ops)
            yield from self._left(group, life, ops)
            yield from self._simple(group, life, ops)
            yield from self._monotonic(group, life, ops)
            yield from self._contents(group, life, ops)

    def _at(self, time):
        return seconds(time, self.history.begin)

    # ---- I4 ----

    def _fencing(self, group, life, ops):
        for op in ops["commit"]:
            gen = op.value["gen"]
            if op.kind != "ok" or gen < 0:
                continue
            seen = life.seen.before(op.call)
            if seen and seen[0] > gen and not life.can_be_reborn(seen[3].call, op.ret):
                other = seen[3]
                yield Violation(
                    "I4",
                    "C4",
                    f"{group}: a commit of generation {gen} was accepted; it was sent at "
                    f"{self._at(op.call)}, when generation {seen[0]} had been seen at "
                    f"{self._at(other.ret)} ({other.f})",
                    other.events() + op.events(),
                    other.ret,
                    op.ret,
                )
            elif op.ret < life.birth(gen):
                yield Violation(
                    "I4",
                    "C4",
                    f"{group}: a commit of generation {gen} was accepted at "
                    f"{self._at(op.ret)}, before anybody had sent the join that began it",
                    op.events(),
                    op.call,
                    op.ret,
                )

    def _instances(self, group, life, ops):
        """Who was replaced under its instance id is fenced for ever."""
        joins = collections.defaultdict(list)
        for op in ops["join"]:
            if op.kind == "ok" and op.value.get("instance"):
                joins[op.value["instance"]].append(op)
        replaced = {}  # member -> the first join that surely came after all of its own
        for those in joins.values():
            last = {}
            for op in those:
                last[op.answer["member"]] = max(last.get(op.answer["member"], NEVER), op.ret)
            for op in sorted(those, key=lambda op: op.ret):
                for member, ret in last.items():
                    if member != op.answer["member"] and ret < op.call:
                        replaced.setdefault(member, op)
        for op in ops["commit"]:
            by = replaced.get(op.value.get("member"))
            if (
                op.kind == "ok"
                and by is not None
                and by.ret < op.call
                and not life.can_be_reborn(by.call, op.ret)
            ):
                yield Violation(
                    "I4",
                    "C4",
                    f"{group}: a commit of member {op.value['member']} was accepted after "
                    f"{by.answer['member']} had taken its place as {by.value['instance']} at "
                    f"{self._at(by.ret)}",
                    by.events() + op.events(),
                    by.ret,
                    op.ret,
                )

    def _left(self, group, life, ops):
        """Who has left does not commit."""
        last_join = collections.defaultdict(lambda: NEVER)
        for op in ops["join"]:
            for member in {op.value.get("member"), op.answer.get("member")} - {None, ""}:
                last_join[member] = max(last_join[member], op.call)
        gone = {}
        for op in ops["leave"]:
            member = op.value.get("member")
            if op.kind == "ok" and last_join[member] < op.call and member not in gone:
                gone[member] = op
        for op in ops["commit"]:
            leave = gone.get(op.value.get("member"))
            if op.kind == "ok" and op.value["gen"] >= 0 and leave and leave.ret < op.call:
                yield Violation(
                    "I4",
                    "C4",
                    f"{group}: a commit of member {op.value['member']} was accepted after "
                    f"it had left at {self._at(leave.ret)}",
                    leave.events() + op.events(),
                    leave.ret,
                    op.ret,
                )

    def _simple(self, group, life, ops):
        """A commit without a generation is for groups without members."""
        simple = [op for op in ops["commit"] if op.kind == "ok" and op.value["gen"] < 0]
        if not simple:
            return
        leaves = collections.defaultdict(list)
        for op in ops["leave"]:
            leaves[op.value.get("member")].append(op.call)
        signs = collections.defaultdict(list)
        for f in ("join", "heartbeat", "sync"):
            for op in ops[f]:
                if op.kind == "ok":
                    signs[op.answer.get("member") or op.value.get("member")].append(op)
        for op in simple:
            for member, those in signs.items():
                before = max(
                    (o for o in those if o.ret < op.call), key=lambda o: o.ret, default=None
                )
                after = min(
                    (o for o in those if o.call > op.ret and o.f != "join"),
                    key=lambda o: o.call,
                    default=None,
                )
                if (
                    before
                    and after
                    and not any(before.call <= t <= after.ret for t in leaves[member])
                ):
                    yield Violation(
                        "I4",
                        "C4",
                        f"{group}: a commit without a generation was accepted while "
                        f"{member} was a member",
                        before.events() + op.events() + after.events(),
                        before.ret,
                        op.ret,
                    )
                    break

    # ---- I5 ----

    def _monotonic(self, group, life, ops):
        joins = [op for op in ops["join"] if op.kind == "ok"]
        seen = Sweep((op.ret, (op.answer["gen"], -op.index, op)) for op in joins)
        for op in joins:
            best = seen.before(op.call)
            if best and best[0] > op.answer["gen"] and not life.can_be_reborn(best[2].call, op.ret):
                other = best[2]
                yield Violation(
                    "I5",
                    "C4",
                    f"{group}: a join sent at {self._at(op.call)} was told generation "
                    f"{op.answer['gen']}, when generation {best[0]} had been told at "
                    f"{self._at(other.ret)}",
                    other.events() + op.events(),
                    other.ret,
                    op.ret,
                )

    def _contents(self, group, life, ops):
        first = {}
        for op in sorted(ops["join"] + ops["sync"], key=lambda op: op.ret):
            if op.kind != "ok":
                continue
            for key, what in self._facts(life, op):
                if key not in first:
                    first[key] = (what, op)
                    continue
                before, other = first[key]
                if before != what and not life.can_be_reborn(other.call, op.ret):
                    gen, aspect = key[0], key[1]
                    yield Violation(
                        "I5",
                        "C4",
                        f"{group} generation {gen}: {aspect} was {_plain(before)} at "
                        f"{self._at(other.ret)} on {other.node} and {_plain(what)} at "
                        f"{self._at(op.ret)} on {op.node}",
                        other.events() + op.events(),
                        other.ret,
                        op.ret,
                    )
        yield from self._strangers(group, life, ops, first)

    def _facts(self, life, op):
        if op.f == "sync":
            member = life.name(op.value["member"])
            yield (op.value["gen"], f"the assignment of {member}"), flat(op.answer["assignment"])
            return
        gen = op.answer["gen"]
        yield (gen, "the protocol"), op.answer["protocol"]
        yield (gen, "the leader"), life.name(op.answer["leader"])
        if op.answer.get("members"):
            names = [life.name(member) for member, _ in op.answer["members"]]
            yield (gen, "the member set"), frozenset(names)

    def _strangers(self, group, life, ops, first):
        for op in ops["join"]:
            if op.kind != "ok":
                continue
            members, leader = first.get((op.answer["gen"], "the member set"), (None, None))
            if (
                members is None
                or life.name(op.answer["member"]) in members
                or life.can_be_reborn(min(op.call, leader.call), max(op.ret, leader.ret))
            ):
                continue
            yield Violation(
                "I5",
                "C4",
                f"{group} generation {op.answer['gen']}: {op.answer['member']} was told "
                f"that it belongs to it, the leader's list is {_plain(members)}",
                leader.events() + op.events(),
                op.call,
                op.ret,
            )


def flat(assignment):
    """[[topic, [p...]]...] as a set of (topic, partition)."""
    return frozenset((topic, p) for topic, partitions in assignment or [] for p in partitions)


def _plain(what):
    if isinstance(what, frozenset):
        return (
            "{"
            + ", ".join(sorted(f"{w[0]}/{w[1]}" if isinstance(w, tuple) else str(w) for w in what))
            + "}"
        )
    return str(what)
