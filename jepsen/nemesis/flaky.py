"""A network that works badly: between the nodes, between them and the clients, or around one
node."""

from nemesis.base import NET, Fault


class Flaky(Fault):
    claims = frozenset({NET})

    def rule(self):
        raise NotImplementedError

    def begin(self):
        rule = self.rule()
        where = self.chance.choice(("peers", "clients", "one", "all"))
        nodes, places = list(self.lab.nodes), self.lab.client_places
        targets = nodes
        if where in ("peers", "all"):
            self.lab.net.both(nodes, nodes, **rule)
        if where in ("clients", "all"):
            self.lab.net.both(nodes, places, **rule)
        if where == "one":
            targets = self.names([self.victim()])
            others = [name for name in nodes + places if name not in targets]
            self.lab.net.both(targets, others, **rule)
        return {"targets": targets, "where": where, "rule": rule}

    def end(self):
        self.lab.net.clear()


class Loss(Flaky):
    name = "flaky-loss"

    def rule(self):
        return {"loss": self.chance.choice((10_000, 50_000, 150_000, 300_000))}


class Delay(Flaky):
    name = "flaky-delay"

    def rule(self):
        low = self.chance.choice((5, 20, 50, 200)) * 1000
        return {"delay_us": low, "jitter_us": low}


class Reorder(Flaky):
    name = "flaky-reorder"

    def rule(self):
        return {"reorder": self.chance.choice((50_000, 250_000)), "reorder_us": 10_000,
                "delay_us": 2_000}


class Duplicate(Flaky):
    name = "flaky-duplicate"

    def rule(self):
        return {"duplicate": self.chance.choice((50_000, 500_000))}


class Corrupt(Flaky):
    """One byte of a frame is another one; checksums find it, and it is lost."""
    name = "flaky-corrupt"

    def rule(self):
        return {"corrupt": self.chance.choice((10_000, 100_000))}


class Slow(Flaky):
    name = "flaky-rate"

    def rule(self):
        return {"rate_bytes": self.chance.choice((20_000, 100_000, 500_000))}


class Clog(Flaky):
    """Frames are held back and arrive at the end, all at once, in order."""
    name = "flaky-clog"
    seconds = (1, 8)

    def rule(self):
        return {"hold": 1}


class Mixed(Flaky):
    """A bit of all."""
    name = "flaky-mixed"

    def rule(self):
        return {"loss": 20_000, "delay_us": 10_000, "jitter_us": 30_000, "duplicate": 20_000,
                "reorder": 50_000, "reorder_us": 20_000, "corrupt": 5_000}


FAULTS = [Loss, Delay, Reorder, Duplicate, Corrupt, Slow, Clog, Mixed]
