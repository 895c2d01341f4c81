"""Tests of what the proxy reads from requests (proxy.py), with hand-made frames."""

import struct
import unittest

from proxy import Traffic


def frame(key, version, client, body):
    name = client.encode()
    return struct.pack(">hhih", key, version, 7, len(name)) + name + body


class Requests(unittest.TestCase):
    def setUp(self):
        self.traffic = Traffic(0)

    def count(self, *frames, since=0):
        for now, data in enumerate(frames):
            self.traffic.note(now, data)
        return self.traffic.count(since)

    def test_fetch_names_its_max_wait(self):
        wait = struct.pack(">i", 500)
        replica, tags = struct.pack(">i", -1), b"\0"
        for version, body in ((4, replica + wait), (11, replica + wait),
                              (12, tags + replica + wait), (15, tags + wait), (18, tags + wait)):
            with self.subTest(version=version):
                self.setUp()
                found = self.count(frame(1, version, "me", body))
                self.assertEqual(found, {"client": "me", "max_wait_ms": 500, "fetches": 1,
                                         "others": 0})

    def test_other_requests_are_counted_apart(self):
        fetch = frame(1, 4, "me", struct.pack(">ii", -1, 500))
        found = self.count(fetch, frame(12, 4, "me", b""), fetch)
        self.assertEqual((found["fetches"], found["others"]), (2, 1))

    def test_only_what_came_since(self):
        fetch = frame(1, 4, "me", struct.pack(">ii", -1, 500))
        self.assertEqual(self.count(fetch, fetch, fetch, since=1)["fetches"], 2)

    def test_client_without_a_name(self):
        data = struct.pack(">hhih", 12, 0, 7, -1)
        self.assertEqual(self.count(data)["client"], "")

    def test_rubbish_is_ignored(self):
        self.assertEqual(self.count(b"\0\1")["others"], 0)


if __name__ == "__main__":
    unittest.main()
