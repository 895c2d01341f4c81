"""Each fault once against a real cluster: it can be felt, it ends, and the cluster is whole
again."""

import json
import pathlib
import random
import tempfile
import threading
import time
import unittest

import groups
import history
import nemesis
from cluster import ClusterError
from lab.lab import CLIENT_PORT, Lab
from lab.net import address
from nemesis.base import CLIENTS, CLOCK, CPU, DISK, NET, NODES
from nemesis.schedule import Schedule
from testing import PROGRAMS

LASTS_S = 0.4
SETTINGS = {"raft.snapshot.threshold.bytes": 65536, "raft.snapshot.trailing.bytes": 4096}
KNOWN_CLAIMS = {NET, NODES, DISK, CPU, CLOCK, CLIENTS}


class Clients:
    """What faults ask of workloads."""

    def __init__(self):
        self.calls = []

    def members(self):
        return ["m-1", "m-2"]

    def __getattr__(self, name):
        return lambda *words: self.calls.append((name, *words))


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        out = pathlib.Path(cls.directory.name)
        cls.writer = history.Writer(out / "history.jsonl")
        cls.lab = Lab(5, PROGRAMS, out, seed=1, writer=cls.writer, clients=2, settings=SETTINGS)
        cls.lab.start()
        cls.lab.create_topic("t", 4)

    @classmethod
    def tearDownClass(cls):
        codes = cls.lab.stop()
        failed = cls.lab.dump()
        cls.lab.close()
        cls.writer.close()
        cls.directory.cleanup()
        assert set(codes.values()) == {0}, codes
        assert not failed, failed

    def commit(self, count=1, size_bytes=4000):
        """So many commits through whoever leads; the first one waits for that."""
        deadline = time.monotonic() + 15
        while count > 0:
            leader = self.lab.wait_leader(10)
            try:
                with groups.Client(address(self.lab.names[leader]), CLIENT_PORT) as client:
                    while count > 0 and self.is_committed(client, count, size_bytes):
                        count -= 1
            except OSError:
                pass
            self.assertLess(time.monotonic(), deadline)

    @staticmethod
    def is_committed(client, number, size_bytes):
        answer = client.commit("g", {("t", 0): (number, -1, "x" * size_bytes)})
        return set(answer.values()) == {0}

    def inflict(self, kind, seed=1):
        """Whole life of a fault; its parameters, or None where it was not possible."""
        running = Clients()
        fault = kind(self.lab, random.Random(f"{seed}/{kind.name}"), running)
        if not fault.prepare():
            return None
        begun = fault.begin()
        self.check_felt(fault, begun)
        for _ in range(int(LASTS_S * 10)):
            fault.tick()
            time.sleep(0.1)
        ended = fault.end() or {}
        fault.recover()
        json.dumps([begun, ended])
        return begun

    def check_felt(self, fault, begun):
        self.assertIsInstance(begun["targets"], list)
        hit = [self.lab.ids_by_name[name] for name in begun["targets"]]
        if fault.name.startswith(("partition", "isolate", "flaky")):
            self.assertTrue(self.lab.net.rules)
        if fault.name.startswith(("kill", "power", "restart-storm")):
            self.assertTrue(all(not self.lab.is_alive(i) for i in hit))
        if fault.name.startswith(("pause", "starve", "disk")):
            self.assertTrue(all(not self.lab.is_healthy(i) for i in hit))

    def check_whole(self):
        self.assertEqual(self.lab.net.rules, {})
        self.lab.wait_leader(10)
        for i in self.lab.ids:
            self.lab.wait_back(i, 20)
            self.assertTrue(self.lab.is_healthy(i), (i, self.lab.impairments))
        self.assertEqual(self.lab.core(), list(self.lab.nodes))
        self.commit()

    def run_family(self, family):
        for kind in nemesis.FAMILIES[family]:
            with self.subTest(fault=kind.name):
                self.assertLessEqual(kind.claims, KNOWN_CLAIMS)
                self.assertIsNotNone(self.inflict(kind), "it was not possible")
                self.check_whole()

    def test_partition(self):
        self.run_family("partition")

    def test_flaky(self):
        self.run_family("flaky")

    def test_connections(self):
        self.run_family("connections")

    def test_crash(self):
        for kind in nemesis.FAMILIES["crash"]:
            with self.subTest(fault=kind.name):
                writer = threading.Thread(target=self.commit, args=(60,))
                writer.start()  # so that there is a snapshot to hit, and something to lose
                self.assertIsNotNone(self.inflict(kind))
                writer.join()
                self.check_whole()

    def test_pause(self):
        self.run_family("pause")

    def test_cpu(self):
        self.run_family("cpu")

    def test_disks(self):
        self.run_family("disks")

    def test_corruption(self):
        self.commit(80)
        for kind in nemesis.FAMILIES["corruption"]:
            with self.subTest(fault=kind.name):
                if kind.name.endswith("e-segment") or kind.name == "flip-segment":
                    for i in self.lab.ids:  # what was open is closed
                        self.lab.kill(i)
                        self.lab.run(i)
                refused = self.lab.watch.counts.get("cannot_start", 0)
                for _ in range(10):  # a snapshot may just have closed the file that is wanted
                    self.commit(6)
                    if (begun := self.inflict(kind)) is not None:
                        break
                self.assertIsNotNone(begun, "it was not possible")
                if begun.get("must_refuse"):
                    self.assertGreater(self.lab.watch.counts.get("cannot_start", 0), refused)
                self.check_whole()

    def test_clocks(self):
        self.run_family("clocks")

    def test_clients(self):
        self.run_family("clients")

    def test_restart(self):
        self.run_family("restart")

    def test_operator(self):
        self.run_family("operator")


class Order(unittest.TestCase):
    """The schedule, without a cluster."""

    class Fake:
        claims = frozenset({NET})
        seconds, majority = (0, 0), None

        def __init__(self, *_):
            pass

        def prepare(self):
            return True

    def schedule(self, seed, count=5):
        kinds = [type(f"F{i}", (self.Fake,), {"name": f"f{i}"}) for i in range(count)]
        return Schedule(None, kinds, seed, None, say=lambda _: None)

    def test_the_same_seed_draws_the_same(self):
        some, same, other = (
            [schedule.draw().name for _ in range(20)] for schedule in
            (self.schedule(1), self.schedule(1), self.schedule(2)))
        self.assertEqual(some, same)
        self.assertNotEqual(some, other)

    def test_each_comes_once_before_any_comes_twice(self):
        schedule = self.schedule(3)
        for _ in range(4):
            self.assertEqual(len({schedule.draw().name for _ in range(5)}), 5)

    def test_two_at_a_time_share_no_claim(self):
        self.assertIsNone(self.schedule(4).draw(frozenset({NET})))
        self.assertIsNotNone(self.schedule(4).draw(frozenset({DISK})))

    def test_what_the_cluster_does_not_do_is_a_problem_and_not_the_end(self):
        schedule = self.schedule(5)

        def fail():
            raise ClusterError("node 1 does not come back\nlogs")
        self.assertIsNone(schedule._guarded("kill-one", fail))
        self.assertEqual(schedule.problems, ["kill-one: node 1 does not come back"])

    def test_names_of_faults_are_unique(self):
        listed = [fault.name for faults in nemesis.FAMILIES.values() for fault in faults]
        self.assertEqual(len(listed), len(set(listed)))


if __name__ == "__main__":
    unittest.main()
