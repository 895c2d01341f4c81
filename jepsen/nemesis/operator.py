"""What operators are told not to do. In no suite but its own."""

import shutil
import time

from nemesis.base import DISK, NODES, Bringing


class OldCopy(Bringing):
    """A node gets a copy of its directory back that is some seconds old. The others remember what
    it had acknowledged since, and it has to rejoin (R18)."""
    name = "restore-old-copy"
    claims = frozenset({DISK, NODES})
    seconds = (1, 3)
    age_s = 6

    def prepare(self):
        self.one = self.victim()
        self.copy = self.lab.scratch / f"copy-{self.one}"
        self.lab.kill(self.one)
        shutil.copytree(self.lab.data(self.one), self.copy)
        self.lab.run(self.one)
        self.lab.wait_back(self.one)
        time.sleep(self.age_s)
        return True

    def begin(self):
        self.hit = [self.one]
        self.lab.kill(self.one)
        self.lab.disks[self.one].replace("data", self.copy)
        shutil.rmtree(self.copy)
        return {"targets": self.names(self.hit), "age_s": self.age_s}

    def end(self):
        self.lab.run(self.one)


FAULTS = [OldCopy]
