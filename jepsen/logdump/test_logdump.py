"""logdump against real nodes: what was committed is what it prints, what is damaged it refuses.

LOGDUMP and ROSTERD name the programs."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests/cluster"))

import base  # noqa: E402
import groups  # noqa: E402
import test_disk  # noqa: E402

LOGDUMP = os.environ.get("LOGDUMP", str(base.ROOT / ".build/dev/jepsen/logdump/logdump"))
TOPICS = ("jobs", "mails")


def dump(directory, *options, leaks=False):
    """(exit status, lines, complaint); [leaks]: the library's, where it refuses what it loads."""
    environment = {**os.environ}
    if leaks:
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = subprocess.run([LOGDUMP, directory, *options], capture_output=True, text=True,
                          timeout=60, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return done.returncode, lines, done.stderr


def good(directory, *options):
    status, lines, complaint = dump(directory, *options)
    assert status == 0, complaint
    return lines


def of_kind(lines, kind):
    return [line for line in lines if line["kind"] == kind]


def records(lines):
    return [(line, record) for line in of_kind(lines, "proposal") for record in line["records"]]


def commits(lines, group):
    """[(topic, partition, offset, verdict's error)...] in the order of the log."""
    return [(record["body"]["topic_name"], row["partition"], row["offset"],
             record["verdict"]["error"])
            for _, record in records(lines)
            if record["record"] == "offsets" and record["body"]["group_name"] == group
            for row in record["body"]["offsets"]]


def facts(lines, group, at):
    """{(topic, partition): offset} of the facts at this index."""
    return {(line["body"]["topic_name"], row["partition"]): row["offset"]
            for line in of_kind(lines, "fact")
            if line["row"] == "offsets" and line["group"] == group and line["at"] == at
            for row in line["body"]["offsets"]}


def digest(directory):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(directory).rglob("*")) if path.is_file()}


class Logdump(base.ClusterTest):
    def kill_all(self, cluster):
        """Where all stand, and then nobody any more."""
        found = base.settled(cluster)
        for i in cluster.ids:
            cluster.kill(i)
        return found

    def data(self, cluster, i):
        return cluster.node_dir(i) / "data"

    def test_each_commit_stands_in_the_log_of_each_node(self):
        cluster = self.start(3)
        for topic in TOPICS:
            cluster.create_topic(topic, 4)
        with groups.connect(cluster, cluster.leader()) as client:
            both = {("jobs", 1): 10, ("mails", 2): 20}
            self.assertEqual(set(client.commit("g", both).values()), {0})
            for offset in range(5):
                self.assertEqual(client.commit("g", {("jobs", 0): offset}), {("jobs", 0): 0})
            self.assertEqual(client.commit("gone", {("jobs", 3): 3}), {("jobs", 3): 0})
            self.assertEqual(client.delete_groups(["gone"]), {"gone": 0})
            self.assertEqual(client.fetch("g")[0], 0)  # a read's marker
        stood = self.kill_all(cluster)
        before = {i: digest(self.data(cluster, i)) for i in cluster.ids}
        dumps = {i: good(self.data(cluster, i), "--facts") for i in cluster.ids}
        self.assertEqual(before, {i: digest(self.data(cluster, i)) for i in cluster.ids})
        for i, lines in dumps.items():
            self.check_lines(i, lines)
            end = lines[-1]
            self.assertEqual((end["index"], end["hash"]), stood[i])
            self.assertEqual(sorted(commits(lines, "g")), sorted(
                [("jobs", 1, 10, 0), ("mails", 2, 20, 0)] +
                [("jobs", 0, offset, 0) for offset in range(5)]))
            self.assertEqual(commits(lines, "gone"), [("jobs", 3, 3, 0)])
            self.assertEqual(facts(lines, "g", end["index"]), {**both, ("jobs", 0): 4})
            gone = [record for _, record in records(lines) if record["record"] == "group_deleted"]
            self.assertEqual([record["body"]["group_name"] for record in gone], ["gone"])
            self.assertIn([], [line["records"] for line in of_kind(lines, "proposal")])
        entries = [of_kind(lines, "entry") for lines in dumps.values()]
        shortest = min(map(len, entries))
        self.assertGreater(shortest, 8)
        self.assertEqual(*[found[:shortest] for found in entries[:2]])
        self.assertEqual(*[found[:shortest] for found in entries[1:]])
        both = [line for line in of_kind(dumps[1], "proposal") if len(line["records"]) >= 3 and
                {"jobs", "mails"} <= {r["body"].get("topic_name") for r in line["records"]}]
        self.assertEqual(len(both), 1, "one commit is one proposal")

    def check_lines(self, i, lines):
        self.assertEqual((lines[0]["kind"], lines[0]["node"], lines[0]["voter"]),
                         ("node", i, "voter"))
        self.assertEqual(lines[0]["cluster"], "roster-test")
        self.assertEqual(lines[0]["health"], "sound")
        self.assertEqual((lines[-1]["kind"], lines[-1]["lines"]), ("end", len(lines) - 1))
        entries = of_kind(lines, "entry")
        self.assertEqual([entry["raft_index"] for entry in entries],
                         list(range(lines[0]["first"], lines[0]["last"] + 1)))
        indexes = [entry["index"] for entry in entries if entry["type"] == "command"]
        self.assertEqual(indexes, list(range(indexes[0], lines[-1]["index"] + 1)))
        for entry in entries:
            if entry["type"] == "command":
                self.assertEqual(entry["term"], entry["raft_term"])
        proposals = [line["index"] for line in of_kind(lines, "proposal")]
        self.assertEqual(sum(e.get("proposals", 0) for e in entries), len(proposals))
        numbers = [(line["term"], line["number"]) for line in of_kind(lines, "proposal")]
        self.assertEqual(len(numbers), len(set(numbers)))

    def test_members_and_their_assignments_have_names(self):
        cluster = self.start(1)
        cluster.create_topic("jobs", 2)
        member = self.member(cluster, "g", "worker", instance="seat-1")
        groups.rebalance([member], [("jobs", 0), ("jobs", 1)])
        self.assertEqual(member.commit({("jobs", 0): 7}), {("jobs", 0): 0})
        self.assertEqual(member.leave(), (0, [0]))
        self.kill_all(cluster)
        lines = good(self.data(cluster, 1))
        found = {record["record"]: record["body"] for _, record in reversed(records(lines))}
        self.assertEqual(found["generation"]["group_name"], "g")
        self.assertEqual(found["generation"]["members"][0]["instance_id"], "seat-1")
        [row] = found["assignment"]["assignments"]
        self.assertEqual(row["member_name"], member.id)
        self.assertEqual(groups.assigned(bytes.fromhex(row["assignment"])),
                         {("jobs", 0), ("jobs", 1)})
        self.assertEqual(found["offsets"]["member_name"], member.id)

    def test_a_snapshot_and_what_follows_it(self):
        cluster = self.start(1, {"raft.snapshot.threshold.bytes": 65536,
                                 "raft.snapshot.trailing.bytes": 16384})
        cluster.create_topic("jobs", 4)
        with groups.connect(cluster, cluster.leader()) as client:
            for offset in range(600):
                where = "jobs", offset % 4
                self.assertEqual(client.commit("g", {where: offset}), {where: 0})
        stood = self.kill_all(cluster)
        lines = good(self.data(cluster, 1), "--facts")
        self.check_lines(1, lines)
        [snapshot] = of_kind(lines, "snapshot")
        end = lines[-1]
        self.assertEqual((end["index"], end["hash"]), stood[1])
        entries = of_kind(lines, "entry")
        covered = [entry for entry in entries if not entry["replayed"]]
        self.assertTrue(covered and covered[-1]["raft_index"] == snapshot["raft_index"])
        self.assertFalse(any("hash" in entry for entry in covered))
        last = [entry["index"] for entry in covered if entry["type"] == "command"][-1]
        self.assertEqual(last, snapshot["index"])
        self.assertEqual(facts(lines, "g", end["index"]),
                         {("jobs", offset % 4): offset for offset in range(596, 600)})
        at_snapshot = facts(lines, "g", snapshot["index"])
        replayed = {line["index"] for line in entries if line["replayed"] and "index" in line}
        for line, record in records(lines):
            is_replayed = line["index"] in replayed
            self.assertEqual("verdict" in record, is_replayed)
            self.assertEqual(record["body"]["group_name"], "g")
            for row in record["body"]["offsets"] if is_replayed else []:
                where = "jobs", row["partition"]
                self.assertEqual(at_snapshot[where] + 4, row["offset"])
                at_snapshot[where] = row["offset"]

    def test_what_is_damaged_is_refused_by_name(self):
        cluster = self.start(1, {"raft.snapshot.threshold.bytes": 65536,
                                 "raft.snapshot.trailing.bytes": 16384})
        cluster.create_topic("jobs", 1)
        with groups.connect(cluster, cluster.leader()) as client:
            for offset in range(400):
                client.commit("g", {("jobs", 0): offset})
        self.kill_all(cluster)
        data = self.data(cluster, 1)
        files = data / "raft/raft"
        cases = (
            ("snapshot", lambda p: test_disk.flip(p, p.stat().st_size - 3),
             lambda n: n.startswith("snapshot-") and not n.endswith(".meta"), "snapshot"),
            ("segment", lambda p: test_disk.flip(p, 200), lambda n: n.startswith("000"), "checksum"),
            ("metadata", lambda p: p.write_bytes(b"x" * 32),
             lambda n: n.startswith("metadata"), "metadata"),
        )
        for name, damage, is_meant, word in cases:
            with self.subTest(name):
                copy = cluster.directory / f"damaged-{name}"
                shutil.copytree(data, copy)
                chosen = sorted(p for p in (copy / "raft/raft").iterdir() if is_meant(p.name))
                self.assertTrue(chosen, sorted(p.name for p in files.iterdir()))
                for path in chosen[-1:] if name == "snapshot" else chosen:
                    damage(path)
                before = digest(copy)
                status, _, complaint = dump(copy, leaks=True)
                self.assertEqual(status, 1, complaint)
                self.assertIn(str(copy), complaint)
                self.assertIn(word, complaint)
                self.assertEqual(digest(copy), before)

    def test_entries_that_a_node_would_drop_are_not_there(self):
        cluster = self.start(1)
        cluster.create_topic("jobs", 1)
        with groups.connect(cluster, cluster.leader()) as client:
            for offset in range(50):
                client.commit("g", {("jobs", 0): offset})
        self.kill_all(cluster)
        data = self.data(cluster, 1)
        whole = good(data)
        segment = test_disk.open_segment(data)
        test_disk.flip_first_entry(segment)
        lines = good(data)
        self.assertEqual((lines[0]["health"], lines[0]["file"]), ("lost-end", segment.name))
        self.assertLess(lines[0]["last"], whole[0]["last"])
        self.assertEqual(of_kind(lines, "entry"),
                         of_kind(whole, "entry")[:len(of_kind(lines, "entry"))])

    def test_a_folder_that_is_no_data_directory(self):
        cluster = self.make(1)
        empty = cluster.directory / "empty"
        empty.mkdir()
        for directory in (empty, cluster.directory / "missing"):
            status, _, complaint = dump(directory)
            self.assertEqual(status, 1)
            self.assertIn("is no node's data directory", complaint)
            self.assertIn(str(directory), complaint)
        (empty / "format").write_text("roster-data 1\ncluster.id=c\nnode.id=1\n")
        status, _, complaint = dump(empty)
        self.assertEqual(status, 1)
        self.assertIn("cannot read", complaint)
        self.assertEqual(subprocess.run([LOGDUMP], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
