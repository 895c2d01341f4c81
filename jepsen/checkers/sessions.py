"""I7 nobody who beats is evicted; I8 who does not is.

Only members whose heartbeats are in the history are judged. A member is *heard* when an answer to
it proves that its request arrived: ok, and for a heartbeat 27. It is *removed* when it is told 25,
or is missing in a generation, though it neither left nor was replaced under its instance id.

I7: the removal must lie at the end of a silence of at least one session under one leader: since the
last request that was heard, or since the last takeover before it, for each takeover starts all
sessions anew. What may also have happened (a rebalance that took longer than allowed, a group
deleted) excuses.
"""

import bisect
import collections

from ops import FOREVER
from verdict import MS, S, Violation, seconds

REAL_EVICTION = 7 * S  # election bound 5 s, and 2 s
CLOCK = 5 * MS  # a timer may fire that early: it counts in whole ms of the loop's clock


class Member:
    """What one member id did, in order."""

    def __init__(self, name):
        self.name, self.session, self.rebalance, self.instance = name, None, None, None
        self.heard, self.joins, self.leaves, self.beats, self.refusals = [], [], [], [], []
        self.words = []


def members_of(ops):
    """{member id: Member} of one group."""
    found = {}
    for f in ("join", "sync", "heartbeat", "commit", "leave"):
        for op in ops[f]:
            name = (
                op.answer.get("member")
                if f == "join" and op.kind == "ok"
                else op.value.get("member")
            )
            if not name:
                continue
            member = found.setdefault(name, Member(name))
            _note(member, f, op)
    for member in found.values():
        member.heard.sort(key=lambda op: op.call)
        member.words.sort()
    return found


def _note(member, f, op):
    member.words.append(op.call)
    if op.kind != "open" and f in ("join", "sync"):
        member.words.append(op.ended)
    if f == "leave":
        member.leaves.append(op)
        return
    if op.kind == "ok" or (f == "heartbeat" and op.error == 27):
        member.heard.append(op)
    if f == "join":
        member.joins.append(op)
        member.session = op.value.get("session_ms", member.session)
        member.rebalance = op.value.get("rebalance_ms", member.rebalance)
        member.instance = op.value.get("instance") or member.instance
    if f == "heartbeat":
        member.beats.append(op)
    errors = [op.error] + [part[-1] for part in op.answer.get("parts") or []]
    if op.kind == "fail" and 25 in errors:
        member.refusals.append(op)


class Sessions:
    def __init__(self, history, generations):
        self.history, self.generations = history, generations
        self.takeovers = sorted(time for time, _, _ in history.leaders())
        self.lag = int(history.options.get("observe_lag_ms", 500) * MS)

    def check(self):
        for group, ops in self.history.by_group.items():
            life = self.generations.lives[group]
            members = members_of(ops)
            yield from self._false_evictions(group, life, ops, members)
            yield from self._missing(group, life, ops, members)
            yield from self._real_evictions(group, life, ops, members)

    def _at(self, time):
        return seconds(time, self.history.begin)

    # ---- I7 ----

    def _false_evictions(self, group, life, ops, members):
        for member in members.values():
            if not member.beats or member.session is None:
                continue
            told = None
            for op in sorted(member.refusals, key=lambda op: op.ret):
                if told is not None and not any(
                    told.ret < j.call < op.call and j.kind == "ok" for j in member.joins
                ):
                    continue  # the same removal
                told = op
                heard = self._last_heard(member, op)
                if heard is None or self._is_excused(life, ops, member, heard, op.ret):
                    continue
                if not self._was_silent(heard.call, op.ret, member.session * MS):
                    yield self._early(group, member, heard, op, op.ret, "was told 25")

    def _last_heard(self, member, op):
        """The latest request that was certainly heard before the refusal was asked for."""
        before = [h for h in member.heard if h.ret < op.call]
        if not any(h.f == "join" for h in before):
            return None  # not yet a member by its own knowledge
        return before[-1]

    def _was_silent(self, heard, removed, session):
        """Did one leader see a silence of a session between these moments?"""
        # A leader that is about to hear that it was deposed may have been the one that heard.
        near = bisect.bisect_left(self.takeovers, heard - S)
        begin = heard
        if near < len(self.takeovers) and self.takeovers[near] <= heard:
            begin = self.takeovers[near] - self.lag
        for takeover in self.takeovers[bisect.bisect_right(self.takeovers, heard) :]:
            if takeover >= removed:
                break
            if takeover - begin >= session - CLOCK:
                return True
            # It took over up to the lag before it was seen to lead.
            begin = takeover - self.lag
        return removed - begin >= session - CLOCK

    def _is_excused(self, life, ops, member, heard, removed):
        since = heard.call
        if any(leave.call <= removed and leave.ret >= since for leave in member.leaves):
            return True
        if life.can_be_reborn(since, removed):
            return True
        if member.instance and any(
            j.value.get("instance") == member.instance
            and j.call <= removed
            and j.ret >= since
            and j.kind != "fail"
            and (j.answer.get("member") or j.value.get("member")) != member.name
            for j in ops["join"]
        ):
            return True
        return self._missed_round(ops, member, since, removed)

    def _missed_round(self, ops, member, since, removed):
        """Who does not join or sync again within the rebalance timeout is removed though it beats.
        The round cannot have begun before the last heartbeat that was answered 0."""
        if member.rebalance is None:
            return True
        calm = max(
            (b.call for b in member.beats if b.kind == "ok" and b.ret < removed), default=since
        )
        calm = max([calm] + [j.call for j in member.joins if j.kind == "ok" and j.ret < removed])
        return removed - calm >= member.rebalance * MS

    def _early(self, group, member, heard, op, removed, how):
        takeover = [t for t in self.takeovers if heard.call < t < removed]
        story = f", a node took over at {self._at(takeover[-1])}" if takeover else ""
        return Violation(
            "I7",
            "C4",
            f"{group}: {member.name} {how} at {self._at(removed)}; it was heard with a "
            f"{heard.f} sent at {self._at(heard.call)}{story}; its session is {member.session} ms",
            heard.events() + op.events(),
            heard.call,
            removed,
        )

    def _missing(self, group, life, ops, members):
        """A generation without a member that was in the one before and beat all the time."""
        lists = {}
        for op in ops["join"]:
            if op.kind == "ok" and op.answer.get("members"):
                gen = op.answer["gen"]
                if gen not in lists or op.ret < lists[gen][1].ret:
                    lists[gen] = ({life.name(m) for m, _ in op.answer["members"]}, op)
        gens = sorted(lists)
        for before, after in zip(gens, gens[1:]):
            op = lists[after][1]
            for member in members.values():
                if (
                    life.name(member.name) not in lists[before][0] - lists[after][0]
                    or not member.beats
                    or member.session is None
                ):
                    continue
                heard = [h for h in member.heard if h.ret < op.call]
                heard = heard or [h for h in member.heard if h.ret < op.ret]
                if (
                    any(r.ret < op.ret for r in member.refusals)
                    or not heard
                    or self._is_excused(life, ops, member, heard[-1], op.ret)
                ):
                    continue
                if not self._was_silent(heard[-1].call, op.ret, member.session * MS):
                    yield self._early(
                        group,
                        member,
                        heard[-1],
                        op,
                        op.ret,
                        f"is missing in generation {after}, told",
                    )

    # ---- I8 ----

    def _real_evictions(self, group, life, ops, members):
        told = set()
        proofs = self._proofs(life, ops)
        for member in members.values():
            if not member.beats or member.session is None or not member.words:
                continue
            words = member.words + [FOREVER]
            for last, following in zip(words, words[1:]):
                if following - last < member.session * MS + REAL_EVICTION:
                    continue
                due = self._due(last, member.session * MS)
                if following <= due:
                    continue
                for op in proofs.get(member.name, []):
                    if due < op.call and op.ret < following and member.name not in told:
                        told.add(member.name)
                        yield Violation(
                            "I8",
                            "C4",
                            f"{group}: {member.name} was silent since {self._at(last)} and "
                            f"should be gone by {self._at(due)}, but a {op.f} sent at "
                            f"{self._at(op.call)} still says that it is a member",
                            op.events(),
                            last,
                            op.ret,
                        )

    def _due(self, last, session):
        """By when it must be gone: every takeover starts the session anew, and what is broken on
        purpose may take its time."""
        begin = last
        due = begin + session + REAL_EVICTION
        for takeover in self.takeovers[bisect.bisect_right(self.takeovers, last) :]:
            if takeover > due:
                break
            begin = takeover
            due = begin + session + REAL_EVICTION
        while True:
            later = begin + session + REAL_EVICTION + self.history.fault_time(begin, due)
            if later <= due:
                return due
            due = later

    def _proofs(self, life, ops):
        """{member: operations that prove that it was a member after they were sent}."""
        found = collections.defaultdict(list)
        for op in ops["describe"]:
            if op.kind == "ok" and op.answer.get("state") not in ("Dead",):
                for name, _, _ in op.answer.get("members") or []:
                    found[name].append(op)
        sets = {}
        for op in ops["join"]:
            if op.kind == "ok" and op.answer.get("members"):
                sets[op.answer["gen"]] = [m for m, _ in op.answer["members"]]
                for name, _ in op.answer["members"]:
                    if name != op.answer["member"]:
                        found[name].append(op)
        for op in ops["heartbeat"]:
            # The group is stable: its generation's members are the members.
            if op.kind == "ok" and not life.is_mortal:
                for name in sets.get(op.value["gen"], []):
                    # A static member may have been replaced within the generation.
                    if name != op.value["member"] and name not in life.instances:
                        found[name].append(op)
        return found
