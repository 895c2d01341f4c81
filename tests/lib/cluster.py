"""Starts, watches, kills and restarts a cluster of real rosterd processes on 127.0.0.1.

    with Cluster(3, binary, base_port=21100) as cluster:      # starts, waits for a leader
        cluster.create_topic("jobs", 6)
        first = cluster.leader()                              # node id, 1..n
        cluster.kill(first)                                   # SIGKILL
        cluster.wait_leader(other_than=first)
        cluster.restart(first)

Ports: node i serves clients on base_port + i and peers on base_port + 50 + i. All files (one
directory per node with its configuration, data and log) lie below `directory`, a new temporary one
unless given; it is removed by stop() only if it was temporary and `keep` was not asked for.

`settings` are further lines for every node's configuration file (name -> value); `advertised`
maps a node id to the (host, port) that clients are told, for a proxy in front of the node.
Every wait has a deadline and raises ClusterError with the end of the nodes' logs in it.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from wire import Connection

LOG_TAIL_BYTES = 2000
POLL_S = 0.05


class ClusterError(Exception):
    """The cluster did not do in time what the test asked of it."""


class Cluster:
    def __init__(self, n, binary, base_port, directory=None, settings=None, advertised=None,
                 keep=False):
        self.ids = list(range(1, n + 1))
        self.binary = str(binary)
        self.ports = {i: base_port + i for i in self.ids}
        self.peer_ports = {i: base_port + 50 + i for i in self.ids}
        self.settings = dict(settings or {})
        self.advertised = dict(advertised or {})
        self.temporary = directory is None
        self.keep = keep
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="roster-test-"))
        self.processes = {}
        for i in self.ids:
            self._configure(i)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    # Files

    def node_dir(self, i):
        return self.directory / f"node{i}"

    def config(self, i):
        return self.node_dir(i) / "roster.properties"

    def log(self, i):
        """Path of the node's log: its stderr, appended to over restarts."""
        return self.node_dir(i) / "log"

    def _configure(self, i):
        self.node_dir(i).mkdir(parents=True, exist_ok=True)
        secret = self.directory / "peer.secret"
        if not secret.exists():
            secret.touch(mode=0o600)
            secret.write_text("a secret that only this test cluster knows\n")
        host, port = self.advertised.get(i, ("127.0.0.1", self.ports[i]))
        lines = {
            "node.id": i,
            "cluster.id": "roster-test",
            "cluster.nodes": ",".join(f"{j}@127.0.0.1:{self.peer_ports[j]}" for j in self.ids),
            "peer.secret.file": secret,
            "data.dir": self.node_dir(i) / "data",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[i]}",
            "advertised.listeners": f"PLAINTEXT://{host}:{port}",
            **self.settings,
        }
        text = "".join(f"{name}={value}\n" for name, value in lines.items())
        self.config(i).write_text(text)

    def tails(self):
        """The end of every node's log, for an error message."""
        parts = []
        for i in self.ids:
            data = self.log(i).read_bytes() if self.log(i).exists() else b""
            tail = data[-LOG_TAIL_BYTES:].decode(errors="replace")
            parts.append(f"--- node {i}, {self.state(i)}:\n{tail}")
        return "\n".join(parts)

    # Processes

    def start(self, timeout_s=20.0):
        """Starts every node that does not run and waits until a leader serves; returns its id."""
        for i in self.ids:
            self.spawn(i)
        return self.wait_leader(timeout_s)

    def spawn(self, i):
        """Starts one node without waiting for anything."""
        if self.is_alive(i):
            return
        with open(self.log(i), "ab") as log:
            self.processes[i] = subprocess.Popen(
                [self.binary, "--config", str(self.config(i))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def is_alive(self, i):
        return i in self.processes and self.processes[i].poll() is None

    def alive(self):
        return [i for i in self.ids if self.is_alive(i)]

    def state(self, i):
        if i not in self.processes:
            return "never started"
        code = self.processes[i].poll()
        return "running" if code is None else f"ended with {code}"

    def pid(self, i):
        return self.processes[i].pid

    def kill(self, i, sig=signal.SIGKILL, timeout_s=20.0):
        """Sends a signal; waits for the process to end unless it is only stopped or continued.
        Returns the exit status (negative: ended by that signal) or None."""
        self.processes[i].send_signal(sig)
        if sig in (signal.SIGSTOP, signal.SIGCONT):
            return None
        try:
            return self.processes[i].wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"node {i} still runs {timeout_s} s after signal {sig}\n"
                               + self.tails()) from None

    def restart(self, i, timeout_s=20.0):
        """Starts a node that has ended and waits until it answers clients."""
        self.spawn(i)
        self.wait_serving(i, timeout_s)

    def wipe(self, i):
        """Empties the data directory of a node that has ended."""
        if self.is_alive(i):
            raise ClusterError(f"node {i} still runs")
        shutil.rmtree(self.node_dir(i) / "data", ignore_errors=True)

    def stop(self):
        """Ends every node: SIGCONT and SIGTERM, SIGKILL after 10 s. Returns {id: exit status}."""
        for i in self.alive():
            self.processes[i].send_signal(signal.SIGCONT)
            self.processes[i].send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        for process in self.processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        codes = {i: process.returncode for i, process in self.processes.items()}
        if self.temporary and not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)
        return codes

    # Clients' view

    def connect(self, i, timeout_s=5.0):
        """A raw connection to node i itself, past any proxy."""
        return Connection("127.0.0.1", self.ports[i], timeout_s)

    def bootstrap(self):
        """What a client is configured with: every node's advertised address."""
        where = [self.advertised.get(i, ("127.0.0.1", self.ports[i])) for i in self.ids]
        return ",".join(f"{host}:{port}" for host, port in where)

    def leader(self):
        """The node that says of itself that it coordinates groups, or None."""
        for i in self.alive():
            try:
                with self.connect(i, timeout_s=1.0) as connection:
                    error, node, _, _ = connection.find_coordinator("probe")
            except OSError:
                continue
            if error == 0 and node == i:
                return i
        return None

    def wait_leader(self, timeout_s=20.0, other_than=None):
        """Waits until a node (another one than `other_than`) leads; returns its id."""
        return self._wait(lambda: self._leader_but(other_than), timeout_s, "no leader")

    def _leader_but(self, other_than):
        found = self.leader()
        return None if found == other_than else found

    def wait_serving(self, i, timeout_s=20.0):
        """Waits until node i answers a Metadata request."""
        self._wait(lambda: self._serves(i), timeout_s, f"node {i} does not answer")

    def _serves(self, i):
        try:
            with self.connect(i, timeout_s=1.0) as connection:
                return bool(connection.metadata([])["brokers"])
        except OSError:
            return False

    def _wait(self, probe, timeout_s, complaint):
        deadline = time.monotonic() + timeout_s
        while True:
            result = probe()
            if result:
                return result
            if time.monotonic() >= deadline:
                raise ClusterError(f"{complaint} within {timeout_s} s\n" + self.tails())
            time.sleep(POLL_S)

    def create_topic(self, name, partitions, timeout_s=10.0):
        """Declares a topic through the leader (an existing one is fine) and waits until every
        running node lists it with all its partitions."""
        def created():
            leader = self.leader()
            if leader is None:
                return False
            try:
                with self.connect(leader) as connection:
                    return connection.create_topic(name, partitions) in (0, 36)
            except OSError:
                return False

        def listed():
            return all(self._lists(i, name, partitions) for i in self.alive())

        self._wait(created, timeout_s, f"topic {name} cannot be created")
        self._wait(listed, timeout_s, f"topic {name} is not listed by every node")

    def _lists(self, i, name, partitions):
        try:
            with self.connect(i, timeout_s=1.0) as connection:
                error, leaders = connection.metadata([name])["topics"].get(name, (3, {}))
        except OSError:
            return False
        return error == 0 and len(leaders) == partitions and min(leaders.values()) >= 0
