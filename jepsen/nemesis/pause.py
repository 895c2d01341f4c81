"""Processes stand still and know nothing of it: SIGSTOP, or the freezer, as when a virtual machine
is stopped."""

import signal

from nemesis.base import NODES, Bringing

LENGTHS_S = (1, 2, 4, 7, 10, 15, 20, 30, 60)


class Pause(Bringing):
    claims = frozenset({NODES})

    def __init__(self, *more):
        super().__init__(*more)
        length = self.chance.choice(LENGTHS_S[:6] if self.chance.random() < 0.8 else LENGTHS_S)
        self.seconds = (length, length)

    def choose(self):
        raise NotImplementedError

    def begin(self):
        self.hit = self.choose()
        self.is_frozen = self.chance.random() < 0.3
        for i in self.hit:
            self.lab.impair(i, self.name)
            self._stand_still(i, True)
        return {"targets": self.names(self.hit), "seconds": self.seconds[0],
                "how": "freezer" if self.is_frozen else "SIGSTOP"}

    def _stand_still(self, i, is_still):
        if self.is_frozen:
            self.lab.cgroups[i].freeze(is_still)
        elif self.lab.is_alive(i):
            self.lab.kill(i, signal.SIGSTOP if is_still else signal.SIGCONT)

    def end(self):
        for i in self.hit:
            self._stand_still(i, False)
            self.lab.relieve(i, self.name)


class PauseOne(Pause):
    name = "pause-one"

    def choose(self):
        return [self.chance.choice(self.lab.alive())]


class PauseLeader(Pause):
    name = "pause-leader"

    def prepare(self):
        return self.leader() is not None

    def choose(self):
        return [self.leader() or self.victim()]


class PauseMajority(Pause):
    name = "pause-majority"

    def choose(self):
        return self.victims(self.majority_size())


class PauseAll(Pause):
    name = "pause-all"

    def choose(self):
        return self.lab.ids[:]


FAULTS = [PauseOne, PauseLeader, PauseMajority, PauseAll]
