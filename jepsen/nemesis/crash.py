"""Processes that end without warning (SIGKILL), and power that goes: then what was not synced to
disk is gone, too."""

import time

from nemesis.base import DISK, NODES, TICK_S, Bringing

PATIENCE_S = 10
POLL_S = 0.002


class Kill(Bringing):
    claims = frozenset({NODES})
    seconds = (1, 10)

    def choose(self):
        raise NotImplementedError

    def begin(self):
        self.hit = self.choose()
        self.strike()
        return {"targets": self.names(self.hit)}

    def strike(self):
        for i in self.hit:
            self.lab.kill(i)

    def end(self):
        for i in self.hit:
            self.lab.run(i)


class KillOne(Kill):
    name = "kill-one"

    def choose(self):
        return [self.chance.choice(self.lab.ids)]


class KillLeader(Kill):
    name = "kill-leader"

    def prepare(self):
        return self.leader() is not None

    def choose(self):
        return [self.leader() or self.victim()]


class KillMajority(Kill):
    name = "kill-majority"

    def choose(self):
        return self.victims(self.majority_size())


class KillAll(Kill):
    name = "kill-all"

    def choose(self):
        return self.lab.ids[:]


class RestartStorm(Kill):
    """One node, or any of them in turn, is killed as soon as it is there again."""
    name = "restart-storm"
    majority = False
    seconds = (5, 15)

    def choose(self):
        self.is_one = self.chance.random() < 0.5
        self.wait_s, self.count = self.between(0.3, 2), 1
        return [self.victim()]

    def tick(self):
        self.wait_s -= TICK_S
        if self.wait_s > 0:
            return
        self.wait_s = self.between(0.3, 2)
        last = self.hit[-1]
        self.lab.run(last)
        time.sleep(0.02 if self.chance.random() < 0.3 else 0.2)
        following = last if self.is_one else self.victim()
        self.lab.kill(following)
        self.count += 1
        if following not in self.hit:
            self.hit.append(following)
        elif not self.is_one:
            self.hit.remove(following)
            self.hit.append(following)

    def end(self):
        super().end()
        return {"kills": self.count, "targets": self.names(self.hit)}


class KillInSnapshot(Kill):
    """The moment a node begins to write one."""
    name = "kill-in-snapshot"

    def prepare(self):
        before = {i: self.files(i) for i in self.lab.ids}
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for i in self.lab.ids:
                if self.files(i) - before[i]:
                    self.one = i
                    return True
            time.sleep(POLL_S)
        return False

    def files(self, i):
        """In the backing store, which answers without the disk's delay."""
        folder = self.lab.disks[i].store / "data/data/raft/raft"
        return {path.name for path in folder.glob("*") if
                path.name.startswith(("snapshot", "tmp-snapshot"))} if folder.exists() else set()

    def choose(self):
        return [self.one]


class KillInRebalance(Kill):
    """The leader, a moment after members joined or left."""
    name = "kill-in-rebalance"

    def prepare(self):
        if self.running is None or self.leader() is None:
            return False
        self.running.churn()
        time.sleep(self.between(0, 0.4))
        return True

    def choose(self):
        return [self.leader() or self.victim()]


class PowerLoss(Kill):
    claims = frozenset({NODES, DISK})

    def strike(self):
        self.is_torn = self.chance.random() < 0.5
        self.lost = self.lab.power_off(self.hit, self.chance if self.is_torn else None)

    def begin(self):
        return {**super().begin(), "torn": self.is_torn, "lost": self.lost,
                "explains": [r"fatal message="]}


class PowerOne(PowerLoss):
    name = "power-one"

    def choose(self):
        return [self.victim()]


class PowerMajority(PowerLoss):
    name = "power-majority"

    def choose(self):
        return self.victims(self.majority_size())


class PowerAll(PowerLoss):
    name = "power-all"

    def choose(self):
        return self.lab.ids[:]


FAULTS = [KillOne, KillLeader, KillMajority, KillAll, RestartStorm, KillInSnapshot, KillInRebalance,
          PowerOne, PowerMajority, PowerAll]
