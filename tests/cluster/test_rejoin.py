"""Lost disks and outages: a node whose directory was emptied gets the state back, has no vote before
that, and never founds a second cluster (R18, promise 1)."""

import time
import unittest

import base
import groups


class Rejoin(base.ClusterTest):
    def commit(self, cluster, group, offset):
        with groups.Coordinator(cluster) as coordinator:
            errors = coordinator.ask(lambda c: c.commit(group, {("jobs", 0): offset}))
        self.assertEqual(errors, {("jobs", 0): 0})

    def fill(self, cluster, count):
        cluster.create_topic("jobs", 100)
        with groups.Coordinator(cluster) as coordinator:
            for n in range(count):
                rows = {("jobs", p): n + p for p in range(100)}
                errors = coordinator.ask(lambda c, g=f"g{n}", o=rows: c.commit(g, o))
                self.assertEqual(groups.error_of(errors), 0)
        member = self.member(cluster, "members", "m")
        groups.rebalance([member], [("jobs", 0)])

    def assert_no_leader(self, cluster, for_s):
        until = time.monotonic() + for_s
        while time.monotonic() < until:
            self.assertIsNone(cluster.leader())
            time.sleep(0.1)

    def assert_one_bootstrap_each(self, cluster):
        for i in cluster.ids:
            self.assertEqual(base.log_text(cluster, i).count("raftlog_bootstrapped"), 1)

    def assert_equal_replicas(self, cluster):
        self.assertEqual(len(set(base.settled(cluster).values())), 1)
        self.assertEqual(len(cluster.alive()), len(cluster.ids))

    def test_an_emptied_node_gets_the_state_back(self):
        """From the log, and through a snapshot; the others serve meanwhile."""
        for threshold, installed in ((67108864, 0), (65536, 1)):
            with self.subTest(snapshot=bool(installed)):
                cluster = self.start(3, {"raft.snapshot.threshold.bytes": threshold,
                                         "raft.snapshot.trailing.bytes": 4096})
                self.fill(cluster, 20 + 150 * installed)
                leader = cluster.leader()
                emptied = next(i for i in cluster.ids if i != leader)
                cluster.kill(emptied)
                cluster.wipe(emptied)
                self.commit(cluster, "meanwhile", 1)
                cluster.restart(emptied)
                self.commit(cluster, "meanwhile", 2)
                self.wait(lambda c=cluster, i=emptied: base.status(c, i)["rejoining"] == "0",
                          10, "the node has not caught up")
                self.assert_equal_replicas(cluster)
                figures = base.status(cluster, emptied)
                self.assertEqual(min(1, int(figures["snapshots_installed"])), installed)
                self.assert_one_bootstrap_each(cluster)
                # It counts again: with it and without another one the cluster serves.
                cluster.kill(leader)
                self.commit(cluster, "meanwhile", 3)
                cluster.stop()

    def test_an_emptied_node_does_not_vote_a_stale_one_in(self):
        """A commit is on nodes 1 and 3; 3 loses its disk, 1 is down, 2 missed it. 2 and 3 are a
        majority of the processes but must not lead: the commit would be lost."""
        cluster = self.start(3)
        self.fill(cluster, count=1)
        leader = cluster.leader()
        stale, emptied = [i for i in cluster.ids if i != leader]
        cluster.kill(stale)
        self.commit(cluster, "precious", 42)
        cluster.kill(leader)
        cluster.kill(emptied)
        cluster.wipe(emptied)
        cluster.spawn(stale)
        cluster.spawn(emptied)
        self.assert_no_leader(cluster, 4.0)
        cluster.spawn(leader)
        cluster.wait_leader()
        with groups.Coordinator(cluster) as coordinator:
            self.assertEqual(coordinator.ask(lambda c: c.fetch("precious")),
                             (0, {("jobs", 0): 42}))
        self.assert_equal_replicas(cluster)
        self.assert_one_bootstrap_each(cluster)

    def test_emptied_nodes_found_no_second_cluster(self):
        """Two of three emptied at once: nobody leads, and nobody bootstraps, for as long as it takes;
        the node that has the state says whom it waits for."""
        cluster = self.start(3)
        self.fill(cluster, count=1)
        for i in cluster.ids:
            cluster.kill(i)
        for i in (1, 2):
            cluster.wipe(i)
            cluster.spawn(i)
        self.assert_no_leader(cluster, 2.0)
        cluster.spawn(3)
        self.assert_no_leader(cluster, 3.0)
        self.assert_one_bootstrap_each(cluster)
        for i in (1, 2):
            self.assertIn("raftlog_waiting", base.log_text(cluster, i))

    def test_outage_of_two_nodes(self):
        """Two of three down: calls are answered, none is accepted. When one returns, all are served
        and everything is there; when the other does, too."""
        cluster = self.start(3)
        self.fill(cluster, count=1)
        self.commit(cluster, "before", 1)
        leader = cluster.leader()
        others = [i for i in cluster.ids if i != leader]
        for i in others:
            cluster.kill(i)
        with groups.connect(cluster, leader) as client:
            self.assertNotEqual(client.commit("outage", {("jobs", 0): 5})["jobs", 0], 0)
        for i in others:
            cluster.restart(i)
            self.commit(cluster, "after", i)
            with groups.Coordinator(cluster) as coordinator:
                self.assertEqual(coordinator.ask(lambda c: c.fetch("before")),
                                 (0, {("jobs", 0): 1}))
        self.assert_equal_replicas(cluster)
        self.assert_one_bootstrap_each(cluster)


if __name__ == "__main__":
    unittest.main()
