"""TCP connections die with a RST on both sides."""

from nemesis.base import NET, TICK_S, Fault


class Reset(Fault):
    """All connections of one node, once."""
    name = "reset-once"
    claims = frozenset({NET})
    seconds = (2, 4)

    def begin(self):
        self.one = self.lab.names[self.victim()]
        return {"targets": [self.one], "connections": self.lab.net.reset_connections(self.one)}

    def end(self):
        pass


class Storm(Fault):
    """Those of one node or of all, again and again."""
    name = "reset-storm"
    claims = frozenset({NET})
    majority = False

    def begin(self):
        self.some = list(self.lab.nodes) if self.chance.random() < 0.5 else \
            self.names([self.victim()])
        self.period_s = self.between(0.2, 1.5)
        self.wait_s, self.count = 0.0, 0
        return {"targets": self.some, "period_s": self.period_s}

    def tick(self):
        self.wait_s -= TICK_S
        if self.wait_s <= 0:
            self.wait_s = self.period_s
            self.count += sum(self.lab.net.reset_connections(name) for name in self.some)

    def end(self):
        return {"connections": self.count}


FAULTS = [Reset, Storm]
