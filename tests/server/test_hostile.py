"""Random and mutated frames against a live node: no crash, no leak, no growth, others are served.

ROSTER_FRAMES is the number of frames (default 20,000; the long run has 1,000,000), ROSTER_SEED the
seed of the first. The frames are mutations of every message that is served, in every version: the
golden bytes of tests/golden.
"""

import os
import pathlib
import random
import select
import struct
import time
import unittest

from node import NodeTest
from test_protocol import heartbeat_v1

FRAMES = int(os.environ.get("ROSTER_FRAMES", "20000"))
SEED = int(os.environ.get("ROSTER_SEED", "1"))
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
API_DEF = pathlib.Path(__file__).resolve().parents[2] / "rpc/api.def"
BATCH = 50  # frames between two looks at whether others are served
GROWTH_BYTES = 48 << 20


def apis():
    """{message prefix: (key, first flexible version)}"""
    found = {}
    for line in API_DEF.read_text().splitlines():
        if line.startswith("API("):
            key, _, prefix, _, _, flexible, _ = [x.strip() for x in line[4:-1].split(",")]
            found[prefix] = int(key), 128 if flexible == "NEVER" else int(flexible)
    return found


def golden_frames():
    """The content of a good request frame for each golden body."""
    frames = []
    known = apis()
    for path in sorted(GOLDEN.glob("*.hex")):
        for line in path.read_text().splitlines():
            words = line.split(" ")
            name = words[0].removesuffix("_request")
            if line.startswith("{") or name == words[0] or name not in known:
                continue
            key, flexible = known[name]
            version = int(words[1])
            head = struct.pack(">hhih", key, version, 7, 6) + b"client"
            head += b"\0" if version >= flexible else b""
            frames.append(head + bytes.fromhex(words[3] if len(words) > 3 else ""))
    return frames


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.frames = golden_frames()

    def change(self, data):
        """One mutation of a bytearray."""
        r = self.random
        at = r.randrange(len(data)) if data else 0
        kind = r.randrange(7)
        if kind == 0 and data:
            data[at] = r.randrange(256)
        elif kind == 1 and data:
            data[at] ^= 1 << r.randrange(8)
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at:at + r.randrange(1, 9)]
        elif kind == 4:
            data[at:at] = r.randbytes(r.randrange(1, 9))
        elif kind == 5:
            data[at:at + 4] = r.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0",
                                        b"\0\0\0\0", b"\0\x10\0\0", b"\xff\xff\xff\x0f"))
        else:
            other = r.choice(self.frames)
            data[at:] = other[r.randrange(len(other)):]

    def next(self):
        """Bytes to send: a frame, mostly with the right length."""
        r = self.random
        if r.randrange(20) == 0:
            content = bytearray(r.randbytes(r.randrange(200)))
        else:
            content = bytearray(r.choice(self.frames))
            for _ in range(r.choice((0, 1, 1, 2, 4))):
                self.change(content)
        size = len(content)
        if r.randrange(50) == 0:
            size = r.choice((0, -1, 2**31 - 1, size + 1, max(0, size - 1), 104857601))
        return struct.pack(">i", size) + bytes(content)


class Hostile(NodeTest):
    def drain(self, raws):
        """Reads what has come; the connections that the node has not closed."""
        alive = []
        for raw in raws:
            try:
                while select.select([raw.socket], [], [], 0)[0]:
                    if raw.socket.recv(1 << 16) == b"":
                        break
                else:
                    alive.append(raw)
                    continue
            except ConnectionError:
                pass
            raw.socket.close()
        return alive

    def setUp(self):
        super().setUp()
        # The sanitizer's own memory of what was freed must not look like growth of ours.
        before = os.environ.get("ASAN_OPTIONS", "")
        os.environ["ASAN_OPTIONS"] = f"{before}:quarantine_size_mb=8".lstrip(":")
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", before)

    def test_frames(self):
        node = self.start(group_initial_rebalance_delay_ms=50,
                          offsets_retention_check_interval_ms=1000, coordinator_max_topics=1000,
                          coordinator_max_groups=2000, coordinator_max_offsets=5000,
                          coordinator_max_partitions=5000)
        mutator = Mutator(SEED)
        other = node.dial()
        raws, sent, slowest_s, early = [], 0, 0.0, None
        while sent < FRAMES:
            raws = self.drain(raws)
            node.raws = [other] + raws
            while len(raws) < 2 * BATCH:
                raws.append(node.dial())
            for raw in mutator.random.sample(raws, BATCH):
                try:
                    raw.put(mutator.next())
                except OSError:
                    continue  # closed by the node since the last look
                sent += 1
            began = time.monotonic()
            other.put(heartbeat_v1(sent))
            self.assertEqual(other.frame()[:4], struct.pack(">i", sent), "others are served")
            slowest_s = max(slowest_s, time.monotonic() - began)
            for _ in range(BATCH // 5):  # in the middle of whatever it is, or behind a parked call
                raws.pop(mutator.random.randrange(len(raws))).socket.close()
            if early is None and sent >= FRAMES // 2:
                early = node.resident_bytes()
        for raw in raws:
            raw.socket.close()
        node.wait(lambda: node.figure("requests_in_use") == 0, "all calls are answered")
        status = node.status()
        read = int(status["conn_requests"]) + int(status["conn_limit_request_bytes"])
        growth = node.resident_bytes() - early
        print(f"{sent} frames from seed {SEED}, {read} read, {status['conn_bad_requests']} refused: slowest other heartbeat {slowest_s * 1000:.0f} ms, "
              f"growth in the second half {growth >> 20} MiB", flush=True)
        self.assertGreater(read, sent * 0.8, "most frames must reach the node")
        self.assertLess(growth, GROWTH_BYTES)
        self.assertLess(slowest_s, 3)


if __name__ == "__main__":
    unittest.main()
