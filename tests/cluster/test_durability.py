"""An acknowledged commit is never lost (behaviours 20, promise 1), clusters of one, three and five
nodes, and the orderly end of a node."""

import os
import signal
import threading
import time
import unittest

import base
import groups

PARTITIONS = 16


class Committer(threading.Thread):
    """Commits rising offsets of its own group, one after the other, and knows which were
    acknowledged."""

    def __init__(self, cluster, group):
        super().__init__()
        self.cluster, self.group = cluster, group
        self.sent, self.acked = {}, {}
        self.errors = set()
        self.stopping = threading.Event()
        self.offset = 0

    def run(self):
        with groups.Coordinator(self.cluster) as coordinator:
            while not self.stopping.is_set():
                self.offset += 1
                where = "jobs", self.offset % PARTITIONS
                self.sent[where] = self.offset
                try:
                    if coordinator.client is None and not coordinator.find():
                        time.sleep(0.02)
                        continue
                    error = coordinator.client.commit(self.group, {where: self.offset})[where]
                except OSError:
                    coordinator.close()
                    continue
                if error == 0:
                    self.acked[where] = self.offset
                else:
                    self.errors.add(error)
                    coordinator.close()


def lost(cluster, committers):
    """What is missing of the acknowledged commits, and what nobody committed."""
    wrong = []
    with groups.Coordinator(cluster) as coordinator:
        for committer in committers:
            error, found = coordinator.ask(lambda c, g=committer.group: c.fetch(g))
            assert error == 0, error
            for where, acked in committer.acked.items():
                if not acked <= found.get(where, -1) <= committer.sent[where]:
                    wrong.append((committer.group, where, acked, found.get(where)))
    return wrong


class Durability(base.ClusterTest):
    def test_kill_of_all_nodes_loses_no_acknowledged_commit(self):
        """Behaviours 20, row 37: all nodes killed under load, again and again; every acknowledged
        offset is there."""
        cluster = self.start(3)
        cluster.create_topic("jobs", PARTITIONS)
        for turn in range(3):
            committers = [Committer(cluster, f"g{turn}-{n}") for n in range(4)]
            for committer in committers:
                committer.start()
            time.sleep(1.0)
            for i in cluster.ids:
                os.kill(cluster.pid(i), signal.SIGKILL)
            for i in cluster.ids:
                cluster.processes[i].wait()
            for committer in committers:
                committer.stopping.set()
            cluster.start()
            for committer in committers:
                committer.join()
            acked = sum(len(c.acked) for c in committers)
            self.assertGreater(acked, 20, "nothing was acknowledged: the test shows nothing")
            self.assertEqual(lost(cluster, committers), [])
        self.assertEqual(len(set(base.settled(cluster).values())), 1)

    def test_one_three_and_five_nodes(self):
        """Clusters of each size form, serve, and have everything after a kill of all nodes."""
        for n in (1, 3, 5):
            with self.subTest(nodes=n):
                cluster = self.start(n)
                cluster.create_topic("jobs", PARTITIONS)
                member = self.member(cluster, "g", "m")
                self.assertEqual(groups.rebalance([member], [("jobs", 0), ("jobs", 1)]), 1)
                self.assertEqual(member.commit({("jobs", 0): 7}), {("jobs", 0): 0})
                member.close()
                for i in cluster.ids:
                    cluster.kill(i)
                cluster.start()
                with groups.Coordinator(cluster) as coordinator:
                    self.assertEqual(coordinator.ask(lambda c: c.fetch("g")),
                                     (0, {("jobs", 0): 7}))
                    # Neither the member nor its generation is lost.
                    self.assertEqual(coordinator.ask(member.beat), 0)
                    self.assertEqual(coordinator.ask(lambda c: c.create_topic("jobs", 1)), 36)
                for i in cluster.ids:
                    self.assertEqual(cluster.kill(i, signal.SIGTERM), 0)


class OrderlyEnd(base.ClusterTest):
    def park(self, cluster):
        """A member whose JoinGroup waits for the rest of its group, and one whose SyncGroup waits for
        the group's leader."""
        pair = [self.member(cluster, "joining", name, rebalance_ms=60_000)
                for name in "ab"]
        groups.rebalance(pair, [("jobs", 0), ("jobs", 1)])
        joining = next(m for m in pair if m.is_leader())  # a leader that rejoins waits for all
        joining.join_begin()
        others = [self.member(cluster, "syncing", name, rebalance_ms=60_000)
                  for name in "ab"]
        for member in others:
            member.obtain_id()
        for member in others:
            member.join_begin()
        for member in others:
            self.assertEqual(member.join_end(), 0)
        syncing = next(m for m in others if not m.is_leader())
        syncing.sync_begin()
        time.sleep(0.2)
        return joining, syncing

    def test_term_of_the_leader(self):
        """SIGTERM: leadership is handed over within a second, parked calls are answered, commits in
        flight are answered or unknown but never lost, status 0."""
        cluster = self.start(3)
        cluster.create_topic("jobs", PARTITIONS)
        leader = cluster.leader()
        joining, syncing = self.park(cluster)
        with groups.connect(cluster, leader) as client:
            for offset in range(1, 41):
                client.commit_begin("g", {("jobs", 0): offset})
            began = time.monotonic()
            cluster.processes[leader].send_signal(signal.SIGTERM)
            answered = self.read_commits(client, 40)
        self.assertIn(joining.join_end(), groups.RETRIABLE)
        self.assertIn(syncing.sync_end(), groups.RETRIABLE)
        following = self.wait(lambda: cluster.leader() not in (None, leader) and cluster.leader(),
                              5, "no other leader")
        self.assertLess(time.monotonic() - began, 1.0, "the handover took too long")
        self.assertEqual(cluster.processes[leader].wait(15), 0)
        # An election would take less than a second, too.
        self.assertIn("leadership_handed_over success=1", base.log_text(cluster, leader))
        with groups.connect(cluster, following) as client:
            error, found = client.fetch("g")
        self.assertEqual(error, 0)
        acked = [offset for offset, error in answered if error == 0]
        self.assertGreaterEqual(found.get(("jobs", 0), 0), max(acked, default=0))
        self.assertEqual({error for _, error in answered} - {0, *groups.RETRIABLE}, set())

    @staticmethod
    def read_commits(client, count):
        """(offset, error) of each reply that came before the end of the connection."""
        answered = []
        try:
            for offset in range(1, count + 1):
                answered.append((offset, client.commit_end()["jobs", 0]))
        except OSError:
            pass
        return answered

    def test_term_of_a_lone_node(self):
        """Nobody to hand over to: parked calls are answered, status 0, within seconds."""
        cluster = self.start(1)
        cluster.create_topic("jobs", PARTITIONS)
        joining, syncing = self.park(cluster)
        began = time.monotonic()
        cluster.processes[1].send_signal(signal.SIGTERM)
        self.assertIn(joining.join_end(), groups.RETRIABLE)
        self.assertIn(syncing.sync_end(), groups.RETRIABLE)
        self.assertEqual(cluster.processes[1].wait(10), 0)
        self.assertLess(time.monotonic() - began, 3.0)

    def test_term_of_a_follower(self):
        """A follower's end is noticed by nobody: same leader, no error."""
        cluster = self.start(3)
        cluster.create_topic("jobs", PARTITIONS)
        leader = cluster.leader()
        follower = next(i for i in cluster.ids if i != leader)
        with groups.connect(cluster, leader) as client:
            self.assertEqual(cluster.kill(follower, signal.SIGTERM), 0)
            self.assertEqual(client.commit("g", {("jobs", 0): 1}), {("jobs", 0): 0})
        self.assertEqual(cluster.leader(), leader)


if __name__ == "__main__":
    unittest.main()
