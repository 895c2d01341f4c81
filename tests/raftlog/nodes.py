"""Starts, commands, kills and restarts raftlog_node processes on 127.0.0.1 for the tests here."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time


class NodesError(Exception):
    """The nodes did not do in time what the test asked of them."""


class Node:
    def __init__(self, binary, number, directory, arguments):
        self.binary = binary
        self.number = number
        self.directory = directory
        self.arguments = arguments
        self.process = None
        self.lines = []          # of stdout, all incarnations
        self.acks = []           # (wall ms, id)
        self.changed = threading.Condition()
        self.log_path = os.path.join(directory, f"log{number}")
        self.data = os.path.join(directory, f"node{number}")

    def start(self, *more):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [self.binary, f"id={self.number}", f"dir={self.data}", *self.arguments, *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1,
            restore_signals=False)  # SIGXFSZ stays ignored: a write then fails
        log.close()
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process):
        with process.stdout:
            self._read_lines(process.stdout)

    def _read_lines(self, lines):
        for line in lines:
            line = line.rstrip("\n")
            stamp, _, text = line.partition(" ")
            with self.changed:
                if text.startswith("ack "):
                    self.acks.append((int(stamp), int(text[4:])))
                else:
                    self.lines.append((int(stamp), text))
                self.changed.notify_all()

    def send(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def wait_line(self, pattern, since=0, timeout_s=15.0):
        """The first line from position `since` that matches; (wall ms, match)."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                for stamp, text in self.lines[since:]:
                    match = re.search(pattern, text)
                    if match:
                        return stamp, match
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise NodesError(f"node {self.number}: no line like {pattern!r}")

    def ask(self, text, pattern, timeout_s=15.0):
        since = len(self.lines)
        self.send(text)
        return self.wait_line(pattern, since, timeout_s)[1]

    def status(self, timeout_s=15.0):
        match = self.ask("status", r"^status (.*)", timeout_s)
        pairs = dict(item.split("=") for item in match.group(1).split())
        return {name: value if name == "hash" else int(value) for name, value in pairs.items()}

    def ids(self):
        path = os.path.join(self.directory, f"dump{self.number}")
        self.ask(f"dump {path}", r"^dumped ")
        with open(path) as file:
            return [int(line) for line in file]

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, how=signal.SIGKILL):
        if self.is_alive():
            self.process.send_signal(how)
            if how in (signal.SIGKILL, signal.SIGTERM):
                self.process.wait(10)

    def wipe(self):
        shutil.rmtree(self.data, ignore_errors=True)

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()


class Nodes:
    def __init__(self, binary, count, base_port, *arguments):
        self.directory = tempfile.mkdtemp(prefix="raftlog-")
        nodes = ",".join(f"{i}@127.0.0.1:{base_port + i}" for i in range(1, count + 1))
        self.all = {i: Node(binary, i, self.directory,
                            [f"nodes={nodes}", "bind=127.0.0.1", *arguments])
                    for i in range(1, count + 1)}

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for node in self.all.values():
            node.kill(signal.SIGCONT)
            node.kill()
        if kind is not None:
            for node in self.all.values():
                if os.path.exists(node.log_path):
                    print(f"--- node {node.number}\n{node.log()[-3000:]}", file=sys.stderr)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __getitem__(self, number):
        return self.all[number]

    def start(self, *more):
        for node in self.all.values():
            if not node.is_alive():
                node.start(*more)

    def alive(self):
        return [node for node in self.all.values() if node.is_alive()]

    def wait_leader(self, timeout_s=20.0, other_than=None):
        """The node that says that it is elected and that a majority follows."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for node in self.alive():
                if node.number == other_than:
                    continue
                try:
                    if node.status(2)["elected"]:
                        return node
                except NodesError:
                    pass
            time.sleep(0.02)
        raise NodesError("no leader")

    def wait_equal(self, timeout_s=30.0, count=None):
        """Until all nodes that run have the same index and hash; returns that status."""
        deadline = time.monotonic() + timeout_s
        seen = None
        while time.monotonic() < deadline:
            seen = [node.status() for node in self.alive()]
            first = seen[0]
            if (count is None or len(seen) == count) and all(
                    (s["index"], s["hash"], s["count"]) ==
                    (first["index"], first["hash"], first["count"]) and not s["rejoining"]
                    for s in seen):
                return first
            time.sleep(0.05)
        raise NodesError(f"nodes differ: {seen}")
