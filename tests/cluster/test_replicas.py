"""Replicas are identical (promise 7, behaviours 21): after a random workload, in which nodes die and
come back, every node has the same state hash at the same index; so it is after a restart from
snapshot and log, and on a node that got everything anew.

ROSTER_SEED is the seed (default 1), ROSTER_SECONDS how long the workload runs (default 8).
"""

import os
import random
import threading
import time
import unittest

import base
import groups

SEED = int(os.environ.get("ROSTER_SEED", "1"))
SECONDS = float(os.environ.get("ROSTER_SECONDS", "8"))
GROUPS = [f"g{n}" for n in range(12)]
TOPICS = [f"t{n}" for n in range(6)]


class Operator(threading.Thread):
    """Does anything that changes facts: offsets of groups with and without members, groups and topics
    created and deleted."""

    def __init__(self, cluster, seed):
        super().__init__(daemon=True)
        self.cluster, self.random = cluster, random.Random(seed)
        self.stopping = threading.Event()
        self.done = {}

    def run(self):
        with groups.Coordinator(self.cluster) as coordinator:
            while not self.stopping.is_set():
                name, call = self.choose()
                try:
                    coordinator.ask(call, timeout_s=5.0, again=(*groups.RETRIABLE, 41))
                    self.done[name] = self.done.get(name, 0) + 1
                except OSError:
                    continue

    def choose(self):
        r = self.random
        group, topic = r.choice(GROUPS), r.choice(TOPICS)
        rows = {(r.choice(TOPICS), r.randrange(8)): r.randrange(1 << 40)
                for _ in range(r.randrange(1, 20))}
        return r.choices([
            ("commit", lambda c: c.commit(group, rows)),
            ("pending", lambda c: c.join(group)),
            ("create_topic", lambda c: c.create_topic(topic, r.randrange(1, 9))),
            ("delete_topic", lambda c: c.delete_topics([topic])),
            ("delete_group", lambda c: c.delete_groups([group])),
        ], weights=[80, 6, 8, 2, 4])[0]


class Replicas(base.ClusterTest):
    def test_equal_hashes_after_a_random_history(self):
        print(f"\nseed {SEED}, {SECONDS} s")
        cluster = self.start(3, {"raft.snapshot.threshold.bytes": 65536,
                                 "raft.snapshot.trailing.bytes": 4096,
                                 "group.initial.rebalance.delay.ms": 50})
        for topic in TOPICS:
            cluster.create_topic(topic, 8)
        operators = [Operator(cluster, SEED * 100 + n) for n in range(3)]
        workers = self.workers(cluster)
        for thread in operators + workers:
            thread.start()
        self.disturb(cluster, random.Random(SEED), workers)
        for thread in operators:
            thread.stopping.set()
        for thread in operators:
            thread.join(30)
        for worker in workers:
            worker.stop()
        for i in cluster.ids:
            cluster.spawn(i)
        cluster.wait_leader()
        done = {name: sum(o.done.get(name, 0) for o in operators) for name in operators[0].done}
        print(f"done: {done}, generations: {sum(len(w.generations) for w in workers)}")
        self.assertGreater(done.get("commit", 0), 50, "too little was done to show anything")
        first = self.equal(cluster, "after the workload")
        taken = sum(int(base.status(cluster, i)["snapshots_taken"]) for i in cluster.ids)
        self.assertGreater(taken, 0, "no snapshot was taken: the test shows less than it says")
        for i in cluster.ids:
            cluster.kill(i)
        cluster.start()
        self.equal(cluster, "after a restart of all", at_least=first)
        emptied = next(i for i in cluster.ids if i != cluster.leader())
        cluster.kill(emptied)
        cluster.wipe(emptied)
        cluster.restart(emptied)
        self.equal(cluster, "with an emptied node")
        figures = base.status(cluster, emptied)
        self.assertGreater(int(figures["snapshots_installed"]), 0)
        for i in cluster.ids:
            self.assertNotIn("diverge", base.log_text(cluster, i))

    def workers(self, cluster):
        """Members that come, beat and go, some of them static; two in one group."""
        workers = []
        for n in range(8):
            instance = f"i{n}" if n % 3 == 0 else None
            member = groups.Member(cluster, f"w{n // 2}", f"w{n}", topics=TOPICS[:2],
                                   instance=instance, session_ms=1500, rebalance_ms=3000)
            workers.append(groups.Worker(member, [(TOPICS[0], p) for p in range(8)], 0.2))
        return workers

    @staticmethod
    def disturb(cluster, chance, workers):
        """Kills a node now and then, brings it back a little later; members leave and come back."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for _ in range(10):
                time.sleep(chance.uniform(0.05, 0.15))
                chance.choice(workers).is_to_return = True
            victim = chance.choice(cluster.ids)
            cluster.kill(victim)
            time.sleep(chance.uniform(0.1, 1.0))
            cluster.spawn(victim)
            cluster.wait_serving(victim)

    def equal(self, cluster, when, at_least=None):
        """Sessions may still end, so look again where the index moves while we look."""
        found = self.wait(lambda: self.agree(cluster), 20, f"{when}: no common index")
        hashes = {digest for _, digest in found.values()}
        self.assertEqual(len(hashes), 1, f"{when}: {found}")
        self.assertEqual(set(found), set(cluster.ids))
        index = max(index for index, _ in found.values())
        if at_least is not None:
            self.assertGreaterEqual(index, at_least)
        print(f"{when}: index {index}, hash {hashes.pop()}")
        return index

    @staticmethod
    def agree(cluster):
        found = base.settled(cluster)
        return found if len({index for index, _ in found.values()}) == 1 else None


if __name__ == "__main__":
    unittest.main()
