"""Wall clocks that are wrong. Monotonic ones are right. Nobody may be evicted by that."""

from nemesis.base import CLOCK, TICK_S, Fault

STEPS_S = (-3600, -60, -1, 1, 60, 3600)


class ClockFault(Fault):
    claims = frozenset({CLOCK})

    def end(self):
        for i in self.lab.ids:
            self.lab.clocks[i].set(0)


class Step(ClockFault):
    """Of one node, or of all alike."""
    name = "clock-step"

    def begin(self):
        hit = self.lab.ids if self.chance.random() < 0.3 else [self.victim()]
        step_s = self.chance.choice(STEPS_S)
        for i in hit:
            self.lab.clocks[i].set(step_s)
        return {"targets": self.names(hit), "step_s": step_s}


class Offsets(ClockFault):
    """Each node another time."""
    name = "clock-offsets"

    def begin(self):
        width_s = self.chance.choice((2, 90, 7200))
        offsets = {i: self.between(-width_s, width_s) for i in self.lab.ids}
        for i, offset_s in offsets.items():
            self.lab.clocks[i].set(offset_s)
        return {"targets": self.names(self.lab.ids),
                "offsets_s": {self.lab.names[i]: offset for i, offset in offsets.items()}}


class Strobe(ClockFault):
    """There and back, many times a second."""
    name = "clock-strobe"

    def begin(self):
        self.hit, self.step_s = [self.victim()], self.chance.choice((0.2, 30, 3600))
        self.is_off, self.wait_s = False, 0.0
        self.period_s = self.between(0.1, 0.5)
        return {"targets": self.names(self.hit), "step_s": self.step_s, "period_s": self.period_s}

    def tick(self):
        self.wait_s -= TICK_S
        if self.wait_s <= 0:
            self.wait_s, self.is_off = self.period_s, not self.is_off
            for i in self.hit:
                self.lab.clocks[i].set(self.step_s if self.is_off else 0)


FAULTS = [Step, Offsets, Strobe]
