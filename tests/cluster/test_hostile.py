"""Hostile bytes against a cluster (promise 8, N1): mutated requests of real members at the leader, and
strangers on the peer port. Every node survives, others are served, replicas stay equal, and no leak is
found when the nodes end.

One node alone, with mutations of every message and version, is tests/server/test_hostile.py; both have
a long form in tests/cluster/hostile. ROSTER_FRAMES is the number of frames (default 10,000), ROSTER_SEED
the seed of the first.
"""

import os
import random
import select
import socket
import struct
import threading
import time
import unittest

import base
import groups

FRAMES = int(os.environ.get("ROSTER_FRAMES", "10000"))
SEED = int(os.environ.get("ROSTER_SEED", "1"))
CONNECTIONS = 40
BEAT_S_MAX = 3.0  # slower than that is not served
GROWTH_KIB = 48 << 10

# AddressSanitizer keeps what was freed, 256 MiB of it by default: that would look like growth.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"


class Recorder(groups.Client):
    """Keeps what it sends, as seeds for mutations that get further than random bytes do."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.frames = []

    def send(self, api_key, version, body):
        header = struct.pack(">hhi", api_key, version, self.correlation_id + 1)
        self.frames.append(header + groups.string(self.client_id) + body)
        super().send(api_key, version, body)


def record(cluster):
    """Requests of two members' life and of an operator, with ids and groups that exist."""
    client = Recorder("127.0.0.1", cluster.ports[cluster.leader()])
    for name in ("g", "h"):
        first = client.join(name)
        joined = client.join(name, first.member)
        client.sync(name, joined.generation, joined.member,
                    {joined.member: groups.assignment([("jobs", 0)])})
        client.heartbeat(name, joined.generation, joined.member)
        client.commit(name, {("jobs", 0): 7}, joined.generation, joined.member)
        static = client.join(f"static-{name}", instance="i")
        client.heartbeat(f"static-{name}", static.generation, static.member, "i")
    client.commit("simple", {("jobs", p): p for p in range(4)})
    client.fetch("g")
    client.leave("h", [("m", None), ("", "i")])
    client.describe_group("g")
    client.list_groups()
    client.delete_groups(["simple", "none"])
    client.create_topic("more", 3)
    client.delete_topics(["more"])
    client.latest("jobs", 0)
    client.find_coordinator("g")
    client.metadata(["jobs"])
    client.api_versions()
    client.socket.close()
    return client.frames


def mutated(chance, frames):
    """Bytes to send, mostly a frame of the right length."""
    content = bytearray(chance.choice(frames))
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        at = chance.randrange(len(content)) if content else 0
        kind = chance.randrange(5)
        if kind == 0:
            content[at:at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del content[at:at + chance.randrange(1, 9)]
        elif kind == 2:
            content[at:at] = chance.randbytes(chance.randrange(1, 9))
        elif kind == 3:
            content[at:at + 4] = struct.pack(">i", chance.choice((-1, 0, 1, 2**31 - 1, -2**31)))
        else:
            other = chance.choice(frames)
            content[at:] = other[min(at, len(other)):]
    size = len(content)
    if chance.randrange(50) == 0:
        size = chance.choice((0, -1, 2**31 - 1, size + 1, max(0, size - 1), 104857601))
    return struct.pack(">i", size) + bytes(content)


class Heartbeats(threading.Thread):
    """A member that must not notice anything. [slowest_s], [errors]."""

    def __init__(self, cluster, member):
        super().__init__(daemon=True)
        self.cluster, self.member = cluster, member
        self.slowest_s, self.errors = 0.0, set()
        self.stopping = threading.Event()

    def run(self):
        with groups.Coordinator(self.cluster) as coordinator:
            while not self.stopping.wait(0.05):
                began = time.monotonic()
                self.errors.add(coordinator.ask(self.member.beat))
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)


class Pool:
    """Connections that the node may close at any time; each is read from and replaced."""

    def __init__(self, port):
        self.port, self.sockets = port, []

    def take(self, chance):
        while len(self.sockets) < CONNECTIONS:
            self.sockets.append(socket.create_connection(("127.0.0.1", self.port), timeout=5))
        return chance.choice(self.sockets)

    def drop(self, which):
        self.sockets.remove(which)
        which.close()

    def drain(self):
        for ready in select.select(self.sockets, [], [], 0)[0]:
            try:
                if ready.recv(1 << 16):
                    continue
            except OSError:
                pass
            self.drop(ready)

    def close(self):
        while self.sockets:
            self.drop(self.sockets[0])


class Hostile(base.ClusterTest):
    def beating(self, cluster):
        member = self.member(cluster, "untouched", "m", session_ms=10_000)
        groups.rebalance([member], [("jobs", 0)])
        beats = Heartbeats(cluster, member)
        beats.start()
        return beats

    def judge(self, beats):
        beats.stopping.set()
        beats.join(30)
        print(f"slowest other heartbeat {1000 * beats.slowest_s:.0f} ms")
        self.assertEqual(beats.errors, {0})
        self.assertLess(beats.slowest_s, BEAT_S_MAX)

    def test_mutated_requests_of_real_members(self):
        print(f"\n{FRAMES} frames, seed {SEED}")
        cluster = self.start(3, {"group.initial.rebalance.delay.ms": 50,
                                 "raft.snapshot.threshold.bytes": 4 << 20,
                                 "raft.snapshot.trailing.bytes": 1 << 20,
                                 "coordinator.max.topics": 200, "coordinator.max.groups": 500,
                                 "coordinator.max.offsets": 5000,
                                 "coordinator.max.partitions": 5000})
        cluster.create_topic("jobs", 4)
        beats = self.beating(cluster)
        frames = record(cluster)
        leader = cluster.leader()
        chance, pool, early = random.Random(SEED), Pool(cluster.ports[leader]), None
        for n in range(FRAMES):
            if n % 20 == 0:
                pool.drain()
            which = pool.take(chance)
            try:
                which.sendall(mutated(chance, frames))
            except OSError:
                pool.drop(which)
            if chance.randrange(200) == 0:
                pool.drop(pool.take(chance))  # in the middle of whatever it is
            if early is None and n >= FRAMES // 2:
                early = base.rss_kib(cluster.pid(leader))
        self.assertTrue(cluster.is_alive(leader))
        growth = base.rss_kib(cluster.pid(leader)) - early
        pool.close()
        self.judge(beats)
        print(f"growth in the second half {growth} KiB")
        self.assertLess(growth, GROWTH_KIB)
        self.wait(lambda: base.status(cluster, leader)["requests_in_use"] == "0", 15,
                  "calls are not answered")
        self.assertEqual(len(set(base.settled(cluster).values())), 1)
        self.assertEqual(len(cluster.alive()), 3)

    def test_a_broken_commit_behind_good_ones(self):
        """Commits of a connection do not wait for each other (R12), but the end that a broken one
        brings comes behind the replies to those before it."""
        cluster = self.start(1)
        cluster.create_topic("jobs", 1)
        broken = b"\0\x08\0\x07\0\0\0\x09\0\0"  # OffsetCommit v7 without a body
        for good in (0, 1, 5):
            with groups.connect(cluster, 1) as client:
                for n in range(good):
                    client.commit_begin("g", {("jobs", 0): n})
                client.socket.sendall(struct.pack(">i", len(broken)) + broken)
                try:
                    client.commit_begin("g", {("jobs", 0): 99})  # never begun
                except OSError:
                    pass
                for n in range(good):
                    self.assertEqual(client.commit_end(), {("jobs", 0): 0})
                self.assertTrue(client.is_closed_by_node(5.0), f"behind {good} good ones")
        with groups.connect(cluster, 1) as client:
            self.assertEqual(client.fetch("g"), (0, {("jobs", 0): 4}))

    def test_strangers_on_the_peer_port(self):
        """N1: whoever cannot prove the secret is refused before a byte of his reaches the library:
        random bytes, the library's own messages, half a hello, the silent, the many."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 4)
        beats = self.beating(cluster)
        chance = random.Random(SEED)
        append_entries = struct.pack("<QQ", 1, 40) + chance.randbytes(40)  # crashes the bare library
        opening = b"RLP1\0\1\1\0" + bytes(32)
        kinds = [lambda: chance.randbytes(chance.randrange(1, 400)), lambda: append_entries,
                 lambda: opening + struct.pack(">I", 2**31 - 1), lambda: opening[:17],
                 lambda: opening + struct.pack(">I", 200) + b"\0" + chance.randbytes(200),
                 lambda: b""]
        silent = []
        for _ in range(60):
            for port in cluster.peer_ports.values():
                stranger = socket.create_connection(("127.0.0.1", port), timeout=5)
                try:
                    stranger.sendall(chance.choice(kinds)())
                except OSError:
                    pass
                silent.append(stranger)
        time.sleep(1.0)
        refused = sum(int(base.status(cluster, i)["peers_refused"]) for i in cluster.ids)
        self.assertGreater(refused, 60)
        # Those that said nothing, or too little, are not kept for ever either.
        self.wait(lambda: self.are_closed(silent), 20, "strangers are still connected")
        for stranger in silent:
            stranger.close()
        self.judge(beats)
        self.assertEqual(len(set(base.settled(cluster).values())), 1)
        self.assertEqual(len(cluster.alive()), 3)
        for i in cluster.ids:
            self.assertIn("refused", base.log_text(cluster, i))

    @staticmethod
    def are_closed(sockets):
        for stranger in sockets:
            stranger.settimeout(0.01)
            try:
                while stranger.recv(1 << 12):
                    pass
            except TimeoutError:
                return False
            except OSError:
                continue
        return True


if __name__ == "__main__":
    unittest.main()
