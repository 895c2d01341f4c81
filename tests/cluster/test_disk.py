"""Disks: what refuses to start and what it says, damage and its remedy, and a disk that fills up under
the leader (crash-only; docs/RECORDS.md)."""

import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

import base
import groups

EXIT_CANNOT_START, EXIT_LOG_FAILED = 1, 70
NOBODY = 65534
REMEDY = "remove this node's data directory"
MIB = 1 << 20


def mounted(where, options):
    """Mounts a file system in memory there; a complaint if that is not possible."""
    if os.geteuid() != 0:
        return "needs root, to mount a file system"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "roster-test", str(where)],
                          capture_output=True, text=True)
    return None if done.returncode == 0 else "cannot mount: " + done.stderr.strip()


def unmount(where):
    subprocess.run(["umount", "-l", str(where)], capture_output=True)


class Refusals(base.ClusterTest):
    """A lone node on a directory that is not as it should be: status 1, and one line that says what
    is wrong and what to do."""

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="roster-test-"))
        self.addCleanup(shutil.rmtree, self.home, True)
        self.home.chmod(0o755)
        self.data = self.home / "data"
        self.port = self.ports.base + 90

    def command(self, **settings):
        values = {"node.id": 1, "cluster.id": "disk", "data.dir": self.data,
                  "listeners": f"PLAINTEXT://127.0.0.1:{self.port}", **settings}
        return [base.ROSTERD, "--config", "/dev/null"] + [f"--{k.replace('_', '.')}={v}"
                                                         for k, v in values.items()]

    def refused(self, *phrases, user=None, status=EXIT_CANNOT_START, **settings):
        done = subprocess.run(self.command(**settings), capture_output=True, text=True, timeout=20,
                              user=user)
        self.assertEqual(done.returncode, status, done.stderr)
        for phrase in phrases:
            self.assertIn(phrase, done.stderr)

    def make_data(self):
        """A directory that a node has written a little into."""
        process = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)
        try:
            self.wait(self.commits, 15, "the node does not serve")
        finally:
            process.terminate()
            self.assertEqual(process.wait(20), 0)

    def commits(self):
        try:
            with groups.Client("127.0.0.1", self.port) as client:
                return client.create_topic("jobs", 4) in (0, 36) and \
                    client.commit("g", {("jobs", 0): 1}) == {("jobs", 0): 0}
        except OSError:
            return False

    def test_no_permission(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to run a node as somebody else")
        self.data.mkdir(mode=0o700)
        self.refused(str(self.data), "Permission denied", "the user that runs rosterd", user=NOBODY)

    def test_parent_is_missing(self):
        self.refused("its parent must exist", data_dir=self.home / "a" / "b")

    def test_read_only(self):
        self.data.mkdir()
        complaint = mounted(self.data, "ro")
        if complaint:
            self.skipTest(complaint)
        self.addCleanup(unmount, self.data)
        self.refused(str(self.data), "read-only")

    def test_a_second_process(self):
        process = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)
        try:
            self.wait(self.commits, 15, "the node does not serve")
            self.refused("in use by another rosterd", "data.dir of its own",
                         listeners=f"PLAINTEXT://127.0.0.1:{self.port + 1}")
        finally:
            process.terminate()
            self.assertEqual(process.wait(20), 0)

    def test_a_newer_format(self):
        self.make_data()
        written = self.data / "format"
        written.write_text(written.read_text().replace("roster-data 1", "roster-data 2"))
        self.refused("newer rosterd (format 2", "start that version")

    def test_another_nodes_directory(self):
        self.make_data()
        self.refused("belongs to another node", "correct node.id", cluster_id="other")

    def test_a_directory_that_is_not_ours(self):
        self.data.mkdir()
        (self.data / "notes").write_text("somebody's")
        self.refused("not ours", "empty directory")

    def test_a_lone_node_does_not_start_without_what_it_acknowledged(self):
        """With others it would rejoin (below); alone there is nobody to get the rest from."""
        self.make_data()
        self.flip_in_last_segment()
        self.refused("lost entries", "restore a backup")

    def flip_in_last_segment(self):
        # Segments lie open while a node runs; an orderly end closes them, so write into an open one.
        process = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)
        self.wait(self.commits, 15, "the node does not serve")
        self.assertTrue(self.commits() and self.commits())
        process.kill()
        process.wait()
        flip_first_entry(open_segment(self.data))


def raft_files(data):
    return sorted((data / "raft" / "raft").iterdir())


def open_segment(data):
    """The one that is being written: there are empty ones behind it."""
    found = [f for f in raft_files(data) if f.name.startswith("open-") and f.read_bytes()[8:].strip(
        b"\0")]
    return found[0]


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x40]))


def flip_first_entry(path):
    """In the first batch's entry, so that readable ones follow: magic "RLB1" begins it."""
    flip(path, path.read_bytes().index(b"RLB1") + 60)


def last_batch(content):
    """Where the last batch of an open segment begins, and where it ends: behind the format stand
    batches of two checksums, a count, (term, type, length) per entry, and the entries."""
    at, start = 8, None
    while (count := struct.unpack_from("<Q", content, at + 8)[0]) > 0:
        start, heads = at, at + 16
        at = heads + 16 * count
        at += sum(struct.unpack_from("<I", content, heads + 16 * n + 12)[0] for n in range(count))
    return start, at


class Damage(base.ClusterTest):
    def start_filled(self, **settings):
        cluster = self.start(3, settings)
        cluster.create_topic("jobs", 100)
        with groups.Coordinator(cluster) as coordinator:
            for n in range(120):
                rows = {("jobs", p): n + p for p in range(100)}
                errors = coordinator.ask(lambda c, o=rows, g=f"g{n % 40}": c.commit(g, o))
                self.assertEqual(groups.error_of(errors), 0)
        base.settled(cluster)
        leader = cluster.leader()
        return cluster, next(i for i in cluster.ids if i != leader)

    def data(self, cluster, i):
        return cluster.node_dir(i) / "data"

    def assert_remedy_works(self, cluster, i, *phrases):
        """The node does not start, says what to do, and that works."""
        start = len(base.log_text(cluster, i))
        cluster.spawn(i)
        self.assertIn(cluster.processes[i].wait(20), (EXIT_CANNOT_START, EXIT_LOG_FAILED))
        said = base.log_text(cluster, i)[start:]
        for phrase in (REMEDY, *phrases):
            self.assertIn(phrase, said)
        cluster.wipe(i)
        cluster.restart(i)
        self.assert_equal_replicas(cluster)

    def assert_equal_replicas(self, cluster):
        self.assertEqual(len(set(base.settled(cluster).values())), 1)
        self.assertEqual(len(cluster.alive()), len(cluster.ids))

    def test_closed_segment(self):
        cluster, node = self.start_filled()
        cluster.kill(node)
        cluster.restart(node)  # closes the segments that were open
        cluster.kill(node)
        closed = [f for f in raft_files(self.data(cluster, node)) if f.name[:3] == "000"]
        largest = max(closed, key=lambda f: f.stat().st_size)
        flip(largest, largest.stat().st_size // 2)
        self.assert_remedy_works(cluster, node)

    def test_snapshot(self):
        cluster, node = self.start_filled(**{"raft.snapshot.threshold.bytes": 65536,
                                             "raft.snapshot.trailing.bytes": 4096})
        cluster.kill(node)
        snapshots = [f for f in raft_files(self.data(cluster, node))
                     if f.name.startswith("snapshot-") and not f.name.endswith(".meta")]
        self.assertTrue(snapshots, "no snapshot was taken: the test shows nothing")
        for path in snapshots:
            flip(path, path.stat().st_size // 2)
        self.assert_remedy_works(cluster, node, "snapshot")

    def assert_noticed_whose(self, name):
        """A wrong configuration looks the same, so the message names both remedies."""
        cluster, node = self.start_filled()
        cluster.kill(node)
        path = self.data(cluster, node) / name
        flip(path, len(path.read_bytes()) - 2)  # the last letter of the node's or cluster's name
        self.assert_remedy_works(cluster, node, "belongs to another node", "is damaged")

    def test_format(self):
        self.assert_noticed_whose("format")

    def test_identity(self):
        self.assert_noticed_whose("raft/identity")

    def test_marker(self):
        cluster, node = self.start_filled()
        cluster.kill(node)
        (self.data(cluster, node) / "raft" / "voter").write_text("perhaps\n")
        self.assert_remedy_works(cluster, node, "voter")

    def test_open_segment_with_entries_behind_the_damage(self):
        """R18: not a torn tail. The node starts by itself, says what it lost, and catches up before it
        votes; replicas are equal afterwards."""
        cluster, node = self.start_filled()
        cluster.kill(node)
        flip_first_entry(open_segment(self.data(cluster, node)))
        cluster.restart(node)
        self.wait(lambda: base.status(cluster, node)["rejoining"] == "0", 10, "no end of the rejoin")
        self.assertIn("raftlog_entries_damaged", base.log_text(cluster, node))
        self.assert_equal_replicas(cluster)

    def test_torn_tail(self):
        """The last write was cut short: nobody was told of it, the node starts and has the rest."""
        cluster, node = self.start_filled()
        cluster.kill(node)
        path = open_segment(self.data(cluster, node))
        content = path.read_bytes()
        start, end = last_batch(content)
        with open(path, "r+b") as file:
            file.seek(end)
            file.write(content[start:(start + end) // 2])  # half a batch
        cluster.restart(node)
        self.assertNotIn("raftlog_entries_damaged", base.log_text(cluster, node))
        self.assert_equal_replicas(cluster)

    def test_a_damaged_last_entry(self):
        """No sector of it is missing, so it is no torn tail; it may have been acknowledged (R18)."""
        cluster, node = self.start_filled()
        cluster.kill(node)
        path = open_segment(self.data(cluster, node))
        flip(path, len(path.read_bytes().rstrip(b"\0")) - 3)
        cluster.restart(node)
        self.wait(lambda: base.status(cluster, node)["rejoining"] == "0", 10, "no end of the rejoin")
        self.assertIn("raftlog_entries_damaged", base.log_text(cluster, node))
        self.assert_equal_replicas(cluster)

    def test_the_last_acknowledged_entry_was_never_written(self):
        """The disk lied. Nothing of it is there, but the leader remembers the acknowledgement (R18):
        the node ends, and when it is started again it catches up before it votes."""
        cluster, node = self.start_filled()
        cluster.kill(node)
        path = open_segment(self.data(cluster, node))
        start, end = last_batch(path.read_bytes())
        with open(path, "r+b") as file:
            file.seek(start)
            file.write(bytes(end - start))
        cluster.spawn(node)
        self.assertEqual(cluster.processes[node].wait(20), EXIT_LOG_FAILED)
        self.assertIn("raftlog_entries_lost", base.log_text(cluster, node))
        cluster.restart(node)
        self.assert_equal_replicas(cluster)
        self.assertIn("raftlog_rejoined", base.log_text(cluster, node))


class FullDisk(base.ClusterTest):
    def test_leadership_goes_before_the_disk_is_full(self):
        """The leader's disk fills up: leadership is handed over while there is still room, commits
        go on. When the disk is full to the last byte nothing is lost; with room again the node is
        like the others."""
        cluster = self.make(3, {"disk.free.min.bytes": 32 * MIB})
        for i in cluster.ids:
            data = cluster.node_dir(i) / "data"
            data.mkdir()
            complaint = mounted(data, "size=96m")
            if complaint:
                self.skipTest(complaint)
            self.addCleanup(unmount, data)
        cluster.start()
        cluster.create_topic("jobs", 4)
        member = self.member(cluster, "members", "m", session_ms=30_000)
        groups.rebalance([member], [("jobs", 0)])
        leader = cluster.leader()
        filler = cluster.node_dir(leader) / "data" / "lost+found"
        with groups.Coordinator(cluster) as coordinator:
            self.commit(coordinator, 1)
            self.fill(filler, leave=24 * MIB)
            self.wait(lambda: cluster.leader() not in (None, leader), 5, "leadership was kept")
            self.assertIn("raftlog_disk_low", base.log_text(cluster, leader))
            self.commit(coordinator, 2)
            self.assertTrue(cluster.is_alive(leader))
            self.fill(filler, leave=0)
            for offset in range(3, 40):
                self.commit(coordinator, offset, size=4096)
            self.assertEqual(coordinator.ask(member.beat), 0)
            cluster.expected_exits.add(EXIT_LOG_FAILED)  # it may have run into the end of the disk
            filler.unlink()
            if not cluster.is_alive(leader):
                cluster.restart(leader)
            self.wait(lambda: base.status(cluster, leader)["rejoining"] == "0", 10, "no rejoin")
            self.commit(coordinator, 41)
            self.assertEqual(coordinator.ask(lambda c: c.fetch("g")), (0, {("jobs", 0): 41}))
        self.assertEqual(len(set(base.settled(cluster).values())), 1)
        self.assertEqual(set(coordinator.seen) - {0, 15, 16, "broken"}, set())

    def commit(self, coordinator, offset, size=1):
        rows = {("jobs", 0): offset}
        for _ in range(max(1, size // 100)):
            errors = coordinator.ask(lambda c: c.commit("g", rows))
            self.assertEqual(errors, {("jobs", 0): 0})

    @staticmethod
    def fill(path, leave):
        found = os.statvfs(path.parent)
        count = found.f_bavail * found.f_frsize - leave
        with open(path, "ab") as file:
            while count > 0:
                try:
                    count -= os.write(file.fileno(), bytes(min(count, MIB)))
                except OSError:
                    return
        time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()
