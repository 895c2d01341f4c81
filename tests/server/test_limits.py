"""Each limit of the shell on a live node: the value itself is fine, one more has its defined end, a
counter and a line in the log."""

import os
import resource
import socket
import struct
import subprocess
import time
import unittest

from node import NodeTest, request
from test_protocol import heartbeat_v1

CLAIM_2_GB = struct.pack(">i", 2_000_000_000)
IS_SANITIZED = "asan" in subprocess.run(
    ["ldd", os.environ.get("ROSTERD", "/bin/true")], stdout=subprocess.PIPE, text=True,
    check=False).stdout


class Limits(NodeTest):
    def beats(self, node):
        """The node serves others."""
        with node.dial() as raw:
            raw.put(heartbeat_v1(9))
            self.assertEqual(len(raw.frame()), 10)

    def test_half_a_frame_and_nothing_more(self):
        node = self.start(connections_max_idle_ms=700)
        with node.dial() as raw:
            began = time.monotonic()
            raw.put(heartbeat_v1(1)[:9])
            self.assertFalse(raw.is_closed(within_s=0.4))
            self.beats(node)
            self.assertTrue(raw.is_closed())
            self.assertGreater(time.monotonic() - began, 0.69)
        self.assertGreaterEqual(node.figure("conn_limit_idle"), 1)

    def test_claims_of_two_gigabytes(self):
        node = self.start()
        before = node.resident_bytes()
        raws = [node.dial() for _ in range(1000)]
        for raw in raws:
            raw.put(CLAIM_2_GB + b"x" * 100)
        for raw in raws:
            self.assertTrue(raw.is_closed())
        self.beats(node)
        self.assertEqual(node.figure("conn_limit_request_bytes"), 1000)
        self.assertIn("limit key=socket.request.max.bytes effect=closed client=/127.0.0.1 "
                      "claimed=2000000000", node.text())
        self.assertLess(node.text().count("limit key=socket.request.max.bytes"), 20)
        self.assertLess(node.resident_bytes() - before, 64 << 20)

    def test_claims_within_the_limit_cost_nothing_either(self):
        node = self.start()
        raws = [node.dial() for _ in range(300)]
        self.beats(node)
        before = node.resident_bytes()
        for raw in raws:
            raw.put(struct.pack(">i", 104857600) + b"x" * 100)
        self.beats(node)
        time.sleep(0.2)
        self.assertLess(node.figure("queued_bytes"), 300 * 1024)
        self.assertLess(node.resident_bytes() - before, 16 << 20)
        self.assertFalse(raws[0].is_closed(within_s=0.1))

    def test_request_bytes_at_the_limit(self):
        node = self.start(socket_request_max_bytes=2000)

        def frame(size):
            return request(18, 0, 1, b"z" * (size - len(request(18, 0, 1)) + 4))

        with node.dial() as raw:
            raw.put(frame(2000))
            self.assertGreater(len(raw.frame()), 100)
            raw.put(frame(2001))
            self.assertTrue(raw.is_closed())

    def test_connections(self):
        node = self.start(max_connections=5)
        raws = [node.dial() for _ in range(5)]
        raws[4].put(heartbeat_v1(1))
        self.assertEqual(len(raws[4].frame()), 10)
        self.assertTrue(node.dial().is_closed())
        self.assertEqual(node.figure("conn_limit_connections"), 1)
        self.assertIn("limit key=max.connections effect=refused", node.text())
        raws[0].socket.close()
        node.wait(lambda: node.figure("connections") == 4, "the place is free again")
        self.beats(node)

    def test_connections_of_one_address(self):
        port = self.port
        node = self.make(max_connections_per_ip=3)
        node.settings["listeners"] = f"PLAINTEXT://0.0.0.0:{port}"
        node.settings["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{port}"
        node.start()
        raws = [node.dial() for _ in range(3)]
        self.assertTrue(node.dial().is_closed())
        self.assertEqual(node.figure("conn_limit_per_ip"), 1)
        self.assertIn("limit key=max.connections.per.ip effect=refused client=/127.0.0.1",
                      node.text())
        other = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
        other.sendall(heartbeat_v1(1))
        self.assertEqual(len(other.recv(100)), 14, "another address is not affected")
        other.close()

    def test_pipelined_requests(self):
        node = self.start(connection_max_pipelined_requests=4, group_initial_rebalance_delay_ms=800)
        with node.client() as client:
            client.join_begin("g", version=0)
            for _ in range(3):
                client.send(12, 1, b"\0\1g\0\0\0\1\0\1m")
            node.wait(lambda: node.figure("requests_in_use") == 4, "four are read")
            for _ in range(10):
                client.send(12, 1, b"\0\1g\0\0\0\1\0\1m")
            time.sleep(0.1)
            self.assertEqual(node.figure("requests_in_use"), 4, "the others are not")
            self.assertEqual(node.figure("conn_limit_pipeline"), 1)
            self.assertEqual(client.join_end().error, 0)
            for _ in range(13):
                client.receive()

    def test_memory_of_half_sent_requests(self):
        node = self.start(socket_request_max_bytes=1 << 20, queued_max_bytes=4 << 20)
        raws = [node.dial() for _ in range(12)]
        for raw in raws:
            raw.socket.setblocking(False)
        part = struct.pack(">i", 1 << 20) + b"x" * 900_000
        sent = [0] * len(raws)
        deadline = time.monotonic() + 10
        closed = set()
        while time.monotonic() < deadline and not closed:
            for i, raw in enumerate(raws):
                try:
                    sent[i] += raw.socket.send(part[sent[i]:]) if sent[i] < len(part) else 0
                    raw.socket.recv(1)
                    closed.add(i)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    closed.add(i)
            self.beats(node)
        self.assertGreater(len(closed), 0, "the largest holders are closed")
        status = node.status()
        self.assertLess(int(status["queued_bytes_peak"]), 6 << 20)
        self.assertGreaterEqual(int(status["conn_limit_budget_closed"]), 1)
        self.assertGreaterEqual(int(status["conn_limit_budget_paused"]), 1)
        self.assertLess(len(closed), len(raws), "not everybody")

    def test_ten_thousand_connections(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < 10300:
            self.skipTest(f"the limit on open files is {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        node = self.start(connections_max_idle_ms=600000)
        before = node.resident_bytes()
        raws = [node.dial() for _ in range(10000)]
        self.assertEqual(node.figure("connections"), 10000)
        each = (node.resident_bytes() - before) / 10000
        self.assertLess(each, 4096 if IS_SANITIZED else 1536, "an idle connection owns no buffer")
        for raw in raws[::100]:
            raw.put(heartbeat_v1(1))
        for raw in raws[::100]:
            self.assertEqual(len(raw.frame()), 10)
        self.assertTrue(node.dial().is_closed(), "one more is refused")
        before_s = node.cpu_seconds()
        time.sleep(1)
        self.assertLess(node.cpu_seconds() - before_s, 0.2, "they cost nothing while idle")
        for raw in raws:
            raw.socket.close()
        node.wait(lambda: node.figure("connections") == 0, "all are gone")

    def test_descriptors_run_out(self):
        """Connections are closed, nothing spins, and the node recovers."""
        node = self.start(max_connections=200)
        used = len(os.listdir(f"/proc/{node.process.pid}/fd"))
        limits = resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE,
                                  (used + 20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        raws = [node.dial() for _ in range(60)]
        time.sleep(0.3)
        before_s = node.cpu_seconds()
        time.sleep(1)
        self.assertLess(node.cpu_seconds() - before_s, 0.3)
        self.assertTrue(raws[-1].is_closed())
        raws[0].put(heartbeat_v1(1))
        self.assertEqual(len(raws[0].frame()), 10, "those that are open are served")
        node.wait_for("descriptors_used_up")
        resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, limits)
        self.beats(node)

    def test_descriptors_are_checked_at_start(self):
        node = self.make(max_connections=1000)

        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))

        status, text = node.run(preexec_fn=lower)
        self.assertEqual(status, 1)
        self.assertIn("max.connections=1000 needs 1128 open files, the limit is 1000; raise it", text)

    def test_a_soft_limit_is_raised(self):
        node = self.make(max_connections=1000)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        node.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard)))
        raws = [node.dial() for _ in range(200)]
        raws[-1].put(heartbeat_v1(1))
        self.assertEqual(len(raws[-1].frame()), 10)


if __name__ == "__main__":
    unittest.main()
