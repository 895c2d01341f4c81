"""When which fault happens: steady, then faults and calm in turn, then all is healed.

The same seed draws the same faults in the same order with the same parameters, as far as these do
not depend on who leads. Each fault comes once before any comes twice.
"""

import random
import time

from cluster import ClusterError
from nemesis.base import TICK_S

STEADY_S = 10
CALM_S = (5, 10)
SETTLE_S = 20
PAIR_CHANCE = 0.25
OFFSET_S = 3  # of the second fault of a pair


class Schedule:
    def __init__(self, lab, faults, seed, writer, running=None, say=print):
        self.lab, self.faults, self.writer = lab, list(faults), writer
        self.running, self.say = running, say
        self.chance = random.Random(f"{seed}/schedule")
        self.seed, self.bag, self.count = seed, [], 0
        self.active = []  # [fault, id, when it ends]
        self.problems = []  # what must not be, and no checker sees
        self.began_s = time.monotonic()

    # Phases

    def run(self, seconds, steady_s=STEADY_S, settle_s=SETTLE_S):
        self.phase("steady")
        time.sleep(steady_s)
        self.phase("faults")
        deadline = time.monotonic() + seconds
        while self.faults and time.monotonic() < deadline:
            self.strike(deadline)
            self.wait(self.chance.uniform(*CALM_S))
        if not self.faults:
            self.wait(seconds)
        self.heal()
        time.sleep(settle_s)
        self.phase("final")

    def phase(self, name):
        self.say(f"{time.monotonic() - self.began_s:7.1f} s  {name}")
        self.writer.write("nemesis", "info", "phase", {"phase": name})

    def heal(self):
        for entry in self.active[:]:
            self._end(entry)
        if self.running is not None:
            self.running.calm()
        self._guarded("heal", self.lab.heal)
        self.phase("heal")

    def wait(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.lab.watch.failure is not None:
                raise self.lab.watch.failure
            time.sleep(TICK_S)

    # Faults

    def draw(self, taken=frozenset()):
        """The next fault that shares no claim with [taken] and is possible now, or None."""
        for _ in range(2):
            if not self.bag:
                self.bag = self.faults[:]
                self.chance.shuffle(self.bag)
            for kind in self.bag[:]:
                if kind.claims & taken:
                    continue
                self.bag.remove(kind)
                self.count += 1
                fault = kind(self.lab, random.Random(f"{self.seed}/{self.count}/{kind.name}"),
                             self.running)
                if self._guarded(kind.name, fault.prepare):
                    return fault
        return None

    def strike(self, deadline):
        """One step of one or two faults, from the first harm to the last recovery."""
        first = self.draw()
        if first is None:
            self.wait(1)
            return
        second = None
        if self.chance.random() < PAIR_CHANCE:
            second = self.draw(first.claims)
        ended = [first, second] if second else [first]
        self._begin(first)
        if second:
            self.wait(self.chance.uniform(0, OFFSET_S))
            self._begin(second)
        while self.active:
            time.sleep(TICK_S)
            for entry in self.active[:]:
                if time.monotonic() >= min(entry[2], max(deadline, entry[3] + 1)):
                    self._end(entry)
                else:
                    self._guarded(entry[0].name, entry[0].tick)
        for fault in ended:
            self._guarded(f"{fault.name}: recovery", fault.recover)

    def _guarded(self, what, action):
        """What the cluster does not do in time is a finding, not the end of the run."""
        try:
            return action()
        except ClusterError as complaint:
            first_line = str(complaint).splitlines()[0]
            self.problems.append(f"{what}: {first_line}")
            self.say(f"PROBLEM {what}: {complaint}")
            return None

    def _write(self, fault, number, phase, more):
        value = {"fault": fault.name, "phase": phase, "id": number, **more}
        self.writer.write("nemesis", "info", "nemesis", value)
        self.say(f"{time.monotonic() - self.began_s:7.1f} s  {phase} " + " ".join(
            f"{key}={text}" for key, text in value.items() if key not in ("phase", "explains")))
        if self.running is not None:
            self.running.fault()

    def _begin(self, fault):
        led_by = fault.leader()
        more = self._guarded(fault.name, fault.begin) or {"targets": []}
        core = self.lab.core()
        has_majority = fault.majority is not False and bool(core) and self.lab.reaches_clients(core)
        seconds = self.chance.uniform(*fault.seconds)
        self._write(fault, self._number(), "begin", {
            **more, "leader": self.lab.names.get(led_by), "majority": has_majority, "core": core})
        began_s = time.monotonic()
        self.active.append([fault, self.number, began_s + seconds, began_s])

    def _number(self):
        self.number = getattr(self, "number", 0) + 1
        return self.number

    def _end(self, entry):
        fault, number = entry[0], entry[1]
        self.active.remove(entry)
        more = self._guarded(f"{fault.name}: end", fault.end) or {}
        self._write(fault, number, "end", {"targets": [], **more})
