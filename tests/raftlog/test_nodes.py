"""Real nodes on real sockets and disks: test_nodes.py BINARY [test names]. Ports 22000 to 22399."""

import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import false_peer
from nodes import Nodes, NodesError

BINARY = ""
PEER_PORT = 22000


def wait_until(condition, what, timeout_s=20.0):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise NodesError(f"not in time: {what}")
        time.sleep(0.05)


def acked_ids(nodes):
    return {number for node in nodes.all.values() for _, number in node.acks}


class NodesTest(unittest.TestCase):
    def check_all_there(self, nodes):
        """Stops the load; then all nodes are equal, and hold what was acknowledged, once each."""
        for node in nodes.alive():
            node.send("load 0 100")
        time.sleep(0.3)
        nodes.wait_equal(count=len(nodes.all))
        ids = nodes[1].ids()
        self.assertEqual(len(ids), len(set(ids)), "applied twice")
        self.assertEqual(acked_ids(nodes) - set(ids), set(), "acknowledged and lost")
        return len(ids)

    def check_logs(self, nodes, bootstraps):
        """No complaint in any log, and exactly so many bootstraps."""
        text = "".join(node.log() for node in nodes.all.values())
        for word in ("runtime error", "Sanitizer", "raftlog_stopped", "states_differ"):
            self.assertNotIn(word, text)
        self.assertEqual(text.count("raftlog_bootstrapped"), bootstraps)

    def test_kill_loops(self):
        random.seed(os.environ.get("SEED", "1"))
        rounds = int(os.environ.get("ROUNDS", "8"))
        with Nodes(BINARY, 3, PEER_PORT, "acks=1", "load=20", "size=200", "threshold=400000",
                   "trailing=60000") as nodes:
            nodes.start()
            nodes.wait_leader()
            for _ in range(rounds):
                time.sleep(random.uniform(0.3, 1.0))
                victims = random.choice([[nodes.wait_leader().number], [1], [2], [3],
                                         random.sample([1, 2, 3], 2), [1, 2, 3]])
                for number in victims:
                    nodes[number].kill()
                time.sleep(random.uniform(0, 0.8))
                nodes.start()
                nodes.wait_leader()
            self.assertGreater(self.check_all_there(nodes), 1000)
            self.check_logs(nodes, 3)

    def test_emptied_disk_rejoins(self):
        with Nodes(BINARY, 3, PEER_PORT, "acks=1", "load=10", "size=100", "threshold=300000",
                   "trailing=50000") as nodes:
            nodes.start()
            for number in (2, nodes.wait_leader().number):
                leader = nodes.wait_leader()
                wait_until(lambda node=leader: node.status()["taken"] > 0, "a snapshot")
                nodes[number].kill()
                nodes[number].wipe()
                nodes[number].start()
                nodes.wait_leader()
                wait_until(lambda n=number: nodes[n].status()["count"] > 0 and
                           not nodes[n].status()["rejoining"], "the rejoin")
                self.assertIn("raftlog_rejoined", nodes[number].log())
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_emptied_disk_rejoins_by_a_long_log(self):
        """The log comes in several messages; the node must not vote before the last of them."""
        with Nodes(BINARY, 3, PEER_PORT, "acks=1") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            leader.send("load 1 16")
            wait_until(lambda: leader.status()["index"] > 5000, "a long log")
            victim = nodes[leader.number % 3 + 1]
            victim.kill()
            victim.wipe()
            victim.start()
            wait_until(lambda: "raftlog_rejoined" in victim.log(), "the rejoin")
            last = int(re.search(r"raftlog_rejoined last_index=(\d+)", victim.log()).group(1))
            self.assertGreater(last, 5000)
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_emptied_disk_does_not_start_alone(self):
        """With one of the others down the emptied node waits, and never bootstraps again."""
        with Nodes(BINARY, 3, PEER_PORT) as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            leader.ask("propose 7", "proposed 0")
            nodes.wait_equal(count=3)
            others = [n for n in (1, 2, 3) if n != leader.number]
            for number in (1, 2, 3):
                nodes[number].kill()
            nodes[others[0]].wipe()
            nodes[others[0]].start()
            nodes[others[1]].start()
            time.sleep(2)
            self.assertFalse(any(node.status()["elected"] for node in nodes.alive()))
            leader.start()
            nodes.wait_leader()
            nodes.wait_equal(count=3)
            self.assertEqual(nodes[others[0]].ids(), [7])
            self.check_logs(nodes, 3)

    def test_two_emptied_disks_wait_for_the_operator(self):
        """They wait for each other until one is given a copy of what survived (startup.h)."""
        with Nodes(BINARY, 3, PEER_PORT) as nodes:
            nodes.start()
            nodes.wait_leader().ask("propose 7", "proposed 0")
            wait_until(lambda: [n.status()["count"] for n in nodes.alive()] == [1, 1, 1],
                       "it on all nodes")
            for number in (1, 2, 3):
                nodes[number].kill()
            nodes[2].wipe()
            nodes[3].wipe()
            nodes.start()
            time.sleep(2)
            self.assertFalse(any(node.status()["elected"] for node in nodes.alive()))
            self.assertIn("raftlog_waiting", nodes[2].log())
            for number in (1, 2, 3):
                nodes[number].kill()
            nodes[2].wipe()
            shutil.copytree(nodes[1].data, nodes[2].data)
            os.unlink(os.path.join(nodes[2].data, "identity"))
            nodes.start()
            nodes.wait_leader().ask("propose 8", "proposed 0")
            wait_until(lambda: "raftlog_rejoined" in nodes[3].log(), "the rejoin of the third")
            wait_until(lambda: nodes[3].ids() == [7, 8], "all of it on the third")
            self.check_logs(nodes, 3)

    def test_slow_start_bootstraps_once(self):
        """Nodes that come up one after the other, some killed in between, form one cluster."""
        with Nodes(BINARY, 5, PEER_PORT) as nodes:
            for number in (1, 2, 3, 4):
                nodes[number].start()
            time.sleep(0.5)
            self.assertFalse(any(node.status()["term"] for node in nodes.alive()))
            nodes[2].kill()
            nodes[5].start()
            nodes[2].start()
            nodes.wait_leader()
            nodes.wait_equal(count=5)
            self.check_logs(nodes, 5)

    def test_kills_while_starting(self):
        """Killed again and again while they bootstrap, and while one rejoins."""
        random.seed(os.environ.get("SEED", "1"))
        with Nodes(BINARY, 3, PEER_PORT) as nodes:
            for _ in range(15):
                nodes.start()
                time.sleep(random.uniform(0, 0.15))
                for number in random.sample([1, 2, 3], random.randint(1, 3)):
                    nodes[number].kill()
            nodes.start()
            leader = nodes.wait_leader()
            leader.send("load 5 100")
            wait_until(lambda: leader.status()["index"] > 3000, "a log")
            leader.send("load 0 100")
            victim = nodes[leader.number % 3 + 1]
            victim.kill()
            victim.wipe()
            for _ in range(10):
                victim.start()
                time.sleep(random.uniform(0, 0.4))
                victim.kill()
            nodes.start()
            nodes.wait_leader()
            self.check_all_there(nodes)
            self.assertGreater(len(nodes[victim.number].ids()), 3000)

    def test_snapshot_install_under_load(self):
        with Nodes(BINARY, 3, PEER_PORT, "acks=1", "threshold=2000000", "trailing=100000") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            away = nodes[leader.number % 3 + 1]
            away.kill()
            leader.send("load 50 500")
            wait_until(lambda: leader.status()["taken"] >= 2, "two snapshots")
            away.start()
            wait_until(lambda: away.status()["installed"] >= 1, "an install")
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_failed_append_ends_the_process(self):
        """S3: a write to the log that fails ends the node, before anything behind it lands."""
        with Nodes(BINARY, 3, PEER_PORT, "acks=1") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            for victim in (nodes[leader.number % 3 + 1], leader):
                nodes.wait_leader().send("load 100 2000")
                # New segments are 8 MiB: the next one cannot be allocated.
                subprocess.run(["prlimit", f"--pid={victim.process.pid}", "--fsize=4000000"],
                               check=True)
                self.assertEqual(victim.process.wait(30), 70)
                self.assertIn("raftlog_stopped", victim.log())
                self.assertRegex(victim.log(), "error='(a write to the log|writing)")
                time.sleep(0.5)
                victim.start()
                nodes.wait_leader()
            self.check_all_there(nodes)

    def test_stranger_is_refused(self):
        """N1: the 40 bytes that kill a bare node, and other nonsense, from a stranger."""
        append = struct.pack("<5Q", 1, 24, 1, 1, 1)
        with Nodes(BINARY, 3, PEER_PORT, "acks=1", "load=1") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            port = PEER_PORT + leader.number
            for number, text in enumerate([append, append * 100, b"GET / HTTP/1.1\r\n\r\n",
                                           struct.pack(">IHBB", 0x524C5031, 1, 1, 0) + bytes(32) +
                                           struct.pack(">I", 2**31), b"\0" * 5000]):
                with socket.create_connection(("127.0.0.1", port)) as stranger:
                    stranger.settimeout(5)
                    stranger.sendall(text)
                    try:
                        self.assertLessEqual(len(stranger.recv(100)), 40)
                        while stranger.recv(4096):
                            pass
                    except ConnectionResetError:
                        pass
                wait_until(lambda n=number: leader.status()["refused"] > n, "the refusal")
            # Connections that say nothing: closed by the time limit, or by later ones.
            silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
            wait_until(lambda: leader.status()["refused"] >= 200, "the time limit")
            for stranger in silent:
                stranger.close()
            self.assertTrue(leader.is_alive())
            self.assertTrue(leader.status()["elected"])
            self.assertIn("raftlog_peer_refused", leader.log())
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_broken_peer_is_cut_off(self):
        """What the library's decoder believes does not pass, even from a peer with the secret."""
        def numbers(kind, *values):
            return struct.pack(f"<{2 + len(values)}Q", kind, 8 * len(values), *values)

        bad = [struct.pack("<5Q", 1, 24, 1, 1, 1),  # kills a bare node
               numbers(9, 1, 1, 1), numbers(1, 0), numbers(3, 5, 1, 10, 4, 0),
               struct.pack("<8Q", 1, 64, 5, 7, 3, 7, 2**40, 0),
               struct.pack("<7QQBxxxIQ", 1, 64, 5, 7, 3, 7, 1, 5, 9, 8, 0) + b"12345678",
               struct.pack("<2Q", 5, 2**60), b"\xff" * 64]
        rng = random.Random(1)
        for _ in range(60):
            text = bytearray(rng.choice([numbers(2, 5, 0, 10), numbers(4, 5, 0, 0), bad[4]]))
            text[rng.randrange(16)] ^= 1 << rng.randrange(8)
            bad.append(bytes(text) + rng.randbytes(100))
        with Nodes(BINARY, 3, PEER_PORT, "acks=1") as nodes:
            nodes.start()
            nodes.wait_leader()
            nodes[3].kill()
            leader = nodes.wait_leader(other_than=3)
            for text in bad:
                peer = false_peer.connect(PEER_PORT + leader.number, 3, leader.number, [1, 2, 3])
                with peer:
                    peer.sendall(text)
                    peer.shutdown(socket.SHUT_WR)
                    self.assertTrue(false_peer.is_closed(peer))
                self.assertTrue(leader.is_alive())
            self.assertIn("raftlog_peer_ended node=3 reason='bad-", leader.log())
            nodes.start()
            leader.ask("propose 1", "proposed 0")
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_unfit_peers_are_refused(self):
        for arguments in (["secret=another secret of the test"], ["cluster=other"]):
            with Nodes(BINARY, 3, PEER_PORT) as nodes:
                nodes[1].start()
                nodes[2].start()
                nodes[3].start(*arguments)
                wait_until(lambda: "peer_refused" in nodes[1].log() and
                           "peer_unfit" in nodes[3].log() + nodes[1].log() or
                           "peer_unreachable" in nodes[3].log(), "the refusals")
                time.sleep(0.5)
                self.assertFalse(any(node.status()["elected"] for node in nodes.alive()))
                reason = "bad-proof" if "secret" in arguments[0] else "wrong-cluster"
                self.assertIn(reason, nodes[1].log())
                lines = nodes[1].log().count("peer_refused")
                self.assertLess(lines, 4, "log lines must be limited")

    def test_lost_end_is_noticed(self):
        """R18: a node whose log is shorter than what a peer knows it to have had does not vote."""
        with Nodes(BINARY, 3, PEER_PORT, "acks=1") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            victim = nodes[leader.number % 3 + 1]
            victim.ask("status", "^status")
            backup = victim.data + ".old"
            leader.ask("propose 1", "proposed 0")
            nodes.wait_equal(count=3)
            victim.kill()
            subprocess.run(["cp", "-a", victim.data, backup], check=True)
            victim.start()
            leader.send("load 5 100")
            time.sleep(1)
            leader.send("load 0 100")
            time.sleep(0.5)
            nodes.wait_equal(count=3)
            time.sleep(1.2)  # the leader looks once a second
            victim.kill()
            victim.wipe()
            os.rename(backup, victim.data)
            victim.start()
            self.assertEqual(victim.process.wait(10), 70)
            self.assertIn("raftlog_entries_lost", victim.log())
            victim.start()
            wait_until(lambda: "raftlog_rejoined" in victim.log(), "the rejoin")
            self.check_all_there(nodes)

    def test_diverged_node_stops(self):
        with Nodes(BINARY, 3, PEER_PORT, "acks=1") as nodes:
            nodes[1].start()
            nodes[2].start()
            nodes[3].start("diverge_at=100")
            leader = nodes.wait_leader()
            leader.send("load 1 100")
            if leader.number == 3:
                leader.ask("transfer 2000", "transferred 1")
                nodes.wait_leader(other_than=3).send("load 1 100")
            self.assertEqual(nodes[3].process.wait(20), 70)
            self.assertIn("raftlog_state_diverged", nodes[3].log())
            self.assertTrue(nodes[1].is_alive() and nodes[2].is_alive())

    def test_transfer(self):
        with Nodes(BINARY, 3, PEER_PORT, "acks=1", "load=20", "size=100") as nodes:
            nodes.start()
            for _ in range(5):
                leader = nodes.wait_leader()
                time.sleep(0.5)
                leader.ask("transfer 3000", "transferred 1")
                nodes.wait_leader(other_than=leader.number)
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_closing(self):
        """Closed under load, while it waits for others, and when it cannot open at all."""
        with Nodes(BINARY, 3, PEER_PORT, "load=20", "size=100") as nodes:
            nodes[1].start()
            nodes[1].ask("status", "^status")
            nodes[1].send("quit")
            self.assertEqual(nodes[1].process.wait(10), 0)
            nodes.start()
            nodes.wait_leader()
            time.sleep(1)
            for node in nodes.alive():
                node.send("quit")
            for node in nodes.all.values():
                self.assertEqual(node.process.wait(10), 0)
            with socket.create_server(("127.0.0.1", PEER_PORT + 1)):
                nodes[1].start()
                self.assertEqual(nodes[1].process.wait(10), 69)
            self.assertIn("cannot listen", nodes[1].log())
            self.check_logs(nodes, 3)

    def test_full_disk_hands_leadership_away(self):
        with Nodes(BINARY, 3, PEER_PORT) as nodes:
            nodes[1].start()
            nodes[2].start("free_min=1000000000000000000")
            nodes[3].start("free_min=1000000000000000000")
            wait_until(lambda: nodes[1].is_alive() and nodes[1].status()["elected"],
                       "leadership with the one that has room", 40)
            nodes[1].ask("propose 1", "proposed 0")
            nodes.wait_equal(count=3)
            self.assertIn("raftlog_disk_low", nodes[2].log())
            nodes[1].kill()
            # The others refuse, and do not hand leadership to and fro.
            leader = nodes.wait_leader(other_than=1)
            term = leader.status()["term"]
            leader.ask("propose 2", "proposed -2")
            time.sleep(3)
            self.assertEqual(leader.status()["term"], term)

    def test_frozen_leader(self):
        """A leader that stood still is deposed as soon as it hears of its successor."""
        with Nodes(BINARY, 3, PEER_PORT, "acks=1", "load=5") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            leader.kill(signal.SIGSTOP)
            time.sleep(2)
            since = len(leader.lines)
            leader.kill(signal.SIGCONT)
            leader.wait_line("^deposed", since)
            nodes.wait_leader()
            self.check_all_there(nodes)
            self.check_logs(nodes, 3)

    def test_frozen_leader_without_rivals(self):
        """Nobody deposes it: it leads on. That it stood still is its owner's to notice (R9)."""
        with Nodes(BINARY, 1, PEER_PORT, "acks=1", "load=5") as nodes:
            nodes.start()
            leader = nodes.wait_leader()
            since = len(leader.lines)
            leader.kill(signal.SIGSTOP)
            time.sleep(1)
            leader.kill(signal.SIGCONT)
            acks = len(leader.acks)
            wait_until(lambda: len(leader.acks) > acks, "acknowledgements after the pause", 10)
            self.assertNotIn("deposed", [text for _, text in leader.lines[since:]])
            self.check_all_there(nodes)

    def test_names_and_both_address_families(self):
        """Hosts are names or addresses of either family; connections leave from the bound one."""
        for host, bind in (("::1", "::1"), ("localhost", "127.0.0.1")):
            with Nodes(BINARY, 3, PEER_PORT) as nodes:
                for node in nodes.all.values():
                    node.arguments = [item.replace("@127.0.0.1", f"@{host}")
                                      for item in node.arguments if not item.startswith("bind")]
                    node.arguments.append(f"bind={bind}")
                nodes.start()
                nodes.wait_leader().ask("propose 1", "proposed 0")
                nodes.wait_equal(count=3)

    def test_single_node(self):
        with Nodes(BINARY, 1, PEER_PORT, "acks=1", "load=10", "size=100", "threshold=100000",
                   "trailing=20000") as nodes:
            for _ in range(4):
                nodes.start()
                nodes.wait_leader()
                time.sleep(0.5)
                nodes[1].kill()
            nodes.start()
            nodes.wait_leader()
            self.check_all_there(nodes)
            self.check_logs(nodes, 1)
            nodes[1].send("quit")
            self.assertEqual(nodes[1].process.wait(10), 0)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
