"""Who answers what: followers (R20), a node without a leader (R11, R20), several listeners, and a
leader that stood still (R9, promise 6)."""

import signal
import time
import unittest

import base
import groups
from wire import FETCH, array, int16, int32, string

NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER, LEADER_NOT_AVAILABLE, TIMED_OUT = 6, 41, 5, 7


def fetch(client, topic, partition, wait_ms):
    """Fetch v4 of one partition at offset 5: (error, high watermark, bytes of records)"""
    row = int32(partition) + groups.int64(5) + int32(1 << 20)
    client.send(FETCH, 4, int32(-1) + int32(wait_ms) + int32(1) + int32(1 << 20) + b"\0" +
                array([string(topic) + array([row])]))
    reply = client.receive()
    reply.int32()

    def part():
        _, error, high, _ = reply.int32(), reply.int16(), reply.int64(), reply.int64()
        reply.array(lambda: (reply.int64(), reply.int64()))
        return error, high, reply.bytes()

    return reply.array(lambda: (reply.string(), reply.array(part))[1])[0][0]


def group_calls(client):
    """{name: error} of every group call, for a group that exists at the leader."""
    return {
        "join": client.join("g").error,
        "sync": client.sync("g", 1, "m")[0],
        "heartbeat": client.heartbeat("g", 1, "m"),
        "leave": client.leave("g", [("m", None)])[0],
        "commit": client.commit("g", {("jobs", 0): 1})["jobs", 0],
        "fetch": client.fetch("g")[0],
        "describe": client.describe_group("g")[0],
        "delete": client.delete_groups(["g"])["g"],
    }


class Followers(base.ClusterTest):
    def test_what_a_follower_answers(self):
        """R20: it names the leader, and answers 16, 41 or 6 for what only the leader may; an empty
        list of groups; Fetch as any node does."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 2)
        leader = cluster.leader()
        with groups.connect(cluster, leader) as client:
            self.assertEqual(client.commit("g", {("jobs", 0): 9}), {("jobs", 0): 0})
        base.settled(cluster)
        for node in cluster.ids:
            with groups.connect(cluster, node) as client:
                self.assertEqual(client.find_coordinator("g"),
                                 (0, leader, "127.0.0.1", cluster.ports[leader]))
                found = client.metadata(["jobs"])
                self.assertEqual(found["topics"], {"jobs": (0, {0: leader, 1: leader})})
                self.assertEqual(found["brokers"],
                                 {i: ("127.0.0.1", cluster.ports[i]) for i in cluster.ids})
                self.assertEqual(found["controller"], leader)
                began = time.monotonic()
                self.assertEqual(fetch(client, "jobs", 0, 300), (0, 5, b""))
                self.assertGreater(time.monotonic() - began, 0.25, "answered before its time")
                if node == leader:
                    self.assertEqual(client.latest("jobs", 0), (0, 9))
                    continue
                self.assertEqual(set(group_calls(client).values()), {groups.NOT_COORDINATOR})
                self.assertEqual(client.list_groups(), (0, {}))
                self.assertEqual(client.create_topic("more", 1), NOT_CONTROLLER)
                self.assertEqual(client.delete_topics(["jobs"]), {"jobs": NOT_CONTROLLER})
                self.assertEqual(client.latest("jobs", 0)[0], NOT_LEADER_OR_FOLLOWER)

    def test_listeners_with_addresses_of_their_own(self):
        """A client is told the addresses of the listener that it came in by, for all nodes, also one
        that is down."""
        cluster = self.make(3)
        self.configure(cluster)
        cluster.start()
        cluster.create_topic("jobs", 1)
        base.settled(cluster)
        leader = cluster.leader()
        down = next(i for i in cluster.ids if i != leader)
        cluster.kill(down)
        for node in cluster.alive():
            for name, shift in (("inside", 0), ("outside", 30)):
                with groups.Client("127.0.0.1", cluster.ports[node] + shift) as client:
                    expected = {i: (f"{name}-{i}.test", cluster.ports[i] + shift)
                                for i in cluster.ids}
                    self.assertEqual(client.metadata([])["brokers"], expected)
                    self.assertEqual(client.find_coordinator("g")[1:],
                                     (leader, *expected[leader]))

    @staticmethod
    def configure(cluster):
        """A second listener per node, 30 ports higher, and names that nobody resolves."""
        for i in cluster.ids:
            port = cluster.ports[i]
            text = cluster.config(i).read_text()
            kept = [line for line in text.splitlines() if "listeners=" not in line]
            kept += [f"listeners=INSIDE://127.0.0.1:{port},OUTSIDE://127.0.0.1:{port + 30}",
                     f"advertised.listeners=INSIDE://inside-{i}.test:{port},"
                     f"OUTSIDE://outside-{i}.test:{port + 30}"]
            cluster.config(i).write_text("\n".join(kept) + "\n")


class NoQuorum(base.ClusterTest):
    def test_calls_of_the_last_node(self):
        """One of three is left, the leader of before: whatever it was asked is answered within its
        deadline; later it knows of no leader, and says so."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 2)
        member = self.member(cluster, "g", "m", session_ms=30_000)
        groups.rebalance([member], [("jobs", 0)])
        pair = [self.member(cluster, "pair", name, session_ms=30_000, rebalance_ms=60_000)
                for name in "ab"]
        groups.rebalance(pair, [("jobs", 0)])
        parked = next(m for m in pair if m.is_leader())
        parked.join_begin()  # waits for the other one
        leader = cluster.leader()
        clients = [groups.connect(cluster, leader) for _ in range(3)]
        for client in clients:
            self.addCleanup(client.socket.close)
        for i in cluster.ids:
            if i != leader:
                cluster.kill(i)
        began = time.monotonic()
        clients[0].commit_begin("other", {("jobs", 1): 3})
        clients[1].join_begin("g2")
        clients[2].heartbeat("g", member.generation, member.id)
        commit = clients[0].commit_end()["jobs", 1]
        join = clients[1].join_end().error
        self.assertIn(commit, (TIMED_OUT, *groups.RETRIABLE))
        self.assertIn(join, groups.RETRIABLE)
        self.assertIn(parked.join_end(), groups.RETRIABLE)
        self.assertLess(time.monotonic() - began, 5.0 + 1.0)
        self.wait(lambda: clients[2].find_coordinator("g")[0] == 15, 3, "a leader is still named")
        self.assertEqual(set(group_calls(clients[0]).values()),
                         {groups.COORDINATOR_NOT_AVAILABLE})
        self.assertEqual(clients[0].metadata(["jobs"])["topics"]["jobs"][1], {0: -1, 1: -1})
        self.assertLess(time.monotonic() - began, 10.0)
        # The outcome of the unanswered commit is unknown, but the rest goes on where it was.
        for i in cluster.ids:
            cluster.spawn(i)
        with groups.Coordinator(cluster) as coordinator:
            self.assertEqual(coordinator.ask(member.beat), 0)

    def test_a_quorum_of_none_at_the_start(self):
        """A node that was started alone answers, and names nobody."""
        cluster = self.make(3)
        cluster.spawn(1)
        cluster.wait_serving(1)
        with groups.connect(cluster, 1) as client:
            self.assertEqual(client.find_coordinator("g")[0], 15)
            self.assertEqual(client.metadata([])["brokers"],
                             {1: ("127.0.0.1", cluster.ports[1])})  # an empty list ends clients
            self.assertEqual(client.heartbeat("g", 1, "m"), groups.COORDINATOR_NOT_AVAILABLE)
            self.assertEqual(client.api_versions()[0], 0)


class Stopped(base.ClusterTest):
    def test_a_deposed_leader_answers_nothing_stale(self):
        """Promise 6, R9: the leader stands still, another one takes a newer commit. What the old one
        was asked meanwhile it must not answer from what it knows."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 1)
        for turn in range(1, 4):
            old = cluster.wait_leader()
            with groups.connect(cluster, old) as client:
                self.assertEqual(client.commit("g", {("jobs", 0): 2 * turn})["jobs", 0], 0)
                cluster.kill(old, signal.SIGSTOP)
                client.send(groups.OFFSET_FETCH, 5, string("g") + int32(-1))
                following = self.wait(lambda o=old: self.another(cluster, o), 10, "no new leader")
                with groups.connect(cluster, following) as other:
                    self.assertEqual(other.commit("g", {("jobs", 0): 2 * turn + 1})["jobs", 0], 0)
                cluster.kill(old, signal.SIGCONT)
                reply = client.receive()
                reply.int32()
                offsets = reply.array(lambda r=reply: (
                    r.string(), r.array(lambda: (r.int32(), r.int64(), r.int32(), r.string(),
                                                 r.int16()))[0][1])[1])
                error = reply.int16()
                self.assertTrue(error in groups.RETRIABLE or offsets == [2 * turn + 1],
                                f"answered {error} {offsets} after {2 * turn + 1} was committed")

    def test_end_while_the_log_is_truncated(self):
        """A leader that stood still has proposals that nobody else has. When it goes on it drops them
        from its disk, and is told to end in that very moment: it ends in order."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 1)
        for pause_s in (0.0, 0.01, 0.02, 0.03, 0.04):
            old = cluster.wait_leader()
            with groups.connect(cluster, old) as client:
                cluster.kill(old, signal.SIGSTOP)
                client.commit_begin("g", {("jobs", 0): 1})
                following = self.wait(lambda o=old: self.another(cluster, o), 10, "no new leader")
                with groups.connect(cluster, following) as other:
                    self.assertEqual(other.commit("g", {("jobs", 0): 2})["jobs", 0], 0)
                seen = self.depositions(cluster, old)
                cluster.kill(old, signal.SIGCONT)
                self.wait(lambda o=old, n=seen: self.depositions(cluster, o) > n, 5,
                          "it did not go on")
                time.sleep(pause_s)
                self.assertEqual(cluster.kill(old, signal.SIGTERM), 0)
            cluster.log(old).rename(cluster.log(old).with_suffix(f".{pause_s}"))
            cluster.restart(old)

    @staticmethod
    def depositions(cluster, node):
        return base.log_text(cluster, node).count("INFO deposed")

    @staticmethod
    def another(cluster, old):
        for i in cluster.ids:
            if i != old:
                with groups.connect(cluster, i) as client:
                    if client.find_coordinator("g")[:2] == (0, i):
                        return i
        return None

    def test_nobody_expires_because_the_node_stood_still(self):
        """R9: a lone node stops for longer than a session, and goes on: its members are there."""
        cluster = self.start(1)
        cluster.create_topic("jobs", 1)
        member = self.member(cluster, "g", "m", session_ms=1500)
        groups.rebalance([member], [("jobs", 0)])
        for _ in range(2):
            cluster.kill(1, signal.SIGSTOP)
            time.sleep(2.5)
            cluster.kill(1, signal.SIGCONT)
            self.assertEqual(member.beat(), 0)
        self.assertEqual(member.commit({("jobs", 0): 1}), {("jobs", 0): 0})
        self.assertEqual(member.generation, 1)


if __name__ == "__main__":
    unittest.main()
