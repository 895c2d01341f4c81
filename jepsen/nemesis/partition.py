"""Packets vanish between some and others; connections stay."""

from nemesis.base import NET, Fault


class Partition(Fault):
    claims = frozenset({NET})

    def cut(self, some, others, **more):
        self.lab.net.both(self.names(some), self.names(others), drop=1)
        return {"targets": self.names(some), "others": self.names(others), **more}

    def end(self):
        self.lab.net.clear()

    def rest(self, some):
        return [i for i in self.lab.ids if i not in some]


class Halves(Partition):
    """A minority, the leader in it half of the time; its clients reach it still."""
    name = "partition-halves"

    def begin(self):
        some = self.victims(max(1, self.minority_size()))
        return self.cut(some, self.rest(some))


class MajorityRing(Partition):
    """Each node sees a majority, and no two of them the same one."""
    name = "partition-ring"

    def prepare(self):
        return len(self.lab.ids) >= 5

    def begin(self):
        ring = self.lab.ids[:]
        self.chance.shuffle(ring)
        reach = (len(ring) // 2) // 2
        for at, i in enumerate(ring):
            for distance in range(reach + 1, len(ring) // 2 + 1):
                self.lab.net.both(self.names([i]), self.names([ring[(at + distance) % len(ring)]]),
                                  drop=1)
        return {"targets": self.names(ring), "ring": self.names(ring)}


class IsolateOne(Partition):
    """One node loses its peers; and, half of the time, its clients."""
    name = "isolate-one"

    def whom(self):
        return self.chance.choice(self.lab.ids)

    def begin(self):
        one = self.whom()
        takes_clients = self.chance.random() < 0.5
        if takes_clients:
            self.lab.net.both(self.names([one]), self.lab.client_places, drop=1)
        return self.cut([one], self.rest([one]), clients=takes_clients)


class IsolateLeader(IsolateOne):
    name = "isolate-leader"

    def prepare(self):
        return self.leader() is not None

    def whom(self):
        return self.leader() or self.victim()


class OneWay(Partition):
    """What one node says to its peers is lost, or what they say to it."""
    name = "partition-one-way"

    def begin(self):
        one = self.victim()
        is_mute = self.chance.random() < 0.5
        some, others = self.names([one]), self.names(self.rest([one]))
        self.lab.net.set(*((some, others) if is_mute else (others, some)), drop=1)
        return {"targets": some, "others": others, "lost": "sent" if is_mute else "received"}


class Bridge(Partition):
    """Two sides that see each other through one node alone."""
    name = "partition-bridge"

    def begin(self):
        ids = self.victims(len(self.lab.ids))
        middle, sides = ids[-1], ids[:-1]
        half = len(sides) // 2
        return self.cut(sides[:half], sides[half:], bridge=self.lab.names[middle])


class WithClients(Partition):
    """The leader and some clients on one side, the other nodes and clients on the other."""
    name = "partition-with-clients"

    def prepare(self):
        return self.leader() is not None and len(self.lab.client_places) > 1

    def begin(self):
        some = [self.leader() or self.victim()]
        rest = self.rest(some)
        places = self.lab.client_places[:]
        self.chance.shuffle(places)
        near = places[:len(places) // 2]
        far = places[len(places) // 2:]
        self.lab.net.both(self.names(some), far, drop=1)
        self.lab.net.both(self.names(rest), near, drop=1)
        return self.cut(some, rest, clients=near)


class Random(Partition):
    """Each direction between two nodes is cut with a chance of a third."""
    name = "partition-random"

    def begin(self):
        lost = [(a, b) for a in self.lab.nodes for b in self.lab.nodes
                if a != b and self.chance.random() < 1 / 3]
        for a, b in lost:
            self.lab.net.set([a], [b], drop=1)
        return {"targets": sorted({name for pair in lost for name in pair}), "lost": lost}


FAULTS = [Halves, MajorityRing, IsolateOne, IsolateLeader, OneWay, Bridge, WithClients, Random]
