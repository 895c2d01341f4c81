"""I9: it works again after the last heal, and how long each fault kept it from working.

A moment is unavailable when no operation that needs the leader was answered ok. The unavailability
of a fault is the longest gap between such answers that begins in it or contains its begin. It is
judged only for faults that leave a majority of nodes, with healthy disks, connected to each other
and to the clients; and over all faults of a name: median and worst, in election timeouts.
"""

import bisect
import collections
import statistics

from verdict import MS, S, Violation, seconds

LEADER = 5 * S
FIRST_COMMIT = 8 * S
STABLE_SLACK = 10 * S
PATIENCE = 2 * S  # who gives up sooner than that has not waited
ANSWER = 8 * S  # after the last heal every request is answered from then on
MEDIAN_TIMEOUTS = 2.5
WORST_TIMEOUTS = 6
LEAD = 500 * MS  # a fault is written down when it has been inflicted
TAIL = 2 * S  # a gap may begin so long after a fault: what ends one can cost an election, too
JUDGED = 5  # that many faults of a name before a median is judged

# Words in faults' names after which no majority is promised, where a fault does not say by itself.
NO_MAJORITY = (
    "all",
    "majority",
    "halves",
    "ring",
    "clients",
    "disk",
    "power",
    "flaky",
    "loss",
    "slow",
    "starve",
    "delay",
    "storm",
    "corrupt",
    "reorder",
    "dup",
)


def has_majority(fault):
    said = fault.value.get("majority")
    if said is not None:
        return bool(said)
    return not any(word in (fault.name or "") for word in NO_MAJORITY)


class Liveness:
    def __init__(self, history):
        self.history = history
        self.timeout = history.options.get("election_timeout_ms", 300) * MS
        self.answers = sorted(
            op.ret for f in ("commit", "fetch") for op in history.by_f[f] if op.kind == "ok"
        )

    def _at(self, time):
        return seconds(time, self.history.begin)

    def check(self):
        yield from self._after_heal()
        yield from self._unavailability()

    # ---- After the last heal ----

    def _after_heal(self):
        heal = self.history.last_heal()
        if heal is None or self.history.options.get("liveness", True) is False:
            return
        if self.history.end - heal < ANSWER:
            return  # the run is too short to say: see I13
        yield from self._leader(heal)
        yield from self._first_commit(heal)
        yield from self._groups(heal)
        yield from self._unanswered(heal)

    def _leader(self, heal):
        """Nobody needs to have been elected: whoever led may still."""
        if any(
            heal < op.ret <= heal + LEADER and op.kind == "ok"
            for f in ("fetch", "commit", "describe")
            for op in self.history.by_f[f]
        ):
            return
        if not any(heal < time <= heal + LEADER for time, _, _ in self.history.leaders()):
            yield Violation(
                "I9",
                "C4",
                f"no leader was seen and nothing was answered within "
                f"{LEADER // S} s of the last heal at {self._at(heal)}",
                [],
                heal,
                heal + LEADER,
            )

    def _first_commit(self, heal):
        asked = [
            op for op in self.history.by_f["commit"] if heal < op.call < heal + FIRST_COMMIT / 2
        ]
        done = [
            op
            for op in self.history.by_f["commit"]
            if op.kind == "ok" and heal < op.ret <= heal + FIRST_COMMIT
        ]
        if asked and not done:
            yield Violation(
                "I9",
                "C4",
                f"no commit was accepted within {FIRST_COMMIT // S} s of the last "
                f"heal at {self._at(heal)}",
                asked[0].events(),
                heal,
                heal + FIRST_COMMIT,
            )

    def _groups(self, heal):
        for group, ops in self.history.by_group.items():
            waits = [
                max(op.value.get("rebalance_ms") or 0, op.value.get("session_ms") or 0)
                for op in ops["join"]
            ]
            due = heal + max(waits, default=0) * MS + STABLE_SLACK
            changes = [op.call for f in ("join", "leave") for op in ops[f] if op.call > heal]
            for op in ops["describe"]:
                if (
                    op.kind != "ok"
                    or op.call < due
                    or op.answer.get("state") in ("Stable", "Empty", "Dead")
                ):
                    continue
                if not any(op.call - (due - heal) <= change for change in changes):
                    yield Violation(
                        "I9",
                        "C4",
                        f"{group} is {op.answer['state']} at {self._at(op.ret)}, "
                        f"after a heal at {self._at(heal)} and without members that come "
                        f"or go",
                        op.events(),
                        heal,
                        op.ret,
                    )
                    break

    def _unanswered(self, heal):
        """Clients give up by themselves: what ends in a timeout was not answered."""
        for op in self.history.ops:
            late = op.call > heal + ANSWER and op.ended - op.call >= PATIENCE
            if (
                late
                and op.kind in ("info", "fail")
                and op.error == "timeout"
                and op.f not in ("join", "sync")
            ):
                yield Violation(
                    "I9",
                    "C4",
                    f"a {op.f} to {op.node} sent at {self._at(op.call)}, long after "
                    f"the last heal at {self._at(heal)}, was never answered",
                    op.events(),
                    op.call,
                    op.ended,
                )
                return
            if op.kind == "open" and op.call < self.history.end - 60 * S:
                yield Violation(
                    "I9",
                    "C4",
                    f"a {op.f} to {op.node} sent at {self._at(op.call)} has no end",
                    op.events(),
                    op.call,
                    self.history.end,
                )
                return

    # ---- During faults ----

    def gap(self, fault):
        """(begin, end) of the longest time without an answer that a fault can have caused."""
        times = self.answers
        at = max(0, bisect.bisect_right(times, fault.begin) - 1)
        best = (fault.begin, fault.begin)
        while at < len(times):
            begin = times[at]
            end = times[at + 1] if at + 1 < len(times) else self.history.end
            if begin > fault.end + TAIL:
                break
            begin = max(begin, fault.begin - LEAD)
            if end - begin > best[1] - best[0]:
                best = (begin, end)
            at += 1
        return best if times else (fault.begin, min(fault.end, self.history.end))

    def table(self):
        """[{fault, count, judged, judged_ms: [...], median_timeouts, worst_timeouts, ...}], by
        name."""
        by_name = collections.defaultdict(list)
        for fault in self.history.faults:
            by_name[fault.name].append((fault, self.gap(fault)))
        rows = []
        for name, those in sorted(by_name.items()):
            judged = [(f, gap) for f, gap in those if has_majority(f) and self._is_undisturbed(f)]
            lengths = [end - begin for _, (begin, end) in those]
            row = {
                "fault": name,
                "count": len(those),
                "judged": len(judged),
                "median_ms": statistics.median(lengths) / MS,
                "worst_ms": max(lengths) / MS,
                "judged_ms": [round((end - begin) / MS) for _, (begin, end) in judged],
            }
            if judged:
                kept = [end - begin for _, (begin, end) in judged]
                row["median_timeouts"] = statistics.median(kept) / self.timeout
                row["worst_timeouts"] = max(kept) / self.timeout
            rows.append(row)
        return rows

    def _is_undisturbed(self, fault):
        """No fault that leaves no majority at the same time, or so shortly before that it is still
        felt."""
        return all(
            has_majority(other) or other.end + TAIL < fault.begin or other.begin > fault.end + TAIL
            for other in self.history.faults
        )

    def _unavailability(self):
        for fault in self.history.faults:
            begin, end = self.gap(fault)
            if (
                has_majority(fault)
                and self._is_undisturbed(fault)
                and end - begin > WORST_TIMEOUTS * self.timeout
            ):
                yield Violation(
                    "I9",
                    "C4",
                    f"{fault.name} of {', '.join(map(str, fault.targets))} at "
                    f"{self._at(fault.begin)} left a majority connected, but nothing was answered "
                    f"from {self._at(begin)} to {self._at(end)}: "
                    f"{(end - begin) / self.timeout:.1f} election "
                    f"timeouts",
                    fault.events,
                    begin,
                    end,
                )
        for row in self.table():
            if row["judged"] >= JUDGED and row["median_timeouts"] > MEDIAN_TIMEOUTS:
                yield Violation(
                    "I9",
                    "C4",
                    f"{row['fault']}: the median of {row['judged']} unavailabilities "
                    f"is {row['median_timeouts']:.2f} election timeouts",
                )
