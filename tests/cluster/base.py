"""What the cluster tests share: ports of their own, clusters that are judged when they end, and the
figures that a node writes to its log on SIGUSR1.

    class Durability(ClusterTest):
        def test_x(self):
            cluster = self.start(3)             # stopped and judged by tearDown

At the end of a test every node that still runs must end with status 0 on SIGTERM (a leak that the
sanitizer finds is another status), and no log may hold a sanitizer's report or a broken invariant.

ROSTERD is the server's path (default: the tests' build); ROSTER_KEEP=1 keeps the directories.
"""

import fcntl
import os
import pathlib
import re
import shutil
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import groups  # noqa: E402
from cluster import Cluster, ClusterError  # noqa: E402

ROOT = HERE.parent.parent
ROSTERD = os.environ.get("ROSTERD", str(ROOT / ".build/dev/server/rosterd"))
KEEP = os.environ.get("ROSTER_KEEP") == "1"

PORTS = range(25000, 26000, 100)  # blocks; a cluster takes the first hundred ports of its own
DAMAGE = re.compile(r"ERROR: \w+Sanitizer|runtime error:|broken_invariant|ERROR: LeakSanitizer")

# Short timeouts, so that a test takes seconds; the smallest session is four election timeouts.
QUICK = {
    "group.initial.rebalance.delay.ms": 400,
    "group.min.session.timeout.ms": 1200,
}


class Ports:
    """A block of ports that no other running test uses, by a lock that dies with the process."""

    def __init__(self):
        while True:
            for base in PORTS:
                self.file = open(f"/tmp/roster-test-ports-{base}.lock", "w", encoding="ascii")
                try:
                    fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self.base = base
                    return
                except OSError:
                    self.file.close()
            time.sleep(0.5)


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ports = Ports()

    @classmethod
    def tearDownClass(cls):
        cls.ports.file.close()

    def setUp(self):
        self.clusters = []

    def make(self, n, settings=None, **options):
        """A cluster that is not started."""
        base = self.ports.base + 10 * len(self.clusters)
        cluster = Cluster(n, ROSTERD, base, settings={**QUICK, **(settings or {})}, keep=True,
                          **options)
        cluster.expected_exits = {0, -9}  # of nodes that ended before the test did
        self.clusters.append(cluster)
        return cluster

    def start(self, n, settings=None, **options):
        cluster = self.make(n, settings, **options)
        cluster.start()
        return cluster

    def member(self, cluster, *args, **kwargs):
        """A group's member with a connection to the leader, closed at the end of the test."""
        member = groups.Member(cluster, *args, **kwargs)
        self.addCleanup(member.close)
        return member.open()

    def tearDown(self):
        outcome = getattr(self, "_outcome", None)
        failed = outcome is not None and not outcome.success
        complaints = []
        for cluster in self.clusters:
            running = cluster.alive()
            codes = cluster.stop()
            complaints += [f"node {i} ended with {code}" for i, code in codes.items()
                           if code not in ((0,) if i in running else cluster.expected_exits)]
            for i in cluster.ids:
                text = log_text(cluster, i)
                complaints += [f"node {i}: {line}" for line in text.splitlines()
                               if DAMAGE.search(line)]
            if failed or complaints:
                print(f"\n{self.id()}: {cluster.directory}\n{cluster.tails()}", file=sys.stderr)
            if not KEEP and not failed and not complaints:
                shutil.rmtree(cluster.directory, ignore_errors=True)
        if not failed:
            self.assertEqual(complaints, [])

    def wait(self, probe, timeout_s, complaint):
        """Until probe() is true; returns what it returned."""
        deadline = time.monotonic() + timeout_s
        while True:
            result = probe()
            if result:
                return result
            if time.monotonic() >= deadline:
                self.fail(f"{complaint} within {timeout_s} s")
            time.sleep(0.03)


def log_text(cluster, i):
    return cluster.log(i).read_text(errors="replace") if cluster.log(i).exists() else ""


def status(cluster, i, timeout_s=5.0):
    """The node's figures as {name: text}, asked for now."""
    start = cluster.log(i).stat().st_size
    os.kill(cluster.pid(i), signal.SIGUSR1)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with open(cluster.log(i), "rb") as log:
            log.seek(start)
            for line in log.read().decode(errors="replace").splitlines(keepends=True):
                if " status role=" in line and line.endswith("\n"):
                    return dict(re.findall(r"(\w+)=(\S+)", line))
        time.sleep(0.02)
    raise ClusterError(f"node {i} wrote no status\n" + cluster.tails())


def settled(cluster, nodes=None, timeout_s=20.0):
    """Waits until the nodes (all that run) stand at the same index with nothing going on; returns
    {node: (index, hash)}. Ask on a cluster without load."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = {}
        for i in nodes or cluster.alive():
            figures = status(cluster, i)
            found[i] = int(figures["index"]), figures["state_hash"]
        if len({index for index, _ in found.values()}) == 1:
            return found
        if time.monotonic() > deadline:
            raise ClusterError(f"nodes do not come to the same index: {found}\n" + cluster.tails())
        time.sleep(0.1)


def rss_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))
