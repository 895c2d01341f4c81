"""The switch: an idle line is fast, and each rule does what it says, and ends."""

import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from lab import control
from lab.net import Net, address
from testing import PROGRAMS


class Switch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.directory.name)
        cls.net = Net(PROGRAMS.chaosnet, ["n1", "n2", "n3"], path / "net", path / "hosts", seed=7)

    @classmethod
    def tearDownClass(cls):
        cls.net.close()
        for name in ("n1", "n2", "n3"):
            subprocess.run(["ip", "netns", "del", name], check=True)
        cls.directory.cleanup()

    def tearDown(self):
        self.net.clear()

    def ping(self, source="n1", target="n2", count=20, interval_s=0.01, wait_s=0.5):
        """(replies, fastest round trip in ms) of datagrams that are sent back."""
        with self.net.entered(target):
            echo = socket.socket(type=socket.SOCK_DGRAM)
        with self.net.entered(source):
            out = socket.socket(type=socket.SOCK_DGRAM)
        with echo, out:
            echo.bind((address(target), 7))
            echo.settimeout(wait_s + interval_s)
            out.settimeout(wait_s)
            answerer = threading.Thread(target=self.answer, args=(echo,))
            answerer.start()
            times = []
            sender = threading.Thread(target=self.send_times,
                                      args=(out, (address(target), 7), count, interval_s))
            sender.start()
            try:
                while len(times) < count:
                    sent_ns = int.from_bytes(out.recv(100), "big")
                    times.append((time.monotonic_ns() - sent_ns) / 1e6)
            except socket.timeout:
                pass
            sender.join()
            answerer.join()
        return len(times), min(times, default=None)

    @staticmethod
    def answer(echo):
        try:
            while True:
                echo.sendto(*echo.recvfrom(100))
        except socket.timeout:
            pass

    @staticmethod
    def send_times(out, target, count, interval_s):
        for _ in range(count):
            out.sendto(time.monotonic_ns().to_bytes(8, "big"), target)
            time.sleep(interval_s)

    def change(self, key, before, pair=("n1", "n2")):
        return self.net.counters()[pair][key] - before.get(pair, {}).get(key, 0)

    def send(self, size_bytes, target="n2", source="n1"):
        """Seconds that a TCP transfer takes, and whether what arrived is what was sent."""
        data = bytes(range(256)) * (size_bytes // 256)
        received = bytearray()
        with self.net.entered(target):
            listener = socket.create_server((address(target), 5000), reuse_port=True)
        with self.net.entered(source):
            out = socket.socket()
        with listener, out:
            def read():
                connection = listener.accept()[0]
                with connection:
                    while part := connection.recv(1 << 18):
                        received.extend(part)
            reader = threading.Thread(target=read)
            reader.start()
            began_s = time.monotonic()
            out.connect((address(target), 5000))
            out.sendall(data)
            out.shutdown(socket.SHUT_WR)
            reader.join()
        return time.monotonic() - began_s, bytes(received) == data

    def test_an_idle_line_is_fast(self):
        received, ms = self.ping(count=100)
        self.assertEqual(received, 100)
        self.assertLess(ms, 3)
        seconds, is_same = self.send(16 << 20)
        self.assertTrue(is_same)
        print(f"round trip {ms:.2f} ms, {16 * 8.39 / seconds:.0f} Mbit/s", end=" ")
        self.assertLess(seconds, 3)

    def test_drop_is_one_way_and_ends(self):
        before = self.net.counters()
        self.net.set(["n1"], ["n2"], drop=1)
        self.assertEqual(self.ping(count=3, wait_s=0.2)[0], 0)
        self.assertEqual(self.ping("n2", "n1", count=3, wait_s=0.2)[0], 0)
        self.assertEqual(self.ping("n1", "n3", count=3)[0], 3)
        # The requests from n2 arrive, the replies do not.
        self.assertEqual(self.change("dropped", before, ("n2", "n1")), 0)
        self.assertEqual(self.change("dropped", before), 6)
        self.assertFalse(self.net.is_clear("n2", "n1"))
        self.net.clear()
        self.assertTrue(self.net.is_clear("n2", "n1"))
        self.assertEqual(self.ping(count=3)[0], 3)

    def test_loss(self):
        self.net.set(["n1"], ["n2"], loss=300_000)
        received = self.ping(count=300, interval_s=0.002, wait_s=0.3)[0]
        self.assertTrue(170 < received < 250, received)

    def test_delay_and_jitter_keep_the_order(self):
        self.net.both(["n1"], ["n2"], delay_us=20_000, jitter_us=20_000)
        received, ms = self.ping(count=20)
        self.assertEqual(received, 20)
        self.assertTrue(39 < ms < 90, ms)
        seconds, is_same = self.send(1 << 18)
        self.assertTrue(is_same)
        self.assertGreater(seconds, 0.05)
        self.net.clear()
        self.assertLess(self.ping()[1], 5)

    def test_order_and_duplicates(self):
        sent = 200
        for rule, is_sorted, is_single in (({"jitter_us": 5000, "delay_us": 1000}, True, True),
                                           ({"reorder": 300_000, "reorder_us": 8000}, False, True),
                                           ({"duplicate": 300_000}, True, False)):
            with self.subTest(rule=rule):
                self.net.set(["n1"], ["n2"], **rule)
                got = self.datagrams(sent)
                self.net.clear()
                self.assertEqual(set(got), set(range(sent)))
                self.assertEqual(got == sorted(got), is_sorted)
                self.assertEqual(len(got) == sent, is_single)

    def datagrams(self, count, pause_s=0.0005):
        """Numbers of datagrams as they arrive in n2."""
        with self.net.entered("n2"):
            inlet = socket.socket(type=socket.SOCK_DGRAM)
        with self.net.entered("n1"):
            out = socket.socket(type=socket.SOCK_DGRAM)
        with inlet, out:
            inlet.bind((address("n2"), 5001))
            inlet.settimeout(0.3)
            for number in range(count):
                out.sendto(number.to_bytes(4, "big"), (address("n2"), 5001))
                time.sleep(pause_s)
            got = []
            try:
                while True:
                    got.append(int.from_bytes(inlet.recv(100), "big"))
            except socket.timeout:
                return got

    def test_rate(self):
        self.net.set(["n1"], ["n2"], rate_bytes=500_000)
        seconds, is_same = self.send(500_000 // 256 * 256)
        self.assertTrue(is_same)
        self.assertTrue(0.8 < seconds < 4, seconds)

    def test_hold_and_release(self):
        self.net.set(["n1"], ["n2"], hold=1)
        holder = threading.Timer(0.5, self.net.clear)
        holder.start()
        got = self.datagrams(100)
        holder.join()
        self.assertEqual(got, [])
        self.net.set(["n1"], ["n2"], hold=1)
        holder = threading.Timer(0.2, self.net.clear)
        holder.start()
        got = self.datagrams(100, 0.001)
        holder.join()
        self.assertEqual(got, list(range(100)))

    def test_corruption_never_passes_the_checksum(self):
        before = self.net.counters()
        self.net.set(["n1"], ["n2"], corrupt=100_000)
        _, is_same = self.send(1 << 18)
        self.assertTrue(is_same)
        self.assertGreater(self.change("corrupted", before), 3)

    def test_clear_sends_what_was_delayed(self):
        self.net.set(["n1"], ["n2"], delay_us=3_600_000_000)
        threading.Timer(0.2, self.net.clear).start()
        self.assertEqual(self.datagrams(50, 0.001), list(range(50)))

    def test_reset_kills_connections(self):
        with self.net.entered("n2"):
            listener = socket.create_server((address("n2"), 5002), reuse_port=True)
        with self.net.entered("n1"):
            out = socket.socket()
        with listener, out:
            out.connect((address("n2"), 5002))
            peer = listener.accept()[0]
            self.assertGreaterEqual(self.net.reset_connections("n1"), 1)
            peer.settimeout(2)
            with self.assertRaises(ConnectionError):
                peer.recv(1)
            peer.close()

    def test_wrong_commands_change_nothing(self):
        for line in ("set n1 n9 drop=1", "set n1 n2 drop=2", "set n1 n2 loss=1000001", "set n1",
                     "set n1 n2 drop", "set n1 n2 drop=1 nonsense=1", "nothing", ""):
            with self.subTest(line=line), self.assertRaises(control.Refused):
                control.ask(self.net.socket, line)
        self.assertEqual(self.ping(count=3)[0], 3)


if __name__ == "__main__":
    unittest.main()
