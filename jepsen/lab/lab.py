"""A cluster of real nodes, each in a network namespace of its own, on a disk of its own that can
lose power, in cgroups of its own, with a wall clock of its own; and places for clients.

    room.enter()                              # first thing in main()
    with Lab(3, programs, out, seed) as lab:  # starts the nodes, waits for a leader
        lab.kill(2); lab.disks[2].crash(); lab.run(2)

To clients (the interface of workloads.start()): nodes, client_places, client_command().

A node that ends by itself is started again after RESTART_S, as a service manager would; kill() says
that it is to stay down until run(). A node that refuses its directory stays down and is `damaged`
until rejoin().

Below [out]: nodes/<name>/log and roster.properties, logdump/<name>.jsonl after stop().
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

from cluster import Cluster, ClusterError
from lab import archive, clock, health, room
from lab.cgroup import Cgroup
from lab.disk import Disk
from lab.net import SELF, Net, address
from lab.watch import Watch
from wire import Connection

CLIENT_PORT = 9092
PEER_PORT = 9093
RESTART_S = 1.0
REJOIN_S = 60.0
PIECES_TRIED_MAX = 4
SETTINGS = {
    "group.initial.rebalance.delay.ms": 500,
    "raft.snapshot.threshold.bytes": 262144,
    "raft.snapshot.trailing.bytes": 65536,
    "disk.free.min.bytes": 16 << 20,
}
# A sanitizer wants to be loaded first; libfaketime is harmless there.
SANITIZER = {"ASAN_OPTIONS": "verify_asan_link_order=0:abort_on_error=1",
             "UBSAN_OPTIONS": "print_stacktrace=1"}


def begin_of(path):
    """The snapshot's line of a dump, or None."""
    with open(path, "rb") as file:
        second = (file.readline(), file.readline())[1]
    line = json.loads(second) if second else {}
    return line if line.get("kind") == "snapshot" else None


def leads_to(path, goal):
    """Whether a dump passes through the state of a snapshot."""
    key = b'"index":%d,' % goal["index"]
    with open(path, "rb") as file:
        for text in file:
            if text.startswith(b'{"kind":"entry"') and key in text:
                line = json.loads(text)
                if line.get("index") == goal["index"] and line.get("hash") == goal["hash"]:
                    return True
    return False


class Programs:
    """The binaries of one build."""

    def __init__(self, build, rosterd=None):
        build = pathlib.Path(build).resolve()
        self.rosterd = pathlib.Path(rosterd or build / "server/rosterd").resolve()
        self.chaosnet = build / "jepsen/chaosnet"
        self.lossfs = build / "jepsen/disk/lossfs"
        self.logdump = build / "jepsen/logdump/logdump"

    def missing(self):
        return [str(path) for path in vars(self).values() if not path.exists()]


class Lab(Cluster):
    def __init__(self, n, programs, out, seed, writer=None, clients=4, settings=None):
        self.programs, self.writer, self.out = programs, writer, pathlib.Path(out)
        self.scratch = room.scratch()
        self.lock = threading.RLock()
        self.wanted, self.damaged, self.impairments, self.ended = set(), set(), {}, {}
        self.names = {i: f"n{i}" for i in range(1, n + 1)}
        self.ids_by_name = {name: i for i, name in self.names.items()}
        self.client_places = [f"c{i}" for i in range(1, clients + 1)]
        self.nodes = {name: (name, CLIENT_PORT) for name in self.names.values()}
        self.net = Net(programs.chaosnet, [*self.nodes, *self.client_places],
                       self.scratch / "net", self.scratch / "hosts", seed)
        self.disks = {i: Disk(programs.lossfs, self.scratch / name)
                      for i, name in self.names.items()}
        for disk in self.disks.values():
            disk.keep()
        self.cgroups = {i: Cgroup(name) for i, name in self.names.items()}
        self.clocks = {i: clock.Clock(self.scratch / f"{name}.clock")
                       for i, name in self.names.items()}
        super().__init__(n, programs.rosterd, base_port=0, directory=out,
                         settings={**SETTINGS, **(settings or {})},
                         advertised={i: self.nodes[name] for i, name in self.names.items()})
        self.ports = {i: CLIENT_PORT for i in self.ids}
        self.watch = Watch(self)

    # Files

    def node_dir(self, i):
        return self.out / "nodes" / self.names[i]

    def data(self, i):
        return self.disks[i].mount / "data"

    def _configure(self, i):
        super()._configure(i)
        own = {
            "cluster.nodes": ",".join(f"{j}@{name}:{PEER_PORT}" for j, name in self.names.items()),
            "data.dir": self.data(i),
            "listeners": f"PLAINTEXT://{address(self.names[i])}:{CLIENT_PORT}",
            "peer.listen": address(self.names[i]),
        }
        lines = [line for line in self.config(i).read_text().splitlines()
                 if line.split("=", 1)[0] not in own]
        lines += [f"{name}={value}" for name, value in own.items()]
        self.config(i).write_text("\n".join(lines) + "\n")

    def tails(self):
        """The end of every node's log but for its figures."""
        parts = []
        for i in self.ids:
            path = self.log(i)
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            told = [line for line in lines if " status role=" not in line]
            parts.append(f"--- node {i}, {self.state(i)}:\n" + "\n".join(told[-8:]))
        return "\n".join(parts)

    # What clients need

    def client_command(self, place, argv):
        return [*Net.inside(place or SELF), *argv]

    def connect(self, i, timeout_s=5.0):
        return Connection(address(self.names[i]), CLIENT_PORT, timeout_s)

    # Processes

    def observe(self, name, event, **more):
        if self.writer is not None:
            self.writer.write("lab", "info", "observed", {"node": name, "event": event, **more})

    def spawn(self, i):
        with self.lock:
            self.wanted.add(i)
            if self.is_alive(i):
                return
            variables = {**SANITIZER, **self.clocks[i].environment()}
            command = [*Net.inside(self.names[i]), *self.cgroups[i].joining(), "env",
                       *(f"{key}={value}" for key, value in variables.items()),
                       self.binary, "--config", str(self.config(i))]
            self.watch.begin(i)
            with open(self.log(i), "ab") as log:
                self.processes[i] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                                     stderr=log)
            self.observe(self.names[i], "started", pid=self.processes[i].pid)

    def run(self, i):
        """Starts a node that is down, without waiting."""
        self.spawn(i)

    def kill(self, i, sig=signal.SIGKILL, timeout_s=20.0):
        """Ends it, to stay down; a SIGSTOP or SIGCONT is only sent."""
        with self.lock:
            if sig not in (signal.SIGSTOP, signal.SIGCONT):
                self.wanted.discard(i)
            if not self.is_alive(i):
                self._note_end(i)
                return self.processes[i].returncode
            self.processes[i].send_signal(sig)
        if sig in (signal.SIGSTOP, signal.SIGCONT):
            return None
        try:
            status = self.processes[i].wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"node {i} still runs {timeout_s} s after signal {sig}") from None
        with self.lock:
            self._note_end(i)
        return status

    def power_off(self, some, chance=None):
        """The power of these nodes goes at one moment: what was not synced is gone, or, with a
        source of chance, torn. {name: what was lost}. They are down afterwards, their disks are
        well."""
        with self.lock:
            self.wanted.difference_update(some)
        lost = {self.names[i]: self.disks[i].cut(None if chance is None else chance.getrandbits(32))
                for i in some}
        for i in some:
            self.kill(i)
            self.disks[i].heal()
        return lost

    def _note_end(self, i):
        """Once for each process; with the lock held."""
        process = self.processes[i]
        if self.ended.get(i) is process:
            return
        self.ended[i] = process
        code = process.returncode
        self.observe(self.names[i], "exited", status=code if code >= 0 else None,
                     signal=-code if code < 0 else None, expected=i not in self.wanted)

    def supervise(self):
        """Called all the time by the watch: starts again what ended by itself."""
        for i in self.ids:
            with self.lock:
                if i not in self.processes or self.is_alive(i):
                    continue
                self._note_end(i)
                if i in self.wanted and i in self.damaged:
                    self.wanted.discard(i)
                if i in self.wanted and self.watch.down_for_s(i) >= RESTART_S:
                    self.spawn(i)

    def rejoin(self, i):
        """docs/OPERATING.md: all others are up, what is left of the directory is removed, the node
        is started and has a vote again when it says so. Raises if it does not come to that."""
        self._wait(lambda: all(self._serves(j) for j in self.ids if j != i), REJOIN_S,
                   "a node is to rejoin, and others are not up")
        self.kill(i)
        self.disks[i].heal()
        self.disks[i].remove("data")
        since = self.log(i).stat().st_size
        self.damaged.discard(i)
        self.run(i)
        for line in ("raftlog_rejoining", "raftlog_rejoined"):
            self.wait_line(i, line, since)
        self.observe(self.names[i], "rejoined")

    def wait_back(self, i, timeout_s=REJOIN_S):
        """Waits until a node serves, whatever it takes: one that refuses its directory rejoins."""
        def is_back():
            return i in self.damaged or self._serves(i)
        self._wait(is_back, timeout_s, f"node {i} does not come back")
        if i in self.damaged:
            self.rejoin(i)
            self._wait(lambda: self._serves(i), timeout_s, f"node {i} does not come back")

    def wait_line(self, i, text, since, timeout_s=REJOIN_S):
        """Waits until the node's log holds [text] behind the byte [since]."""
        self._wait(lambda: self.says(i, text, since), timeout_s, f"node {i} does not say {text}")

    def says(self, i, text, since=0):
        """Whether the node's log holds [text] behind the byte [since]."""
        with open(self.log(i), "rb") as log:
            log.seek(since)
            return text.encode() in log.read()

    # What is wrong with it

    def impair(self, i, what):
        """The node cannot be counted on for the reason [what], until relieve()."""
        with self.lock:
            self.impairments.setdefault(i, set()).add(what)

    def relieve(self, i, what):
        with self.lock:
            self.impairments.get(i, set()).discard(what)

    def is_healthy(self, i):
        return self.is_alive(i) and not self.impairments.get(i)

    def core(self):
        """Names of a healthy majority that is connected among itself, or [] (health.py)."""
        return [self.names[i] for i in health.core(
            self.ids, self.is_healthy,
            lambda a, b: self.net.is_clear(self.names[a], self.names[b]))]

    def reaches_clients(self, names):
        """Whether every place of clients is connected with every one of these nodes."""
        return all(self.net.is_clear(place, name) for place in self.client_places for name in names)

    # Start and end

    def start(self, timeout_s=20.0):
        self.watch.start()
        return super().start(timeout_s)

    def heal(self):
        """Nothing is wrong any more that the lab did; nodes that are down come back."""
        self.net.clear()
        for i in self.ids:
            self.disks[i].heal()
            self.cgroups[i].limit(None)
            self.cgroups[i].freeze(False)
            self.clocks[i].set(0)
            if self.is_alive(i):
                self.processes[i].send_signal(signal.SIGCONT)
        with self.lock:
            self.impairments.clear()
        for i in self.ids:
            if i not in self.damaged:
                self.spawn(i)
        for i in sorted(self.damaged):
            self.rejoin(i)

    def compare_states(self, timeout_s=30.0):
        """Waits until all nodes have applied the same; then their states must be equal. Returns
        complaints."""
        try:
            self._wait(self._are_level, timeout_s, "the nodes do not come to the same index")
        except ClusterError as complaint:
            return [str(complaint).splitlines()[0] + f": {self.watch.states}"]
        hashes = {state[1] for state in self.watch.states.values()}
        return [] if len(hashes) == 1 else [f"states differ at one index: {self.watch.states}"]

    def _are_level(self):
        if len(self.alive()) < len(self.ids):
            return False
        self.watch.ask()
        time.sleep(0.5)
        states = self.watch.states
        return len(states) == len(self.ids) and len({index for index, _ in states.values()}) == 1

    def stop(self):
        with self.lock:
            self.wanted.clear()
        codes = super().stop()
        with self.lock:
            for i in self.processes:
                self._note_end(i)
        self.watch.stop()
        return codes

    def dump(self):
        """Decodes the stopped nodes' directories, and as far as needed and possible what their logs
        held before. Returns the names of nodes whose directory could not be decoded."""
        target = self.out / "logdump"
        (target / "earlier").mkdir(parents=True, exist_ok=True)
        failed = [name for i, name in self.names.items()
                  if not self._decode(self.data(i), target / f"{name}.jsonl")]
        if not failed:
            self._dump_earlier(target)
        return failed

    def _decode(self, data, path):
        with open(path, "wb") as lines, open(path.with_suffix(".err"), "wb") as errors:
            return subprocess.run([str(self.programs.logdump), str(data), "--facts"], stdout=lines,
                                  stderr=errors, check=False,
                                  env={**os.environ, "TMPDIR": str(self.scratch)}).returncode == 0

    def _dump_earlier(self, target):
        """earlier/1.jsonl leads to the snapshot with which the longest of the nodes' dumps begins,
        2.jsonl to that of 1.jsonl, and so on; ends where nothing leads on."""
        begins = [begin_of(target / f"{name}.jsonl") for name in self.names.values()]
        goal = None if None in begins else min(begins, key=lambda begin: begin["raft_index"])
        pieces = [piece for i in self.ids
                  for piece in archive.pieces(self.data(i), self.disks[i].kept)]
        number = 0
        while goal is not None:
            number += 1
            path = target / "earlier" / f"{number}.jsonl"
            if not any(self._dump_piece(piece, path, goal) for piece in
                       archive.before(pieces, goal["raft_index"])[:PIECES_TRIED_MAX]):
                path.unlink(missing_ok=True)
                return
            goal = begin_of(path)

    def _dump_piece(self, piece, path, goal):
        """True: the piece leads to the state that [goal], a snapshot's line, says."""
        copy = self.scratch / "piece"
        shutil.rmtree(copy, ignore_errors=True)
        piece.assemble(copy)
        return self._decode(copy, path) and leads_to(path, goal)

    def keep_data(self):
        """Copies the nodes' directories to where the logs are."""
        for i in self.ids:
            shutil.copytree(self.data(i), self.node_dir(i) / "data", dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("lock"))

    def close(self):
        for disk in self.disks.values():
            disk.close()
        self.net.close()

    def __exit__(self, *_):
        self.stop()
        self.close()

