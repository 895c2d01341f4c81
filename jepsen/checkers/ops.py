"""A history as operations: each invoke with its completion, and all the rest by kind."""

import bisect
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import history as form  # noqa: E402
from verdict import MS, S, Violation, seconds  # noqa: E402,F401

FOREVER = 1 << 62

# What a server may answer to what the workloads ask, beside the definite refusals: everything else
# is a surprise, and a run with a surprise has failed until somebody has understood it.
INDEFINITE = frozenset({-1, 5, 6, 7, 14, 15, 16, 27})
# "exception": a real client's library gave up and does not say with what.
ENDINGS = frozenset({"timeout", "closed", "refused", "exception"})
# Refusals of a whole request that leave everything as it was, but are expected of abuse alone.
ABUSE = frozenset({17, 35, 42, 44, 86, 100})
EXPECTED = form.DEFINITE | INDEFINITE | ENDINGS | ABUSE
WITHOUT_EFFECT = form.DEFINITE | ABUSE | {"refused"}
CHANGING = frozenset({"commit", "delete_offsets", "delete_group"})
SINGLE = frozenset(
    {"assigned", "revoked", "lost", "processed", "life", "nemesis", "observed", "phase"}
)


class Op:
    """One operation. [kind]: ok, fail, info, open (no completion in the history). [call], [ret]:
    what happened lies between; ret is FOREVER for info and open. [ended]: when the client stopped
    waiting."""

    __slots__ = (
        "index",
        "end_index",
        "call",
        "ret",
        "ended",
        "process",
        "f",
        "kind",
        "value",
        "answer",
        "error",
        "node",
        "client",
    )

    def __init__(self, event):
        self.index = self.end_index = event["index"]
        self.call = event["time"]
        self.ret = self.ended = FOREVER
        self.process = event["process"]
        self.f = event["f"]
        self.kind = "open"
        self.value = event["value"] or {}
        self.answer = {}
        self.error = None
        self.node = event.get("node")
        self.client = event.get("client")

    @property
    def may_repeat(self):
        """A real client's library sends again what was not answered, and does not say so."""
        return self.node is None

    def is_refusal(self, error):
        """Whether [error], of a partition or of all, says that nothing was done. Of a request that
        may have been sent several times only the last answer is known."""
        if self.kind == "info" and self.may_repeat:
            return False
        return self.kind == "fail" or error in WITHOUT_EFFECT

    def complete(self, event):
        self.kind = event["type"]
        self.end_index = event["index"]
        self.ended = event["time"]
        self.ret = FOREVER if self.kind == "info" else self.ended
        self.answer = event.get("value") or {}
        self.error = event.get("error")

    @property
    def group(self):
        return self.value.get("group")

    @property
    def is_unknown(self):
        return self.kind in ("info", "open")

    def events(self):
        return [self.index] if self.end_index == self.index else [self.index, self.end_index]

    def __repr__(self):
        return f"<{self.f} {self.index} {self.kind}>"


class History:
    """ops: in order of their invokes. The single events, as they were written: nemeses (paired: see
    faults), observed, phases, life, callbacks, processed. problems: what is wrong with the form.
    options: the run's options.json; the keys that matter here are in README.md."""

    def __init__(self, events, options=None):
        self.options = dict(options or {})
        if isinstance(self.options.get("nodes"), int):
            self.options["nodes"] = [f"n{i}" for i in range(1, self.options["nodes"] + 1)]
        self.ops, self.problems = [], []
        self.nemeses, self.observed, self.phases, self.life = [], [], [], []
        self.callbacks, self.processed = [], []
        self.count, self.begin, self.end = 0, 0, 0
        self._open, self._retired = {}, set()
        for event in events:
            self._take(event)
        self.by_f = collections.defaultdict(list)
        self.by_group = collections.defaultdict(lambda: collections.defaultdict(list))
        for op in self.ops:
            self.by_f[op.f].append(op)
            if op.group is not None:
                self.by_group[op.group][op.f].append(op)
        self.faults = self._pair_faults()

    def _problem(self, event, text):
        if len(self.problems) < 100:
            self.problems.append(
                Violation(
                    "FORMAT",
                    "C0",
                    f"event {event.get('index')}: {text}",
                    [event.get("index")],
                    event.get("time", 0),
                    event.get("time", 0),
                )
            )

    def _take(self, event):
        missing = [
            key for key in ("index", "time", "process", "type", "f", "value") if key not in event
        ]
        if missing:
            self._problem(event, f"has no {', '.join(missing)}")
            return
        if event["index"] != self.count:
            self._problem(event, f"should be number {self.count}")
        if self.count and event["time"] < self.end:
            self._problem(event, "lies before the event before it")
        self.begin = event["time"] if self.count == 0 else self.begin
        self.end = max(self.end, event["time"])
        self.count = event["index"] + 1
        if event["f"] not in form.OPERATIONS:
            self._problem(event, f"unknown operation {event['f']!r}")
        elif event["f"] in SINGLE:
            self._single(event)
        elif event["type"] == "invoke":
            self._invoke(event)
        elif event["type"] in ("ok", "fail", "info"):
            self._completion(event)
        else:
            self._problem(event, f"unknown type {event['type']!r}")

    def _single(self, event):
        wanted = "info" if event["f"] in ("nemesis", "observed", "phase") else "ok"
        if event["type"] not in (wanted, "info"):
            self._problem(event, f"{event['f']} is of type {wanted}")
        {
            "nemesis": self.nemeses,
            "observed": self.observed,
            "phase": self.phases,
            "life": self.life,
            "processed": self.processed,
        }.get(event["f"], self.callbacks).append(event)

    def _invoke(self, event):
        process = event["process"]
        if process in self._open:
            self._problem(event, f"process {process} has an open operation already")
        if process in self._retired:
            self._problem(event, f"process {process} goes on after an unknown outcome")
        op = Op(event)
        self.ops.append(op)
        self._open[process] = op

    def _completion(self, event):
        op = self._open.pop(event["process"], None)
        if op is None or op.f != event["f"]:
            self._problem(event, "completes nothing")
            return
        op.complete(event)
        if event["type"] == "info":
            self._retired.add(event["process"])
        self._check_error(event)

    def _check_error(self, event):
        parts = (event.get("value") or {}).get("parts") or []
        codes = [part[-1] for part in parts if len(part) in (3, 6)]
        error = event.get("error")
        for code in [error] + codes:
            if code not in EXPECTED and code not in (None, 0):
                self._problem(event, f"unknown error {code!r}")
        if event["type"] != "ok" and error is None and not codes:
            self._problem(event, "does not say why it is no ok")
        if event["type"] == "fail" and event["f"] in CHANGING:
            for code in [error] if error is not None else codes:
                if code not in WITHOUT_EFFECT:
                    self._problem(event, f"error {code!r} leaves the outcome open: not a fail")

    def _pair_faults(self):
        """[Fault], in order of their begin; a fault without an end ends with the history."""
        open_, faults = collections.defaultdict(list), []
        for event in self.nemeses:
            value = event["value"]
            name, phase = value.get("fault"), value.get("phase")
            key = (name, repr(value.get("id", value.get("targets"))))
            if phase == "begin":
                fault = Fault(event)
                open_[key].append(fault)
                faults.append(fault)
            elif phase != "end":
                self._problem(event, "a nemesis is a begin or an end")
            else:
                waiting = open_[key] or [f for f in faults if f.name == name and f.end == FOREVER]
                if not waiting:
                    self._problem(event, f"the end of a fault {name!r} that did not begin")
                else:
                    fault = waiting[0]
                    fault.end = event["time"]
                    fault.events.append(event["index"])
                    if fault in open_[key]:
                        open_[key].remove(fault)
        for fault in faults:
            if fault.end == FOREVER:
                fault.end = self.end
        return faults

    # ---- What the run looked like ----

    def in_fault(self, time, before=0, after=0):
        return any(f.begin - before <= time <= f.end + after for f in self.faults)

    def fault_time(self, begin, end):
        """How much of [begin, end] lies in any fault, ns."""
        total, reached = 0, begin
        for fault in self.faults:
            lo, hi = max(fault.begin, reached), min(fault.end, end)
            if hi > lo:
                total += hi - lo
                reached = hi
        return total

    def leaders(self):
        """[(time, node, term or None)] whenever a node was seen to lead that did not before."""
        found = []
        for event in self.observed:
            if event["value"].get("event") == "leader":
                node, term = event["value"].get("node"), event["value"].get("term")
                if not found or found[-1][1:] != (node, term):
                    found.append((event["time"], node, term))
        return found

    def last_heal(self):
        """The last moment at which something was wrong on purpose, or None."""
        times = [f.end for f in self.faults]
        times += [e["time"] for e in self.phases if e["value"].get("phase") == "heal"]
        return max(times, default=None)


class Fault:
    __slots__ = ("name", "value", "targets", "begin", "end", "events")

    def __init__(self, event):
        self.value = event["value"]
        self.name = self.value.get("fault")
        self.targets = self.value.get("targets") or []
        self.begin, self.end = event["time"], FOREVER
        self.events = [event["index"]]

    @property
    def leader(self):
        return self.value.get("leader")


class Sweep:
    """The maximum of what has been added with a time below the one asked for, O(log n) each once
    all is added: real-time order."""

    def __init__(self, pairs):
        ordered = sorted(pairs, key=lambda pair: pair[0])
        self.times = [time for time, _ in ordered]
        self.best, top = [], None
        for _, item in ordered:
            top = item if top is None or item > top else top
            self.best.append(top)

    def before(self, time):
        """The greatest item with a time < [time], or None."""
        at = bisect.bisect_left(self.times, time)
        return self.best[at - 1] if at else None
