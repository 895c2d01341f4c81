"""Orderly restarts, as for an upgrade: SIGTERM, and the node hands leadership over before it
goes."""

import signal

from nemesis.base import NET, NODES, Fault

STOP_S = 15


class Rolling(Fault):
    """One node after the other, each when the one before is back (docs/OPERATING.md), which none is
    while it is cut off."""
    name = "rolling-restart"
    claims = frozenset({NODES, NET})
    seconds = (0, 0)

    def begin(self):
        self.order = self.lab.ids[:]
        self.chance.shuffle(self.order)
        self.statuses = {}
        return {"targets": self.names(self.order)}

    def end(self):
        for i in self.order:
            since = self.lab.log(i).stat().st_size
            self.statuses[self.lab.names[i]] = self.lab.kill(i, signal.SIGTERM, STOP_S)
            self.lab.run(i)
            for line in (" listening ", "raftlog_started", " leader node="):
                self.lab.wait_line(i, line, since)
        return {"statuses": self.statuses}


FAULTS = [Rolling]
