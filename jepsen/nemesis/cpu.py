"""Too little processor time."""

from nemesis.base import CPU, Fault


class Starve(Fault):
    claims = frozenset({CPU})

    def choose(self):
        raise NotImplementedError

    def begin(self):
        self.hit = self.choose()
        share = self.chance.choice((0.05, 0.1, 0.2))
        for i in self.hit:
            self.lab.impair(i, self.name)
            self.lab.cgroups[i].limit(share)
        return {"targets": self.names(self.hit), "share": share}

    def end(self):
        for i in self.hit:
            self.lab.cgroups[i].limit(None)
            self.lab.relieve(i, self.name)


class StarveOne(Starve):
    name = "starve-one"

    def choose(self):
        return [self.victim()]


class StarveAll(Starve):
    name = "starve-all"

    def choose(self):
        return self.lab.ids[:]


FAULTS = [StarveOne, StarveAll]
