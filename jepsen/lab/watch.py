"""Watches a lab's nodes: reads their logs as they grow, asks them for their state, notes what they
use, and has those started again that ended by themselves. What it sees goes into the history as
"observed".

The time of an event is that of its reading, up to PERIOD_S later: the nodes' own clocks are false.
"""

import os
import pathlib
import re
import signal
import threading
import time
import traceback

PERIOD_S = 0.05
ASK_S = 5.0
DAMAGED = "remove this node's data directory, it rejoins by itself"
TRANSIENT = "if that persists"


class Watch:
    def __init__(self, lab):
        self.lab = lab
        self.positions = {}  # node -> how much of its log was read
        self.rests = {}  # node -> an unfinished line
        self.ready = set()  # listen, and so have a handler for SIGUSR1
        self.leading = {}  # node -> term
        self.led_by = None  # the node that was last seen to lead
        self.ends = {}  # node -> when it was seen to be down
        self.states = {}  # node -> (index, hash), as it last said
        self.counts = {}  # event -> how often
        self.failure = None  # a fault of the watch itself
        self.asked_s = 0.0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.stopping.set()
        if self.thread.ident is not None:
            self.thread.join()
            for i in self.lab.ids:
                self._read(i)

    def begin(self, i):
        """A new process of the node; with the lab's lock held."""
        self.ready.discard(i)
        self.states.pop(i, None)
        self.leading.pop(i, None)
        self.ends.pop(i, None)

    def down_for_s(self, i):
        return time.monotonic() - self.ends.setdefault(i, time.monotonic())

    def _run(self):
        try:
            while not self.stopping.wait(PERIOD_S):
                for i in self.lab.ids:
                    self._read(i)
                self.lab.supervise()
                if time.monotonic() - self.asked_s > ASK_S:
                    self.asked_s = time.monotonic()
                    self.ask()
        except Exception as failure:  # the run must end with it, not hang
            traceback.print_exc()
            self.failure = failure

    def ask(self):
        for i in self.lab.ids:
            with self.lab.lock:
                if i not in self.ready or not self.lab.is_alive(i):
                    continue
                pid = self.lab.pid(i)
                self.lab.processes[i].send_signal(signal.SIGUSR1)
            used = resources(pid)
            if used is not None:
                self.lab.observe(self.lab.names[i], "resources", rss_kb=used[0], fds=used[1])

    def _read(self, i):
        path = self.lab.log(i)
        if not path.exists():
            return
        with open(path, "rb") as log:
            log.seek(self.positions.get(i, 0))
            data = log.read()
        self.positions[i] = self.positions.get(i, 0) + len(data)
        *lines, self.rests[i] = (self.rests.get(i, b"") + data).split(b"\n")
        for line in lines:
            self._take(i, line.decode(errors="replace"))

    def _take(self, i, line):
        words = line.split(" ", 3)
        event = words[2] if len(words) > 2 else ""
        self.counts[event] = self.counts.get(event, 0) + 1
        handler = HANDLERS.get(event)
        if handler is not None:
            handler(self, i, self.lab.names[i], line, fields(line))

    def _on_listening(self, i, name, _line, _fields):
        if i not in self.ready:
            self.ready.add(i)
            self.lab.observe(name, "ready")

    def _on_started(self, _i, name, _line, found):
        self.lab.observe(name, "loaded", standing=found.get("standing"), term=int(found["term"]))

    def _on_leading(self, i, name, _line, found):
        self.leading[i] = int(found["term"])
        self.led_by = i
        self.lab.observe(name, "leader", term=int(found["term"]))

    def _on_deposed(self, i, name, _line, _fields):
        self.leading.pop(i, None)
        self.lab.observe(name, "deposed")

    def _on_snapshot(self, _i, name, _line, found):
        what = "snapshot_installed" if found.get("installed") == "1" else "snapshot_loaded"
        self.lab.observe(name, what, index=int(found["index"]))

    def _on_status(self, i, name, _line, found):
        if "state_hash" in found:
            self.states[i] = (int(found["index"]), found["state_hash"])
            self.lab.observe(name, "state", index=int(found["index"]), hash=found["state_hash"])

    def _on_refusal(self, i, name, line, _fields):
        is_damaged = DAMAGED in line and TRANSIENT not in line
        if is_damaged:
            self.lab.damaged.add(i)
        self.lab.observe(name, "refused", message=line, is_damaged=is_damaged)

    def _on_other(self, _i, name, line, _fields):
        self.lab.observe(name, line.split(" ", 3)[2], message=line)


HANDLERS = {
    "listening": Watch._on_listening,
    "raftlog_started": Watch._on_started,
    "leading": Watch._on_leading,
    "deposed": Watch._on_deposed,
    "raftlog_snapshot_restored": Watch._on_snapshot,
    "status": Watch._on_status,
    "cannot_start": Watch._on_refusal,
    "fatal": Watch._on_refusal,
    **{name: Watch._on_other for name in (
        "raftlog_rejoining", "raftlog_rejoined", "raftlog_entries_lost", "raftlog_entries_damaged",
        "raftlog_disk_low", "raftlog_disk_recovered", "raftlog_clocks_disagree",
        "raftlog_states_differ", "broken_invariant", "stood_still", "stop_timeout")},
}


def fields(line):
    return dict(re.findall(r"(\w+)=(\S+)", line))


def resources(pid):
    """(resident kB, open descriptors), or None when the process is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        count = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return (int(found.group(1)), count) if found else None
