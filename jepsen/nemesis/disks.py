"""Disks that are slow, fail, fill up or lie, each on a minority of the nodes."""

from nemesis.base import DISK, NODES, Bringing

MIB = 1 << 20


class DiskFault(Bringing):
    claims = frozenset({DISK, NODES})
    explains = [r"fatal message=", r"cannot_start reason="]

    def choose(self):
        return [self.victim()]

    def harm(self, disk):
        """Returns parameters for the history."""
        raise NotImplementedError

    def begin(self):
        self.hit = self.choose()
        more = {}
        for i in self.hit:
            self.lab.impair(i, self.name)
            more = self.harm(self.lab.disks[i])
        return {"targets": self.names(self.hit), "explains": self.explains, **more}

    def end(self):
        for i in self.hit:
            self.lab.disks[i].heal()
            self.lab.relieve(i, self.name)


class SlowDisk(DiskFault):
    name = "disk-slow"

    def harm(self, disk):
        us = self.chance.choice((5_000, 50_000, 200_000))
        disk.delay(us)
        return {"delay_us": us}


class SlowDisks(SlowDisk):
    """All of them."""
    name = "disk-slow-all"

    def choose(self):
        return self.lab.ids[:]


class WriteError(DiskFault):
    """One write or sync fails; or all of them from now on."""
    name = "disk-write-error"

    def harm(self, disk):
        operation = self.chance.choice(("write", "write", "sync", "name"))
        times = self.chance.choice((1, 1, "always"))
        disk.fail(operation, times)
        return {"operation": operation, "times": times}


class Full(DiskFault):
    """At once, or after some more bytes; half of the time the node sees it coming."""
    name = "disk-full"

    def harm(self, disk):
        size_bytes = self.chance.choice((0, 4096, MIB, 8 * MIB))
        is_hard = self.chance.random() < 0.5
        disk.limit_space(size_bytes, is_hard)
        return {"bytes": size_bytes, "hard": is_hard}


class AtStart(DiskFault):
    """The node is started on a disk that is full or does not read or write."""
    name = "disk-bad-at-start"

    def harm(self, disk):
        what = self.chance.choice(("full", "read", "write", "sync"))
        self.lab.kill(self.hit[0])
        if what == "full":
            disk.limit_space(0, True)
        else:
            disk.fail(what)
        self.lab.run(self.hit[0])
        return {"what": what}


class LyingDisk(DiskFault):
    """Syncs do nothing; at the end the power goes, on that one node."""
    name = "disk-lies"

    def harm(self, disk):
        disk.lose_syncs()
        return {}

    def end(self):
        lost = {}
        for i in self.hit:
            lost.update(self.lab.power_off([i]))
        super().end()
        for i in self.hit:
            self.lab.run(i)
        return {"lost": lost}


FAULTS = [SlowDisk, SlowDisks, WriteError, Full, AtStart, LyingDisk]
