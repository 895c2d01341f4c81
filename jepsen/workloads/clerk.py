"""Who writes what into the history: processes, each with at most one request open.

A Clerk hands out process numbers and op ids for a whole run. A Process writes an invoke and exactly
one completion, and takes the number that follows when an outcome is not known.
"""

import itertools
import threading

from history import PROCESS_STEP


class Process:
    def __init__(self, clerk, number, client):
        self.clerk, self.number, self.client = clerk, number, client
        self.open = None  # the f of the request that has no completion yet

    def invoke(self, f, value, node, **more):
        assert self.open is None, f"{self.number}: {f} while {self.open} is open"
        self.open = f
        self.clerk.write(self.number, "invoke", f, value, node=node, client=self.client, **more)

    def complete(self, type_, value, node, error=None, **more):
        assert self.open is not None, f"{self.number}: a completion without an invoke"
        f, self.open = self.open, None
        if error is not None:
            more["error"] = error
        self.clerk.write(self.number, type_, f, value, node=node, client=self.client, **more)
        if type_ == "info":
            self.number += PROCESS_STEP

    def release(self):
        """Its number may go to another; not while a request is open."""
        assert self.open is None, f"{self.number} has {self.open} open"
        with self.clerk.lock:
            self.clerk.free.append(self.number)


class Clerk:
    """[writer]: history.Writer, or anything with its write()."""

    def __init__(self, writer):
        self.write = writer.write
        self.free, self.lock = [], threading.Lock()
        self._numbers = itertools.count()
        self._ops = itertools.count()

    def process(self, client="witness"):
        with self.lock:
            number = self.free.pop() if self.free else next(self._numbers)
        assert number % PROCESS_STEP < PROCESS_STEP - 1, "more processes at a time than numbers"
        return Process(self, number, client)

    def op_id(self, kind):
        """Unique in the run: a commit's metadata."""
        return f"{kind}-{next(self._ops):07d}"

    def life(self, client, what, members, **more):
        self.write(client, "ok", "life", {"what": what, "members": members, **more}, client=client)
